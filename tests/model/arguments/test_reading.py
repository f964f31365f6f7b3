"""What a text mentions: names, phrases, parts of values, and the words around them."""

from typing import Any

import pytest

from mockserver.model.arguments.reading import phrases, read
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


def test_the_parts_of_a_moment_and_of_a_sum_are_mentioned_too() -> None:
    assert {m.kind for m in read("tomorrow at 3pm")} == {"datetime", "date", "time"}
    assert [m.value for m in read("2 + 3") if m.kind == "number"] == [2, 3]


def test_there_are_not_too_many() -> None:
    found = read("7," * 5_000)
    assert len(found) == 400
    assert found[-1].end > 9_000


@pytest.mark.parametrize(
    ("text", "names", "others"),
    [
        ("Book a flight to San Francisco, CA", ["San Francisco, CA"], ["flight"]),
        ("Weather in Paris, London and Rome", ["Paris", "London", "Rome"], []),
        ("Paris weather please", ["Paris"], ["weather"]),
        ("tell Ada Lovelace about the Bank of America", ["Ada Lovelace", "Bank of America"], []),
        ("What is Tesla's price?", ["Tesla"], ["price"]),
        ("Compute the sum", [], ["sum"]),
        ("東京の天気", ["東京", "天気"], []),
        ("F. Scott Fitzgerald wrote it", ["F. Scott Fitzgerald"], ["wrote"]),
    ],
)
def test_phrases(text: str, names: list[str], others: list[str]) -> None:
    found = list(phrases(text, bytearray(len(text))))
    assert [mention.value for mention in found if mention.kind == "name"] == names
    assert [mention.value for mention in found if mention.kind == "words"] == others


def of_kind(text: str, kind: str) -> list[Any]:
    return [mention.value for mention in read(text) if mention.kind == kind]
