"""Sentences with their gaps filled."""

from itertools import islice

import pytest

from mockserver.core.seed import Seed
from mockserver.model.fillers import english, word_lists
from mockserver.model.prose.generators import Speaker, sentences
from mockserver.model.prose.topic import Topic, languages, topic


def said(text: str, number: int, seed: int = 0) -> list[str]:
    return list(islice(sentences(topic(text), Seed(seed).stream("test")), number))


@pytest.mark.parametrize("kind", sorted(word_lists("english")["openers"]))
def test_every_sentence_can_be_said(kind: str) -> None:
    speaker = Speaker(Topic("x", "en", kind, "boats", "row", "why do boats float", ("boats",)), Seed(0).stream(kind))
    for sentence in (*english(kind, "openers"), *english("middles"), *english("thoughts")):
        made = speaker.filled(sentence)
        assert "{" not in made
        assert made[0].isupper()


@pytest.mark.parametrize("code", sorted(set(languages()) - {"en"}))
def test_every_language_speaks(code: str) -> None:
    speaker = Speaker(Topic("x", code, "tell", "Rome"), Seed(0).stream(code))
    made = list(islice(speaker.sentences(), 30))
    assert "“Rome”" in made[0]
    assert len(set(made)) == 30
    assert all(sentence.endswith(languages()[code].get("full_stop", ".")) for sentence in made)


def test_the_first_sentence_answers_the_question() -> None:
    for seed in range(10):
        assert "the capital of France" in said("What is the capital of France?", 1, seed)[0]
        assert "install numpy" in said("How do I install numpy?", 1, seed)[0]
        assert said("Why is the sky blue?", 1, seed)[0].startswith("Why is the sky blue?")
        assert said("Is Python fast?", 1, seed)[0].startswith(("Yes", "No"))


def test_no_sentence_comes_back_before_all_were_said() -> None:
    made = said("Tell me about tea", 1 + len(english("middles")))[1:]
    assert len(set(made)) == len(made)


def test_an_empty_topic_leaves_no_gap() -> None:
    assert not any("{" in sentence or "  " in sentence for sentence in said("", 60))
