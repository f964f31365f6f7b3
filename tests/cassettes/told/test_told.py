"""What answers say is read from plain and streamed ones alike, and from no garbage."""

import json
from typing import Any

import pytest

from mockserver.cassettes.parse_response import Part, Told, Used, number, rows, spoken, table, text, told
from mockserver.core.episode import Recorded
from tests.kit.episodes import episode
from tests.kit.local import local

CALLS = {
    "/openai/v1/chat/completions": {"model": "gpt-4o", "messages": [{"role": "user", "content": "a"}]},
    "/fireworks/inference/v1/chat/completions": {"model": "m", "messages": [{"role": "user", "content": "a"}]},
    "/openai/v1/responses": {"model": "gpt-4o", "input": "a"},
    "/openai/v1/completions": {"model": "babbage-002", "prompt": "a"},
}
THENS: dict[str, Any] = {
    "text": {"text": "Hi there, you."},
    "cut": {"text": "Hi there", "finish": "length"},
    "tools": {"text": "I look.", "tool_calls": [{"name": "f", "arguments": {"a": 1}}, {"name": "g", "arguments": {}}]},
    "refusal": {"refusal": "I would rather not."},
    "thinks": {"reasoning": "Hm.", "text": "Yes."},
}


@pytest.mark.parametrize("then", THENS.values(), ids=THENS)
@pytest.mark.parametrize("path", CALLS)
def test_a_stream_says_what_a_plain_answer_says(path: str, then: Any) -> None:
    if path.endswith("/v1/completions") and "text" not in then:
        then = {"text": " b"}
    server = local(json.dumps({"rules": [{"then": then}]}))
    plain = episode(server, path, CALLS[path])
    streamed = episode(server, path, {**CALLS[path], "stream": True})
    assert streamed.reply.frames
    first, second = told(plain.reply, plain.operation), told(streamed.reply, streamed.operation)
    assert first.choices == second.choices
    assert (first.whole, second.whole, first.error, second.error) == (True, True, None, None)
    assert first.choices[0].parts


def test_an_error_is_what_its_envelope_holds() -> None:
    server = local('{"rules": [{"then": {"error": {"status": 429, "code": "slow", "message": "Slow down."}}}]}')
    said = told(episode(server, "/openai/v1/chat/completions", CALLS["/openai/v1/chat/completions"]).reply, "chat")
    assert (said.status, said.error["code"], said.error["message"]) == (429, "slow", "Slow down.")
    assert said.body == {"error": said.error}


@pytest.mark.parametrize("operation", ["chat", "completions", "responses", "embeddings", "what"])
@pytest.mark.parametrize(
    "body", [b"", b"\xff", b"[]", b"null", b'{"choices": [1], "output": 3}', b'{"choices": [{"message": 3}]}']
)
def test_garbage_says_nothing(operation: str, body: bytes) -> None:
    assert not any(choice.parts for choice in told(Recorded(200, (), body), operation).choices)
    assert not any(choice.parts for choice in told(Recorded(200, (), frames=((0.0, body),)), operation).choices)
    assert told(Recorded(500, (), body), operation).status == 500


def test_careful_reading() -> None:
    assert (table([]), rows({}), rows([1, {}]), text(3), number("3"), number(3)) == ({}, [], [{}], "", 0, 3)
    assert (spoken("text", ""), spoken("text", "a")) == ((), (Part("text", "a"),))
    assert Told().choices == ()
    assert Used("f", "{}") == Used("f", "{}", custom=False)
