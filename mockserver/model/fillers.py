"""Words that mean nothing: one, a phrase, a sentence. Knows lexicons, no prompt."""

from mockserver.core.seed import Random
from mockserver.model.languages import lexicon

_ENGLISH = "en_US"


def word(rng: Random, locale: str = _ENGLISH) -> str:
    """One of the words that Faker has for a locale."""
    lexical = lexicon(locale)
    return lexical[rng.randrange(len(lexical))]


def phrase(rng: Random, length: int) -> str:
    """So many English words."""
    return " ".join(word(rng) for _ in range(length))


def sentence(rng: Random, locale: str = _ENGLISH) -> str:
    """One sentence, with a comma where it is long; now and then a question."""
    made = [word(rng, locale) for _ in range(rng.randrange(*_WORDS_OF_SENTENCE))]
    if len(made) > _WORDS_WITHOUT_COMMA:
        made[rng.randrange(2, len(made) - 2)] += ","
    made[0] = made[0].capitalize()
    return " ".join(made) + ("?" if rng.random() < _QUESTIONS else ".")


_WORDS_OF_SENTENCE = (5, 15)
_WORDS_WITHOUT_COMMA = 7
_QUESTIONS = 0.06
