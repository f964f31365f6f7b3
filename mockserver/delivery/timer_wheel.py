"""The timer wheel: all waits of an event loop share one timer. Knows no streams and no sockets.

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
    """A callback that a clock will make."""

    def cancel(self) -> None:
        """Cancel it."""


class Clock(Protocol):
    """The time and one alarm; a test's clock needs no time to pass."""

    def time(self) -> float:
        """Return monotonic seconds."""

    def call_at(self, when: float, callback: Callable[[], None], /) -> Alarm:
        """Call back at about this time. Only one alarm is set at a time."""


def clock() -> Clock:
    """Return real time with the most precise alarm for the running event loop."""
    if sys.platform == "linux":
        with suppress(OSError):  # too many open files, or timerfd is not allowed
            return TimerClock()
    return LoopClock()


class LoopClock:
    """Real time and the event loop's own timers; uvloop's count whole milliseconds."""

    def time(self) -> float:
        """Return monotonic seconds."""
        return monotonic()

    def call_at(self, when: float, callback: Callable[[], None], /) -> Alarm:
        """Call back within a millisecond after this time, or slightly early."""
        delay = max(0.0, math.ceil((when - monotonic()) * 1000) / 1000)
        return asyncio.get_running_loop().call_later(delay, callback)


if sys.platform == "linux":
    # Linux timers, which Python's os module has only since 3.13: see timerfd_create(2).
    _LIBC = ctypes.CDLL(None, use_errno=True)
    _MONOTONIC, _ABSOLUTE = 1, 1

    class _Setting(ctypes.Structure):
        """`struct itimerspec`: an interval, unused here, and the first expiration."""

        _fields_ = (("_each", ctypes.c_long * 2), ("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))

    class TimerClock:
        """Real time and a Linux timer, precise to some microseconds."""

        def __init__(self) -> None:
            self._timer = _LIBC.timerfd_create(_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
            if self._timer < 0:
                raise OSError(ctypes.get_errno(), "no timer is to be had")
            self._setting = _Setting()
            self._callback: Callable[[], None] | None = None
            asyncio.get_running_loop().add_reader(self._timer, self._ring)
            weakref.finalize(self, os.close, self._timer)

        def time(self) -> float:
            """Return monotonic seconds, the timer's own clock."""
            return monotonic()

        def call_at(self, when: float, callback: Callable[[], None], /) -> Alarm:
            """Call back right after this time; this replaces an earlier alarm."""
            setting, self._callback = self._setting, callback
            setting.seconds = seconds = int(when)
            # Not 0, which disarms the timer.
            setting.nanoseconds = min(math.ceil((when - seconds) * 1e9) + 1, 999_999_999)
            _LIBC.timerfd_settime(self._timer, _ABSOLUTE, ctypes.byref(setting), None)
            return self

        def cancel(self) -> None:
            """Cancel the alarm."""
            self._callback = None

        def _ring(self) -> None:
            try:
                os.read(self._timer, 8)
            except BlockingIOError:  # it was set again meanwhile
                return
            callback, self._callback = self._callback, None
            if callback is not None:
                callback()


TICK = 1 / 2048  # seconds; a power of two, so that conversions do not round


class Sleeper(Protocol):
    """Something that a wheel wakes."""

    def wake(self) -> None:
        """Handle the end of the wait, quickly and without raising."""


class Wheel:
    """Wakes sleepers when they are due. Adding and removing take constant time."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self._slots: dict[int, dict[Sleeper, None]] = {}
        self._ticks: list[int] = []  # a heap; some may have no slots any more
        self._armed: tuple[int, Alarm] | None = None
        self._turning = False

    def __len__(self) -> int:
        return sum(map(len, self._slots.values()))

    def sleep(self, sleeper: Sleeper, until: float) -> None:
        """Wake a sleeper at a time, which may be infinite."""
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
        """Remove a sleeper, whether it was woken or not."""
        tick = math.ceil(until / TICK) if until < _NEVER else None
        slot = self._slots.get(tick) if tick is not None else None
        if tick is None or slot is None:
            return
        slot.pop(sleeper, None)
        if not slot:
            del self._slots[tick]
            self._tidy()

    def _tidy(self) -> None:
        """Drop stale ticks; cancel an unused timer."""
        if len(self._ticks) > 2 * len(self._slots) + _STALE:
            self._ticks = list(self._slots)
            heapify(self._ticks)
        if not self._slots and self._armed is not None:
            self._armed[1].cancel()
            self._armed = None

    def _arm(self) -> None:
        while self._ticks and self._ticks[0] not in self._slots:
            heappop(self._ticks)
        if not self._ticks or (self._armed is not None and self._armed[0] <= self._ticks[0]):
            return
        if self._armed is not None:
            self._armed[1].cancel()
        self._armed = self._ticks[0], self.clock.call_at(self._ticks[0] * TICK, self._turn)

    def _turn(self) -> None:
        self._armed = None
        now = math.floor(self.clock.time() / TICK)
        self._turning = True  # sleepers added meanwhile share one timer
        try:
            while self._ticks and self._ticks[0] <= now:
                for sleeper in self._slots.pop(heappop(self._ticks), ()):
                    sleeper.wake()
        finally:
            self._turning = False
            self._arm()


def shared() -> Wheel:
    """Return the wheel of the running event loop."""
    loop = asyncio.get_running_loop()
    wheel = _WHEELS.get(loop)
    if wheel is None:
        _forget_closed()
        wheel = _WHEELS[loop] = Wheel(clock())
    return wheel


def _forget_closed() -> None:
    """Drop the wheels of closed loops that still had sleepers: each keeps the other alive."""
    for known in _WHEELS.keyrefs():
        loop = known()
        if loop is not None and loop.is_closed():
            _WHEELS.pop(loop, None)


_NEVER = 2.0**40  # seconds, some 35,000 years: later times never come
_STALE = 64  # ticks without slots that are tolerated
_WHEELS: WeakKeyDictionary[asyncio.AbstractEventLoop, Wheel] = WeakKeyDictionary()
