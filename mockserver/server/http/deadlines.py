"""Deadlines of connections, which one timer checks."""

import asyncio
from math import inf
from typing import Protocol

from msgspec import Struct

CLIENT_CHECK = 1.0  # seconds between two looks whether a client is there that is not read from
MAX_LOOKS = 2  # intervals between looks that count at most: a look that is later was delayed by us, not by clients


class Deadlines(Struct, frozen=True):
    """Seconds. They are absolute: bytes that trickle in do not put them off.

    `idle` is longer than clients keep unused connections (mostly 5 to 60 s), so that they close them: if the server
    does while a request is sent, that request fails. `farewell` is for clients that have stopped sending, because
    their request is complete or because they have left. `first` is longer than `head`: what a client sends while too
    many connections wait to be accepted is lost, and its system sends it again after up to half a minute.
    """

    first: float = 60.0  # for the first byte of a connection
    head: float = 10.0
    body: float = 10.0
    idle: float = 75.0
    farewell: float = 2.0
    linger: float = 5.0  # for what was written to be taken, and for the rest of a refused request to be drained
    look: float = 0.5  # between two checks
    drain: float = 0.0  # for a quiet connection when the server stops: its client may be sending a request


class Watched(Protocol):
    """What has a deadline: it is looked at when it is `due`, in the time of its watch."""

    due: float

    def handle_deadline(self, now: float) -> None:
        """Handle the deadline: `due` has passed."""


class DeadlineWatch:
    """Checks the deadlines of one server's connections by one timer."""

    def __init__(self, deadlines: Deadlines) -> None:
        self.deadlines = deadlines
        self.idle_until = inf  # when a connection is due that becomes idle now, roughly
        self._passed = 0.0  # the time at the last look
        self._looked = 0.0  # the loop's time then
        self._watched = set[Watched]()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def time(self) -> float:
        """The time by which deadlines are measured, in seconds.

        It stands still while the loop is behind, or clients would be cut whose bytes have come and were not read.
        """
        return self._passed + min(asyncio.get_running_loop().time() - self._looked, MAX_LOOKS * self.deadlines.look)

    def enter(self, one: Watched) -> None:
        """Watch its deadline from now on."""
        self._watched.add(one)
        if self._timer is None:
            self._look()

    def leave(self, one: Watched) -> None:
        """Watch its deadline no longer."""
        self._watched.discard(one)

    def _look(self) -> None:
        loop = asyncio.get_running_loop()
        self._passed = now = self.time
        self._looked = loop.time()
        self.idle_until = now + self.deadlines.look + self.deadlines.idle
        for one in [one for one in self._watched if one.due <= now]:
            one.due = inf
            one.handle_deadline(now)
        self._timer = loop.call_later(self.deadlines.look, self._look) if self._watched else None
