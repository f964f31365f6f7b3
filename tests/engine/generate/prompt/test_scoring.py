"""Mentions score higher for the properties that they are about."""

from typing import Any

import pytest

from mockserver.model.arguments.properties import wanted
from mockserver.model.arguments.reading import read
from mockserver.model.arguments.scoring import ENOUGH, context, score


def points(text: str, value: Any, name: str, kind: str) -> int:
    want = wanted(name, {"type": kind}, 0)
    return max(score(mention, want) for mention in read(text) if mention.value == value)


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
        ("f(3)", 3, "anything", "integer"),
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
        ("f(3)", 3, "expression", "string"),
        ("5 km", 5, "weight", "number"),
        ("colour: red", "red", "size", "string"),
    ],
)
def test_not_enough(text: str, value: Any, name: str, kind: str) -> None:
    assert points(text, value, name, kind) < ENOUGH


def test_the_nearer_a_word_the_more_it_counts() -> None:
    want = wanted("priority", {"type": "integer"}, 0)
    near, far = (read(text)[-1] for text in ("priority 3", "priority of about 3"))
    assert context(near, want) > context(far, want) > 0
