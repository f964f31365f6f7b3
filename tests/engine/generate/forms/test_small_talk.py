"""Greetings and the like."""

import pytest

from mockserver.core.seed import Seed
from mockserver.model.forms.pieces import small_talk
from mockserver.model.forms.prompt import Asked
from mockserver.model.languages import LANGUAGES
from mockserver.model.languages.english import GREETINGS
from mockserver.model.prose.topic import topic


def answer(text: str) -> str | None:
    return small_talk(Asked(text, "", topic(text)), Seed(0).stream("x"))


@pytest.mark.parametrize("text", ["hello", "Hi there!", "Good morning", "hey", "Hello, world!"])
def test_greetings(text: str) -> None:
    assert answer(text) in GREETINGS


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("How are you today?", "help you|do for you"),
        ("Thanks!", "welcome"),
        ("Goodbye", "Goodbye"),
        ("Who are you?", "stand-in"),
        ("What can you do?", "made up"),
        ("ping", "pong"),
        ("ok", "next"),
        ("Thank you for your help!", "welcome"),
        ("This is a test", "arrived"),
        ("Bonjour", LANGUAGES["fr"].greeting),
        ("你好", LANGUAGES["zh"].greeting),
        ("Servus", LANGUAGES["de"].greeting),
        ("Hi, I'm Bob", "Hello Bob!"),
        ("Are you ChatGPT?", "stand-in"),
        ("my name is Ada Lovelace.", "Hello Ada Lovelace!"),
        ("Vielen Dank!", "Gern geschehen"),
        ("Hola, ¿cómo estás?", "Muy bien"),
        ("Привет! Как дела?", "хорошо"),
        ("ありがとう", "どういたしまして"),
        ("Au revoir", "Au revoir"),
    ],
)
def test_answers(text: str, said: str) -> None:
    found = answer(text)
    assert found is not None
    assert any(part in found for part in said.split("|"))


@pytest.mark.parametrize(
    "text",
    [
        "Hello, what is the capital of France?",
        "I'm from Berlin",
        "this is urgent",
        "I am bored",
        "good books",
        "help me write a letter",
        "",
        "x" * 100,
    ],
)
def test_where_something_is_asked(text: str) -> None:
    assert answer(text) is None
