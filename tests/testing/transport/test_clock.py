"""The clock of a server in tests: real time, and what was skipped."""

import asyncio
import math

import pytest

from mockserver.config.errors import ConfigError
from mockserver.testing import Clock


def test_it_runs_by_itself_and_can_be_put_forward() -> None:
    clock = Clock()
    before = clock.now()
    clock.advance(60)
    assert 60 <= clock.now() - before < 61


def test_a_moment_is_reached_at_once_and_never_left_again() -> None:
    clock = Clock()
    moment = clock.now() + 30
    clock.reach(moment)
    reached = clock.now()
    assert 0 <= reached - moment < 1
    clock.reach(moment - 20)
    assert clock.now() >= reached


@pytest.mark.parametrize("seconds", [-1, math.inf, math.nan])
def test_time_only_runs_forward(seconds: float) -> None:
    with pytest.raises(ConfigError, match=r"^advance takes seconds, 0 or more, not "):
        Clock().advance(seconds)


async def test_who_is_due_before_comes_first() -> None:
    clock, came = Clock(), list[int]()
    start = clock.now()

    async def wait(*moments: int) -> None:
        for moment in moments:
            await clock.reached(start + moment)
            came.append(moment)

    await asyncio.gather(wait(30, 40), wait(5, 10, 35), wait(20))
    assert came == [5, 10, 20, 30, 35, 40]


async def test_who_gives_up_keeps_nobody_waiting() -> None:
    clock = Clock()
    start = clock.now()
    early = asyncio.create_task(clock.reached(start + 5))
    await asyncio.sleep(0)
    early.cancel()
    await clock.reached(start + 10)
    assert clock.now() - start >= 10
    assert early.cancelled()
