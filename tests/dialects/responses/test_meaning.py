"""What of a Responses body the fingerprint sees: all that would change the answer, and nothing else."""

from collections.abc import Callable
from typing import Any

import pytest

from mockserver.dialects._responses.input import meaning

USER = {"role": "user", "content": "hi"}
SAME: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"stream": True, "stream_options": {"include_obfuscation": False}}, {}),
    ({"store": False}, {"background": True}),
    ({"user": "a", "safety_identifier": "b", "metadata": {"c": "d"}, "service_tier": "flex"}, {}),
    ({"prompt_cache_key": "a", "prompt_cache_options": {}, "prompt_cache_retention": "24h"}, {}),
    ({"previous_response_id": "resp_1"}, {"previous_response_id": "resp_2"}),
    ({"instructions": None}, {}),
    ({"input": [{"id": "msg_1", **USER}]}, {"input": [{"id": "msg_2", **USER}]}),
    (
        {"input": [{"type": "a", "call_id": "1"}, {"type": "b", "call_id": "1"}]},
        {"input": [{"type": "a", "call_id": "2"}, {"type": "b", "call_id": "2"}]},
    ),
]
DIFFERENT: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"input": "a"}, {"input": "b"}),
    ({"model": "a"}, {"model": "b"}),
    ({"include": ["message.output_text.logprobs"]}, {}),
    ({"foo": 1}, {"foo": 2}),
    (
        {"input": [{"type": "a", "call_id": "1"}, {"type": "b", "call_id": "1"}]},
        {"input": [{"type": "a", "call_id": "1"}, {"type": "b", "call_id": "2"}]},
    ),
    (
        {"tools": [{"type": "function", "name": "f", "parameters": {"a": 1, "b": 2}}]},
        {"tools": [{"type": "function", "name": "f", "parameters": {"b": 2, "a": 1}}]},
    ),
    (
        {"text": {"format": {"type": "json_schema", "name": "x", "schema": {"a": 1, "b": 2}}}},
        {"text": {"format": {"type": "json_schema", "name": "x", "schema": {"b": 2, "a": 1}}}},
    ),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same(speak: Callable[[str], Any], one: dict[str, Any], other: dict[str, Any]) -> None:
    responses = speak("openai").responses
    assert responses(one).fingerprint == responses(other).fingerprint


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_different(speak: Callable[[str], Any], one: dict[str, Any], other: dict[str, Any]) -> None:
    responses = speak("openai").responses
    assert responses(one).fingerprint != responses(other).fingerprint


def test_what_only_tzafon_keeps_books_of() -> None:
    books = {"request_id": "r", "priority": 0, "cache_salt": "s", "enable_response_messages": True}
    assert meaning({"input": "hi", **books}) == {"input": "hi"}


def test_the_body_stays_as_it_is() -> None:
    body = {"input": [{"type": "a", "id": "1"}], "text": {"format": None}, "tools": [{"type": "mcp"}]}
    assert meaning(body) == {"input": [{"type": "a", "id": "#0"}], "text": {"format": None}, "tools": [{"type": "mcp"}]}
    assert body["input"] == [{"type": "a", "id": "1"}]
