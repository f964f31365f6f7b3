"""The timer wheel: all who wait in an event loop share one timer of it. Knows no streams and no sockets.

A moment is a number of seconds on the wheel's clock. Those due within the same tick wake together; nobody wakes early,
however coarse the timers of the loop are.
"""

import asyncio
import ctypes
import math
import os
import sys
import weakref
from collections.abc import Callable
from contextlib import suppress
from heapq import heapify, heappop, heappush
from typing import Protocol
from weakref import WeakKeyDictionary

from mockserver.core.seed import monotonic


class Alarm(Protocol):
    """Something that a clock will call."""

    def cancel(self) -> None:
        """Do not call it."""


class Clock(Protocol):
    """The time, and one who calls when it has come; a test's own needs no time to pass."""

    def time(self) -> float:
        """Seconds, which only run forward."""

    def call_at(self, when: float, callback: Callable[[], None], /) -> Alarm:
        """Call back at about this moment. One alarm is set at a time."""


def clock() -> Clock:
    """Real time and the finest alarm that there is for the running event loop."""
    if sys.platform == "linux":
        with suppress(OSError):  # as there are too many open files, or such a timer is not allowed here
            return TimerClock()
    return LoopClock()


class LoopClock:
    """Real time, and the timers of the running event loop, of which uvloop's count whole milliseconds."""

    def time(self) -> float:
        """Seconds on the clock of durations."""
        return monotonic()

    def call_at(self, when: float, callback: Callable[[], None], /) -> Alarm:
        """Call back within the millisecond after this moment, or a little early."""
        delay = max(0.0, math.ceil((when - monotonic()) * 1000) / 1000)
        return asyncio.get_running_loop().call_later(delay, callback)


if sys.platform == "linux":
    # The system's own timers, which Python knows by name from 3.13 on: see timerfd_create(2).
    _LIBC = ctypes.CDLL(None, use_errno=True)
    _MONOTONIC, _ABSOLUTE = 1, 1

    class _Setting(ctypes.Structure):
        """`struct itimerspec`: each how many seconds and nanoseconds, which none here does; and when first."""

        _fields_ = (("_each", ctypes.c_long * 2), ("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))

    class TimerClock:
        """Real time, and a timer of Linux, which is true to some microseconds."""

        def __init__(self) -> None:
            self._timer = _LIBC.timerfd_create(_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
            if self._timer < 0:
                raise OSError(ctypes.get_errno(), "no timer is to be had")
            self._setting = _Setting()
            self._callback: Callable[[], None] | None = None
            asyncio.get_running_loop().add_reader(self._timer, self._ring)
            weakref.finalize(self, os.close, self._timer)

        def time(self) -> float:
            """Seconds on the clock of durations, which is the timer's too."""
            return monotonic()

        def call_at(self, when: float, callback: Callable[[], None], /) -> Alarm:
            """Call back right after this moment; an alarm that was set before does not ring any more."""
            setting, self._callback = self._setting, callback
            setting.seconds = seconds = int(when)
            setting.nanoseconds = min(math.ceil((when - seconds) * 1e9) + 1, 999_999_999)  # not 0: that is never
            _LIBC.timerfd_settime(self._timer, _ABSOLUTE, ctypes.byref(setting), None)
            return self

        def cancel(self) -> None:
            """Do not ring."""
            self._callback = None

        def _ring(self) -> None:
            """The timer has run out."""
            try:
                os.read(self._timer, 8)
            except BlockingIOError:  # it was set again since
                return
            callback, self._callback = self._callback, None
            if callback is not None:
                callback()


TICK = 1 / 2048  # seconds; a power of two, so that ticks and moments become each other without rounding


class Sleeper(Protocol):
    """Somebody whom a wheel wakes."""

    def wake(self) -> None:
        """The moment has come. It must not raise, nor take long."""


class Wheel:
    """Wakes sleepers at their moments. To sleep and to leave again cost the same however many sleep."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self._slots: dict[int, dict[Sleeper, None]] = {}
        self._ticks: list[int] = []  # a heap; some may have lost their slots
        self._armed: tuple[int, Alarm] | None = None
        self._turning = False

    def __len__(self) -> int:
        return sum(map(len, self._slots.values()))

    def sleep(self, sleeper: Sleeper, until: float) -> None:
        """Wake somebody at a moment, perhaps an infinite one."""
        if until < _NEVER:
            tick = math.ceil(until / TICK)
            slot = self._slots.get(tick)
            if slot is not None:
                slot[sleeper] = None
            else:
                self._slots[tick] = {sleeper: None}
                heappush(self._ticks, tick)
                if not self._turning:
                    self._arm()

    def leave(self, sleeper: Sleeper, until: float) -> None:
        """Do not wake one who was to sleep until then; who has been woken may leave too."""
        tick = math.ceil(until / TICK) if until < _NEVER else None
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
        self._turning = True  # who sleeps again meanwhile sets no timer: one will do for all
        try:
            while self._ticks and self._ticks[0] <= now:
                for sleeper in self._slots.pop(heappop(self._ticks), ()):
                    sleeper.wake()
        finally:
            self._turning = False
            self._arm()


def shared() -> Wheel:
    """The wheel of the running event loop."""
    loop = asyncio.get_running_loop()
    wheel = _WHEELS.get(loop)
    if wheel is None:
        _forget_closed()
        wheel = _WHEELS[loop] = Wheel(clock())
    return wheel


def _forget_closed() -> None:
    """Drop the wheels of loops that were closed while somebody slept in them, and keep each other alive."""
    for known in _WHEELS.keyrefs():
        loop = known()
        if loop is not None and loop.is_closed():
            _WHEELS.pop(loop, None)


_NEVER = 2.0**40  # seconds, some 35,000 years: what is later is not counted in ticks, nor told to any timer
_STALE = 64  # ticks without a slot that nobody minds
_WHEELS: WeakKeyDictionary[asyncio.AbstractEventLoop, Wheel] = WeakKeyDictionary()
