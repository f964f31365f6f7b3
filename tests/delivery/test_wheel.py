"""The wheel on a clock of the test's own, and on the loop's."""

import asyncio
import gc
import math
import random
import weakref
from collections.abc import Callable

import pytest

from mockserver.core.seed import monotonic
from mockserver.delivery.timer_wheel import TICK, Wheel, shared
from tests.kit.clock import HandClock


class Dormouse:
    """Somebody who sleeps, and notes when he is woken."""

    def __init__(self, clock: HandClock | None = None, then: Callable[[], None] | None = None) -> None:
        self.woken = asyncio.Event()
        self.at = 0.0
        self._clock, self._then = clock, then

    def wake(self) -> None:
        self.at = monotonic() if self._clock is None else self._clock.now
        self.woken.set()
        if self._then is not None:
            self._then()


def asleep(wheel: Wheel, until: float, clock: HandClock | None = None) -> Dormouse:
    sleeper = Dormouse(clock)
    wheel.sleep(sleeper, until)
    return sleeper


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


async def test_those_due_in_the_same_tick_wake_together(clock: HandClock) -> None:
    wheel = Wheel(clock)
    sleepers = [asleep(wheel, 1.0 + TICK * share) for share in (0.1, 0.5, 0.9)]
    clock.go(1.0)
    assert not any(sleeper.woken.is_set() for sleeper in sleepers)
    clock.go(1.0 + TICK)
    assert all(sleeper.woken.is_set() for sleeper in sleepers)
    assert clock.rings == 1


async def test_nobody_wakes_early_though_timers_may(clock: HandClock) -> None:
    clock.early = 0.004
    wheel, rng = Wheel(clock), random.Random(1)
    sleepers = {moment: asleep(wheel, moment, clock) for moment in (rng.random() for _ in range(300))}
    for _ in range(2 * len(sleepers)):
        if clock.alarms:
            clock.step()
    assert all(sleeper.woken.is_set() for sleeper in sleepers.values())
    assert all(0 <= sleeper.at - moment <= TICK for moment, sleeper in sleepers.items())


async def test_there_is_one_timer_at_a_time(clock: HandClock) -> None:
    wheel = Wheel(clock)
    for moment in (3.0, 1.0, 2.0, 0.5, 4.0):
        asleep(wheel, moment)
        assert len(clock.alarms) == 1
    clock.go(2.0)
    assert [alarm.when for alarm in clock.alarms] == [3.0]
    clock.go(9.0)
    assert (len(wheel), clock.alarms) == (0, [])


async def test_who_leaves_is_forgotten(clock: HandClock) -> None:
    wheel = Wheel(clock)
    one, other = asleep(wheel, 1.0), asleep(wheel, 1.0)
    wheel.leave(one, 1.0)
    wheel.leave(one, 1.0)
    assert len(wheel) == 1
    wheel.leave(other, 1.0)
    assert (len(wheel), clock.alarms) == (0, [])
    clock.go(2.0)
    assert not one.woken.is_set()
    wheel.leave(asleep(wheel, math.inf), math.inf)


async def test_leaving_leaves_nothing_behind(clock: HandClock) -> None:
    wheel = Wheel(clock)
    for number in range(5000):
        wheel.leave(asleep(wheel, 1000.0 + number), 1000.0 + number)
    assert len(wheel._ticks) < 200


@pytest.mark.parametrize("until", [math.inf, 1e308, 1e40, 1e13])
async def test_forever_is_never(clock: HandClock, until: float) -> None:
    wheel = Wheel(clock)
    sleeper = asleep(wheel, until)
    assert (len(wheel), clock.alarms, sleeper.woken.is_set()) == (0, [], False)
    wheel.leave(sleeper, until)


async def test_one_who_fails_does_not_stop_the_others(clock: HandClock) -> None:
    def fail() -> None:
        raise ValueError("planted")

    wheel = Wheel(clock)
    wheel.sleep(Dormouse(clock, fail), 1.0)
    other = asleep(wheel, 2.0, clock)
    with pytest.raises(ValueError, match="planted"):
        clock.go(3.0)
    later = asleep(wheel, 2.5, clock)
    clock.go(3.0)
    assert (other.at, later.at) == (2.0, 2.5)


def test_a_wheel_does_not_keep_its_loop() -> None:
    def one(make: Callable[[], asyncio.AbstractEventLoop]) -> "weakref.ref[asyncio.AbstractEventLoop]":
        loop = make()
        loop.run_until_complete(rest())
        loop.close()
        return weakref.ref(loop)

    async def rest() -> None:
        until = monotonic() + 3600
        shared().leave(asleep(shared(), until), until)

    gone = one(asyncio.new_event_loop)
    gc.collect()
    assert gone() is None


def test_a_loop_that_was_closed_while_somebody_slept_is_forgotten() -> None:
    class Owner(Dormouse):
        """Who knows the loop in which he sleeps, as a future does."""

        loop: asyncio.AbstractEventLoop

    async def doze() -> "weakref.ref[asyncio.AbstractEventLoop]":
        owner = Owner()
        owner.loop = asyncio.get_running_loop()
        shared().sleep(owner, monotonic() + 3600)
        return weakref.ref(owner.loop)

    def one() -> "weakref.ref[asyncio.AbstractEventLoop]":
        loop = asyncio.new_event_loop()
        gone = loop.run_until_complete(doze())
        loop.close()
        return gone

    gone, _ = one(), one()
    gc.collect()
    assert gone() is None
