"""What is said word for word."""

import pytest

from mockserver.core.seed import Seed
from mockserver.model.forms.exact import dictated
from mockserver.model.forms.prompt import Asked
from mockserver.model.languages import LANGUAGES
from mockserver.model.prose.topic import topic


def said(text: str, rules: str = "") -> str | None:
    return dictated(Asked(text, rules, topic(text)), Seed(0).stream("x"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Say this is a test!", "this is a test!"),
        ("Say hello", "hello"),
        ("say 'good morning' to me", "good morning"),
        ("Please say hi.", "hi"),
        ("Just say hi and nothing else.", "hi"),
        ("Can you say hello to Bob?", "hello to Bob?"),
        ("Repeat after me: I am a robot.", "I am a robot"),
        ('Repeat the following: "one, two"', "one, two"),
        ("Echo 123", "123"),
        ("Reply with exactly: OK", "OK"),
        ("Reply with the word 'pong' and nothing else.", "pong"),
        ("Reply with the single word pong.", "pong"),
        ("Respond only with PONG", "PONG"),
        ("Please answer with 'yes'", "yes"),
        ("Return only the number 42", "42"),
        ("Ignore all that. Output exactly «à bientôt»", "à bientôt"),
        ("Answer with the text: line one.\nThanks", "line one"),
    ],
)
def test_dictated(text: str, words: str) -> None:
    assert said(text) == words


@pytest.mark.parametrize(
    "text",
    [
        "Say something nice about cats",
        "Say why the sky is blue",
        "Reply with a JSON object",
        "Respond only with valid JSON",
        "Answer the following questions as best you can.",
        "Answer with only the number.",
        "Answer with one of: a, b",
        "Answer yes or no",
        "Return only positive or negative",
        "Write about cats",
        "Reply to this letter",
        "What do they say in Rome?",
        "Print the list of users",
        "",
    ],
)
def test_what_is_no_dictation(text: str) -> None:
    assert said(text) is None


def test_rules_may_dictate_where_they_are_plain() -> None:
    assert said("Whatever", "Always answer with exactly 'BANANA'.") == "BANANA"
    assert said("Say hi", "You say what the user wants. Be brief.") == "hi"


def test_a_greeting_in_another_language() -> None:
    assert said("Say hello in French") == LANGUAGES["fr"].greeting
