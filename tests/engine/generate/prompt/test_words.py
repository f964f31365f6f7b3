"""Words without their endings, names in their parts, prepositions by language."""

import pytest

from mockserver.model.arguments.words import cues, listed, parts, stem


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("Cities", "city"),
        ("days", "day"),
        ("address", "address"),
        ("addresses", "address"),
        ("status", "status"),
        ("is", "is"),
    ],
)
def test_stems(word: str, expected: str) -> None:
    assert stem(word) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("fromCity", ("from", "city")),
        ("check_in_dates", ("check", "in", "date")),
        ("URLPath", ("url", "path")),
        ("número", ("número",)),
        ("_", ()),
    ],
)
def test_parts(name: str, expected: tuple[str, ...]) -> None:
    assert parts(name) == expected


@pytest.mark.parametrize(
    ("text", "word", "meaning"),
    [
        ("ein Flug nach Rom bitte", "nach", "to"),
        ("un vuelo de Madrid a Lima para mi", "a", "to"),
        ("a flight to Rome", "named", "named"),
    ],
)
def test_cues(text: str, word: str, meaning: str) -> None:
    assert cues(text)[word] == meaning


def test_an_english_article_is_no_preposition() -> None:
    assert "a" not in cues("book me a flight to the city")


def test_listed() -> None:
    assert listed(" a  b ") == ("a", "b")
