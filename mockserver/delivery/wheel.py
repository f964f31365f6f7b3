"""The timer wheel: all who wait in an event loop share one timer of it. Knows no streams and no sockets.

A moment is a number of seconds on the wheel's clock. Those due within the same tick wake together; nobody wakes early,
however coarse the timers of the loop are.
"""

import asyncio
import math
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Protocol
from weakref import WeakKeyDictionary

from mockserver.core.seed import monotonic

TICK = 1 / 4096  # seconds; a power of two, so that ticks and moments become each other without rounding


class Alarm(Protocol):
    """Something that a clock will call."""

    def cancel(self) -> None:
        """Do not call it."""


class Clock(Protocol):
    """The time, and one who calls when it has come; a test's own needs no time to pass."""

    def time(self) -> float:
        """Seconds, which only run forward."""

    def call_at(self, when: float, callback: Callable[[], None], /) -> Alarm:
        """Call back at about this moment."""


Sleeper = asyncio.Future[bool]  # True when the moment has come, False when it makes no sense to wait any longer


class Wheel:
    """Wakes sleepers at their moments. To sleep and to leave again cost the same however many sleep."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self._slots: dict[int, dict[Sleeper, None]] = {}
        self._ticks: list[int] = []  # a heap; some may have lost their slots
        self._armed: tuple[int, Alarm] | None = None

    def __len__(self) -> int:
        return sum(map(len, self._slots.values()))

    def sleep(self, until: float) -> Sleeper:
        """Somebody to await, who wakes at a moment, perhaps an infinite one."""
        sleeper = Sleeper()
        if until < math.inf:
            tick = math.ceil(until / TICK)
            slot = self._slots.get(tick)
            if slot is not None:
                slot[sleeper] = None
            else:
                self._slots[tick] = {sleeper: None}
                heappush(self._ticks, tick)
                self._arm()
        return sleeper

    def leave(self, sleeper: Sleeper, until: float) -> None:
        """Forget one who was to sleep until then, and does not wait any longer; who has woken may leave too."""
        tick = math.ceil(until / TICK) if until < math.inf else None
        slot = self._slots.get(tick) if tick is not None else None
        if tick is None or slot is None:
            return
        slot.pop(sleeper, None)
        if not slot:
            del self._slots[tick]
            self._tidy()

    def _tidy(self) -> None:
        """Keep no more ticks than there is use for, and no timer for nobody."""
        if len(self._ticks) > 2 * len(self._slots) + _STALE:
            self._ticks = list(self._slots)
            heapify(self._ticks)
        if not self._slots and self._armed is not None:
            self._armed[1].cancel()
            self._armed = None

    def _arm(self) -> None:
        """See that there is a timer for the next tick."""
        while self._ticks and self._ticks[0] not in self._slots:
            heappop(self._ticks)
        if not self._ticks or (self._armed is not None and self._armed[0] <= self._ticks[0]):
            return
        if self._armed is not None:
            self._armed[1].cancel()
        self._armed = self._ticks[0], self.clock.call_at(self._ticks[0] * TICK, self._turn)

    def _turn(self) -> None:
        """Wake all whose time has come; a timer that comes early is set again."""
        self._armed = None
        now = math.floor(self.clock.time() / TICK)
        while self._ticks and self._ticks[0] <= now:
            for sleeper in self._slots.pop(heappop(self._ticks), ()):
                if not sleeper.done():
                    sleeper.set_result(True)
        self._arm()


class LoopClock:
    """Real time, and the timers of the running event loop, of which uvloop's count whole milliseconds."""

    def time(self) -> float:
        """Seconds on the clock of durations."""
        return monotonic()

    def call_at(self, when: float, callback: Callable[[], None], /) -> Alarm:
        """Call back within the millisecond after this moment, or a little early."""
        delay = max(0.0, math.ceil((when - monotonic()) * 1000) / 1000)
        return asyncio.get_running_loop().call_later(delay, callback)


def shared() -> Wheel:
    """The wheel of the running event loop."""
    loop = asyncio.get_running_loop()
    wheel = _WHEELS.get(loop)
    if wheel is None:
        wheel = _WHEELS[loop] = Wheel(LoopClock())
    return wheel


_STALE = 64  # ticks without a slot that nobody minds
_WHEELS: WeakKeyDictionary[asyncio.AbstractEventLoop, Wheel] = WeakKeyDictionary()
