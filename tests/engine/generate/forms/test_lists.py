"""Lists."""

import re

import pytest

from mockserver.core.seed import Seed
from mockserver.model.forms.lists import listed
from mockserver.model.forms.prompt import Asked
from mockserver.model.prose.topic import topic


def lines(text: str, rules: str = "") -> list[str]:
    made = listed(Asked(text, rules, topic(text)), Seed(0).stream("x"))
    return [] if made is None else made.split("\n")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("List 5 fruits", 5),
        ("Give me three reasons to learn Go", 3),
        ("What are the top 3 movies?", 3),
        ("Suggest ten creative names for a bakery", 10),
        ("Name 40 animals", 40),
        ("Write 1000 tips", 50),
    ],
)
def test_as_many_items_as_asked(text: str, number: int) -> None:
    found = lines(text)
    assert [line.partition(". ")[0] for line in found] == [str(at) for at in range(1, number + 1)]
    assert len({line.partition(". ")[2] for line in found}) == number


def test_items_are_of_the_kind() -> None:
    assert all("fruit" in line for line in lines("List 5 fruits"))
    assert all(line.endswith(" movie") for line in lines("What are the top 3 movies?"))
    assert all(line.endswith(" berry") for line in lines("Name 3 berries"))
    assert all("Bakery" in line for line in lines("Give me 5 names for a bakery"))


def test_one_thing() -> None:
    (line,) = lines("Name one fruit.")
    assert line.endswith(" fruit")


def test_bullets_and_rows() -> None:
    assert all(line.startswith("- ") for line in lines("Give me bullet points on Rome"))
    assert all(line.startswith("- ") for line in lines("List 3 tips", "Use bullets."))
    (row,) = lines("names of 4 planets, comma-separated: give me 4 planets")
    assert row.count(", ") == 3


@pytest.mark.parametrize(
    "text", ["Tell me about Rome", "Book a table for 2 people", "Write 3 sentences", "In 3 days", ""]
)
def test_no_list(text: str) -> None:
    assert lines(text) == []


def test_a_list_of_nothing_has_one_item() -> None:
    assert len(lines("List 0 reasons to run")) == 1


def test_things_whose_name_says_what_they_are() -> None:
    assert all(re.fullmatch(r"\d\. [A-Z][a-z]+ [A-Z][a-z]+", line) for line in lines("Generate 5 random names"))
    assert len(set(lines("List 3 cities"))) == 3
    assert not any("city" in line for line in lines("List 3 cities"))
