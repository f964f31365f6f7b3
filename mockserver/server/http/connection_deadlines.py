"""Deadlines of connections: one timer checks all connections of a server.

A connection says when it is due next; no timer is set per request. Below: what the socket itself tells.
"""

import asyncio
import select
import socket
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Protocol

from starlette.types import ASGIApp, Receive, Scope, Send

from mockserver.core.http import Reply
from mockserver.core.plan import Failure

Refuse = Callable[[Failure, str, str], Reply]  # the answer to a method and path that are refused


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Seconds. They are absolute: bytes that trickle in do not put them off.

    `idle` is longer than clients keep unused connections (mostly 5 to 60 s), so that they close them: if the server
    does while a request is sent, that request fails. `farewell` is for clients that have stopped sending, because
    their request is complete or because they have left.
    """

    head: float = 10.0
    body: float = 10.0
    idle: float = 75.0
    farewell: float = 2.0
    linger: float = 5.0  # for what was written to be taken, and for the rest of a refused request to be drained
    look: float = 0.5  # between two checks


class Watched(Protocol):
    """A connection."""

    due: float

    def late(self, now: float) -> None:
        """Handle a deadline: `due` has passed."""


class DeadlineWatch:
    """Checks the connections of one server, and renders their refusals."""

    def __init__(self, refuse: Refuse, deadlines: Deadlines) -> None:
        self.refuse, self.deadlines = refuse, deadlines
        self.now = 0.0  # the loop's time when last looked at; good enough for what is counted in many seconds
        self._inside: set[Watched] = set()
        self._timer: asyncio.TimerHandle | None = None

    def enter(self, one: Watched) -> None:
        """Watch a new connection."""
        self._inside.add(one)
        if self._timer is None:
            self._look()

    def leave(self, one: Watched) -> None:
        """Stop watching a connection."""
        self._inside.discard(one)

    def refusing(self, failure: Failure) -> ASGIApp:
        """An application that answers every request with this failure."""

        async def refused(scope: Scope, _: Receive, send: Send) -> None:
            reply = self.refuse(failure, scope["method"], scope["path"])
            headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in reply.headers]
            await send({"type": "http.response.start", "status": reply.status, "headers": headers})
            await send({"type": "http.response.body", "body": reply.body})

        return refused

    def _look(self) -> None:
        loop = asyncio.get_running_loop()
        self.now = now = loop.time()
        for one in [one for one in self._inside if one.due <= now]:
            one.due = inf
            one.late(now)
        self._timer = loop.call_later(self.deadlines.look, self._look) if self._inside else None


if sys.platform == "linux":
    from fcntl import ioctl
    from termios import TIOCOUTQ


def unsent(transport: asyncio.Transport) -> int:
    """How many bytes were written and have not reached the client, as far as the system reports."""
    waiting = transport.get_write_buffer_size()
    if waiting or sys.platform != "linux" or transport.is_closing():
        return waiting
    return int.from_bytes(ioctl(_socket(transport).fileno(), TIOCOUTQ, bytes(4)), sys.byteorder)


def abandoned(transport: asyncio.Transport) -> bool:
    """Whether the client has stopped sending, although bytes may stand unread before its end."""
    if transport.is_closing() or not hasattr(select, "poll"):
        return False
    poll = select.poll()
    poll.register(_socket(transport).fileno(), getattr(select, "POLLRDHUP", 0))
    return bool(poll.poll(0))


def reset(transport: asyncio.Transport) -> None:
    """End the connection by TCP RST; what has not reached the client is lost."""
    if not transport.is_closing():
        _socket(transport).setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.abort()


def _socket(transport: asyncio.Transport) -> socket.socket:
    held: socket.socket = transport.get_extra_info("socket")
    return held
