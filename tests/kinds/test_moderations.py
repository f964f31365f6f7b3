"""Scores of moderations."""

from mockserver.core.seed import Seed
from mockserver.kinds.moderations import CATEGORIES, judge


def test_all_clear_with_tiny_scores_that_follow_from_the_text() -> None:
    found = judge("hello", {}, Seed())
    assert tuple(found.scores) == CATEGORIES
    assert found.flagged == frozenset()
    assert all(0 <= score < 0.001 for score in found.scores.values())
    assert len(set(found.scores.values())) == len(CATEGORIES)
    assert found == judge("hello", {}, Seed())
    assert found != judge("hallo", {}, Seed())
    assert found != judge("hello", {}, Seed(1))


def test_what_is_stated_stands_and_flags_from_one_half_on() -> None:
    found = judge("hello", {"violence": 0.5, "hate": 0.49}, Seed())
    assert (found.scores["violence"], found.scores["hate"]) == (0.5, 0.49)
    assert found.flagged == {"violence"}
