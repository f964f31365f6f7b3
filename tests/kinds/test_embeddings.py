"""Generated vectors: of unit length, the same everywhere, and closer for texts that are alike."""

from hashlib import sha256
from itertools import pairwise
from math import isclose
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.core.seed import Seed
from mockserver.kinds.embeddings import embed, find_dimensions

SEED = Seed()


def likeness(one: str, other: str, dimensions: int = 1536) -> float:
    first, second = embed(one, dimensions, SEED), embed(other, dimensions, SEED)
    return sum(a * b for a, b in zip(first, second, strict=True))


@given(st.text(max_size=200), st.integers(1, 300), st.integers(0, 3))
def test_every_vector_has_unit_length_and_no_hole(text: str, dimensions: int, seed: int) -> None:
    vector = embed(text, dimensions, Seed(seed))
    assert len(vector) == dimensions
    assert isclose(sum(number * number for number in vector), 1.0, rel_tol=1e-9)
    assert all(vector)


def test_the_seed_changes_every_vector() -> None:
    assert embed("sea", 8, Seed(1)) != embed("sea", 8, Seed(2))


# Each text is closer to the first of its row than the next.
ROWS = (
    ("The cat sits on the mat.", "the cat sits on a mat", "A cat on a sofa", "Quarterly revenue rose by nine percent."),
    ("How is the weather in Oslo?", "The weather in Oslo is nice.", "Oslo is a city", "def main(): pass"),
    ("running shoes", "runners shoe", "cheese and wine"),
    ("今日の天気はどうですか", "明日の天気はどうですか", "おはよう"),
    ("Où est la bibliothèque ?", "OÙ EST LA BIBLIOTHÈQUE", "Je voudrais un café"),
)  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
@pytest.mark.parametrize("dimensions", [256, 1536, 3072])
def test_what_is_alike_is_closer(row: tuple[str, ...], dimensions: int) -> None:
    first, *others = row
    closeness = [likeness(first, other, dimensions) for other in others]
    assert all(near > far + 0.1 for near, far in pairwise(closeness))
    assert abs(closeness[-1]) < 0.2


@given(st.lists(st.text("abcdefghijklmnopqrstuvwxyz", min_size=4, max_size=9), min_size=4, max_size=12, unique=True))
def test_a_text_with_one_more_word_is_closer_than_one_of_other_letters(words: list[str]) -> None:
    text, other = " ".join(words), "0123 4567 8901 2345"
    assert likeness(text, f"{text} {other[:4]}") > 0.5 > likeness(text, other)


def test_known_numbers() -> None:
    """The same on every machine and Python: a change of these is a change for users."""
    vectors = [embed(text, 64, SEED) for text in ("", "hello", "Ärger İstanbul 天気 \ud800", "a b c " * 9000)]
    packed = b"".join(pack("<64d", *vector) for vector in vectors)
    assert sha256(packed).hexdigest() == "8b980340cd3323cdef7d3709f7257b10815f75429e202b4f60df0eaecd24dea4"


SIZES = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
    "Cohere-embed-v3-english": 1024,
    "mine": 1536,
}


@pytest.mark.parametrize(("model", "size"), SIZES.items())
def test_how_many_numbers_a_model_gives(model: str, size: int) -> None:
    assert find_dimensions(model) == size
