"""The checks that the witness makes: a test that cannot fail is a defect, so here they do."""

import json
from typing import Any

import pytest

from tests.dialects.usual import USUAL, filled
from tests.kit.strict import check_chunk, check_completion, check_text, check_text_chunk, frames

COMPLETION: dict[str, Any] = filled(
    {"id": "chatcmpl-" + "a" * 29, "choices": [{"message": {"content": "x"}}], "usage": "1 + 1"},
    USUAL["openai"]["chat"],
)
CHUNK: dict[str, Any] = {
    **{key: COMPLETION[key] for key in ("id", "object", "created", "model", "service_tier", "system_fingerprint")},
    "object": "chat.completion.chunk",
    "choices": [{"index": 0, "delta": {"content": "x"}, "logprobs": None, "finish_reason": None}],
}


def test_what_is_right_passes() -> None:
    check_completion(json.dumps(COMPLETION).encode(), "openai")
    check_chunk(json.dumps(CHUNK).encode(), "openai")


@pytest.mark.parametrize(
    "wrong",
    [
        {"created": 1.0},
        {"created": "1"},
        {"object": "chat.completion.chunk"},
        {"surprise": 1},
        {"choices": [{**COMPLETION["choices"][0], "finish_reason": None}]},
        {"choices": [{**COMPLETION["choices"][0], "message": {"role": "assistant"}}]},
        {"choices": [{**COMPLETION["choices"][0], "content_filter_results": {}}]},
        {"prompt_filter_results": []},
        {"usage": {"prompt_tokens": 1, "completion_tokens": 1}},
    ],
)
def test_what_is_wrong_in_a_completion_does_not(wrong: dict[str, Any]) -> None:
    with pytest.raises((ValueError, AssertionError)):
        check_completion(json.dumps({**COMPLETION, **wrong}).encode(), "openai")


@pytest.mark.parametrize(
    "wrong",
    [
        {"object": "chat.completion"},
        {"surprise": 1},
        {"choices": [{"index": 0, "delta": {"content": 1}, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {"tool_calls": [{"function": {"arguments": ""}}]}, "finish_reason": None}]},
        {"choices": [{"delta": {}, "finish_reason": None}]},
    ],
)
def test_what_is_wrong_in_a_chunk_does_not(wrong: dict[str, Any]) -> None:
    with pytest.raises((ValueError, AssertionError)):
        check_chunk(json.dumps({**CHUNK, **wrong}).encode(), "openai")


def test_frames() -> None:
    assert frames(b'data: {"a":1}\n\ndata: [DONE]\n\n') == [b'{"a":1}', b"[DONE]"]


@pytest.mark.parametrize(
    "stream", [b"data:x\n\n", b"data:  x\n\n", b": ping\n\n", b"data: x\r\n\r\n", b"event: a\ndata: x\n\n", b"\n\n"]
)
def test_frames_that_a_strict_client_cannot_read(stream: bytes) -> None:
    with pytest.raises(AssertionError):
        frames(stream)


TEXT: dict[str, dict[str, Any]] = {
    dialect: filled({"id": name, "choices": [{"text": "x"}], "usage": "1 + 1"}, USUAL[dialect]["text"])
    for dialect, name in (("openai", f"cmpl-{'a' * 29}"), ("fireworks", f"cmpl-{'a' * 24}"))
}


@pytest.mark.parametrize("dialect", ["openai", "fireworks"])
def test_a_text_completion(dialect: str) -> None:
    check_text(json.dumps(TEXT[dialect]).encode(), dialect)
    check_text_chunk(json.dumps({**TEXT[dialect], "usage": None}).encode(), dialect)


@pytest.mark.parametrize(
    "wrong",
    [
        {"created": "1"},
        {"object": "chat.completion"},
        {"surprise": 1},
        {"choices": [{"text": "x", "index": 0, "logprobs": None, "finish_reason": "tool_calls"}]},
        {"choices": [{"text": "x", "logprobs": None, "finish_reason": "stop"}]},
        {"choices": [{"text": "x", "index": 0, "logprobs": {"tokens": ["x"]}, "finish_reason": "stop"}]},
    ],
)
@pytest.mark.parametrize("dialect", ["openai", "fireworks"])
def test_what_is_wrong_in_a_text_completion_does_not(dialect: str, wrong: dict[str, Any]) -> None:
    body = json.dumps({**TEXT[dialect], **wrong}).encode()
    for check in (check_text, check_text_chunk):
        with pytest.raises((ValueError, AssertionError)):
            check(body, dialect)
