"""Texts and lists of them: how they are written, and what they come to."""

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from mockserver.config.types import Hosts, Origins, Several, Token, texts


def test_a_list_may_be_one_text() -> None:
    assert texts("a, b,,") == texts(["a", "b"]) == ("a", "b")


@pytest.mark.parametrize(
    ("kind", "written", "value"),
    [
        (Hosts, "Mock.test, *.corp, [::1], ::1, 10.0.0.1, *", ("mock.test", "*.corp", "::1", "::1", "10.0.0.1", "*")),
        (
            Origins,
            ["https://App.example/", "*", "http://localhost:80"],
            ("https://app.example", "*", "http://localhost"),
        ),
        (Several, "a, b", ("a, b",)),
        (Several, ["a", "b"], ("a", "b")),
        (Token, "sesame-1", "sesame-1"),
    ],
)
def test_a_value(kind: Any, written: Any, value: Any) -> None:
    assert TypeAdapter(kind).validate_python(written) == value


@pytest.mark.parametrize(
    ("kind", "written", "complaint"),
    [
        (Hosts, 3, "a list of texts"),
        (Hosts, ["a", 3], "valid string"),
        (Hosts, ["a/b"], "a list of host names without ports"),
        (Hosts, ["a*"], "a list of host names without ports"),
        (Origins, ["app.example"], "a list of origins, such as https://app.example, or \\*"),
        (Origins, ["null"], "a list of origins, such as https://app.example, or \\*"),
        (Token, "open sesame", "printable ASCII without spaces"),
    ],
)
def test_a_value_that_cannot_be(kind: Any, written: Any, complaint: str) -> None:
    with pytest.raises(ValidationError, match=complaint):
        TypeAdapter(kind).validate_python(written)
