"""What is known of a model."""

import pytest

from mockserver.core.plan import Timing
from mockserver.engine.catalogue import UNKNOWN, Model, fits


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (UNKNOWN, UNKNOWN, UNKNOWN),
        (Model(1), Model(2, 3), Model(1, 3)),
        (Model(tools=False), Model(tools=True, vision=True), Model(tools=False, vision=True)),
        (Model(timing=Timing(1.0)), Model(tokenizer="approx"), Model(tokenizer="approx", timing=Timing(1.0))),
        (Model(aliases=("a",)), Model(aliases=("b",)), Model(aliases=("a",))),
    ],
)
def test_what_stands_first_wins_key_by_key(one: Model, other: Model, both: Model) -> None:
    assert one.over(other) == both


def test_what_is_said_to_be_nothing_is_not_filled_in() -> None:
    free = Model(unlimited=frozenset({"context_window"}))
    assert free.over(Model(5, 6)).over(Model(7)) == Model(None, 6, unlimited=frozenset({"context_window"}))
    assert Model(1).over(free).context_window == 1
    assert UNKNOWN.over(free).over(Model(5)).context_window is None


def test_patterns() -> None:
    assert fits("a*c", "abc")
    assert not fits("a*c", "abcd")
