"""Thoughts, where they are asked for."""

from typing import Any

import pytest

from mockserver.core.call import Call, Message
from mockserver.core.http import HttpRequest
from mockserver.core.plan import Reasoning, Text
from mockserver.core.seed import Seed
from mockserver.core.tokens import count
from mockserver.model import GENERATORS
from mockserver.model.prose.reasoning import after, reasoning

SEED = Seed(3)


def call(**more: Any) -> Call:
    said = (Message("user", "Tell me about green tea"),)
    return Call("openai", "chat", "m", HttpRequest("POST", "/"), 0, messages=said, **more)


@pytest.mark.parametrize("effort", [None, "none", "minimal"])
def test_nobody_thinks_unasked(effort: str | None) -> None:
    assert reasoning(call(effort=effort), SEED) == ()


def test_the_harder_the_longer() -> None:
    lengths = [
        count(thought.text)
        for effort in ("low", "medium", "high", "xhigh", "max")
        for thought in reasoning(call(effort=effort), SEED)
    ]
    assert len(lengths) == 5
    assert lengths == sorted(set(lengths))


def test_an_unknown_effort_is_a_medium_one() -> None:
    assert reasoning(call(effort="heroic"), SEED) == reasoning(call(effort="medium"), SEED)


def test_thoughts_are_about_the_subject() -> None:
    (thought,) = reasoning(call(effort="low"), SEED)
    assert "green tea" in thought.text


@pytest.mark.parametrize("most", [1, 2, 7, 20, 100])
def test_thoughts_take_half_of_the_tokens_at_the_most(most: int) -> None:
    found = reasoning(call(effort="high", max_tokens=most), SEED)
    assert sum(count(thought.text) for thought in found) <= most // 2
    assert bool(found) == (most > 1)
    left = after(call(effort="high", max_tokens=most), found).max_tokens
    assert left is not None
    assert left >= most / 2


def test_the_answer_fits_into_what_is_left() -> None:
    for seed in range(20):
        made = GENERATORS["auto"](call(effort="high", max_tokens=100), Seed(seed), {})
        thought, text = made.parts
        assert isinstance(thought, Reasoning)
        assert isinstance(text, Text)
        assert count(thought.text) + count(text.text) <= 100


def test_without_a_limit_nothing_changes() -> None:
    asked = call(effort="high")
    assert after(asked, reasoning(asked, SEED)) is asked
    limited = call(max_tokens=5)
    assert after(limited, ()) is limited
