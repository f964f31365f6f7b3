"""The order of the requests of a connection."""

from collections import deque
from typing import Protocol

from mockserver.server.http.tcp import FlowControl


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
