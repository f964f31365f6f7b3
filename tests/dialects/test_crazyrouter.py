"""Crazyrouter on the wire: the smallest objects, what is added only when it says something, its errors."""

import json
from collections.abc import Callable
from typing import Any

import openai.types.chat as sdk
import pytest
from pydantic import TypeAdapter

from mockserver.core.call import ToolCall
from mockserver.core.plan import Choice, Failure, Logprob, Reasoning, Refusal, Text, ToolUse

NOTE = {"type": "url_citation", "url_citation": {"start_index": 0, "end_index": 1, "title": "t", "url": "u"}}


@pytest.fixture
def crazyrouter(speak: Callable[[str], Any]) -> Any:
    return speak("crazyrouter")


def test_completion(crazyrouter: Any, answer: Any) -> None:
    assert crazyrouter.render(answer("Hello! How can I help you?")).body == (
        b'{"id":"chatcmpl-Aa1Aa1Aa1Aa1Aa1Aa1Aa1Aa1Aa1Aa","object":"chat.completion","created":1700000000,'
        b'"model":"gpt-x","choices":[{"index":0,"message":{"role":"assistant",'
        b'"content":"Hello! How can I help you?"},"finish_reason":"stop"}],'
        b'"usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11},"system_fingerprint":"fp_0123456789"}'
    )


def test_stream(crazyrouter: Any, answer: Any) -> None:
    head = (
        '{"id":"chatcmpl-Aa1Aa1Aa1Aa1Aa1Aa1Aa1Aa1Aa1Aa","object":"chat.completion.chunk","created":1700000000,'
        '"model":"gpt-x","choices":[{"index":0,"delta":'
    )
    assert [frame.data.decode() for frame in crazyrouter.frames(answer("Hello!"))] == [
        head + '{"role":"assistant","content":""},"finish_reason":null}]}',
        head + '{"content":"Hello"},"finish_reason":null}]}',
        head + '{"content":"!"},"finish_reason":null}]}',
        head + '{},"finish_reason":"stop"}]}',
        "[DONE]",
    ]


def test_usage_in_the_last_chunk_when_it_is_asked_for(crazyrouter: Any, answer: Any) -> None:
    chunks = crazyrouter.chunks(answer("Hi"), {"stream_options": {"include_usage": True}})
    assert [chunk["usage"] for chunk in chunks[:-1]] == [None, None, None]
    assert (chunks[-1]["choices"], chunks[-1]["usage"]) == (
        [],
        {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11},
    )


EXTRAS: dict[str, tuple[Any, dict[str, Any]]] = {
    "reasoning": (
        (Reasoning("Hm"), Text("Yes")),
        {"role": "assistant", "content": "Yes", "reasoning_content": "Hm"},
    ),
    "refusal": ((Refusal("No"),), {"role": "assistant", "content": None, "refusal": "No"}),
    "annotations": (
        (Text("Yes", annotations=(NOTE,)),),
        {"role": "assistant", "content": "Yes", "annotations": [NOTE]},
    ),
    "custom tool": (
        (ToolUse(ToolCall("call_1", "sql", "SELECT 1", kind="custom")),),
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "call_1", "type": "custom", "custom": {"name": "sql", "input": "SELECT 1"}}],
        },
    ),
}


@pytest.mark.parametrize(("parts", "message"), EXTRAS.values(), ids=EXTRAS.keys())
def test_what_is_added(
    crazyrouter: Any,
    answer: Any,
    parts: Any,
    message: Any,
    completion_shape: TypeAdapter[Any],
    chunk_shape: TypeAdapter[Any],
) -> None:
    body = json.loads(crazyrouter.render(answer(parts)).body)
    assert body["choices"][0]["message"] == message
    completion_shape.validate_python(body)
    sdk.ChatCompletion.model_validate(body, strict=True)
    for chunk in crazyrouter.chunks(answer(parts)):
        chunk_shape.validate_python(chunk)


def test_reasoning_streams_before_the_text(crazyrouter: Any, answer: Any) -> None:
    chunks = crazyrouter.chunks(answer((Reasoning("Hm"), Text("Yes"))))
    assert [chunk["choices"][0]["delta"] for chunk in chunks] == [
        {"role": "assistant", "content": ""},
        {"reasoning_content": "Hm"},
        {"content": "Yes"},
        {},
    ]


def test_logprobs_only_when_asked_for(crazyrouter: Any, answer: Any) -> None:
    given = answer(Choice((Text("Hi"),), logprobs=(Logprob("Hi", -0.5),)))
    entry = {"token": "Hi", "logprob": -0.5, "bytes": [72, 105], "top_logprobs": []}
    block = {"content": [entry], "refusal": None}
    assert json.loads(crazyrouter.render(given).body)["choices"][0]["logprobs"] == block
    shown = [chunk["choices"][0].get("logprobs") for chunk in crazyrouter.chunks(given)]
    assert shown == [None, block, None]


def test_unknown_fields_go_upstream(crazyrouter: Any) -> None:
    assert crazyrouter.parse({"top_k": 5}, strict=True).raw["top_k"] == 5


ERRORS = [
    ("quota", 403, "insufficient_quota", "insufficient_quota"),
    ("model_not_found", 503, "server_error", "model_not_found"),
    ("invalid_key", 401, "authentication_error", "invalid_api_key"),
    ("rate_limit", 429, "rate_limit_error", "rate_limit_exceeded"),
    ("server_error", 500, "server_error", "get_channel_failed"),
]


@pytest.mark.parametrize(("reason", "status", "kind", "code"), ERRORS)
def test_errors(crazyrouter: Any, reason: str, status: int, kind: str, code: str) -> None:
    reply = crazyrouter.fail(Failure(reason, retry_after=2.0))
    error = json.loads(reply.body)["error"]
    assert (reply.status, error["type"], error["code"]) == (status, kind, code)
    assert list(error) == ["message", "type", "code"]
    headers = dict(reply.headers)
    assert (headers["retry-after"], headers["content-length"]) == ("2", str(len(reply.body)))
    assert headers["x-request-id"].startswith("req_")


def test_the_words_name_the_parameter_as_the_envelope_cannot(crazyrouter: Any) -> None:
    reply = crazyrouter.refuses({"verbosity": "loud"})
    assert json.loads(reply.body)["error"]["message"] == (
        "Invalid value: 'loud'. Supported values are: 'low', 'medium', and 'high'. (parameter: 'verbosity')"
    )
    reply = crazyrouter.refuses({"temperature": "hot"})
    assert json.loads(reply.body)["error"]["message"] == (
        "Invalid type for 'temperature': expected a decimal, but got a string instead."
    )
