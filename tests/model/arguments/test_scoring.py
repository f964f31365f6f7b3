"""Mentions score higher for the properties that they are about."""

from typing import Any

import pytest

from mockserver.model.arguments.properties import read_property
from mockserver.model.arguments.reading import read
from mockserver.model.arguments.scoring import ENOUGH, alike, context, is_calling, is_measure, role, score
from mockserver.model.arguments.values import Mention

STRING = {"type": "string"}


def points(text: str, value: Any, name: str, kind: str) -> int:
    prop = read_property(name, {"type": kind}, 0)
    return max(score(mention, prop) for mention in read(text) if mention.value == value)


@pytest.mark.parametrize(
    ("text", "value", "name", "kind"),
    [
        ("in Paris", "Paris", "city", "string"),
        ("from Paris", "Paris", "origin", "string"),
        ("named Bob", "Bob", "name", "string"),
        ("at bob@x.com", "bob@x.com", "email", "string"),
        ("user 42", 42, "user_id", "integer"),
        ("for 3 nights", 3, "nights", "integer"),
        ("70 kg", 70, "weight", "number"),
        ("a budget of 500", 500, "budget", "integer"),
        ("for $5", 5, "price", "number"),
        ("colour: red", "red", "colour", "string"),
        ("first_name=Ada", "Ada", "firstName", "string"),
        ("ticker AAPL", "AAPL", "symbol", "string"),
        ("to French", "French", "target_language", "string"),
        ('{"a": 1}', 1, "a", "integer"),
    ],
)
def test_enough(text: str, value: Any, name: str, kind: str) -> None:
    assert points(text, value, name, kind) >= ENOUGH


@pytest.mark.parametrize(
    ("text", "value", "name", "kind"),
    [
        ("user id 42", 42, "temperature", "number"),
        ("user id 42", 42, "page", "integer"),
        ("to Paris", "Paris", "origin", "string"),
        ("with Bob", "Bob", "city", "string"),
        ("bob@x.com", "bob@x.com", "city", "string"),
        ("at 3pm", "15:00", "date", "string"),
        ("5 km", 5, "weight", "number"),
        ("colour: red", "red", "size", "string"),
    ],
)
def test_not_enough(text: str, value: Any, name: str, kind: str) -> None:
    assert points(text, value, name, kind) < ENOUGH


def text_points(name: str, kind: str, value: str, **said: Any) -> int:
    return score(Mention(kind, value, 0, len(value), **said), read_property(name, STRING, 0))


@pytest.mark.parametrize(
    ("name", "better", "worse"),
    [
        ("city", ("name", "Paris", ""), ("name", "France", "")),
        ("country", ("name", "New Zealand", ""), ("name", "Paris", "")),
        ("state", ("name", "Georgia", ""), ("name", "Paris", "")),
        ("cuisine", ("name", "Thai", ""), ("name", "Paris", "")),
        ("language", ("name", "Dutch", ""), ("name", "Paris", "")),
        ("symbol", ("name", "NVDA", ""), ("name", "Paris", "")),
        ("street", ("address", "12 Baker Street", ""), ("name", "London", "")),
        ("role", ("words", "designer", ""), ("words", "team", "")),
        ("name", ("words", "flour", "counted"), ("words", "results", "counted")),
        ("deployment", ("name", "Web", ""), ("name", "Scale", "lead")),
        ("name", ("name", "Mia", ""), ("name", "Contacts", "label")),
        ("city", ("name", "Oslo", ""), ("words", "address", "the")),
    ],
)
def test_what_suits_better_has_more_points(
    name: str, better: tuple[str, str, str], worse: tuple[str, str, str]
) -> None:
    (kind, value, unit), (other, word, mark) = better, worse
    assert text_points(name, kind, value, unit=unit) > text_points(name, other, word, unit=mark)


def test_a_location_may_be_a_country() -> None:
    assert text_points("location", "name", "France") == text_points("location", "name", "Paris")


@pytest.mark.parametrize(
    ("words", "sounds"),
    [("designer", True), ("project manager", True), ("Head of Sales", True), ("team", False), ("Ben Carter", False)],
)
def test_professions(words: str, sounds: bool) -> None:
    assert is_calling(words) is sounds


def test_measures_are_no_things() -> None:
    assert (is_measure("results"), is_measure("years"), is_measure("apples")) == (True, True, False)


@pytest.mark.parametrize(
    ("around", "named"),
    [
        ({"before": ("patient",)}, True),
        ({"before": ("with",)}, False),
        ({"after": ("patient",)}, True),
        ({"after": ("for", "patient")}, False),
    ],
)
def test_words_around_a_mention_name_the_property_up_to_a_preposition(around: Any, named: bool) -> None:
    assert (context(Mention("name", "Ann", 0, 3, **around), read_property("patient", STRING, 0)) > 0) is named


def test_prepositions_tell_from_and_to() -> None:
    origin = read_property("origin", STRING, 0)
    assert role(Mention("name", "Rome", 0, 4, cue="from"), origin) > 0
    assert role(Mention("name", "Rome", 0, 4, cue="to"), origin) < 0


def test_forms_of_one_word_are_alike() -> None:
    assert alike("depart", "departure")
    assert not alike("depart", "arrival")


def test_the_nearer_a_word_the_more_it_counts() -> None:
    prop = read_property("priority", {"type": "integer"}, 0)
    near, far = (read(text)[-1] for text in ("priority 3", "priority of about 3"))
    assert context(near, prop) > context(far, prop) > 0
