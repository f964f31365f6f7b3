"""Every feature of a chat, plain and streamed: held against Mistral's schema, and against each other."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from mockserver.cassettes.formats import parse_answer
from mockserver.cassettes.verify import find_misshapen
from mockserver.core.http import HttpRequest
from mockserver.core.validation import Validation
from mockserver.dialects import discover
from tests.dialects.features import rules
from tests.dialects.invariants import has_shape
from tests.dialects.mistral.features import URL, names, request
from tests.kit.episodes import episode
from tests.kit.local import Answered, local

Json = Any
SERVER = local(rules())
HELLO = [{"role": "user", "content": "hi"}]


def joined(chunks: Sequence[Json]) -> dict[int, Json]:
    """The message of each choice that the chunks add up to."""
    messages: dict[int, Json] = {}
    for choice in [chunk["choices"][0] for chunk in chunks]:
        delta = choice["delta"]
        message = messages.setdefault(choice["index"], {"text": "", "thinking": "", "tool_calls": None})
        message["tool_calls"] = delta.get("tool_calls", message["tool_calls"])
        _add(message, delta["content"])
        message["finish_reason"] = choice["finish_reason"]
    return messages


def _add(message: Json, content: Json) -> None:
    for part in [{"type": "text", "text": content}] if isinstance(content, str) else content:
        message[part["type"]] += part["text"] if part["type"] == "text" else part["thinking"][0]["text"]


def plain_message(choice: Json) -> Json:
    found = {"text": "", "thinking": "", "tool_calls": choice["message"]["tool_calls"]}
    _add(found, choice["message"]["content"])
    return {**found, "finish_reason": choice["finish_reason"]}


@pytest.mark.parametrize("name", names())
def test_a_chat_says_the_same_plain_and_streamed(name: str) -> None:
    plain = SERVER.ask(URL, request(name)).json
    has_shape(plain, "mistral", "completion")
    *chunks, done = SERVER.ask(URL, request(name, stream=True)).frames
    assert done == "[DONE]"
    for chunk in chunks:
        has_shape(chunk, "mistral", "chunk")
    assert [chunk.get("usage") for chunk in chunks] == [*[None] * (len(chunks) - 1), plain["usage"]]
    assert joined(chunks) == {choice["index"]: plain_message(choice) for choice in plain["choices"]}


@pytest.mark.parametrize("name", ["text", "tool-call", "tool-calls", "json", "reasoning"])
def test_recordings_are_whole(name: str) -> None:
    plain, streamed = (episode(SERVER, URL, request(name, stream=stream)) for stream in (False, True))
    assert [list(find_misshapen(each)) for each in (plain, streamed)] == [[], []]
    one, other = (parse_answer(each) for each in (plain, streamed))
    assert one.choices == other.choices


def ask(then: Mapping[str, Json], path: str = URL, **body: Json) -> Answered:
    return local(json.dumps({"rules": [{"then": then}]})).ask(path, {"model": "m", "messages": HELLO, **body})


def test_calls_come_with_the_finish_reason() -> None:
    call = {"text": "Let me see.", "tool_calls": [{"name": "f", "arguments": {"a": 1}}, {"name": "g"}]}
    *_, last, _ = ask(call, stream=True).frames
    (choice,) = last["choices"]
    assert choice["finish_reason"] == "tool_calls"
    assert [made["function"]["name"] for made in choice["delta"]["tool_calls"]] == ["f", "g"]


def test_an_agent_stands_for_a_model() -> None:
    server = local(json.dumps({"rules": [{"when": {"model": "ag_1"}, "then": {"text": "Hi!"}}]}), unmatched="error")
    found = server.ask("/mistral/v1/agents/completions", {"agent_id": "ag_1", "messages": HELLO}).json
    assert found["choices"][0]["message"]["content"] == "Hi!"


@pytest.mark.parametrize("stream", [False, True])
def test_code_is_completed_in_the_shape_of_a_chat(stream: bool) -> None:
    asked = {"prompt": "def f(", "suffix": "return x", "stream": stream}
    body = {"model": "codestral-latest", **asked}
    answered = local('{"rules": [{"then": {"text": "x):"}}]}').ask("/mistral/v1/fim/completions", body)
    for found in answered.frames[:-1] if stream else [answered.json]:
        has_shape(found, "mistral", "chunk" if stream else "completion")


def test_parts_of_a_message_are_read() -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "See"}, {"type": "image_url", "image_url": "data:x"}]},
        {"role": "assistant", "content": [thought, {"type": "text", "text": "I see."}]},
        {"role": "user", "content": [{"type": "document_url", "document_url": "https://a.example/b.pdf"}]},
    ]
    http = HttpRequest("POST", URL, body=json.dumps({"model": "m", "messages": messages}).encode())
    first, second, third = discover()["mistral"].operations[0].read_call(http, Validation.PUBLISHED).messages
    assert (first.text, first.parts) == ("See", ({"type": "image_url", "image_url": {"url": "data:x"}},))
    assert (second.text, second.parts) == ("I see.", ())
    assert third.parts[0]["type"] == "file"


REFUSED: list[tuple[Json, str, Json, str]] = [
    ({"messages": []}, "too_short", ["body", "messages"], "Input should have at least 1 items after validation"),
    ({"temperature": 2}, "less_than_equal", ["body", "temperature"], "Input should be less than or equal to 1.5"),
    ({"model": 5}, "string_type", ["body", "model"], "Input should be a valid string"),
    (
        {"messages": [{"role": "x"}]},
        "literal_error",
        ["body", "messages", 0, "role"],
        "Input should be 'system', 'user', 'assistant' or 'tool'",
    ),
    ({"random_seed": -1}, "greater_than_equal", ["body", "random_seed"], "Input should be greater than or equal to 0"),
]


@pytest.mark.parametrize(("added", "kind", "place", "message"), REFUSED)
def test_what_the_schema_refuses(added: Json, kind: str, place: Json, message: str) -> None:
    answered = ask({"text": "Hi!"}, **added)
    assert answered.status == 422
    (found,) = answered.json["detail"]
    assert (found["type"], found["loc"], found["msg"]) == (kind, place, message)


def test_unknown_fields_are_refused_live() -> None:
    body = {"model": "m", "messages": HELLO, "max_completion_tokens": 5}
    assert local().ask(URL, body).status == 200
    assert list_unknown(body) == [(["max_completion_tokens"], 5)]


CALL = {"id": "abcdefghi", "function": {"name": "f", "arguments": {}}}
ASKED = {"role": "assistant", "content": "", "tool_calls": [CALL]}
TOLD = {"role": "tool", "tool_call_id": "abcdefghi", "name": "f", "content": "1"}


def list_unknown(body: Json) -> list[tuple[Json, Json]]:
    """The places below `body` of the fields that the live service refuses, and their values."""
    refused = local(validation="live").ask(URL, body)
    assert (refused.status, {each["type"] for each in refused.json["detail"]}) == (422, {"extra_forbidden"})
    return [(each["loc"][1:], each["input"]) for each in refused.json["detail"]]


def test_all_unknown_fields_of_messages_are_listed_live() -> None:
    asked = {**ASKED, "reasoning_content": "Hm.", "tool_calls": [{**CALL, "type": "function", "name": None}]}
    known = [*HELLO, {"role": "assistant", "content": None, "tool_calls": [{**CALL, "index": 0}]}, TOLD]
    assert local(validation="live").ask(URL, {"model": "m", "messages": known}).status == 200
    body = {"model": "m", "messages": [{**HELLO[0], "timestamp": 1}, asked, TOLD], "store": False}
    assert list_unknown(body) == [
        (["messages", 0, "user", "timestamp"], 1),
        (["messages", 1, "assistant", "tool_calls", 0, "name"], None),
        (["messages", 1, "assistant", "reasoning_content"], "Hm."),
        (["store"], False),
    ]
    assert local().ask(URL, body).status == 200


LOST: dict[str, tuple[list[Json], str, str | None]] = {
    "id": (
        [*HELLO, {**ASKED, "tool_calls": [{**CALL, "id": "call_1"}]}, {**TOLD, "tool_call_id": "call_1"}],
        "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.",
        "3280",
    ),
    "order": ([*HELLO, ASKED, TOLD, *HELLO], "Unexpected role 'user' after role 'tool'", "3230"),
    "empty": (
        [*HELLO, {"role": "assistant", "content": ""}, *HELLO],
        "Assistant message must have either content or tool_calls, but not none.",
        None,
    ),
    "number": ([*HELLO, ASKED, TOLD, TOLD], "Not the same number of function calls and responses", "3230"),
    "last": (
        [*HELLO, {"role": "assistant", "content": "Hi!"}],
        "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant",
        "3230",
    ),
}


@pytest.mark.parametrize(("messages", "message", "code"), LOST.values(), ids=LOST.keys())
def test_changed_histories(messages: list[Json], message: str, code: str | None) -> None:
    body = {"model": "m", "messages": messages}
    for mode in ({"replay": "error"}, {"validation": "live"}):
        answered = local(**mode).ask(URL, body)
        assert (answered.status, answered.json["message"], answered.json["code"]) == (400, message, code)
    warned = local().ask(URL, body)
    assert warned.status == 200
    assert message in warned.remarks[0]


@pytest.mark.parametrize(("model", "status"), [("mistral-small-latest", 200), ("ministral-3b-latest", 200), ("m", 400)])
def test_some_models_take_a_user_after_results(model: str, status: int) -> None:
    body = {"model": model, "messages": LOST["order"][0]}
    assert local(validation="live").ask(URL, body).status == status


def test_whole_histories_pass() -> None:
    for messages in (
        [*HELLO, ASKED, TOLD],
        [*HELLO, ASKED, TOLD, {"role": "assistant", "content": "1"}, *HELLO],
        [*HELLO, {"role": "assistant", "content": "def ", "prefix": True}],
    ):
        assert local(replay="error", validation="live").ask(URL, {"model": "m", "messages": messages}).status == 200
