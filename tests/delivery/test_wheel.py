"""The wheel on a clock of the test's own, and on the loop's."""

import asyncio
import gc
import math
import random
import weakref
from collections.abc import Callable

import pytest

from mockserver.core.seed import monotonic
from mockserver.delivery.wheel import TICK, LoopClock, Wheel, shared
from tests.kit.clock import HandClock


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


async def test_those_due_in_the_same_tick_wake_together(clock: HandClock) -> None:
    wheel = Wheel(clock)
    sleepers = [wheel.sleep(1.0 + TICK * share) for share in (0.1, 0.5, 0.9)]
    clock.go(1.0)
    assert not any(sleeper.done() for sleeper in sleepers)
    clock.go(1.0 + TICK)
    assert all(sleeper.done() for sleeper in sleepers)
    assert clock.rings == 1


async def test_nobody_wakes_early_though_timers_may(clock: HandClock) -> None:
    clock.early = 0.004
    wheel, rng, woken = Wheel(clock), random.Random(1), dict[float, float]()
    sleepers = {moment: wheel.sleep(moment) for moment in (rng.random() for _ in range(300))}
    for _ in range(2 * len(sleepers)):
        if clock.alarms:
            clock.step()
            woken |= {at: clock.now for at, sleeper in sleepers.items() if sleeper.done() and at not in woken}
    assert sorted(woken) == sorted(sleepers)
    assert all(0 <= at - moment <= TICK for moment, at in woken.items())


async def test_there_is_one_timer_at_a_time(clock: HandClock) -> None:
    wheel = Wheel(clock)
    for moment in (3.0, 1.0, 2.0, 0.5, 4.0):
        wheel.sleep(moment)
        assert len(clock.alarms) == 1
    clock.go(2.0)
    assert [alarm.when for alarm in clock.alarms] == [3.0]
    clock.go(9.0)
    assert (len(wheel), clock.alarms) == (0, [])


async def test_who_leaves_is_forgotten(clock: HandClock) -> None:
    wheel = Wheel(clock)
    one, other = wheel.sleep(1.0), wheel.sleep(1.0)
    wheel.leave(one, 1.0)
    wheel.leave(one, 1.0)
    assert len(wheel) == 1
    wheel.leave(other, 1.0)
    assert (len(wheel), clock.alarms) == (0, [])
    clock.go(2.0)
    assert not one.done()
    wheel.leave(wheel.sleep(math.inf), math.inf)


async def test_leaving_leaves_nothing_behind(clock: HandClock) -> None:
    wheel = Wheel(clock)
    for number in range(5000):
        wheel.leave(wheel.sleep(1000.0 + number), 1000.0 + number)
    assert len(wheel._ticks) < 200


async def test_forever_is_never(clock: HandClock) -> None:
    wheel = Wheel(clock)
    sleeper = wheel.sleep(math.inf)
    assert (len(wheel), clock.alarms, sleeper.done()) == (0, [], False)


async def test_who_was_cancelled_does_not_hinder_others(clock: HandClock) -> None:
    wheel = Wheel(clock)
    one, other = wheel.sleep(1.0), wheel.sleep(1.0)
    one.cancel()
    clock.go(2.0)
    assert await other


async def test_a_loop_has_one_wheel_on_real_time() -> None:
    wheel = shared()
    assert shared() is wheel
    began = monotonic()
    assert await wheel.sleep(began + 0.0137)
    assert monotonic() - began >= 0.0137


async def test_real_time_may_ring_early_but_nobody_wakes() -> None:
    wheel = Wheel(LoopClock())
    moments = [monotonic() + 0.02 + number * 0.00037 for number in range(60)]

    async def lateness(moment: float) -> float:
        await wheel.sleep(moment)
        return monotonic() - moment

    assert min(await asyncio.gather(*map(lateness, moments))) >= 0


def test_a_wheel_does_not_keep_its_loop() -> None:
    def one(make: Callable[[], asyncio.AbstractEventLoop]) -> "weakref.ref[asyncio.AbstractEventLoop]":
        loop = make()
        loop.run_until_complete(rest())
        loop.close()
        return weakref.ref(loop)

    async def rest() -> None:
        until = monotonic() + 3600
        shared().leave(shared().sleep(until), until)

    gone = one(asyncio.new_event_loop)
    gc.collect()
    assert gone() is None
