"""Texts for patterns: they match, they are short, and they are the same everywhere."""

import re

import pytest

from mockserver.core.seed import Seed
from mockserver.engine.generate.pattern import matching

PATTERNS = [
    "^[A-Z]{3}$",
    "^[0-9]+$",
    "abc",
    "^(foo|bar)$",
    r"^\d{3}-\d{4}$",
    r"^[^@\s]+@[^@\s]+\.[a-z]{2,}$",
    "^a{200}$",
    r"^(\w)\1$",
    "^$",
    r"^[a-z]+(-[a-z]+)*$",
    r"^(?:[01]\d|2[0-3]):[0-5]\d$",
    ".*",
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_text_matches(pattern: str) -> None:
    for number in range(20):
        text = matching(pattern, Seed(number).stream("x"))
        assert text is not None
        assert re.search(pattern, text)
        assert len(text) <= 400


@pytest.mark.parametrize(
    "pattern", [r"^\p{L}+$", "(", "((a{1000}){1000}){1000}", "(" * 5000 + ")" * 5000, "[^ -~\\s\\w-]"]
)
def test_what_cannot_be_written_is_none(pattern: str) -> None:
    assert matching(pattern, Seed(0).stream("x")) is None


def test_the_text_is_the_same_everywhere() -> None:
    made = [matching(pattern, Seed(7).stream("x")) for pattern in PATTERNS]
    assert made[:5] == ["FMJ", "2", "abc", "foo", "264-1164"]
