"""Rates that several places state, and how one stands with them."""

import pytest

from mockserver.core.rates import UNLIMITED, Rate, Standing, layer_rates, make_bucket

MINUTE, DAY = Rate("requests", "minute", 3), Rate("requests", "day", 100)
TOKENS = Rate("tokens", "minute", 1000)


@pytest.mark.parametrize(
    ("layers", "held"),
    [
        ((), ()),
        (((MINUTE, DAY),), (MINUTE, DAY)),
        (((MINUTE, DAY), (Rate("requests", "minute", 9),)), (Rate("requests", "minute", 9), DAY)),
        (((MINUTE,), (), (TOKENS,)), (MINUTE, TOKENS)),
        (((MINUTE, DAY), (Rate("requests", "minute", UNLIMITED),)), (DAY,)),
        (((MINUTE,), (Rate("requests", "minute", UNLIMITED),), (MINUTE,)), (MINUTE,)),
    ],
)
def test_the_later_win_each_kind_and_window_by_itself(
    layers: tuple[tuple[Rate, ...], ...], held: tuple[Rate, ...]
) -> None:
    assert layer_rates(*layers) == held


def test_refill() -> None:
    drawn = [make_bucket(rate, "x").draw(amount).seconds for rate, amount in ((MINUTE, 1), (DAY, 2), (TOKENS, 50))]
    assert drawn == [20.0, 1728.0, 3.0]


@pytest.mark.parametrize(
    ("until_full", "left"), [(0.0, 3), (0.1, 2), (20.0, 2), (20.1, 1), (40.0, 1), (59.9, 0), (60.0, 0), (500.0, 0)]
)
def test_only_whole_ones_are_left(until_full: float, left: int) -> None:
    assert make_bucket(MINUTE, "x").find_standing(until_full) == Standing(3, left, until_full)


@pytest.mark.parametrize("limit", [1, 3, 7, 11, 997, 99_999])
def test_what_was_taken_is_missing_and_no_more(limit: int) -> None:
    bucket = make_bucket(Rate("tokens", "minute", limit), "x")
    for taken in (1, limit // 2, limit - 1, limit):
        assert bucket.find_standing(bucket.draw(taken).seconds).left == limit - taken
