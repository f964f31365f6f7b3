"""The closed schema of completions, field by field."""

from typing import Any

import pytest
from pydantic import ValidationError

from mockserver.dialects.fireworks.models import CHAT, COMPLETION, COMPLETION_FIELDS

BASE = {"model": "m", "prompt": "p"}
NULLABLE = COMPLETION_FIELDS - {
    *("model", "prompt", "n", "service_tier", "ignore_eos", "context_length_exceeded_behavior"),
}


def errors(**body: Any) -> list[tuple[Any, ...]]:
    with pytest.raises(ValidationError) as caught:
        COMPLETION.validate_python({**BASE, **body})
    return [(*details["loc"], details["type"]) for details in caught.value.errors()]


def test_it_has_the_fields_of_the_seed() -> None:
    assert len(COMPLETION_FIELDS) == 40
    assert {"echo_last", "typical_p", "images", "prompt_cache_isolation_key", "speculation"} <= COMPLETION_FIELDS
    assert not {"stream_options", "best_of", "suffix", "messages", "tools"} & COMPLETION_FIELDS


@pytest.mark.parametrize("field", sorted(NULLABLE))
def test_null_is_fine(field: str) -> None:
    COMPLETION.validate_python({**BASE, field: None})


@pytest.mark.parametrize("field", sorted(COMPLETION_FIELDS - NULLABLE))
def test_null_is_not(field: str) -> None:
    assert {error[0] for error in errors(**{field: None})} == {field}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"n": 0, "foo": 1}, [("n", "greater_than_equal"), ("foo", "extra_forbidden")]),
        ({"logprobs": 6}, [("logprobs", "int", "less_than_equal"), ("logprobs", "bool", "bool_parsing")]),
        ({"top_logprobs": -1}, [("top_logprobs", "greater_than_equal")]),
        ({"stop": 1}, [("stop", "str", "string_type"), ("stop", "list[str]", "list_type")]),
        (
            {"speculation": [1, "x"]},
            [("speculation", "str", "string_type"), ("speculation", "list[int]", 1, "int_parsing")],
        ),
        (
            {"images": [["a"], [1]]},
            [
                ("images", "list[str]", 0, "string_type"),
                ("images", "list[list[str]]", 1, 0, "string_type"),
            ],
        ),
        (
            {"reasoning_effort": []},
            [
                ("reasoning_effort", "literal['low','medium','high','xhigh','max','none']", "literal_error"),
                ("reasoning_effort", "int", "int_type"),
                ("reasoning_effort", "bool", "bool_type"),
            ],
        ),
        (
            {"prediction": {"content": [{"text": "x"}], "more": 1}},
            [
                ("prediction", "PredictedOutput", "content", "str", "string_type"),
                ("prediction", "PredictedOutput", "content", "list[ChatMessageContent]", 0, "type", "missing"),
                ("prediction", "PredictedOutput", "more", "extra_forbidden"),
                ("prediction", "str", "string_type"),
            ],
        ),
        (
            {"prediction": {"type": "text"}},
            [
                ("prediction", "PredictedOutput", "content", "missing"),
                ("prediction", "PredictedOutput", "type", "literal_error"),
                ("prediction", "str", "string_type"),
            ],
        ),
        ({"response_format": {"type": "grammar"}}, [("response_format", "value_error")]),
        ({"response_format": {}}, [("response_format", "type", "missing")]),
        ({"metadata": {"a": 1}}, [("metadata", "a", "string_type")]),
    ],
)
def test_what_is_refused(body: Any, expected: list[tuple[Any, ...]]) -> None:
    assert errors(**body) == expected


@pytest.mark.parametrize(
    "body",
    [
        {"thinking": {"type": "enabled", "budget_tokens": 1024, "keep": "all", "budget_end_str": ""}},
        {"thinking": {"type": "disabled"}},
        {"reasoning_effort": True},
        {"reasoning_effort": 5},
        {"reasoning_effort": "xhigh"},
        {"response_format": {"type": "json_object", "schema": {"type": "object"}}},
        {"response_format": {"type": "json_schema", "schema": "{}"}},
        {"response_format": {"type": "grammar", "grammar": "root"}},
        {
            "prediction": {
                "content": [{"type": "video_url", "video_url": {"url": "u", "max_frames": 2, "sample_fps": 1.5}}]
            }
        },
        {"images": ["a"]},
        {"prompt": [[1, 2], [3]]},
        {"max_tokens": -1},
    ],
)
def test_what_is_fine(body: Any) -> None:
    COMPLETION.validate_python({**BASE, **body})


def test_a_chat_is_not_closed() -> None:
    CHAT.validate_python({"model": "m", "messages": [{"role": "user", "content": "x"}], "foo": 1})
