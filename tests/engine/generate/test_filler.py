import pytest

from mockserver.core.seed import Seed
from mockserver.model.fillers import phrase, sentence, word
from mockserver.model.languages import lexicon


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
