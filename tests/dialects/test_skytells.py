"""Skytells on the wire: filter results everywhere, its first chunk, its key header, its errors."""

import json
from collections.abc import Callable
from typing import Any

import openai.types.chat as sdk
import pytest
from pydantic import TypeAdapter

from mockserver.core.call import ToolCall
from mockserver.core.plan import Choice, Failure, Logprob, Refusal, Text, ToolUse, Usage, Verdict

SAFE = {"filtered": False, "severity": "safe"}
UNSEEN = {"detected": False, "filtered": False}
HARMS = {"hate": SAFE, "self_harm": SAFE, "sexual": SAFE, "violence": SAFE}
COMPLETION = {**HARMS, "protected_material_code": UNSEEN, "protected_material_text": UNSEEN}
PROMPT = {"prompt_index": 0, "content_filter_results": {**HARMS, "jailbreak": UNSEEN}}


@pytest.fixture
def skytells(speak: Callable[[str], Any]) -> Any:
    return speak("skytells")


def ordered(value: Any) -> str:
    """JSON text, so that the order of keys is compared too."""
    return json.dumps(value)


def test_completion(skytells: Any, answer: Any, completion_shape: TypeAdapter[Any]) -> None:
    body = json.loads(skytells.render(answer("Hi")).body)
    assert ordered(body) == ordered(
        {
            "id": "chatcmpl-Aa1Aa1Aa1Aa1Aa1Aa1Aa1Aa1Aa1Aa",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": "gpt-x",
            "system_fingerprint": None,
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": "Hi", "refusal": None, "annotations": []},
                    "finish_reason": "stop",
                    "logprobs": None,
                    "content_filter_results": COMPLETION,
                }
            ],
            "prompt_filter_results": [PROMPT],
            "usage": {
                "prompt_tokens": 9,
                "completion_tokens": 2,
                "total_tokens": 11,
                "completion_tokens_details": {
                    "reasoning_tokens": 0,
                    "audio_tokens": 0,
                    "accepted_prediction_tokens": 0,
                    "rejected_prediction_tokens": 0,
                },
                "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
            },
        }
    )
    completion_shape.validate_python(body)
    sdk.ChatCompletion.model_validate(body, strict=True)


def chunk(delta: Any, finish: str | None = None, *, seen: Any = COMPLETION, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None, "content_filter_results": seen}
    return {
        "id": "chatcmpl-Aa1Aa1Aa1Aa1Aa1Aa1Aa1Aa1Aa1Aa",
        "object": "chat.completion.chunk",
        "created": 1_700_000_000,
        "model": "gpt-x",
        "system_fingerprint": None,
        "choices": [choice],
        **more,
        "usage": None,
    }


def test_stream(skytells: Any, answer: Any, chunk_shape: TypeAdapter[Any]) -> None:
    chunks = skytells.chunks(answer("Hello there"))
    assert ordered(chunks) == ordered(
        [
            chunk({}, prompt_filter_results=[PROMPT]),
            chunk({"role": "assistant", "content": "Hello"}),
            chunk({"content": " there"}),
            chunk({}, "stop"),
        ]
    )
    for one in chunks:
        chunk_shape.validate_python(one)
        sdk.ChatCompletionChunk.model_validate(one, strict=True)


CALL = ToolUse(ToolCall("call_a", "f", "{}"))
FIRST = {"index": 0, "id": "call_a", "type": "function", "function": {"name": "f", "arguments": ""}}
ROLES: dict[str, tuple[Any, Any]] = {
    "call": ((CALL,), {"role": "assistant", "tool_calls": [FIRST]}),
    "refusal": ((Refusal("No"),), {"role": "assistant", "refusal": "No"}),
    "nothing": ((), {"role": "assistant", "content": ""}),
    "annotated": ((Text("Yes", annotations=({"type": "x"},)),), {"role": "assistant", "content": "Yes"}),
    "logprobs": (Choice((Text("Yes"),), logprobs=(Logprob("Yes", -1.0),)), {"role": "assistant", "content": "Yes"}),
}


@pytest.mark.parametrize(("choice", "delta"), ROLES.values(), ids=ROLES.keys())
def test_the_role_rides_on_the_second_chunk(skytells: Any, answer: Any, choice: Any, delta: Any) -> None:
    chunks = skytells.chunks(answer(choice))
    assert [one["choices"][0]["delta"] for one in chunks[:2]] == [{}, delta]
    for one in chunks:
        choice = one["choices"][0]
        assert choice["logprobs"] is None
        assert choice["delta"].get("content", "") is not None
        assert "annotations" not in choice["delta"]
        assert "role" not in choice["delta"] or one is chunks[1]


def test_several_choices_open_in_order(skytells: Any, answer: Any) -> None:
    chunks = skytells.chunks(answer("a", "b"))
    assert [(one["choices"][0]["index"], one["choices"][0]["delta"]) for one in chunks] == [
        (0, {}),
        (1, {}),
        (0, {"role": "assistant", "content": "a"}),
        (1, {"role": "assistant", "content": "b"}),
        (0, {}),
        (1, {}),
    ]
    assert ["prompt_filter_results" in one for one in chunks] == [True] + [False] * 5


def test_usage_has_a_chunk_of_its_own_when_it_is_asked_for(skytells: Any, answer: Any) -> None:
    chunks = skytells.chunks(answer("Hi"), {"stream_options": {"include_usage": True}})
    assert [one["usage"] for one in chunks[:-1]] == [None] * 3
    assert (chunks[-1]["choices"], chunks[-1]["usage"]["total_tokens"]) == ([], 11)


def test_a_trip_in_the_completion(skytells: Any, answer: Any) -> None:
    safety = (Verdict("violence", "high", filtered=True), Verdict("hate", "low"))
    given = answer(Choice((Text("Half of"),), finish="content_filter", safety=safety))
    tripped = {**COMPLETION, "hate": {"filtered": False, "severity": "low"}}
    final = {**tripped, "violence": {"filtered": True, "severity": "high"}}
    assert json.loads(skytells.render(given).body)["choices"][0]["content_filter_results"] == final
    shown = [one["choices"][0]["content_filter_results"] for one in skytells.chunks(given)]
    assert shown == [tripped, tripped, tripped, final]


def test_what_the_filter_saw_in_the_prompt(skytells: Any, answer: Any) -> None:
    given = answer("Hi", prompt_safety=(Verdict("jailbreak", detected=True), Verdict("sexual", "medium")))
    seen = {
        **HARMS,
        "sexual": {"filtered": False, "severity": "medium"},
        "jailbreak": {"detected": True, "filtered": False},
    }
    expected = [{"prompt_index": 0, "content_filter_results": seen}]
    assert json.loads(skytells.render(given).body)["prompt_filter_results"] == expected
    assert skytells.chunks(given)[0]["prompt_filter_results"] == expected


def test_a_filtered_prompt_is_refused(skytells: Any) -> None:
    failure = Failure("content_filter", details={"safety": (Verdict("hate", "high", filtered=True),)})
    reply = skytells.fail(failure, skytells.parse({}))
    error = json.loads(reply.body)["error"]
    seen = {**HARMS, "hate": {"filtered": True, "severity": "high"}, "jailbreak": UNSEEN}
    assert ordered(error) == ordered(
        {
            "message": "The prompt was filtered: it triggered the content policy.",
            "type": "invalid_request_error",
            "code": "content_filter",
            "error_id": "CONTENT_FILTERED",
            "status": 400,
            "param": "messages",
            "request_id": dict(reply.headers)["x-request-id"],
            "details": {
                "category": "content_filter",
                "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": seen}],
            },
        }
    )


ERRORS = [
    (Failure("invalid_key"), 401, "authentication_error", "UNAUTHORIZED", "authentication"),
    (Failure("forbidden"), 403, "permission_error", "FORBIDDEN", "permission"),
    (Failure("bad_json"), 400, "invalid_request_error", "INVALID_REQUEST", "request"),
    (Failure("bad_parameter"), 400, "invalid_request_error", "INVALID_PARAMETER", "request"),
    (Failure("rate_limit"), 429, "rate_limit_error", "RATE_LIMIT_EXCEEDED", "rate_limit"),
    (Failure("server_error"), 500, "server_error", "INTERNAL_ERROR", "server"),
    (Failure("who knows", status=418), 418, "invalid_request_error", "INVALID_REQUEST", "request"),
    (Failure("who knows", status=599), 599, "server_error", "INTERNAL_ERROR", "server"),
]


@pytest.mark.parametrize(("failure", "status", "kind", "error_id", "category"), ERRORS)
def test_errors(skytells: Any, failure: Failure, status: int, kind: str, error_id: str, category: str) -> None:
    reply = skytells.fail(failure)
    error = json.loads(reply.body)["error"]
    assert (reply.status, error["status"]) == (status, status)
    assert (error["type"], error["error_id"], error["details"]) == (kind, error_id, {"category": category})


def test_retry_after(skytells: Any) -> None:
    headers = dict(skytells.fail(Failure("rate_limit", retry_after=20)).headers)
    assert headers["retry-after"] == "20"
    assert "retry-after-ms" not in headers


@pytest.mark.parametrize(
    ("headers", "key"),
    [
        ({"x-api-key": "k"}, "k"),
        ({"authorization": "Bearer b"}, "b"),
        ({"x-api-key": "k", "authorization": "Bearer b"}, "k"),
        ({"x-api-key": " "}, None),
        ({}, None),
    ],
)
def test_credential(skytells: Any, headers: dict[str, str], key: str | None) -> None:
    assert skytells.dialect.credential(skytells.request(headers=headers)) == key


@pytest.mark.parametrize(
    ("query", "body", "streams"),
    [
        ({"stream": "true"}, {}, True),
        ({"stream": "True"}, {"stream": False}, True),
        ({"stream": "true"}, {"stream_options": {"include_usage": True}}, True),
        ({"stream": "false"}, {}, False),
        ({"stream": "1"}, {}, False),
        ({}, {"stream": True}, True),
    ],
)
def test_stream_in_the_query(skytells: Any, query: dict[str, str], body: dict[str, Any], streams: bool) -> None:
    call = skytells.parse(body, query=query)
    assert call.stream is streams
    assert call.fingerprint == skytells.parse({}).fingerprint


def test_reasoning_is_only_counted(skytells: Any, answer: Any) -> None:
    body = json.loads(skytells.render(answer("Yes", usage=Usage(9, 6, reasoning=5))).body)
    assert body["usage"]["completion_tokens_details"]["reasoning_tokens"] == 5
