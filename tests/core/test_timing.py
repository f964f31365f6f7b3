"""Timings, and what a prompt makes of them."""

import pytest

from mockserver.core.plan import Timing


@pytest.mark.parametrize(
    ("timing", "at_once"),
    [
        (Timing(), True),
        (Timing(first_token=0.0, jitter=0.5, total=0.0), True),
        (Timing(first_token=0.1), False),
        (Timing(per_token=0.1), False),
        (Timing(total=0.1), False),
        (Timing(prompt_per_1k=0.1), False),
    ],
)
def test_whether_nothing_waits(timing: Timing, at_once: bool) -> None:
    assert timing.at_once is at_once


@pytest.mark.parametrize(
    ("timing", "after"),
    [
        (Timing(0.5, 0.1), Timing(0.5, 0.1)),
        (Timing(0.5, 0.1, prompt_per_1k=0.2), Timing(0.8, 0.1)),
        (Timing(per_token=0.1, prompt_per_1k=0.2), Timing(0.4, 0.1)),
        (Timing(prompt_per_1k=0.2, total=3.0), Timing(0.3, total=3.0)),
    ],
)
def test_a_prompt_delays_the_first_token(timing: Timing, after: Timing) -> None:
    found = timing.add_prompt_delay(1500)
    assert (found.first_token, found.prompt_per_1k) == (pytest.approx(after.first_token), 0.0)
    assert (found.per_token, found.total) == (after.per_token, after.total)
