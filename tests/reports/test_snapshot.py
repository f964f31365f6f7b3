"""What was asked, as text for approval tests."""

import base64

from mockserver.core.call import Call, Message, Prompt, Tool, ToolCall
from mockserver.core.http import HttpRequest
from mockserver.reports.calls import snapshot

HTTP = HttpRequest("POST", "/v1/chat/completions")


def asked(**fields: object) -> Call:
    return Call("openai", "chat", "gpt-4o", HTTP, {}, **fields)


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
        told.append(snapshot([call]))
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


def test_images_are_named_by_their_hash() -> None:
    url = "data:image/png;base64," + base64.b64encode(bytes(200)).decode()
    part = {"type": "image_url", "image_url": {"url": url}}
    told = snapshot([asked(messages=(Message("user", "Look.", (part,)),))])
    assert told.splitlines()[1:] == [
        "  user: Look.",
        '  user: {"image_url": {"url": "data:image/png;base64,sha256:5d73a6242200"}, "type": "image_url"}',
    ]


def test_sound_is_named_by_its_hash_too() -> None:
    part = {"type": "input_audio", "input_audio": {"data": base64.b64encode(bytes(200)).decode(), "format": "wav"}}
    told = snapshot([asked(messages=(Message("user", "", (part,)),))])
    assert '{"data": "sha256:5d73a6242200", "format": "wav"}' in told


def test_what_is_referred_to_is_an_id_that_varies() -> None:
    part = {"type": "item_reference", "id": "msg_1"}
    for conversation in ("conv_1", {"id": "conv_1"}):
        call = asked(messages=(Message("assistant", "", (part, part)),), raw={"conversation": conversation})
        assert snapshot([call]).splitlines()[1:] == [
            "  in the conversation id-1",
            '  assistant: {"id": "id-2", "type": "item_reference"}',
            '  assistant: {"id": "id-2", "type": "item_reference"}',
        ]


def test_prompts_are_told_once() -> None:
    texts, picture = ("a", "b"), {"type": "image_url"}
    messages, prompts = tuple(Message("user", text) for text in texts), tuple(map(Prompt, texts))
    told = snapshot([asked(messages=messages, prompts=prompts)])
    assert told.splitlines()[1:] == ["  prompt: a", "  prompt: b"]
    seen = snapshot([asked(messages=(Message("user", "a", (picture,)),), prompts=prompts[:1])])
    assert seen.splitlines()[1:] == ["  user: a", '  user: {"type": "image_url"}']


def test_several_calls_share_the_numbers_of_ids() -> None:
    told = snapshot([asked(previous="resp_1"), asked(prompts=(Prompt("Once"), Prompt("upon\na time")), previous="x")])
    assert told == (
        "call 1: openai chat gpt-4o\n  goes on from id-1\n\n"
        "call 2: openai chat gpt-4o\n  goes on from id-2\n  prompt: Once\n  prompt:\n    upon\n    a time\n"
    )


def test_no_call_is_an_empty_text() -> None:
    assert snapshot([]) == ""
