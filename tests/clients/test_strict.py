"""The checks of tests.kit.strict fail where they should."""

import json
from collections.abc import Callable
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
TEXT: dict[str, Any] = filled(
    {"id": f"cmpl-{'a' * 29}", "choices": [{"text": "x"}], "usage": "1 + 1"}, USUAL["openai"]["text"]
)
CHOICE, SAID = COMPLETION["choices"][0], {"text": "x", "index": 0, "logprobs": None, "finish_reason": "stop"}
WRONG: list[tuple[dict[str, Any], tuple[Callable[[bytes, str], None], ...], list[dict[str, Any]]]] = [
    (
        COMPLETION,
        (check_completion,),
        [
            {"created": 1.0}, {"created": "1"}, {"object": "chat.completion.chunk"}, {"surprise": 1},
            {"choices": [{**CHOICE, "finish_reason": None}]},
            {"choices": [{**CHOICE, "message": {"role": "assistant"}}]},
            {"choices": [{**CHOICE, "content_filter_results": {}}]},
            {"prompt_filter_results": []}, {"usage": {"prompt_tokens": 1, "completion_tokens": 1}},
        ],
    ),
    (
        CHUNK,
        (check_chunk,),
        [
            {"object": "chat.completion"}, {"surprise": 1},
            {"choices": [{"index": 0, "delta": {"content": 1}, "finish_reason": None}]},
            {"choices": [{"index": 0, "delta": {"tool_calls": [{"function": {}}]}, "finish_reason": None}]},
            {"choices": [{"delta": {}, "finish_reason": None}]},
        ],
    ),
    (
        TEXT,
        (check_text, check_text_chunk),
        [
            {"created": "1"}, {"object": "chat.completion"}, {"surprise": 1},
            {"choices": [{**SAID, "finish_reason": "tool_calls"}]},
            {"choices": [{"text": "x", "logprobs": None, "finish_reason": "stop"}]},
            {"choices": [{**SAID, "logprobs": {"tokens": ["x"]}}]},
        ],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("right", "checks", "wrong"), WRONG)
def test_wrong_objects_are_rejected(right: dict[str, Any], checks: Any, wrong: list[dict[str, Any]]) -> None:
    for check in checks:
        check(json.dumps(right).encode(), "openai")
        for change in wrong:
            with pytest.raises((ValueError, AssertionError)):
                check(json.dumps({**right, **change}).encode(), "openai")


def test_frames() -> None:
    assert frames(b'data: {"a":1}\n\ndata: [DONE]\n\n') == [b'{"a":1}', b"[DONE]"]


@pytest.mark.parametrize(
    "stream", [b"data:x\n\n", b"data:  x\n\n", b": ping\n\n", b"data: x\r\n\r\n", b"event: a\ndata: x\n\n", b"\n\n"]
)
def test_frames_that_a_strict_client_cannot_read(stream: bytes) -> None:
    with pytest.raises(AssertionError):
        frames(stream)
