"""Sample texts of patterns match them, and look meant."""

import re
from math import inf

import pytest

from mockserver.core.plan import Failure
from mockserver.core.seed import Seed
from mockserver.model.patterns import matches, sample, write_match


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (r"[a-z]+", "kernel"),
        (r"[A-Z_]+", "KERNEL"),
        (r"\d{4}-\d{2}-\d{2}", "2024-01-18"),
        (r'"[^"]*"', '"kernel"'),
        (r"\s+", " "),
        (r"\d+", None),
        (r"(red|green)", None),
        (r"x*", None),
        (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", None),
    ],
)
def test_samples_look_meant(source: str, expected: str | None) -> None:
    text = write_match(source, Seed(3).stream("text"), [])
    assert text
    assert re.fullmatch(source, text)
    assert expected in (None, text)


def test_a_pattern_without_a_match_is_refused() -> None:
    with pytest.raises(Failure, match="no text was found"):
        write_match("a(?!a)a", Seed(0).stream(), [])


PATTERNS = [
    "^[A-Z]{3}$",
    "^(foo|bar)$",
    r"^[^@\s]+@[^@\s]+\.[a-z]{2,}$",
    "^a{200}$",
    "^$",
    r"^[a-z]+(-[a-z]+)*$",
    r"^(?:[01]\d|2[0-3]):[0-5]\d$",
    ".*",
    r"^\p{L}+$",
    "(" * 50 + "a" + ")" * 50,
    "^[-+]?[0-9]*\\.?[0-9]+$",
    r"^#([A-Fa-f0-9]{6}|[A-Fa-f0-9]{3})$",
    r"^[[&&~~||]+$",
]

# A pattern as ECMAScript writes it, and the same for Python.
ECMASCRIPT = {
    r"\/\.\-": r"/\.\-",
    r"\u0061\x62\u{63}\x{64}": "abcd",
    r"\cA\e\0": "\x01\x1b\x00",
    r"[\w-.]": r"[\w\-.]",
    r"[a-\d]": r"[a\-\d]",
    r"[a-c-e]": r"[a-c\-e]",
    r"[\b\]]": r"[\b\]]",
    "[^]": r"[\s\S]",
    r"a{,3}{": r"a\{,3\}\{",
    r"^(\w)\1(?<x>[ab])\k<x>$": r"(\w)\1(?P<x>[ab])(?P=x)",
    r"(?P<x>a)(?=b)(?<!c)b": "ab",
    "(?i)a(?i:b)(?>c)d++": "abcd+",
    r"\p{Lu}\pN[\p{P}_]": "[A-Z][0-9][!-~]",
    r"\P{N}[\P{L}]": "[^0-9][^A-Za-z]",
    r"\A\D\S\W\Z": r"\D\W",
    r"(a)?(?(1)b|c)": "ab|c",
}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_text_matches(pattern: str) -> None:
    for number in range(20):
        text = sample(pattern, Seed(number).stream("x"))
        assert text is not None
        assert matches(pattern, text), text
        assert len(text) <= 400


@pytest.mark.parametrize("pattern", ECMASCRIPT)
def test_ecmascript_is_understood(pattern: str) -> None:
    python = ECMASCRIPT[pattern].replace(r"\D\W", r"\D\S\W")
    for number in range(10):
        text = sample(pattern, Seed(number).stream("x"))
        assert text is not None
        assert re.fullmatch(python, text), text


@pytest.mark.parametrize(
    ("pattern", "least", "most"),
    [
        ("^[a-z]+$", 30, 40),
        ("^[a-z]+@[a-z]+$", 0, 3),
        ("^(abc|a)$", 0, 1),
        ("abc", 30, inf),
        ("^a{2,9}b{0,9}$", 15, 18),
    ],
)
def test_lengths_are_met(pattern: str, least: int, most: float) -> None:
    for number in range(20):
        text = sample(pattern, Seed(number).stream("x"), shortest=least, longest=most)
        assert text is not None
        assert least <= len(text) <= most
        assert matches(pattern, text), text


def test_lookaheads_are_expanded() -> None:
    pattern = "^(?=.*[A-Z])(?=.*[0-9]).{8,}$"
    texts = [sample(pattern, Seed(at).stream("x"), expand_lookaheads=True) for at in range(20)]
    assert all(re.search("[A-Z]", text or "") and re.search("[0-9]", text or "") for text in texts)


@pytest.mark.parametrize(
    "pattern",
    [
        "(",
        ")",
        "[a",
        "*",
        "\\",
        "[b-a]",
        "a{3,2}",
        "[]",
        *("^a{60000}$", "((a{1000}){1000}){1000}", "[" * 50_000, "(?<" * 50_000),
    ],
)
def test_none_for_what_is_broken_or_too_large(pattern: str) -> None:
    assert sample(pattern, Seed(0).stream("x")) is None


def test_none_for_what_is_too_long() -> None:
    assert sample("^a{5}$", Seed(0).stream("x"), longest=4) is None
