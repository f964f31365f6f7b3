"""Made-up log probabilities of tokens, with common words as their alternatives."""

from collections.abc import Iterator, Sequence
from functools import cache
from math import log

from msgspec import Struct

from mockserver.core.plan import Logprob
from mockserver.core.seed import Random
from mockserver.core.tokens import APPROX, Tokenizer


def logprobs(tokens: tuple[str, ...], rng: Random, top: int, tokenizer: Tokenizer = APPROX) -> tuple[Logprob, ...]:
    """Return one for each token, with up to `top` alternatives, the token itself first."""
    return tuple(each_logprob(tokens, rng, top, tokenizer))


def each_logprob(tokens: tuple[str, ...], rng: Random, top: int, tokenizer: Tokenizer = APPROX) -> Iterator[Logprob]:
    # One loop without calls of its own functions: this is most of what such an answer costs.
    draw, draw_bits, words = rng.random, rng.getrandbits, len(_COMMON)
    usual, after_blank = _ranked_words(tokenizer, top - 1) if top > 0 else ((), ())
    for token in tokens:
        # Two draws for each token, whatever `top` is: asking for more alternatives changes no probability.
        doubt = 1e-6 + 0.6 * draw() ** 4
        start = draw_bits(_BITS)
        while start >= words:
            start = draw_bits(_BITS)
        # Rounded down, as are the others: sums stay at most one, and no machine's last digit shows.
        value = log(1 - doubt) * 1e6 // 1 / 1e6
        if top <= 0:
            yield Logprob(token, value)
            continue
        ranked = (after_blank if token[:1] == " " else usual)[start]
        others = ranked.without(token) if token in ranked.words else ranked.others
        alternatives = [(other, log(doubt / part) * 1e6 // 1 / 1e6) for other, part in others]
        yield Logprob(token, value, ((token, value), *alternatives))


class _Ranked(Struct, frozen=True):
    """Common words from one of them on, in which a token is looked for, and their first tokens, each with its part.

    Each is half as probable as the one before: together they are less than the doubt.
    """

    words: Sequence[str]
    spoken: Sequence[str]  # one more than there are words
    others: Sequence[tuple[str, float]]

    @classmethod
    def of(cls, words: Sequence[str], spoken: Sequence[str]) -> "_Ranked":
        return cls(words, spoken, [*zip(spoken[: len(words)], _HALVES, strict=False)])

    def without(self, token: str) -> Sequence[tuple[str, float]]:
        """Return the others for a token that is one of the words."""
        at = self.words.index(token)
        return [*zip((*self.spoken[:at], *self.spoken[at + 1 :]), _HALVES, strict=False)]


@cache
def _ranked_words(tokenizer: Tokenizer, number: int) -> tuple[Sequence[_Ranked], Sequence[_Ranked]]:
    """Return so many common words from each of them on; then the same of words after a blank."""
    usual, after_blank = [
        [
            _Ranked.of(turned[:number], [tokenizer.split(word)[0] for word in turned[: number + 1]])
            for turned in (words[at:] + words[:at] for at in range(len(words)))
        ]
        for words in (_COMMON, tuple([" " + word for word in _COMMON]))
    ]
    return usual, after_blank


_SPOKEN = (
    "the a an and of to in is it that this for on with as by at from or be are was not you we they can will all one "
    "more some any which there"
)
_COMMON = tuple(_SPOKEN.split())
_BITS = len(_COMMON).bit_length()
_HALVES = tuple([2.0**rank for rank in range(1, len(_COMMON) + 1)])  # 2, 4, 8...
