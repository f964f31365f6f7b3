"""What every connection has, whatever is spoken on it: its place in the server, its deadline, and its end."""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable
from math import inf
from typing import Any

from starlette.types import Scope
from uvicorn.config import Config
from uvicorn.server import ServerState

from mockserver.core.http import Reply
from mockserver.core.plan import Failure
from mockserver.delivery.connection import WIRE
from mockserver.delivery.paced import Wheel
from mockserver.server.app import Site
from mockserver.server.http.deadlines import Deadlines, DeadlineWatch
from mockserver.server.http.framing import AnswerStarts
from mockserver.server.http.newcomers import Newcomers
from mockserver.server.http.parser import RequestHead
from mockserver.server.http.tcp import MAX_DRAINED, FlowControl, find_addresses, reset
from mockserver.server.limits import Unsent

log = logging.getLogger("mockserver")

Refuse = Callable[[Failure, str, str], Reply]  # the answer to a method and path that are refused


class Shared:
    """What the connections of a server share.

    With a `site`, a connection finds what answers at a path by itself, and calls it without the application.
    """

    # uvicorn's, which it hands to each protocol that it makes
    config: Config
    server_state: ServerState
    app_state: dict[str, Any]

    def __init__(
        self,
        refuse: Refuse,
        deadlines: Deadlines = Deadlines(),
        unsent: Unsent | None = None,
        site: Site | None = None,
    ) -> None:
        self.refuse = refuse
        self.unsent = unsent or Unsent()
        self.site = site
        self.watch = DeadlineWatch(deadlines)
        self.newcomers = Newcomers()
        self.wheel = Wheel(is_crowded=self.newcomers.are_waiting)
        self.starts = AnswerStarts()
        self._has_warned = False  # of TLS

    def warn_of_tls(self) -> None:
        """Say once what is wrong with a client that speaks TLS: it only shows an error of its own."""
        if not self._has_warned:
            self._has_warned = True
            log.warning("a client spoke TLS, which this server does not: its URL must begin with http://, not https://")


class Connection(asyncio.Protocol, ABC):
    """The connection to a client, as asyncio, uvicorn's server and the watch of deadlines know it.

    A client may go on to speak something else: then another `Connection` takes over from the one before.
    """

    transport: asyncio.Transport
    flow: FlowControl

    def __init__(self, shared: Shared) -> None:
        # The server
        self.shared = shared
        self.watch = shared.watch
        self.server_state = shared.server_state
        self.tasks: set[Any] = shared.server_state.tasks
        self.stopping = False  # the server stops

        # The client
        self.half_closed = False  # it has stopped sending, but may still read
        self.due = inf  # when the watch has to look, in its time
        self.whole_by = inf  # when what is being read must be whole
        self._addresses: dict[str, Any] | None = None  # of both ends, once an application was told

        # The end
        self.is_ending = False  # nothing more is to be written
        self._untaken = inf  # bytes that the client had not taken at the last look, while the connection ends
        self._dropped = 0  # bytes that have come since then

    # Its place in the server

    @property
    @abstractmethod
    def busy(self) -> bool:
        """Whether an answer is being sent."""

    @abstractmethod
    def shutdown(self) -> None:
        """Stop with the server: answers that have begun may still be sent, unless this is called twice."""

    def enter_server(self) -> None:
        """Be known to the server, and watched, from now on."""
        self.server_state.connections.add(self)  # type: ignore[arg-type]  # uvicorn lists its own protocols
        self.watch.enter(self)

    def leave_server(self) -> None:
        """Be known to nobody: the connection is closed, or belongs to another protocol."""
        self.is_ending = True
        self.server_state.connections.discard(self)
        self.watch.leave(self)

    def take_over(self, former: "Connection") -> None:
        """Serve the client of another protocol from now on."""
        former.leave_server()
        self.transport = former.transport
        self.flow = former.flow
        self.transport.set_protocol(self)
        self.enter_server()

    def make_scope(self, head: RequestHead, wire: object) -> Scope:
        """Return the ASGI scope of a request whose answer is sent over a wire."""
        if self._addresses is None:
            self._addresses = find_addresses(self.transport)
        return head.make_scope(**self._addresses, state=self.shared.app_state.copy(), extensions={WIRE: wire})

    # What the transport calls

    def eof_received(self) -> bool | None:
        """End the connection of a client that has stopped sending; return whether it stays open all the same."""
        self.end()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.leave_server()
        self.leave()
        self.flow.resume_writing()
        self.transport.close()

    @abstractmethod
    def leave(self) -> None:
        """Take note that the client has left."""

    def pause_writing(self) -> None:
        self.flow.pause_writing()

    def resume_writing(self) -> None:
        self.flow.resume_writing()

    # By when the client has to go on

    def allow(self, seconds: float) -> None:
        """Give the client this time, from now on."""
        self.due = self.watch.time + seconds

    def expect_whole(self, seconds: float) -> None:
        """Give the client this time for the rest of what is being read, unless that runs already."""
        if self.whole_by == inf:
            self.whole_by = self.watch.time + seconds
            self.due = min(self.due, self.whole_by)

    def expect_nothing(self) -> None:
        """Take note that what was being read is whole, or that no more of it will be read."""
        self.whole_by = inf

    def handle_deadline(self, now: float) -> None:
        """End the connection unless its client goes on, or still takes what was written before the end."""
        if not self.is_ending:
            self.check_client(now)
            return
        before = self._untaken
        self._untaken = self.transport.get_write_buffer_size()
        self.due = now + self.watch.deadlines.linger
        if not 0 < self._untaken < before:
            self.transport.abort()

    @abstractmethod
    def check_client(self, now: float) -> None:
        """End what takes too long. The time that its client had has passed."""

    # The end

    def end(self, *, drains: bool = False) -> None:
        """Send what was written, then close; `drains`: read what still comes, or the client may not receive all."""
        self.is_ending = True
        self._untaken = self.transport.get_write_buffer_size()
        self.allow(self.watch.deadlines.linger)
        if drains and self.transport.can_write_eof():
            self.flow.resume_reading()
            self.transport.write_eof()
        else:
            self.transport.close()

    def drop(self, data: bytes) -> None:
        """Drop what comes at the end; cut a client that sends too much."""
        self._dropped += len(data)
        if self._dropped > MAX_DRAINED:
            self.transport.abort()

    def reset(self) -> None:
        """End the connection by TCP RST."""
        self.is_ending = True
        reset(self.transport)

    async def wait_for_turn(self) -> None:
        """Return when something can be written, or the client has left."""
        await self.flow.drain()
