"""One of the options that a prompt gives."""

import pytest

from mockserver.core.seed import Seed
from mockserver.model.forms.exact import chosen
from mockserver.model.forms.prompt import Asked
from mockserver.model.prose.topic import topic


def picked(text: str, rules: str = "") -> set[str | None]:
    asked = Asked(text, rules, topic(text))
    return {chosen(asked, Seed(seed).stream("x")) for seed in range(40)}


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("I love it. Answer with one of: positive, negative, neutral.", {"positive", "negative", "neutral"}),
        ("Reply with one of [red, green, 'dark blue']", {"red", "green", "dark blue"}),
        ("Is the sky blue? Answer yes or no.", {"yes", "no"}),
        ("Is the sky blue? (Yes/No)", {"Yes", "No"}),
        ("Output your verdict as [[A]] or [[B]].", {"[[A]]", "[[B]]"}),
        ("Choose one: red, green or blue", {"red", "green", "blue"}),
        ("Antworte mit Ja oder Nein: Ist die Erde rund?", {"Ja", "Nein"}),
        ("¿Llueve? Responde sí o no.", {"sí", "no"}),
        ("「はい」または「いいえ」で答えてください。", {"はい", "いいえ"}),
        ("The earth is flat. True or false?", {"True", "false"}),
        ("Classify the text as spam or ham: buy now", {"spam", "ham"}),
        ("Categorise it into sport, politics, or art.", {"sport", "politics", "art"}),
        ("Respond with only A, B, or C.", {"A", "B", "C"}),
        ('Output "low" | "high" only', {"low", "high"}),
        ("Possible labels: a-1, b-2", {"a-1", "b-2"}),
        (
            "Choose one of the categories:\n- billing\n- technical support\n\nIt broke.",
            {"billing", "technical support"},
        ),
        ("Options:\n1. **yes**: it is\n2. **maybe**: who knows\n", {"yes", "maybe"}),
        ("Which?\nA) red\nB) green", {"A) red", "B) green"}),
        ("Which?\nA) red\nB) green\nAnswer with the letter only.", {"A", "B"}),
    ],
)
def test_chosen(text: str, options: set[str]) -> None:
    assert picked(text) == options


def test_the_option_that_the_text_names() -> None:
    assert picked("My billing is wrong. Categories: billing, technical, other") == {"billing"}


def test_rules_give_options_too() -> None:
    assert picked("I hate it", "Classify the message. Respond with either POSITIVE or NEGATIVE.") == {
        "POSITIVE",
        "NEGATIVE",
    }
    assert picked("A refund, please", "Output only one of the following labels: [refund, shipping]") == {"refund"}


@pytest.mark.parametrize(
    "text",
    [
        "Tell me about cats and dogs",
        "One of the best films is a long one, or so they say",
        "List some options",
        'What does "yes or no" mean?',
        "",
    ],
)
def test_no_choice(text: str) -> None:
    assert picked(text) == {None}
