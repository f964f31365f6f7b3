"""OpenAI on the wire, beyond its cases: weights of frames, tiers, headers, where a long prompt is."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from mockserver.core.plan import Failure, Reasoning, Text, Usage


@pytest.fixture
def openai(speak: Callable[[str], Any]) -> Any:
    return speak("openai")


def test_reasoning_is_only_counted(openai: Any, answer: Any) -> None:
    given = answer((Reasoning("Let me think about it"), Text("Yes")), usage=Usage(9, 6, reasoning=5))
    body = json.loads(openai.render(given).body)
    assert body["choices"][0]["message"]["content"] == "Yes"
    assert body["usage"]["completion_tokens_details"]["reasoning_tokens"] == 5
    assert b"think" not in b"".join(frame.data for frame in openai.frames(given))
    assert [frame.tokens for frame in openai.frames(given)] == [0, 6, 0, 0]


def test_headers_of_a_success(openai: Any, answer: Any) -> None:
    reply = openai.render(answer("Hi"))
    call = openai.parse({})
    assert dict(reply.headers) == {
        "content-type": "application/json",
        "content-length": str(len(reply.body)),
        "x-request-id": f"req_{call.fingerprint}",
        "openai-organization": "mockserver",
        "openai-processing-ms": str(20 + int(call.fingerprint[:2], 16)),
        "openai-version": "2020-10-01",
        "x-ratelimit-limit-requests": "10000",
        "x-ratelimit-limit-tokens": "2000000",
        "x-ratelimit-remaining-requests": "9999",
        "x-ratelimit-remaining-tokens": "1999991",
        "x-ratelimit-reset-requests": "6ms",
        "x-ratelimit-reset-tokens": "0ms",
    }


@pytest.mark.parametrize(("operation", "param"), [("chat", "messages"), ("responses", "input")])
def test_a_long_prompt_is_told_of_where_it_stands(speak: Callable[[str], Any], operation: str, param: str) -> None:
    openai = speak("openai")
    call = openai.parse({}) if operation == "chat" else openai.responses({})
    assert json.loads(openai.fail(Failure("context_length"), call).body)["error"]["param"] == param
    stated = Failure("context_length", param="messages")
    assert json.loads(openai.fail(stated, call).body)["error"]["param"] == "messages"
