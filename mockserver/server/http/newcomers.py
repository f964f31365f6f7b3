"""Turns for others while a crowd connects."""

import asyncio
from collections import deque
from collections.abc import Callable

from mockserver.core.seed import monotonic

TURN = 0.02  # seconds for which newcomers are read before others have their turn
PAUSE = 1.0  # seconds after a turn until newcomers are read at once again: by then, others have had theirs


class Newcomers:
    """Lets the first bytes of connections be read for a while in each turn of the loop; then others have their turn.

    If one turn answered all that has come, nobody would be accepted meanwhile, and the system drops connections when
    too many wait.
    """

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], None]] = deque()
        self._until = 0.0  # the end of this turn

    def are_waiting(self) -> bool:
        """Return whether any connections wait for their turn."""
        return bool(self._waiting)

    def admit(self, read: Callable[[], None]) -> bool:
        """Return whether first bytes may be read now; if not, `read` is called in their turn."""
        if not self._waiting:
            now = monotonic()
            if now >= self._until + PAUSE:
                self._until = now + TURN
            if now < self._until:
                return True
            asyncio.get_running_loop().call_soon(self._turn)
        self._waiting.append(read)
        return False

    def _turn(self) -> None:
        self._until = monotonic() + TURN
        try:
            while self._waiting and monotonic() < self._until:
                self._waiting.popleft()()
        finally:  # whatever failed, the others go on
            if self._waiting:
                asyncio.get_running_loop().call_soon(self._turn)
