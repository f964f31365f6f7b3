"""Sentences with their gaps filled."""

from itertools import islice

import pytest

from mockserver.core.seed import Seed
from mockserver.model.fillers import english, word_lists
from mockserver.model.prose.language import languages
from mockserver.model.prose.sentences import Speaker, blank, sentences
from mockserver.model.prose.topic import Topic, topic


def said(text: str, number: int, seed: int = 0) -> list[str]:
    return list(islice(sentences(topic(text), Seed(seed).stream("test")), number))


@pytest.mark.parametrize("kind", sorted(word_lists("english")["openers"]))
def test_every_sentence_can_be_said(kind: str) -> None:
    speaker = Speaker(
        Topic("x", "en", kind, "boats", "row boats", "why do boats float", ("boats",)), Seed(0).stream(kind)
    )
    for sentence in (*english(kind, "openers"), *english("middles"), *english("closers"), *english("thoughts")):
        made = speaker.filled(sentence)
        assert "{" not in made
        assert made[0].isupper()


@pytest.mark.parametrize("code", sorted(set(languages()) - {"en"}))
def test_every_language_speaks(code: str) -> None:
    speaker = Speaker(Topic("x", code, "tell", "Rome"), Seed(0).stream(code))
    made = list(islice(speaker.sentences(), 30))
    assert "“Rome”" in made[0]
    assert len(set(made)) == 30
    assert all(sentence.endswith(languages()[code].full_stop) for sentence in made)
    assert not speaker.closer()
    assert "Rome" in " ".join(islice(speaker.thoughts(), 20))


def test_the_first_sentence_answers_the_question() -> None:
    for seed in range(10):
        assert "the capital of France" in said("What is the capital of France?", 1, seed)[0].replace("The", "the")
        assert "install numpy" in said("How do I install numpy?", 1, seed)[0]
        assert said("Why is the sky blue?", 1, seed)[0].startswith("Why is the sky blue?")
        assert said("Is Python fast?", 1, seed)[0].startswith(("Yes", "No"))


def test_verbs_agree() -> None:
    told = " ".join(" ".join(said("Tell me about cheap flights", 40, seed)) for seed in range(10))
    assert "flights depend on" in told
    assert "flights depends" not in told
    told = " ".join(" ".join(said("Tell me about green tea", 40, seed)) for seed in range(10))
    assert "tea depends on" in told
    assert "tea depend on" not in told


def test_no_sentence_comes_back_before_all_were_said() -> None:
    made = said("Tell me about tea", 1 + len(english("middles")))[1:]
    assert len(set(made)) == len(made)


def test_nothing_is_told_of_an_empty_topic() -> None:
    assert not any("{" in sentence or "  " in sentence for sentence in said("", 60))


def test_between_sentences() -> None:
    assert blank(topic("tea")) == " "
    assert blank(topic("中国的首都是什么？")) == ""


@pytest.mark.parametrize(
    ("text", "names_it"), [("I feel sad today.", False), ("We moved to Rome", False), ("Cats", True)]
)
def test_what_somebody_tells_is_heard_and_not_taken_for_a_subject(text: str, names_it: bool) -> None:
    found = {Speaker(topic(text), Seed(at).stream("x")).opener() for at in range(40)}
    assert any("cats" in opener.lower() for opener in found) == names_it
    assert any(opener.startswith(("I see", "Noted", "I understand", "Thank")) for opener in found) != names_it


def test_a_question_without_a_subject_keeps_its_kind() -> None:
    found = {Speaker(topic("Where do I live?"), Seed(at).stream("x")).opener() for at in range(40)}
    assert all(opener.startswith("Usually ") for opener in found)
