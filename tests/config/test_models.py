"""What is written of models, and what it comes to."""

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from mockserver.config.models_and_limits import Model, Models


@pytest.mark.parametrize(
    ("written", "models"),
    [
        (["a*"], {"a*": Model()}),
        ("a, b", {"a": Model(), "b": Model()}),
        ({"a": None, "b": {"context_window": 9}}, {"a": Model(), "b": Model(context_window=9)}),
        ({"a": {"aliases": "b"}}, {"a": Model(aliases=("b",))}),
    ],
)
def test_models(written: Any, models: Any) -> None:
    assert TypeAdapter(Models).validate_python(written) == models


@pytest.mark.parametrize(
    ("written", "complaint"),
    [
        (3, "a list of texts"),
        ([3], "valid string"),
        ({"a": 3}, "a table that gives each name a table of properties"),
        ({"a": {"window": 3}}, "Extra inputs are not permitted"),
        ({"a": {"aliases": "b"}, "b": None}, "is already the name of a model"),
    ],
)
def test_what_are_no_models(written: Any, complaint: str) -> None:
    with pytest.raises(ValidationError, match=complaint):
        TypeAdapter(Models).validate_python(written)
