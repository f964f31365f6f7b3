"""Texts for patterns: they match, they are short or as long as asked, and they are the same everywhere."""

import re
from math import inf

import pytest

from mockserver.core.seed import Seed
from mockserver.model.patterns.regex import matching
from mockserver.model.schema.compiled import matches

PATTERNS = [
    "^[A-Z]{3}$",
    "^[0-9]+$",
    "abc",
    "^(foo|bar)$",
    r"^\d{3}-\d{4}$",
    r"^[^@\s]+@[^@\s]+\.[a-z]{2,}$",
    "^a{200}$",
    "^$",
    r"^[a-z]+(-[a-z]+)*$",
    r"^(?:[01]\d|2[0-3]):[0-5]\d$",
    ".*",
    r"^\p{L}+$",
    r"^[^ -~]$",
    "(" * 50 + "a" + ")" * 50,
    r"^\$ref$",
    "^[-+]?[0-9]*\\.?[0-9]+$",
    "^(19|20)\\d\\d[- /.](0[1-9]|1[012])$",
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_text_matches(pattern: str) -> None:
    for number in range(20):
        text = matching(pattern, Seed(number).stream("x"))
        assert text is not None
        assert matches(pattern, text), text
        assert len(text) <= 400


def test_groups_are_repeated() -> None:
    for number in range(20):
        assert re.fullmatch(
            r"(\w)\1(?P<x>[ab])(?P=x)", matching(r"^(\w)\1(?<x>[ab])\k<x>$", Seed(number).stream("x")) or ""
        )


@pytest.mark.parametrize(
    ("pattern", "least", "most"),
    [
        ("^[a-z]+$", 30, 40),
        ("^[a-z]*$", 0, 0),
        ("^[a-z]+@[a-z]+$", 0, 3),
        ("^(abc|a)$", 0, 1),
        ("^(ab)*$", 20, 21),
        ("abc", 30, inf),
        ("abc$", 30, inf),
        ("^a{2,9}b{0,9}$", 15, 18),
    ],
)
def test_lengths_are_met(pattern: str, least: int, most: float) -> None:
    for number in range(20):
        text = matching(pattern, Seed(number).stream("x"), lengths=(least, most))
        assert text is not None
        assert least <= len(text) <= most
        assert matches(pattern, text), text


def test_what_stands_ahead_is_spelled_out() -> None:
    texts = [matching("^(?=.*[A-Z])(?=.*[0-9]).{8,}$", Seed(at).stream("x"), spelled=True) for at in range(20)]
    assert all(re.search("[A-Z]", text or "") and re.search("[0-9]", text or "") for text in texts)


def test_lengths_that_stand_ahead_are_met() -> None:
    for at in range(20):
        assert 8 <= len(matching("^(?=.{8,10}$)[a-z]+(-[a-z]+)*$", Seed(at).stream("x")) or "") <= 10


@pytest.mark.parametrize(
    "pattern", ["(", "((a{1000}){1000}){1000}", "(" * 5000 + ")" * 5000, "^a{60000}$", "[]", "a{3,2}"]
)
def test_what_cannot_be_written_is_none(pattern: str) -> None:
    assert matching(pattern, Seed(0).stream("x")) is None


def test_what_is_too_long_is_none() -> None:
    assert matching("^a{5}$", Seed(0).stream("x"), lengths=(0, 4)) is None


def test_the_text_is_the_same_everywhere() -> None:
    made = [matching(pattern, Seed(7).stream("x")) for pattern in PATTERNS]
    assert made[:5] == [matching(pattern, Seed(7).stream("x")) for pattern in PATTERNS][:5]
    assert made[2:4] == ["abc", "foo"]
