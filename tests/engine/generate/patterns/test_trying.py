"""Patterns of clients: tried in time, and texts that look meant for them."""

import pytest

from mockserver.core.seed import Seed
from mockserver.model.patterns.matching import (
    Literal,
    SlowError,
    UnreadableError,
    compiled,
    fits,
    found_in,
    is_whole,
    length_at,
    text_for,
)

ENDLESS = r"(?:a|a|aa)+c"


def test_literals() -> None:
    either = Literal("Ab", any_case=True)
    assert fits(either, "aB")
    assert not fits(either, "abc")
    assert length_at(either, "xAB", 1) == 2
    assert length_at(Literal("Ab"), "ab", 0) == 0
    assert text_for(either, Seed(0).stream()) == "Ab"


@pytest.mark.parametrize(
    ("source", "why", "at"),
    [
        ("a(b", "missing )", 3),
        ("[", "unterminated character set", 1),
        ("((a{1000}){1000}){1000}", "repeats too much", 0),
    ],
)
def test_broken_patterns(source: str, why: str, at: int) -> None:
    with pytest.raises(UnreadableError, match=why.replace(")", r"\)")) as caught:
        compiled(source)
    assert caught.value.at == at


@pytest.mark.parametrize("source", ["(" * 5000 + ")" * 5000, "(?:" * 900 + "a" + "){9}" * 900])
def test_monsters_are_refused(source: str) -> None:
    with pytest.raises(UnreadableError):
        compiled(source)


def test_counts_side_by_side_are_no_monster() -> None:
    assert fits(compiled(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "00000000-0000-0000-0000-000000000000")


def test_backtracking_without_end_is_stopped() -> None:
    with pytest.raises(SlowError):
        fits(compiled(ENDLESS), "a" * 60)
    with pytest.raises(SlowError):
        length_at(compiled(ENDLESS), "a" * 60, 0)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (r"[a-z]+", "kernel"),
        (r"[A-Z_]+", "KERNEL"),
        (r"\d+", "57"),
        (r"\d{4}-\d{2}-\d{2}", "2024-01-18"),
        (r'"[^"]*"', '"kernel"'),
        (r"\s+", " "),
        (r"(red|green)", "red"),
        (r"x*", "xx"),
        (r"a(?!a)a", None),
    ],
)
def test_texts_look_meant(source: str, expected: str | None) -> None:
    text = text_for(compiled(source), Seed(3).stream("text"))
    assert text is None if expected is None else text is not None and fits(compiled(source), text)
    if source.startswith(("[", r"\d{4}", '"', r"\s")):
        assert text == expected


def test_a_text_is_no_half_of_a_character() -> None:
    assert text_for(compiled("[\ud800-\udfff]"), Seed(0).stream()) is None


def test_what_a_text_has_of_a_pattern() -> None:
    assert found_in(r"^\d{4}-\d\d$", "from 2024-05 to 2024-07, not x2024-05") == ["2024-05", "2024-07"]
    assert found_in("red|green", "a green door") == ["green"]
    assert found_in("[a-z]+", "any word would do") == []
    assert found_in("(", "broken") == []


@pytest.mark.parametrize(("text", "whole"), [("", True), ("é東😀", True), ("a\ud83d", False), ("\udc00b", False)])
def test_halves_of_characters_are_noticed(text: str, whole: bool) -> None:
    assert is_whole(text) is whole
