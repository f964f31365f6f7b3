"""A text is read once, with the words around what it mentions."""

import pytest

from mockserver.model.arguments.reading import read
from mockserver.model.arguments.values import Mention


def mention(text: str, value: object) -> Mention:
    return next(found for found in read(text) if found.value == value)


def test_neighbours_and_prepositions() -> None:
    found = mention("Book the room for 3 guests. From Rome", 3)
    assert (found.cue, found.before, found.after) == ("for", ("for", "room", "book"), ("guest",))
    assert mention("Book the room for 3 guests. From Rome", "Rome").cue == "from"


@pytest.mark.parametrize("city", ["Paris", "London", "Rome"])
def test_what_is_listed_shares_its_preposition(city: str) -> None:
    assert mention("the weather in Paris, London and Rome", city).cue == "in"


def test_between_is_from_and_until() -> None:
    text = "between Monday and Friday"
    assert [m.cue for m in read(text) if m.kind == "date"] == ["between", "until"]


def test_the_parts_of_a_moment_and_of_a_sum_are_mentioned_too() -> None:
    assert {m.kind for m in read("tomorrow at 3pm")} == {"datetime", "date", "time"}
    assert [m.value for m in read("2 + 3") if m.kind == "number"] == [2, 3]


def test_nothing_is_read_within_a_quotation() -> None:
    assert [m.kind for m in read('"in Paris at 3pm"')] == ["quoted"]


def test_a_counted_thing_is_marked() -> None:
    assert mention("add 2 apples", "apples").unit == "counted"


def test_there_are_not_too_many() -> None:
    found = read("7," * 5_000)
    assert len(found) == 400
    assert found[-1].end > 9_000
