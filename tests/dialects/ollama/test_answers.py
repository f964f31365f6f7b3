"""Every feature of a chat and of a prompt, plain and streamed: held against Ollama's schema, and against each other."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.dialects.features import TEXT_FEATURES, rules
from tests.dialects.invariants import has_shape
from tests.dialects.ollama import features
from tests.kit.local import Answered, local

Json = Any
CHATS, TEXTS = local(rules()), local(rules(TEXT_FEATURES))
# How a limit or a filter cuts a call is only in the tokens, which a stream of whole calls does not show.
COUNTED = ("prompt_eval_count", "eval_count", "total_duration")


def lines(answered: Answered) -> list[Json]:
    assert answered.headers["content-type"] == "application/x-ndjson"
    assert answered.body.endswith(b"\n")
    return [json.loads(line) for line in answered.body.splitlines()]


def joined(found: Sequence[Json]) -> Json:
    """The whole answer that the lines of a stream add up to."""
    message: dict[str, Json] = {"role": "assistant", "content": ""}
    for line in found:
        for key, piece in line["message"].items():
            message[key] = piece if key == "role" else message.get(key, [] if key == "tool_calls" else "") + piece
    return {**found[-1], "message": message}


@pytest.mark.parametrize("name", features.names())
def test_a_chat_says_the_same_plain_and_streamed(name: str) -> None:
    plain = CHATS.ask(features.URL, features.request(name))
    assert plain.status == 200, plain.body
    assert plain.headers["content-type"] == "application/json; charset=utf-8"
    has_shape(plain.json, "ollama", "answer")
    *pieces, last = found = lines(CHATS.ask(features.URL, features.request(name, stream=True)))
    for piece in pieces:
        has_shape(piece, "ollama", "line")
    has_shape(last, "ollama", "answer")
    weighed = [token for piece in pieces for token in piece.get("logprobs", ())]
    assert weighed == plain.json.get("logprobs", [])
    assert joined(found) == {key: value for key, value in plain.json.items() if key != "logprobs"}


@pytest.mark.parametrize("name", features.text_names())
def test_a_prompt_is_answered_the_same_plain_and_streamed(name: str) -> None:
    plain = TEXTS.ask(features.GENERATE_URL, features.text_request(name)).json
    has_shape(plain, "ollama", "generated")
    *pieces, last = lines(TEXTS.ask(features.GENERATE_URL, features.text_request(name, stream=True)))
    for piece in pieces:
        has_shape(piece, "ollama", "generated_line")
    has_shape(last, "ollama", "generated")
    assert "".join(piece["response"] for piece in pieces) == plain["response"]
    assert {key: last[key] for key in COUNTED if key in last} == {key: plain[key] for key in COUNTED if key in plain}


def ask(then: Mapping[str, Json], **body: Json) -> Answered:
    server = local(json.dumps({"rules": [{"then": then}]}))
    return server.ask(features.URL, {"model": "m", "messages": [{"role": "user", "content": "hi"}], **body})


def test_a_stream_is_the_default() -> None:
    assert [line["message"]["content"] for line in lines(ask({"text": "One two."}))] == ["One", " two", ".", ""]


def test_durations_follow_from_the_counts() -> None:
    found = ask({"text": "One two."}, stream=False).json
    assert (found["prompt_eval_count"], found["eval_count"]) == (7, 3)
    spent = found["load_duration"] + found["prompt_eval_duration"] + found["eval_duration"]
    assert (found["total_duration"], found["eval_duration"]) == (spent, 30_000_000)


def test_what_is_empty_is_left_out() -> None:
    found = ask({"text": "", "usage": {"prompt_tokens": 0}}, stream=False).json
    assert found["message"] == {"role": "assistant", "content": ""}
    assert not {"prompt_eval_count", "eval_count", "eval_duration"} & found.keys()


@pytest.mark.parametrize("stream", [False, True])
def test_thinking_is_hidden_on_demand(stream: bool) -> None:
    then = {"reasoning": "A greeting.", "text": "Hi!"}
    shown, hidden = (ask(then, stream=stream, **asked).body for asked in ({}, {"think": False}))
    assert b'"thinking"' in shown
    assert b'"thinking"' not in hidden
    assert json.loads(hidden.splitlines()[-1])["eval_count"] == json.loads(shown.splitlines()[-1])["eval_count"]


@pytest.mark.parametrize("stream", [False, True])
def test_a_call_that_cannot_be_read_is_text(stream: bool) -> None:
    call = {"tool_calls": [{"name": "f", "arguments": '{"city": "Os'}]}
    answered = ask(call, stream=stream)
    said = "".join(json.loads(line)["message"]["content"] for line in answered.body.splitlines())
    assert said == '{"name": "f", "arguments": {"city": "Os'
    assert b"tool_calls" not in answered.body


@pytest.mark.parametrize("path", [features.URL, features.GENERATE_URL])
@pytest.mark.parametrize(
    ("asked", "ends"), [({}, "load"), ({"keep_alive": 0}, "unload"), ({"keep_alive": "5m"}, "load")]
)
def test_a_model_is_loaded_and_unloaded(path: str, asked: Json, ends: str) -> None:
    found = CHATS.ask(path, {"model": "llama3.2", **asked}).json
    has_shape(found, "ollama", "answer" if path == features.URL else "generated")
    assert (found["done"], found["done_reason"]) == (True, ends)
    assert "eval_count" not in found


def test_results_find_their_calls_by_id_by_name_and_by_order() -> None:
    server = local(json.dumps({"rules": [{"then": {"text": "{{ tool_result.name }}"}}]}))
    calls = [{"id": "a", "function": {"name": "f"}}, {"function": {"name": "g"}}, {"function": {"name": "h"}}]
    for result, name in (({"tool_call_id": "a"}, "f"), ({"tool_name": "h"}, "h"), ({}, "f")):
        asked = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "", "tool_calls": calls}]
        asked.append({"role": "tool", "content": "1", **result})
        found = server.ask(features.URL, {"model": "m", "messages": asked, "stream": False}).json
        assert found["message"]["content"] == name
