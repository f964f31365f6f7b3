"""The 422s: lists of details as FastAPI writes them."""

import json
from typing import Any

import pytest

from mockserver.core.http import HttpRequest
from mockserver.core.plan import Failure
from mockserver.core.validation import Validation
from mockserver.dialects._parse import Complaint
from mockserver.dialects.fireworks.bodies import CHAT, COMPLETION
from mockserver.dialects.fireworks.request import read_body_object, read_with_details, refuse, shorten


def details(body: Any, adapter: Any = COMPLETION) -> Any:
    with pytest.raises(Failure) as caught:
        read_with_details(adapter, body, Validation.PUBLISHED)
    assert caught.value.status == 422
    return caught.value.details["detail"]


def unread(body: bytes, media: bytes = b"application/json") -> Any:
    with pytest.raises(Failure) as caught:
        read_body_object(HttpRequest("POST", "/completions", headers=((b"content-type", media),), body=body))
    (detail,) = caught.value.details["detail"]
    return detail


def test_a_detail_has_all_that_pydantic_says() -> None:
    assert details({"model": "m", "prompt": "p", "n": 0}) == [
        {
            "loc": ["body", "n"],
            "msg": "Input should be greater than or equal to 1",
            "type": "greater_than_equal",
            "input": 0,
            "ctx": {"ge": 1},
        }
    ]


def test_exceptions_are_empty_objects_and_objects_are_models() -> None:
    first = details({"model": "m", "prompt": "p", "response_format": {"type": "json_schema"}})[0]
    assert first["ctx"] == {"error": {}}
    kinds = [detail["type"] for detail in details({"model": "m", "prompt": "p", "response_format": 1, "metadata": 1})]
    assert kinds == ["model_attributes_type", "dict_type"]


def test_labels_of_openai_are_spelled_as_types() -> None:
    found = details({"model": "m", "messages": [{"role": "user", "content": 1}]}, CHAT)
    assert [detail["loc"][-1] for detail in found] == ["str", "list[dict[str,any]]"]


@pytest.mark.parametrize(
    ("body", "at", "error"),
    [
        (b'{"a":1,}', 7, "Expecting property name enclosed in double quotes"),
        (b'{"a" 1}', 5, "Expecting ':' delimiter"),
        (b"{a:1}", 1, "Expecting property name enclosed in double quotes"),
        (b'{"a":1} x', 8, "Extra data"),
        (b'{"a":1 "b":2}', 7, "Expecting ',' delimiter"),
        (b'\n\n {"a":', 8, "Expecting value"),
        (b'{"\xc3\xa9":1 2}', 7, "Expecting ',' delimiter"),
        (b'{"a":1,"a":2}', 11, 'Detected duplicate key "a" at line 1 column 12'),
    ],
)
def test_broken_json(body: bytes, at: int, error: str) -> None:
    assert unread(body) == {
        "loc": ["body", at],
        "msg": "JSON decode error",
        "type": "json_invalid",
        "input": {},
        "ctx": {"error": error},
    }


@pytest.mark.parametrize(
    ("body", "media", "kind", "value"),
    [
        (b"", b"application/json", "missing", None),
        (b"[1]", b"application/json", "model_attributes_type", [1]),
        (b'"x"', b"application/json", "model_attributes_type", "x"),
        (b"{}", b"text/plain", "model_attributes_type", "{}"),
    ],
)
def test_what_is_no_object(body: bytes, media: bytes, kind: str, value: Any) -> None:
    detail = unread(body, media)
    assert (detail["loc"], detail["type"], detail["input"]) == (["body"], kind, value)


def test_an_exclusion() -> None:
    failure = refuse(Complaint("conflict", ("a", 0), got=1, message="no"))
    assert failure.details["detail"] == [
        {"loc": ["body", "a", 0], "msg": "Value error, no", "type": "value_error", "input": 1, "ctx": {"error": {}}}
    ]


@pytest.mark.parametrize("value", ["x" * 10**6, [1] * 10**5, {str(n): n for n in range(10**5)}, 10**300])
def test_long_values_are_quoted_shortened(value: Any) -> None:
    assert len(json.dumps(shorten(value))) < 2000


def test_of_endlessly_many_unknown_keys_some_are_told() -> None:
    assert len(details({"model": "m", "prompt": "p", **{f"k{n}": n for n in range(10_000)}})) == 100
