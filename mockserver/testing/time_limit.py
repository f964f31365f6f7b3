"""A time limit for a block of code that waits for answers: they are aborted, and in the end it is interrupted."""

import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType

from mockserver.testing.callers import find_test_frames, find_user_line

_GRACE = 1.0  # seconds between aborting the answers and interrupting the thread


class HungError(BaseException):
    """Interrupts a thread that hangs. Not an Exception, so that no `except Exception` catches it."""


class TimeLimit:
    """A `with` block with a time limit in seconds.

    At the limit, another thread calls `abort`, which ends the answers that the block waits for. If it still runs
    after that, HungError interrupts it in the main thread. `exceeded` says whether the limit was reached, `where` at
    which line of the user's code.
    """

    def __init__(self, seconds: float, abort: Callable[[], None]) -> None:
        self.seconds = seconds
        self.exceeded = False
        self.where = ""
        self._abort = abort
        self._over = threading.Event()
        self._timer = threading.Thread(target=self._wait, name="mockserver limit", daemon=True)
        self._limited = threading.current_thread()
        self._interrupts = _SIGNAL is not None and self._limited is threading.main_thread()
        self._handler: object = None

    def __enter__(self) -> "TimeLimit":
        if self._interrupts:
            self._handler = signal.signal(_SIGNAL, self._interrupt)  # type: ignore[arg-type]
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._timer.join()
        if self._interrupts:
            signal.signal(_SIGNAL, self._handler)  # type: ignore[arg-type]

    def _wait(self) -> None:
        if self._over.wait(self.seconds):
            return
        frame = sys._current_frames().get(self._limited.ident or 0)
        self.exceeded = True
        self.where = find_user_line(find_test_frames(frame))
        self._abort()
        if not self._over.wait(_GRACE) and self._interrupts:
            signal.pthread_kill(self._limited.ident or 0, _SIGNAL)  # type: ignore[arg-type]

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if not self._over.is_set():
            raise HungError(f"{self.seconds:g} s have passed")


# Hardly anything else uses this signal. Windows has no pthread_kill: there, aborting the answers has to be enough.
_SIGNAL = getattr(signal, "SIGVTALRM", None) if hasattr(signal, "pthread_kill") else None
