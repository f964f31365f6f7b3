"""Words, things and sentences that are made up."""

import pytest

from mockserver.core.seed import Seed
from mockserver.model.fillers import english, lexicon, note, noun, phrase, pick, remark, sentence, thing, word


@pytest.mark.parametrize("length", [1, 3])
def test_a_phrase_has_as_many_words_as_asked(length: int) -> None:
    made = phrase(Seed(0).stream("x"), length).split()
    assert len(made) == length
    assert set(made) <= {*lexicon("en_US")}


@pytest.mark.parametrize("locale", ["en_US", "la"])
def test_words_and_sentences_are_of_their_locale(locale: str) -> None:
    rng, known = Seed(0).stream("x"), {*lexicon(locale)}
    assert word(rng, locale) in known
    for _ in range(200):
        made = sentence(rng, locale)
        assert made[-1] in ".?"
        assert made[0].isupper()
        assert {each.strip(",.?").lower() for each in made.split()} <= {each.lower() for each in known}
        assert made.count(",") == (len(made.split()) > 7)


def test_a_thing_is_two_words_of_the_tables() -> None:
    found = {thing(Seed(at).stream("x")) for at in range(300)}
    assert len(found) > 200
    assert all(one.split()[0] in english("adjectives") and one.split()[1] in english("nouns") for one in found)
    assert {noun(Seed(at).stream("x")) for at in range(300)} < set(english("nouns"))


def test_a_remark_is_a_whole_sentence() -> None:
    for at in range(100):
        said = remark(Seed(at).stream("x"))
        assert said[0].isupper()
        assert said.endswith(".")
        assert "{" not in said


def test_pick_and_note_reach_everything() -> None:
    rng = Seed(0).stream("x")
    assert {pick((1, 2, 3), rng) for _ in range(100)} == {1, 2, 3}
    assert {note(rng) for _ in range(300)} == set(english("notes"))
