"""Which form a prompt orders."""

import pytest

from mockserver.core.seed import Seed
from mockserver.model.forms import FORMS, formed
from mockserver.model.prose.topic import topic


def form_of(text: str, rules: str = "") -> str | None:
    return formed(topic(text, rules), rules, Seed(0).stream("x"))


@pytest.mark.parametrize(
    ("text", "rules", "answer"),
    [
        ("Say hello", "", "hello"),
        ("What is 2+3?", "", "2+3 = 5"),
        ("Hallo!", "", "Hallo! Wobei kann ich helfen?"),
        ("Guten Tag", "", "Hallo! Wobei kann ich helfen?"),
        ("Tell me about the colour red", "", None),
        ("The list of my friends", "You write lists, code and tables.", None),
        ("", "", None),
    ],
)
def test_formed(text: str, rules: str, answer: str | None) -> None:
    assert form_of(text, rules) == answer


def test_every_form_has_its_words() -> None:
    assert all(triggers and form.__doc__ for triggers, form in FORMS)


@pytest.mark.parametrize(
    "piece",
    [
        "say ",
        "list 5 ",
        "write a function in ",
        "one of: a, ",
        "1+",
        "answer a or ",
        "A) x\n",
        '"',
        "table ",
        "in one ",
    ],
)
def test_no_text_is_too_odd(piece: str) -> None:
    text = piece * (500_000 // len(piece))
    made = form_of(text, text)
    assert made is None or len(made) < 20_000
