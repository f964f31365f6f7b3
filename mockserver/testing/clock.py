"""The clock of a server for tests, which can skip time."""

import math
from threading import Lock

from anyio.lowlevel import checkpoint

from mockserver.config.errors import ConfigError
from mockserver.core.seed import monotonic


class Clock:
    """Real time plus skipped time; used by rate limits and by the transport."""

    def __init__(self) -> None:
        self._skipped = 0.0
        self._lock = Lock()
        self._due: list[float] = []  # of waiters in event loops

    def now(self) -> float:
        """Return monotonic seconds."""
        return monotonic() + self._skipped

    def advance(self, seconds: float) -> None:
        """Skip time, in seconds: `advance(60)` refills rate limits per minute."""
        if not 0 <= seconds < math.inf:
            raise ConfigError(f"advance takes a number of seconds, 0 or more, not {seconds!r}")
        with self._lock:
            self._skipped += seconds

    def advance_to(self, moment: float) -> None:
        """Skip the time until a moment, if it is in the future."""
        with self._lock:
            self._skipped += max(0.0, moment - self.now())

    async def wait_until(self, moment: float) -> None:
        """Skip the time until a moment, after all others who wait for earlier ones."""
        self._due.append(moment)
        quiet = 0
        try:
            while quiet < _QUIET:
                await checkpoint()
                quiet = 0 if min(self._due) < moment else quiet + 1
        finally:
            self._due.remove(moment)
        self.advance_to(moment)


_QUIET = 5  # turns of the event loop without an earlier waiter
