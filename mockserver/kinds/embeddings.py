"""Embeddings: a unit vector for each text.

Each word, and each run of three letters, adds to a few places of a generated vector, chosen by its hash. The hash of
the whole text adds a little to all of them, so that no place is empty. All sums are of integers, followed by one
division by one square root: the numbers are the same on every machine.
"""

from collections import Counter
from collections.abc import Sequence
from hashlib import shake_256
from itertools import chain
from math import sqrt
from operator import neg
from struct import unpack
from typing import Annotated
from zlib import adler32

from msgspec.structs import replace

from mockserver.config.tables import field
from mockserver.core.call import Call
from mockserver.core.draft import ArtifactDraft
from mockserver.core.http import Headers
from mockserver.core.lazy import LazySequence, compile_lazily, remember
from mockserver.core.plan import Artifact
from mockserver.core.seed import Seed
from mockserver.core.vectors import PaletteVector
from mockserver.kinds.kind import ArtifactKind, Origins, ReadFile, ThenKey

Vector = Sequence[float]
USUAL_DIMENSIONS = 1536


class Embeddings(Artifact, frozen=True):
    """A unit vector for each prompt."""

    model: str
    vectors: Sequence[Vector]
    prompt_tokens: int
    headers: Headers = ()

    @property
    def tokens(self) -> int:
        return self.prompt_tokens

    @property
    def size(self) -> int:
        return len(self.vectors) * USUAL_DIMENSIONS

    def join(self, others: "Sequence[Embeddings]") -> "Embeddings":
        """Return these vectors with those of other prompts."""
        many = (self.vectors, *[other.vectors for other in others])
        vectors = LazySequence(lambda: chain.from_iterable(many), sum(map(len, many)))
        return replace(self, vectors=vectors, prompt_tokens=sum([self.tokens, *[other.tokens for other in others]]))

    def show(self) -> str:
        """Return the first numbers of the first vector."""
        vector = self.vectors[0]
        numbers = ", ".join(f"{number:g}" for number in vector[:_SHOWN_NUMBERS])
        return f"[{numbers}{', …' * (len(vector) > _SHOWN_NUMBERS)}]"


_SHOWN_NUMBERS = 8  # of a vector


def _compile(stated: Sequence[float], read_file: ReadFile) -> tuple[float, ...]:
    return tuple(map(float, stated))


def _finish(call: Call, draft: ArtifactDraft, origins: Origins) -> Embeddings:
    size = call.options.dimensions or find_dimensions(call.model)
    stated: tuple[float, ...] | None = draft.stated
    texts = [prompt.text for prompt in call.prompts]
    vectors = LazySequence(lambda: (stated or embed(text, size, origins.seed) for text in texts), len(texts))
    tokens = draft.usage.get("prompt", call.prompt_tokens)
    return Embeddings(model=draft.model or call.model, vectors=vectors, prompt_tokens=tokens, headers=draft.headers)


_READ = 32_768  # characters of a text: about as many as models take
_LONGEST_WORD = 200  # characters of a word
_SHORT_WORD = 3  # characters of a word that only counts as a whole
_HASH_WEIGHT = 3_000  # what one hash adds (an even number); the whole text adds up to 127


def find_dimensions(model: str) -> int:
    """Return how many numbers the vectors of a model have, by a word in its name."""
    name = model.lower()
    for word, size in _SIZES.items():
        if word in name:
            return size
    return USUAL_DIMENSIONS


def embed(text: str, dimensions: int, seed: Seed) -> Vector:
    """Return a unit vector for a text; texts with common words have similar ones."""
    indexes = shake_256(seed.digest("embedding", text)).digest(dimensions).translate(_INDEXES)
    read = text[:_READ]
    words = _WORD.findall(read.lower() if read.isascii() else read.translate(_SMALL_LETTERS))
    sums = dict[int, int]()
    for place, times in Counter(chain.from_iterable([_find_places(word, dimensions, seed) for word in words])).items():
        if place < dimensions:
            sums[place] = sums.get(place, _ODD[indexes[place]]) + _HASH_WEIGHT * times
        else:
            at = place - dimensions
            sums[at] = sums.get(at, _ODD[indexes[at]]) - _HASH_WEIGHT * times
    eighths = _sum_bytes(indexes.translate(_LOW)) + _PART * _sum_bytes(indexes.translate(_HIGH))
    squares = 8 * eighths + dimensions
    length = sqrt(squares + sum([each * each - _SQUARES[indexes[at]] for at, each in sums.items()]))
    positive = [number / length for number in _POSITIVE]
    palette = [*positive, *map(neg, reversed(positive))]
    return PaletteVector(palette, indexes, {at: each / length for at, each in sums.items()})


def _sum_bytes(numbers: bytes) -> int:
    """Return the sum of small numbers: the low half of Adler-32, whose modulus a thousand of them cannot reach."""
    return sum([adler32(numbers[at : at + 1_000], 0) & 0xFFFF for at in range(0, len(numbers), 1_000)])


@remember(4_096)
def _find_places(word: str, dimensions: int, seed: Seed) -> tuple[int, ...]:
    """Return the places where a word adds to a vector; beyond its end stand those where it subtracts."""
    word = word[:_LONGEST_WORD]
    hashes = _hash_text("word", word, seed)[: len(word)]
    if len(word) > _SHORT_WORD or not word.isascii():
        around = f"<{word}>"
        letters = [_hash_letters(around[at : at + 3], seed) for at in range(len(word))]
        hashes = (*hashes, *chain.from_iterable(letters))
    both = 2 * dimensions
    return tuple([number % both for number in hashes])


@remember(16_384)
def _hash_letters(letters: str, seed: Seed) -> tuple[int, ...]:
    return _hash_text("letters", letters, seed)[:2]


def _hash_text(what: str, text: str, seed: Seed) -> tuple[int, ...]:
    """Return four numbers of 64 bits."""
    return unpack(">4Q", seed.digest(what, text))


_ODD = (*range(1, 128, 2), *range(-127, 0, 2))  # none is zero
_SQUARES = tuple([number * number for number in _ODD])
_INDEXES = bytes(byte // 2 for byte in range(256))
_POSITIVE = tuple(map(float, range(1, 128, 2)))  # floats divide faster
# The square of an odd number is one more than a multiple of eight: what of eights it has, in two parts.
_PART = 64
_LOW = bytes([square // 8 % _PART for square in _SQUARES] * 2)
_HIGH = bytes([square // 8 // _PART for square in _SQUARES] * 2)
_SMALL_LETTERS = {code: small for code in range(0x530) if len(small := chr(code).lower()) == 1 and small != chr(code)}
_WORD = compile_lazily(r"[^\s!-/:-@\[-`{-~\u00a1-\u00bf\u2000-\u206f\u3000-\u303f\uff00-\uff0f]+")
# Sizes by a word in the model's name.
_SIZES = {
    "light-v3": 384,  # of Cohere's
    **dict.fromkeys(("english-v3", "multilingual-v3", "cohere", "embed-v3"), 1024),
    "voyage-3-lite": 512,
    "voyage-code-2": 1536,
    "jina-embeddings-v4": 2048,
    **dict.fromkeys(("voyage", "jina"), 1024),
    "3-large": 3072,
    **dict.fromkeys(("mistral-embed", "mxbai-embed", "bge-m3"), 1024),
    "nomic-embed": 768,
    "all-minilm": 384,
}

_LARGEST = 3.4e38  # the largest 32-bit float

EMBEDDINGS = ArtifactKind(
    name="embeddings",
    advice="; write embedding: [...]",
    then=ThenKey(
        key="embedding",
        value=Annotated[list[Annotated[float, field(ge=-_LARGEST, le=_LARGEST)]], field(min_length=1)],
        doc="an embedding vector",
        beside=frozenset(("timing", "faults", "usage", "model", "headers")),
        states="a vector",
        example=[0.1, 0.2, 0.3],
        compile=_compile,
    ),
    body=lambda text: {"input": [text]},
    model_word="embed",
    wire={"model?": str | None, "data": [{"index?": float | None, "embedding": list[float] | str}]},
    finish=_finish,
)
OPERATIONS = (EMBEDDINGS,)
