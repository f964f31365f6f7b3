"""Texts that differ in one span become one pattern, where the answers agree but for it."""

import time
from typing import Any

import pytest

from mockserver.cassettes.convert.rules import RuleDraft, generalise


def rules(*said: tuple[str, Any]) -> list[RuleDraft]:
    made = [
        RuleDraft((f"#{at}",), {"operation": "chat", "last_user": text}, then)
        for at, (text, then) in enumerate(said, 1)
    ]
    return generalise(made, "last_user")


def test_a_span_that_the_answer_repeats() -> None:
    (made,) = rules(("Greet Ada.", {"text": "Hi Ada!"}), ("Greet Jean-Luc Picard.", {"text": "Hi Jean-Luc Picard!"}))
    assert made.sources == ("#1", "#2")
    assert made.when == {"operation": "chat", "last_user": {"regex": r"^Greet (?P<value>.+?)\.$"}}
    assert made.then == {"text": "Hi {{ match.value }}!"}


def test_a_span_that_changes_nothing() -> None:
    (made,) = rules(("Is order 1 there?", {"text": "Yes."}), ("Is order 22 there?", {"text": "Yes."}))
    assert made.when["last_user"] == "Is order * there?"
    (odd,) = rules(("Is \\ order 1 there?", {"text": "Yes."}), ("Is \\ order 22 there?", {"text": "Yes."}))
    assert odd.when["last_user"] == {"regex": r"^Is \\ order (?P<value>.+?) there\?$"}


@pytest.mark.parametrize(
    "said",
    [
        [("Greet Ada", {"text": "Hi"}), ("Shun Bob", {"text": "Hi"})],
        [("Greet Ada", {"text": "Hi"}), ("Greet Bob", {"text": "Hi"})],
        [("Greet Ada now please", {"text": "Hi"}), ("Greet Bob now please", {"text": "Ho"})],
        [("Greet Ada", {"tool_calls": [{"name": "Ada"}]}), ("Greet Bob", {"tool_calls": [{"name": "Bob"}]})],
        [("Ada", {"text": "Ada"}), ("Bob", {"text": "Bob"})],
        [("Greet Ada", {"text": "Adam"}), ("Greet Bob", {"text": "Bobm"})],
    ],
)
def test_what_is_no_sign_of_a_pattern(said: Any) -> None:
    assert len(rules(*said)) == 2


def test_the_pattern_that_fits_most_wins() -> None:
    said = [(f"Weather in {city} today?", {"text": f"{city}: sunny"}) for city in ("Oslo", "Rome", "Bern")]
    made = rules(*said, ("Weather in Oslo tomorrow?", {"text": "Oslo: sunny"}))
    assert [rule.sources for rule in made] == [("#4",), ("#1", "#2", "#3")]


def test_answers_in_turn_stay_as_they_are() -> None:
    first = RuleDraft(("#1",), {"last_user": "Is order 1 there?"}, {"text": "Yes."}, times=1)
    second = RuleDraft(("#2",), {"last_user": "Is order 2 there?"}, {"text": "Yes."})
    assert generalise([first, second], "last_user") == [first, second]


def test_a_thousand_rules_take_no_time() -> None:
    said = [
        (f"Tell me all that there is to know of number {at} in words", {"text": f"It is {at}."}) for at in range(1000)
    ]
    began = time.perf_counter()
    assert len(rules(*said)) == 1
    assert time.perf_counter() - began < 20
