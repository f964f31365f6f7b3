"""Received calls in a line, in a list and as a snapshot."""

import base64

import pytest
from msgspec.structs import replace

from mockserver.core.call import Call, Message, Prompt, Tool, ToolCall
from mockserver.core.http import HttpRequest
from mockserver.reports.calls import (
    MAX_LISTED,
    NO_CALLS,
    ReceivedCall,
    describe_call,
    find_error_message,
    list_calls,
    list_sources,
    name_call,
    write_snapshot,
)
from tests.dialects.features import URLS
from tests.kit.asgi import app
from tests.kit.calls import call, pack_options
from tests.kit.received import SECRET, make_received


def test_a_call_in_a_line() -> None:
    assert describe_call(make_received(number=3, source="rule t.py:1")) == 'call 3: chat gpt-4o "hello" -> rule t.py:1'
    odd = make_received(call("bye\n\x1b[1m"), source="")
    assert describe_call(odd) == 'call 1: chat gpt-4o "bye\\n\\u001b[1m" -> open'
    cut = make_received(call("hello"), source="rule t.py:1", ended="cut short")
    assert describe_call(cut).startswith('call 1: chat gpt-4o "hello" -> rule t.py:1 (cut short after ')
    rejected = make_received(None, method="GET", path="/v1/x\n", operation="", source="invalid", status=405)
    assert describe_call(rejected) == "call 1: GET /v1/x\\n -> invalid (405)"


@pytest.mark.parametrize(
    "one",
    [
        make_received(None, path=f"/v1/{SECRET}/" + "x" * 9_999, operation="", source="invalid"),
        make_received(call("x", model=SECRET + "x" * 9_999)),
        make_received(call(f"my {SECRET}")),
    ],
)
def test_credentials_are_masked_and_long_names_are_cut(one: ReceivedCall) -> None:
    for text in (describe_call(one), name_call(one)):
        assert "secret" not in text
        assert len(text) < 150


def test_sources_of_prompts_and_names_with_a_comma() -> None:
    assert "rule t.py:1 hello, you" in list_sources(make_received(source="rule t.py:1 hello, you"))
    assert {"rule t.py:1", "rule t.py:2"} < {*list_sources(make_received(source="rule t.py:1, rule t.py:2"))}


def test_a_list_of_calls() -> None:
    assert list_calls(()) == NO_CALLS
    assert list_calls([make_received(source="x")]) == '1 call received:\n  call 1: chat gpt-4o "hello" -> x'
    lines = list_calls([make_received()] * (MAX_LISTED + 7)).splitlines()
    assert (len(lines), lines[-1]) == (MAX_LISTED + 2, "  ... and 7 more")


@pytest.mark.parametrize("dialect", URLS)
def test_the_error_message_of_every_dialect(dialect: str) -> None:
    request = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
    reply = app("", unmatched="error").ask(URLS[dialect], request).body
    assert find_error_message(reply).startswith("no rule answers this request")


@pytest.mark.parametrize("body", [b"", b"no", b"[1]", b"7", b'{"error": 7}', b'{"error": {"message": 7}}'])
def test_what_is_not_an_error_has_no_message(body: bytes) -> None:
    assert find_error_message(body) == ""


HTTP = HttpRequest("POST", "/v1/chat/completions")


def asked(**fields: object) -> Call:
    return Call("openai", "chat", "gpt-4o", HTTP, {}, **pack_options(fields))


def test_a_conversation_with_tools_and_ids_that_vary() -> None:
    told = []
    for id in ("call_a1", "call_zz"):
        call = asked(
            messages=(
                Message("system", "Be brief.\n\nBe kind."),
                Message("user", "Rain in Oslo?", name="ada"),
                Message("assistant", tool_calls=(ToolCall(id, "get_weather", '{"city":"Oslo"}'),)),
                Message("tool", '{"sky": "rain"}', tool_call_id=id),
            ),
            tools=(Tool("get_weather", "The weather.", {"type": "object", "properties": {"city": {}}}),),
            raw={"model": "gpt-4o", "messages": [], "temperature": 0.5, "logit_bias": {"b": 1, "a": 2}},
            stream=True,
        )
        told.append(write_snapshot([call]))
    assert told[0] == told[1]
    assert told[0] == (
        "call 1: openai chat gpt-4o, streamed\n"
        "  system:\n"
        "    Be brief.\n"
        "\n"
        "    Be kind.\n"
        "  user (ada): Rain in Oslo?\n"
        '  assistant calls get_weather({"city":"Oslo"}) as id-1\n'
        '  tool id-1: {"sky": "rain"}\n'
        "  tool get_weather: The weather.\n"
        '    takes {"properties": {"city": {}}, "type": "object"}\n'
        '  logit_bias: {"a": 2, "b": 1}\n'
        "  temperature: 0.5\n"
    )


def test_the_address_of_the_server_does_not_show() -> None:
    http = HttpRequest("POST", "/v1/chat/completions", headers=((b"host", b"127.0.0.1:34641"),))
    part = {"type": "file", "file": {"file_data": "http://127.0.0.1:34641/gemini/v1beta/files/f1"}}
    told = write_snapshot([replace(asked(messages=(Message("user", "Read.", (part,)),)), http=http)])
    assert '"http://mockserver/gemini/v1beta/files/f1"' in told


def test_what_a_request_continues() -> None:
    conversations = [asked(raw={"conversation": conversation}) for conversation in ("conv_1", {"id": "conv_1"})]
    assert write_snapshot([*conversations, asked(previous_response_id="resp_1", prompts=(Prompt("Once"),))]) == (
        "call 1: openai chat gpt-4o\n  in the conversation id-1\n\n"
        "call 2: openai chat gpt-4o\n  in the conversation id-1\n\n"
        "call 3: openai chat gpt-4o\n  goes on from id-2\n  prompt: Once\n"
    )


def test_images_are_named_by_their_hash() -> None:
    url = "data:image/png;base64," + base64.b64encode(bytes(200)).decode()
    part = {"type": "image_url", "image_url": {"url": url}}
    told = write_snapshot([asked(messages=(Message("user", "Look.", (part,)),))])
    assert told.splitlines()[1:] == [
        "  user: Look.",
        '  user: {"image_url": {"url": "data:image/png;base64,sha256:5d73a6242200"}, "type": "image_url"}',
    ]
