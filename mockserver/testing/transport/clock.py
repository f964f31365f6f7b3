"""The clock of a server in tests: it runs as the real one does, and waits put it forward instead of taking time."""

import math
from threading import Lock

from anyio.lowlevel import checkpoint

from mockserver.core.errors import ConfigError
from mockserver.core.seed import monotonic

QUIET = 5  # turns of the event loop without anybody who is due before


class Clock:
    """Real time, and as much more as was skipped. Limits go by it, and so does all that passes over a transport."""

    def __init__(self) -> None:
        self._skipped, self._lock = 0.0, Lock()
        self._due: list[float] = []  # of those who wait in event loops

    def now(self) -> float:
        """Seconds since some moment; they only run forward."""
        return monotonic() + self._skipped

    def advance(self, seconds: float) -> None:
        """Let so much time pass at once: `advance(60)` fills the buckets of limits by the minute."""
        if not 0 <= seconds < math.inf:
            raise ConfigError(f"advance takes seconds, 0 or more, not {seconds!r}")
        with self._lock:
            self._skipped += seconds

    def reach(self, moment: float) -> None:
        """Let the time until a moment pass at once; one that is over is fine."""
        with self._lock:
            self._skipped += max(0.0, moment - self.now())

    async def reached(self, moment: float) -> None:
        """The same, behind all others in this event loop that are due before, so that what is quicker comes first."""
        self._due.append(moment)
        quiet = 0
        try:
            while quiet < QUIET:
                await checkpoint()
                quiet = 0 if min(self._due) < moment else quiet + 1
        finally:
            self._due.remove(moment)
        self.reach(moment)
