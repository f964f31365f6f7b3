"""Made-up log probabilities of tokens, with common words as their alternatives."""

from collections.abc import Iterator
from functools import cache
from math import floor, log

from mockserver.core.plan import Logprob
from mockserver.core.seed import Random
from mockserver.core.tokens import APPROX, Tokenizer


def make_logprobs(tokens: tuple[str, ...], rng: Random, top: int, tokenizer: Tokenizer = APPROX) -> tuple[Logprob, ...]:
    """Return one for each token, with up to `top` alternatives, the token itself first."""
    return tuple(draw_logprobs(tokens, rng, top=top, tokenizer=tokenizer))


def draw_logprobs(tokens: tuple[str, ...], rng: Random, top: int, tokenizer: Tokenizer = APPROX) -> Iterator[Logprob]:
    # One loop without calls of its own functions: this is most of what such an answer costs.
    """Yield a log probability for each token, with `top` alternatives."""
    draw = rng.random
    draw_bits = rng.getrandbits
    words = len(_COMMON)
    usual, after_blank = _list_alternatives(tokenizer) if top > 0 else ((), ())
    halves = _HALVES[: top - 1]
    for token in tokens:
        # Two draws for each token, whatever `top` is: asking for more alternatives changes no probability.
        doubt = 1e-6 + 0.6 * draw() ** 4
        start = draw_bits(_BITS)
        while start >= words:
            start = draw_bits(_BITS)
        # Rounded down, as are the others: sums stay at most one, and no machine's last digit shows.
        value = floor(log(1 - doubt) * 1e6) / 1e6
        if top <= 0:
            yield Logprob(token, value)
            continue
        others = (after_blank if token[:1] == " " else usual)[start : start + top]
        if token in others:
            others = [other for other in others if other != token]
        # Each is half as probable as the one before: together they are less than the doubt.
        alternatives = [
            (other, floor(log(doubt / half) * 1e6) / 1e6) for other, half in zip(others, halves, strict=False)
        ]
        yield Logprob(token, value, ((token, value), *alternatives))


@cache
def _list_alternatives(tokenizer: Tokenizer) -> tuple[list[str], list[str]]:
    """Return the first tokens of common words, twice in a row; then the same of words after a blank."""
    usual, after_blank = ([tokenizer.split(blank + word)[0] for word in _COMMON] for blank in ("", " "))
    return usual * 2, after_blank * 2


_SPOKEN = (
    "the a an and of to in is it that this for on with as by at from or be are was not you we they can will all one "
    "more some any which there"
)
_COMMON = tuple(_SPOKEN.split())
_BITS = len(_COMMON).bit_length()
_HALVES = tuple([2.0**rank for rank in range(1, len(_COMMON) + 1)])  # 2, 4, 8...
