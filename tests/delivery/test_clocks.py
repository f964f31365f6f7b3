"""Real clocks: they ring, in time or a little early, once, and not when they were told not to."""

import asyncio
import gc
import os
import resource
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mockserver.core.seed import monotonic
from mockserver.delivery.timer_wheel import Clock, LoopClock, clock

CLOCKS = [clock, LoopClock]


@pytest.mark.parametrize("make", CLOCKS)
async def test_it_rings_about_then(make: Callable[[], Clock]) -> None:
    time, rang = make(), asyncio.get_running_loop().create_future()
    when = time.time() + 0.0137
    time.call_at(when, lambda: rang.set_result(time.time()))
    assert await rang >= when - 0.001
    assert time.time() <= monotonic()


@pytest.mark.parametrize("make", CLOCKS)
@pytest.mark.parametrize("ago", [0.0, 0.5, 1e9])
async def test_what_is_past_rings_at_once(make: Callable[[], Clock], ago: float) -> None:
    time, rang = make(), asyncio.Event()
    time.call_at(max(0.0, time.time() - ago), rang.set)
    await asyncio.wait_for(rang.wait(), 5)


@pytest.mark.parametrize("make", CLOCKS)
async def test_what_is_cancelled_does_not_ring(make: Callable[[], Clock]) -> None:
    time, rang, other = make(), asyncio.Event(), asyncio.Event()
    time.call_at(time.time() + 0.005, rang.set).cancel()
    await asyncio.sleep(0.02)
    time.call_at(time.time() + 0.005, other.set)
    await asyncio.wait_for(other.wait(), 5)
    assert not rang.is_set()


if sys.platform == "linux":

    def test_a_timer_is_closed_with_its_clock() -> None:
        def timers() -> int:
            files = (os.path.realpath(path) for path in Path("/proc/self/fd").iterdir())
            return sum("timerfd" in file for file in files)

        async def one() -> None:
            clock().call_at(0.0, lambda: None)
            assert timers() == before + 1

        before = timers()
        asyncio.run(one())
        gc.collect()
        assert timers() == before

    async def test_where_no_more_files_can_be_opened_the_loop_rings() -> None:
        limits, most = resource.getrlimit(resource.RLIMIT_NOFILE), max(map(int, os.listdir("/proc/self/fd")))
        gaps = [os.open("/dev/null", os.O_RDONLY) for _ in range(most)]
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(gaps), limits[1]))
        try:
            assert isinstance(clock(), LoopClock)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
            for file in gaps:
                os.close(file)
