"""Made-up numbers: embedding vectors, moderation scores, and log probabilities of tokens.

Each word and each run of three letters adds to a few places of the vector, chosen by its hash; the hash of the whole
text adds a little to all of them, so that no place is empty. All sums are of integers, followed by one division by one
square root: the same numbers on every machine.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from hashlib import shake_256
from itertools import chain
from math import log, sqrt
from operator import neg
from struct import unpack
from zlib import adler32

from msgspec import Struct

from mockserver.core.lazy import lazy_pattern
from mockserver.core.plan import CATEGORIES, Judgement, Logprob, Vector
from mockserver.core.seed import Random, Seed
from mockserver.core.tokens import APPROX, Tokenizer
from mockserver.core.vectors import PaletteVector

DIMENSIONS = 1536
_READ = 32_768  # characters of a text: about as many as models take
_LONGEST = 200  # characters of a word
_SHORT = 3  # characters of a word that only counts as a whole
_HASH_WEIGHT = 3_000  # what one hash adds (an even number); the whole text adds up to 127


def dimensions_of(model: str) -> int:
    return next((size for word, size in _SIZES.items() if word in model.lower()), DIMENSIONS)


def embedding(text: str, dimensions: int, seed: Seed) -> Vector:
    indexes = shake_256(seed.digest("embedding", text)).digest(dimensions).translate(_INDEXES)
    words, sums = _WORD.findall(_lower(text[:_READ])), dict[int, int]()
    for place, times in Counter(chain.from_iterable([_places(word, dimensions, seed) for word in words])).items():
        if place < dimensions:
            sums[place] = sums.get(place, _ODD[indexes[place]]) + _HASH_WEIGHT * times
        else:
            at = place - dimensions
            sums[at] = sums.get(at, _ODD[indexes[at]]) - _HASH_WEIGHT * times
    eighths = _sum(indexes.translate(_LOW)) + _PART * _sum(indexes.translate(_HIGH))
    squares = 8 * eighths + dimensions
    length = sqrt(squares + sum([each * each - _SQUARES[indexes[at]] for at, each in sums.items()]))
    positive = [number / length for number in _POSITIVE]
    palette = [*positive, *map(neg, reversed(positive))]
    return PaletteVector(palette, indexes, {at: each / length for at, each in sums.items()})


def _sum(numbers: bytes) -> int:
    """Return the sum of small numbers, which begins their Adler-32: modulo one that a thousand of them cannot reach."""
    return sum([adler32(numbers[at : at + 1_000], 0) & 0xFFFF for at in range(0, len(numbers), 1_000)])


@lru_cache(maxsize=4_096)
def _places(word: str, dimensions: int, seed: Seed) -> tuple[int, ...]:
    """The places where a word adds to a vector; from places beyond its end (less its length) it subtracts."""
    word = word[:_LONGEST]
    hashes = _numbers("word", word, seed)[: len(word)]
    if len(word) > _SHORT or not word.isascii():
        around = f"<{word}>"
        letters = [_numbers_of_letters(around[at : at + 3], seed) for at in range(len(word))]
        hashes = (*hashes, *chain.from_iterable(letters))
    both = 2 * dimensions
    return tuple([number % both for number in hashes])


@lru_cache(maxsize=16_384)
def _numbers_of_letters(letters: str, seed: Seed) -> tuple[int, ...]:
    return _numbers("letters", letters, seed)[:2]


def _numbers(what: str, text: str, seed: Seed) -> tuple[int, ...]:
    return unpack(">4Q", seed.digest(what, text))


def _lower(text: str) -> str:
    return text.lower() if text.isascii() else text.translate(_SMALL)


_ODD = (*range(1, 128, 2), *range(-127, 0, 2))  # none is zero
_SQUARES = tuple([number * number for number in _ODD])
_INDEXES = bytes(byte // 2 for byte in range(256))
_POSITIVE = tuple(map(float, range(1, 128, 2)))  # floats divide faster
# The square of an odd number is one more than a multiple of eight: what of eights it has, in two parts.
_PART = 64
_LOW = bytes([square // 8 % _PART for square in _SQUARES] * 2)
_HIGH = bytes([square // 8 // _PART for square in _SQUARES] * 2)
_SMALL = {code: small for code in range(0x530) if len(small := chr(code).lower()) == 1 and small != chr(code)}
_WORD = lazy_pattern(r"[^\s!-/:-@\[-`{-~\u00a1-\u00bf\u2000-\u206f\u3000-\u303f\uff00-\uff0f]+")
# Sizes by a word in the model's name.
_SIZES = {"3-large": 3072, "cohere": 1024, "embed-v3": 1024}


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
_BITS = len(_COMMON).bit_length()
_HALVES = tuple([2.0**rank for rank in range(1, len(_COMMON) + 1)])  # 2, 4, 8...
