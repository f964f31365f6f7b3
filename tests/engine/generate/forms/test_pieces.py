"""Texts of a form of their own."""

import re

import pytest

from mockserver.core.seed import Seed
from mockserver.model.forms import pieces
from mockserver.model.forms.prompt import Asked
from mockserver.model.prose.topic import topic


def asked(text: str, rules: str = "") -> Asked:
    return Asked(text, rules, topic(text))


RNG = Seed(0).stream("x")


def test_one_word() -> None:
    assert pieces.one_word(asked("Describe Rome in one word"), RNG) == "Rome"
    assert re.fullmatch(r"[A-Z][a-z]+", pieces.one_word(asked("What is it?", "Give one-word answers."), RNG) or "")
    assert pieces.one_word(asked("one word of advice"), RNG) is None


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("Pick a number between 1 and 10", 1, 10),
        ("Rate this essay on a scale of 1 to 5", 1, 5),
        ("Give a score from 0-3", 0, 3),
    ],
)
def test_rated(text: str, low: int, high: int) -> None:
    found = {int(pieces.rated(asked(text), RNG) or -1) for _ in range(200)}
    assert found == set(range(low, high + 1))


def test_a_bare_number() -> None:
    assert (pieces.rated(asked("Only output a number: how many people live in Oslo?"), RNG) or "").isdigit()
    assert pieces.rated(asked("How many people live in Oslo?"), RNG) is None


def test_titled() -> None:
    assert pieces.titled(asked("Generate a title for an article about the price of tea"), RNG) == "Price of Tea"
    assert pieces.titled(asked("Give it a short title"), RNG)
    assert pieces.titled(asked("What is the title of Hamlet?"), RNG) is None


def test_verses_and_stories() -> None:
    haiku = pieces.versed(asked("Write a haiku about the sea"), RNG) or ""
    assert haiku.count("\n") == 2
    assert "the sea" in haiku.lower()
    assert (pieces.versed(asked("Write a poem about the sea"), RNG) or "").count("\n") == 3
    assert "dragon" in (pieces.told_story(asked("Tell me a story about a dragon"), RNG) or "")
    assert (pieces.told_story(asked("Tell me a joke about cats"), RNG) or "").count("\n") == 1
    assert "{" not in (pieces.told_story(asked("Tell me a story"), RNG) or "{")


def test_letter() -> None:
    text = pieces.letter(asked("Write an email to my boss about holidays"), RNG) or ""
    assert text.startswith("Subject: Holidays\n\nHello,\n\n")
    assert "\n\nBest regards,\n" in text
    assert pieces.letter(asked("Generate a CSV with columns id, name, email"), RNG) is None
    assert pieces.letter(asked("Create an email address for Bob"), RNG) is None


LONG = "The cat sat on the mat in the warm sun. It was happy. Then a dog came along and everything changed."


def test_summed_up() -> None:
    assert (
        pieces.summed_up(asked(f"Summarize the following text: {LONG}"), RNG)
        == "The cat sat on the mat in the warm sun."
    )
    two = pieces.summed_up(asked(f"Summarize in two sentences:\n{LONG}"), RNG)
    assert two == "The cat sat on the mat in the warm sun. It was happy."
    assert pieces.summed_up(asked(LONG, "You summarize texts."), RNG) == "The cat sat on the mat in the warm sun."
    assert pieces.summed_up(asked("Summarize Hamlet"), RNG) is None


def test_repeated() -> None:
    assert pieces.repeated(asked("Correct the grammar: he go home"), RNG) == "he go home"
    assert pieces.repeated(asked("Improve my life"), RNG) is None
    assert pieces.repeated(asked('Proofread: "Their going to the stor"'), RNG) == "Their going to the stor"


def test_measured() -> None:
    assert (pieces.measured(asked("Describe Rome in one sentence."), RNG) or "").count(".") == 1
    assert (pieces.measured(asked("Write two paragraphs about Rome"), RNG) or "").count("\n\n") == 1
    assert len((pieces.measured(asked("Write about Rome in 20 words"), RNG) or "").split()) == 20
    assert len((pieces.measured(asked("Write a 100-word text about Rome"), RNG) or "").split()) == 100
    assert len((pieces.measured(asked("In exactly 10 words, describe the sea"), RNG) or "").split()) == 10
    assert len((pieces.measured(asked("Write a 50-word paragraph about Rome"), RNG) or "").split()) <= 50
    assert pieces.measured(asked("Tell me about Rome", "Answer in one sentence."), RNG) is not None
    assert pieces.measured(asked("Tell me about Rome"), RNG) is None
    assert len(pieces.measured(asked("Write 9999 paragraphs"), RNG) or "") < 20_000
