"""Vectors, log probabilities and scores of moderation."""

from hashlib import sha256
from itertools import pairwise
from math import exp, isclose
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.core.plan import CATEGORIES, Logprob
from mockserver.core.seed import Seed
from mockserver.core.tokens import split
from mockserver.model.scores import dimensions_of, embedding, judgement, logprobs


def weighed(text: str, top: int) -> tuple[Logprob, ...]:
    return logprobs(split(text), Seed(0).stream("logprobs"), top)


@given(st.text() | st.text("the an ,"), st.integers(0, 20))
def test_each_token_is_weighed(text: str, top: int) -> None:
    found = weighed(text, top)
    assert tuple(one.token for one in found) == split(text)
    for one in found:
        assert one.logprob <= 0
        assert len(one.top) == top
        assert len({token for token, _ in one.top}) == top
        assert sorted(one.top, key=lambda pair: -pair[1]) == list(one.top)
        assert top == 0 or one.top[0] == (one.token, one.logprob)
        assert sum(exp(logprob) for _, logprob in one.top) <= 1


@pytest.mark.parametrize("top", [1, 5, 20])
def test_more_alternatives_change_no_probability(top: int) -> None:
    text = "The same words as before."
    assert [one.logprob for one in weighed(text, top)] == [one.logprob for one in weighed(text, 0)]
    assert [one.top for one in weighed(text, top)] == [one.top[:top] for one in weighed(text, 20)]


def test_pinned_values() -> None:
    assert weighed("Hi there", 2) == (
        Logprob(token="Hi", logprob=-0.129831, top=(("Hi", -0.129831), ("an", -2.798884))),
        Logprob(token=" there", logprob=-0.23054, top=((" there", -0.23054), (" some", -2.273538))),
    )


def test_all_clear_with_tiny_scores_that_follow_from_the_text() -> None:
    found = judgement("hello", {}, Seed())
    assert tuple(found.scores) == CATEGORIES
    assert found.flagged == frozenset()
    assert all(0 <= score < 0.001 for score in found.scores.values())
    assert len(set(found.scores.values())) == len(CATEGORIES)
    assert found == judgement("hello", {}, Seed())
    assert found != judgement("hallo", {}, Seed())
    assert found != judgement("hello", {}, Seed(1))


def test_what_is_stated_stands_and_flags_from_one_half_on() -> None:
    found = judgement("hello", {"violence": 0.5, "hate": 0.49}, Seed())
    assert (found.scores["violence"], found.scores["hate"]) == (0.5, 0.49)
    assert found.flagged == {"violence"}


SEED = Seed()


def likeness(one: str, other: str, dimensions: int = 1536) -> float:
    first, second = embedding(one, dimensions, SEED), embedding(other, dimensions, SEED)
    return sum(a * b for a, b in zip(first, second, strict=True))


@given(st.text(max_size=200), st.integers(1, 300), st.integers(0, 3))
def test_every_vector_has_unit_length_and_no_hole(text: str, dimensions: int, seed: int) -> None:
    vector = embedding(text, dimensions, Seed(seed))
    assert len(vector) == dimensions
    assert isclose(sum(number * number for number in vector), 1.0, rel_tol=1e-9)
    assert all(vector)


def test_the_seed_changes_every_vector() -> None:
    assert embedding("sea", 8, Seed(1)) != embedding("sea", 8, Seed(2))


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
    vectors = [embedding(text, 64, SEED) for text in ("", "hello", "Ärger İstanbul 天気 \ud800", "a b c " * 9000)]
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
    assert dimensions_of(model) == size
