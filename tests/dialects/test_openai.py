"""OpenAI on the wire: what is accepted, objects and streams, errors and headers."""

import json
from collections.abc import Callable
from typing import Any

import openai.types.chat as sdk
import pytest
from pydantic import TypeAdapter

from mockserver.core.call import ToolCall
from mockserver.core.plan import Choice, Failure, Logprob, Reasoning, Refusal, Text, ToolUse, Usage

USER = {"role": "user", "content": "hi"}
TOOL = {"type": "function", "function": {"name": "f"}}
ID = "chatcmpl-" + ("Aa1" * 22)[:29]


@pytest.fixture
def openai(speak: Callable[[str], Any]) -> Any:
    return speak("openai")


def test_completion(openai: Any, answer: Any, completion_shape: TypeAdapter[Any]) -> None:
    reply = openai.render(answer("Hi"))
    assert reply.body == (
        b'{"id":"' + ID.encode() + b'","object":"chat.completion","created":1700000000,"model":"gpt-x",'
        b'"choices":[{"index":0,"message":{"role":"assistant","content":"Hi","refusal":null,"annotations":[]},'
        b'"logprobs":null,"finish_reason":"stop"}],'
        b'"usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11,'
        b'"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},'
        b'"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0,'
        b'"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}},'
        b'"service_tier":"default","system_fingerprint":"fp_0123456789"}'
    )
    completion_shape.validate_python(json.loads(reply.body))
    assert (reply.status, reply.tokens, reply.frames) == (200, 2, None)


CALL = ToolUse(ToolCall("call_a", "f", '{"city":1}'), chunks=5)
KINDS: dict[str, Any] = {
    "text": "Hello there",
    "calls": (CALL, ToolUse(ToolCall("call_b", "g", "{}"))),
    "text and call": (Text("Let me see."), CALL),
    "refusal": (Refusal("I cannot help with that."),),
    "reasoning": (Reasoning("Thinking it over"), Text("Yes")),
    "annotations": (
        Text(
            "See here",
            annotations=(
                {"type": "url_citation", "url_citation": {"start_index": 0, "end_index": 3, "title": "t", "url": "u"}},
            ),
        ),
    ),
    "logprobs": Choice(
        (Text("Hello there"),), logprobs=(Logprob("Hello", -0.1, (("Hi", -1.0),)), Logprob(" there", -0.2))
    ),
    "nothing": (),
}


@pytest.mark.parametrize("choice", KINDS.values(), ids=KINDS.keys())
@pytest.mark.parametrize("finish", ["stop", "length", "content_filter", "tool_calls"])
def test_objects_are_what_the_official_client_expects(
    openai: Any,
    answer: Any,
    choice: Any,
    finish: str,
    completion_shape: TypeAdapter[Any],
    chunk_shape: TypeAdapter[Any],
) -> None:
    given = answer(choice, "another", finish=finish, usage=Usage(9, 2, 1, 3))
    body = json.loads(openai.render(given).body)
    completion_shape.validate_python(body)
    sdk.ChatCompletion.model_validate(body, strict=True)
    chunks = openai.chunks(given, {"stream_options": {"include_usage": True}})
    for chunk in chunks:
        chunk_shape.validate_python(chunk)
        sdk.ChatCompletionChunk.model_validate(chunk, strict=True)
    assert joined(chunks, 0) == {k: v for k, v in body["choices"][0]["message"].items() if v not in (None, [])}
    assert chunks[-1]["usage"] == body["usage"]


def joined(chunks: list[Any], index: int) -> dict[str, Any]:
    """The message that a client builds from the deltas of one choice."""
    message: dict[str, Any] = {}
    calls: list[dict[str, Any]] = []
    for chunk in chunks:
        for choice in chunk["choices"]:
            if choice["index"] == index:
                for key, value in choice["delta"].items():
                    if key == "tool_calls":
                        _fragment(calls, value[0])
                    elif value:
                        message[key] = message.get(key, type(value)()) + value
    return message | ({"tool_calls": calls} if calls else {})


def _fragment(calls: list[dict[str, Any]], fragment: dict[str, Any]) -> None:
    if "id" in fragment:
        assert fragment["index"] == len(calls)
        calls.append({key: fragment[key] for key in ("id", "type", "function")})
    else:
        assert fragment["index"] == len(calls) - 1
        assert set(fragment) == {"index", "function"}
        calls[-1]["function"]["arguments"] += fragment["function"]["arguments"]


def test_stream(openai: Any, answer: Any) -> None:
    head = (
        '{"id":"' + ID + '","object":"chat.completion.chunk","created":1700000000,"model":"gpt-x",'
        '"service_tier":"default","system_fingerprint":"fp_0123456789","choices":[{"index":0,"delta":'
    )
    frames = [frame.data.decode() for frame in openai.frames(answer("Hello there"))]
    assert frames == [
        head + '{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}]}',
        head + '{"content":"Hello"},"logprobs":null,"finish_reason":null}]}',
        head + '{"content":" there"},"logprobs":null,"finish_reason":null}]}',
        head + '{},"logprobs":null,"finish_reason":"stop"}]}',
        "[DONE]",
    ]


def test_stream_of_a_tool_call(openai: Any, answer: Any) -> None:
    chunks = openai.chunks(answer((CALL,), finish="tool_calls"))
    assert [chunk["choices"][0]["delta"] for chunk in chunks] == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"index": 0, "id": "call_a", "type": "function", "function": {"name": "f", "arguments": ""}}
            ],
        },
        {"tool_calls": [{"index": 0, "function": {"arguments": '{"cit'}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": 'y":1}'}}]},
        {},
    ]
    assert chunks[-1]["choices"][0]["finish_reason"] == "tool_calls"


def test_usage_in_a_stream_when_it_is_asked_for(openai: Any, answer: Any) -> None:
    chunks = openai.chunks(answer("Hi"), {"stream_options": {"include_usage": True}})
    assert [chunk["usage"] for chunk in chunks[:-1]] == [None, None, None]
    assert (chunks[-1]["choices"], chunks[-1]["usage"]["total_tokens"]) == ([], 11)


def test_reasoning_is_only_counted(openai: Any, answer: Any) -> None:
    given = answer((Reasoning("Let me think about it"), Text("Yes")), usage=Usage(9, 6, reasoning=5))
    body = json.loads(openai.render(given).body)
    assert body["choices"][0]["message"]["content"] == "Yes"
    assert body["usage"]["completion_tokens_details"]["reasoning_tokens"] == 5
    assert b"think" not in b"".join(frame.data for frame in openai.frames(given))
    assert [frame.tokens for frame in openai.frames(given)] == [0, 6, 0, 0]


@pytest.mark.parametrize(("asked", "served"), [(None, "default"), ("auto", "default"), ("flex", "flex")])
def test_service_tier(openai: Any, answer: Any, asked: str | None, served: str) -> None:
    assert json.loads(openai.render(answer("Hi"), {"service_tier": asked}).body)["service_tier"] == served


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


def test_headers_of_a_stream(openai: Any, answer: Any) -> None:
    headers = dict(openai.render(answer("Hi"), {"stream": True}).headers)
    assert headers["content-type"] == "text/event-stream; charset=utf-8"
    assert headers["cache-control"] == "no-cache"
    assert headers["connection"] == "keep-alive"
    assert headers["x-accel-buffering"] == "no"
    assert "content-length" not in headers
    assert headers["x-request-id"].startswith("req_")


def test_headers_of_a_rule_win(openai: Any, answer: Any) -> None:
    headers = openai.render(answer("Hi", headers=(("X-Request-Id", "mine"), ("x-more", "1")))).headers
    assert [value for name, value in headers if name.lower() == "x-request-id"] == ["mine"]
    assert ("x-more", "1") in headers


def test_rate_limit(openai: Any) -> None:
    reply = openai.fail(Failure("rate_limit", retry_after=1.5), openai.parse({}))
    assert reply.status == 429
    assert json.loads(reply.body)["error"] == {
        "message": "Rate limit reached for gpt-x in organization mockserver on requests per min (RPM): Limit 60, "
        "Used 60, Requested 1. Please try again in 1.5s. "
        "Visit https://platform.openai.com/account/rate-limits to learn more.",
        "type": "requests",
        "param": None,
        "code": "rate_limit_exceeded",
    }
    headers = dict(reply.headers)
    assert (headers["retry-after"], headers["retry-after-ms"]) == ("1.5", "1500")
    assert headers["x-ratelimit-remaining-requests"] == headers["x-ratelimit-remaining-tokens"] == "0"
    assert headers["x-ratelimit-reset-requests"] == "1.5s"


def test_an_error_waits_only_if_it_says_so(openai: Any) -> None:
    headers = dict(openai.fail(Failure("overloaded")).headers)
    assert {"retry-after", "retry-after-ms", "x-ratelimit-limit-requests"}.isdisjoint(headers)


def test_the_key_is_never_told(openai: Any) -> None:
    body = openai.fail(Failure("invalid_key")).body.decode()
    assert "sk-test-0123456789abcdef" not in body
    assert "Incorrect API key provided: sk-te***************cdef. You can find" in body


@pytest.mark.parametrize(("operation", "param"), [("chat", "messages"), ("responses", "input")])
def test_a_long_prompt_is_told_of_where_it_stands(speak: Callable[[str], Any], operation: str, param: str) -> None:
    openai = speak("openai")
    call = openai.parse({}) if operation == "chat" else openai.responses({})
    assert json.loads(openai.fail(Failure("context_length"), call).body)["error"]["param"] == param
    stated = Failure("context_length", param="messages")
    assert json.loads(openai.fail(stated, call).body)["error"]["param"] == "messages"
