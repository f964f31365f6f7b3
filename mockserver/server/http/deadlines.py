"""Deadlines of connections, which one timer checks, and turns for others while a crowd connects."""

import asyncio
from collections import deque
from collections.abc import Callable
from math import inf
from typing import Protocol

from msgspec import Struct

from mockserver.core.plan import Failure
from mockserver.core.seed import monotonic
from mockserver.server.http.parser import Stage
from mockserver.server.http.pipeline import Answering, Connection
from mockserver.server.http.tcp import is_abandoned

TURN = 0.02  # seconds for which newcomers are read before others have their turn
PAUSE = 1.0  # seconds after a turn until newcomers are read at once again: by then, others have had theirs
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


class ConnectionDeadline:
    """By when the client of one connection has to go on, and what happens if it does not."""

    def __init__(self, connection: Connection, watch: "DeadlineWatch") -> None:
        self.due = inf  # when the watch has to look, in its time
        self._whole_by = inf  # when the head or body that is being read must be whole
        self._untaken = 0  # bytes that the client had not taken at the last look, while the connection ends
        self._connection = connection
        self._watch = watch

    def allow(self, seconds: float) -> None:
        """Give the client this time, from now on."""
        self.due = self._watch.time + seconds

    def expect_first_byte(self) -> None:
        """Give the client time for the first byte of the connection."""
        self.allow(self._watch.deadlines.first)
        self._whole_by = self.due

    def expect_whole(self) -> None:
        """Give the client time for the rest of the head or body that is being read, unless that runs already."""
        if self._whole_by == inf:
            self._whole_by = self._watch.time + self._find_limit()
            self.due = min(self.due, self._whole_by)

    def expect_nothing(self) -> None:
        """Take note that the head or body is whole, or that no more of it will be read."""
        self._whole_by = inf

    def put_off(self) -> None:
        """Begin the time for the head or body that is being read anew: while an answer is sent, it may not be read."""
        if self._whole_by != inf:
            self._whole_by = self._watch.time + self._find_limit()

    def expect_next(self) -> None:
        """Give the client time to begin its next request, or to end the one that it has begun."""
        self.due = min(self._watch.idle_until, self._whole_by)

    def look_soon(self) -> None:
        """Look whether a client is still there that is not read from."""
        self.due = min(self.due, self._watch.time + CLIENT_CHECK)

    def expect_end(self) -> None:
        """Give the client time to take what was written, as the connection ends."""
        self._untaken = self._connection.transport.get_write_buffer_size()
        self.allow(self._watch.deadlines.linger)

    def handle_deadline(self, now: float) -> None:
        """End what takes too long: a client that takes or sends nothing more, has left, or does not begin."""
        connection = self._connection
        answering = connection.pipeline.answering
        stage = connection.parser.stage
        if connection.is_closing():
            self._check_end(now)
        elif now >= self._whole_by and not connection.flow.read_paused:
            what = Stage.HEAD if stage is Stage.BETWEEN else stage
            connection.refuse(Failure("timeout", f"The {what.value} of the request took too long."))
        elif answering is None and stage is Stage.BETWEEN:
            connection.close()
        elif answering is not None and (connection.half_closed or connection.flow.read_paused):
            self._check_presence(answering, now)
        else:
            self.due = self._whole_by

    def _check_end(self, now: float) -> None:
        """End a connection that is closing, unless its client still takes what was written."""
        transport = self._connection.transport
        before = self._untaken
        self._untaken = transport.get_write_buffer_size()
        self.due = now + self._watch.deadlines.linger
        if not 0 < self._untaken < before:
            transport.abort()

    def _check_presence(self, answering: Answering, now: float) -> None:
        """End the connection of a client that has probably left, not only stopped sending, or is not read from."""
        connection = self._connection
        if connection.half_closed and not answering.moved:
            connection.transport.abort()
            return
        answering.moved = False
        connection.half_closed = connection.half_closed or is_abandoned(connection.transport)
        self.due = now + (self._watch.deadlines.farewell if connection.half_closed else CLIENT_CHECK)

    def _find_limit(self) -> float:
        deadlines = self._watch.deadlines
        return deadlines.head if self._connection.parser.stage is Stage.HEAD else deadlines.body


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
