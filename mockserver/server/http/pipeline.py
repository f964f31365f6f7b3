"""The order of the requests of a connection, and what it offers to those who answer them."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from starlette.types import Scope

from mockserver.core.http import Reply
from mockserver.core.plan import Failure
from mockserver.delivery.paced import PacedStream
from mockserver.server.http.parser import RequestHead, RequestParser
from mockserver.server.http.tcp import FlowControl

Refuse = Callable[[Failure, str, str], Reply]  # the answer to a method and path that are refused


class Answering(Protocol):
    """What sends an answer. uvicorn counts it among its tasks: a server that stops waits for all, then cancels them."""

    keep_alive: bool  # the connection stays open after the answer
    moved: bool  # something was sent since somebody last looked

    def leave(self) -> None:
        """Stop sending, as the client has left."""

    def cancel(self, msg: str = "") -> None:
        """Stop sending, as the server has waited long enough."""


class Startable(Answering, Protocol):
    """What will send an answer once it is started."""

    def start(self) -> None:
        """Begin to answer."""


class Pipeline:
    """The requests of one connection, which are answered one after the other, in the order in which they came."""

    def __init__(self, flow: FlowControl) -> None:
        self.answering: Answering | None = None  # what sends an answer now
        self._waiting = deque[Startable]()
        self._flow = flow

    def add(self, request: Startable) -> bool:
        """Start a request and return True, or let it wait for those before it; no more are received meanwhile."""
        if self.answering is not None:
            self._waiting.append(request)
            self._flow.pause_reading()
            return False
        self._start(request)
        return True

    def start_next(self) -> bool:
        """Start the next request, if one waits, and return whether it does; receive more behind the last."""
        is_waiting = bool(self._waiting)
        if is_waiting:
            self._start(self._waiting.popleft())
        self.resume_reading()
        return is_waiting

    def _start(self, request: Startable) -> None:
        self.answering = request
        request.start()

    def resume_reading(self) -> None:
        """Receive more, unless requests wait."""
        if not self._waiting:
            self._flow.resume_reading()

    def stop(self) -> bool:
        """Answer no other request, as the server stops; return False if no answer is being sent."""
        self._waiting.clear()
        if self.answering is None:
            return False
        self.answering.keep_alive = False
        return True

    def leave(self) -> None:
        """Answer nothing more, as the client has left."""
        self._waiting.clear()
        answering = self.answering
        self.answering = None
        if answering is not None:
            answering.leave()


class Connection(Protocol):
    """What a connection offers to its deadline, and to what answers its requests."""

    transport: asyncio.Transport
    flow: FlowControl
    parser: RequestParser
    pipeline: Pipeline
    tasks: set[Any]  # those of uvicorn's server
    stopping: bool  # the server stops
    half_closed: bool  # the client has stopped sending, but may still read
    write: Callable[[bytes], None]
    refuse_unread: Refuse

    def make_scope(self, head: RequestHead, wire: object) -> Scope:
        """Return the ASGI scope of a request whose answer is sent over a wire."""

    def send_head(self, status: int, lines: bytes) -> None:
        """Send the start of an answer, with these header lines."""

    def send_whole(self, status: int, rest: bytes) -> bool:
        """Send an answer: its start, and then the rest, from the header lines on."""

    def send_paced(self, status: int, lines: bytes, stream: PacedStream) -> bool:
        """Send the head of a stream, which goes on by itself."""

    def finish_answer(self, *, keep_alive: bool) -> None:
        """Take note that an answer was sent: start the next, if the connection stays open."""

    def refuse(self, failure: Failure) -> None:
        """Answer the earlier requests, then refuse the one that is being read, and ignore what follows."""

    def is_closing(self) -> bool:
        """Return whether nothing more is to be written."""

    def close(self) -> None:
        """Send what was written, then close."""

    def reset(self) -> None:
        """End the connection by TCP RST."""
