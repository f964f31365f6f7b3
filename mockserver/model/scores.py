"""Made-up scores: the log probabilities of tokens, and the moderation scores of a text."""

from collections.abc import Mapping
from math import floor, log

from mockserver.core.plan import CATEGORIES, Judgement, Logprob
from mockserver.core.seed import Random, Seed
from mockserver.core.tokens import APPROX, Tokenizer


def logprobs(tokens: tuple[str, ...], rng: Random, top: int, tokenizer: Tokenizer = APPROX) -> tuple[Logprob, ...]:
    """Return one for each token, with up to `top` alternatives, the token itself first."""
    return tuple(_logprob(token, rng, top, tokenizer) for token in tokens)


def _logprob(token: str, rng: Random, top: int, tokenizer: Tokenizer) -> Logprob:
    # Two draws for each token, whatever `top` is: asking for more alternatives changes no probability.
    doubt = 1e-6 + 0.6 * rng.random() ** 4
    start = rng.randrange(len(_COMMON))
    chosen = (token, _log(1 - doubt))
    shares = _shares(doubt, top - 1)
    spoken = (tokenizer.split(other)[0] for other in _alternatives(token, start)[: len(shares)])
    others = zip(spoken, shares, strict=False)
    return Logprob(*chosen, top=(chosen, *others) if top > 0 else ())


def _alternatives(token: str, start: int) -> tuple[str, ...]:
    """Other tokens, with a blank before them if the token has one."""
    blank = " " if token.startswith(" ") else ""
    turned = (blank + word for word in _COMMON[start:] + _COMMON[:start])
    return tuple(other for other in turned if other != token)


def _shares(doubt: float, number: int) -> tuple[float, ...]:
    """Log probabilities, each half of the one before, that sum up to less than the doubt."""
    return tuple(_log(doubt / 2 ** (rank + 1)) for rank in range(min(number, len(_COMMON))))


def _log(probability: float) -> float:
    """Rounded down: sums stay at most one, and no machine's last digit shows."""
    return floor(log(probability) * 1e6) / 1e6


def judgement(text: str, stated: Mapping[str, float], seed: Seed) -> Judgement:
    """Return the stated moderation scores, and tiny ones that follow from the text for all other categories."""
    scores = {name: stated[name] if name in stated else _tiny(name, text, seed) for name in CATEGORIES}
    return Judgement(scores, frozenset(name for name, score in scores.items() if score >= 0.5))


def _tiny(category: str, text: str, seed: Seed) -> float:
    drawn = seed.fraction("moderation", category, text)
    return drawn * drawn * drawn / 1000


_SPOKEN = (
    "the a an and of to in is it that this for on with as by at from or be are was not you we they can will all one "
    "more some any which there"
)
_COMMON = tuple(_SPOKEN.split())
