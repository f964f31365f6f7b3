"""A time limit for what runs here: when it has passed, what is waited for is let go, then the waiting is broken off."""

import os
import signal
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterator
from itertools import takewhile
from pathlib import Path
from types import FrameType, TracebackType

GRACE = 1.0  # seconds between the two


class HungError(BaseException):
    """Breaks off what waits for something else than its answers. No Exception, so that nobody takes it for an error."""


class Limit:
    """A `with` block that takes no longer than so many seconds.

    Then `let_go` is called, by another thread: it ends the answers that are waited for. What goes on all the same
    gets HungError, if it is the main thread's. `passed` says whether it came to that, `where` at which line it was.
    """

    def __init__(self, seconds: float, let_go: Callable[[], None]) -> None:
        self.seconds, self.passed, self.where = seconds, False, ""
        self._let_go, self._over = let_go, threading.Event()
        self._thread = threading.Thread(target=self._watch, name="mockserver limit", daemon=True)
        self._watched = threading.current_thread()
        self._breaks = _SIGNAL is not None and self._watched is threading.main_thread()
        self._before: object = None

    def __enter__(self) -> "Limit":
        if self._breaks:
            self._before = signal.signal(_SIGNAL, self._break_off)  # type: ignore[arg-type]
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
        if self._breaks:
            signal.signal(_SIGNAL, self._before)  # type: ignore[arg-type]

    def _watch(self) -> None:
        if self._over.wait(self.seconds):
            return
        self.passed, self.where = True, _at(sys._current_frames().get(self._watched.ident or 0))
        self._let_go()
        if not self._over.wait(GRACE) and self._breaks:
            signal.pthread_kill(self._watched.ident or 0, _SIGNAL)  # type: ignore[arg-type]

    def _break_off(self, number: int, frame: FrameType | None) -> None:
        if not self._over.is_set():
            raise HungError(f"{self.seconds:g} s have passed")


def _at(frame: FrameType | None) -> str:
    """The innermost line of the user's own code that is at work, as `app.py:12`; nothing where there is none."""
    own, here = f"{Path.cwd()}{os.sep}", Path.cwd()
    for each in takewhile(lambda each: _RUNNER not in each.f_code.co_filename, _outwards(frame)):
        file = each.f_code.co_filename
        if file.startswith(own) and not file.startswith(_FOREIGN):
            return f"{Path(file).relative_to(here).as_posix()}:{each.f_lineno}"
    return ""


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


# One that hardly anybody else uses; Windows has no such thing, there it ends with the answers that are let go.
_SIGNAL = getattr(signal, "SIGVTALRM", None) if hasattr(signal, "pthread_kill") else None
_RUNNER = f"{os.sep}_pytest{os.sep}"  # what is further out is no part of a test
_OWN = str(Path(__file__).parents[2] / "_").removesuffix("_")
_FOREIGN = (_OWN, *{sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})
