"""Patterns of clients are matched within a time limit, and sample texts look meant."""

import pytest

from mockserver.core.seed import Seed
from mockserver.model.patterns import (
    InvalidPatternError,
    LiteralPattern,
    PatternTimeoutError,
    compile_pattern,
    find_whole_words,
    fullmatch,
    is_encodable,
    match_length,
    sample_text,
)

SLOW = r"(?:a|a|aa)+c"


def test_literals() -> None:
    pattern = LiteralPattern("Ab", ignore_case=True)
    assert fullmatch(pattern, "aB")
    assert not fullmatch(pattern, "abc")
    assert match_length(pattern, "xAB", 1) == 2
    assert match_length(LiteralPattern("Ab"), "ab", 0) == 0
    assert sample_text(pattern, Seed(0).stream()) == "Ab"


@pytest.mark.parametrize(
    ("source", "why", "at"),
    [
        ("a(b", r"missing \)", 3),
        ("[", "unterminated character set", 1),
        ("((a{1000}){1000}){1000}", "repeats too much", 0),
        ("(" * 5000 + ")" * 5000, "nested too deeply", 0),
        ("(?:" * 900 + "a" + "){9}" * 900, "repeats too much", 0),
    ],
)
def test_broken_and_huge_patterns(source: str, why: str, at: int) -> None:
    with pytest.raises(InvalidPatternError, match=why) as caught:
        compile_pattern(source)
    assert caught.value.at == at


def test_repeats_in_a_row_are_not_too_much() -> None:
    pattern = compile_pattern(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
    assert fullmatch(pattern, "00000000-0000-0000-0000-000000000000")


def test_endless_backtracking_is_stopped() -> None:
    with pytest.raises(PatternTimeoutError):
        fullmatch(compile_pattern(SLOW), "a" * 60)
    with pytest.raises(PatternTimeoutError):
        match_length(compile_pattern(SLOW), "a" * 60, 0)


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
    ],
)
def test_samples_look_meant(source: str, expected: str | None) -> None:
    text = sample_text(compile_pattern(source), Seed(3).stream("text"))
    assert text
    assert fullmatch(compile_pattern(source), text)
    assert expected in (None, text)


@pytest.mark.parametrize("source", ["a(?!a)a", "[\ud800-\udfff]"])
def test_none_where_no_sample_fits(source: str) -> None:
    assert sample_text(compile_pattern(source), Seed(0).stream()) is None


def test_whole_words_that_match() -> None:
    assert find_whole_words(r"^\d{4}-\d\d$", "from 2024-05 to 2024-07, not x2024-05") == ["2024-05", "2024-07"]
    assert find_whole_words("red|green", "a green door") == ["green"]
    assert find_whole_words("[a-z]+", "any word matches") == []
    assert find_whole_words("(", "broken") == []


@pytest.mark.parametrize(("text", "whole"), [("", True), ("é東😀", True), ("a\ud83d", False), ("\udc00b", False)])
def test_lone_surrogates_cannot_be_encoded(text: str, whole: bool) -> None:
    assert is_encodable(text) is whole
