"""Clocks of an event loop: the time, and one alarm at a moment of it. Knows nobody who waits."""

import asyncio
import ctypes
import math
import os
import sys
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

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
