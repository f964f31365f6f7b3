"""One request and its answer by an application, as ASGI has them, whatever version of HTTP its client speaks."""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Iterable

from starlette.types import ASGIApp, Message

from mockserver.core.action import NO_CLOSE_FRAME
from mockserver.core.plan import Failure
from mockserver.delivery.connection import encode_header
from mockserver.delivery.paced import PacedStream
from mockserver.server.http.any_connection import Connection
from mockserver.server.http.parser import Field, RequestHead
from mockserver.server.http.tcp import count_unsent
from mockserver.server.visit import CRASHED, STOPPING

NOTICE_TIME = 1.0  # seconds that an application gets to notice that its client has left

_UNANSWERED = Failure("server_error", "The request was left without an answer.")

log = logging.getLogger("mockserver")


class RequestCycle(ABC):
    """A request, and its answer by an application in a task: `receive` and `send` are ASGI's.

    The rest is the `Wire` of the answer. How bytes come and go is the subclass's business.
    """

    def __init__(self, connection: Connection, head: RequestHead, app: ASGIApp, *, is_whole: bool) -> None:
        self._connection = connection
        self._head = head
        self._app = app
        self._task: asyncio.Task[None] | None = None

        # The request
        self.is_whole = is_whole  # its body has come
        self._is_awaited = head.expects  # the client waits to be told to send it
        self._unread = bytearray()  # what has come and the application has not received
        self._failure: Failure | None = None  # why the rest will not come
        self._news = asyncio.Event()  # wakes `receive`
        if is_whole:
            self._news.set()

        # The answer
        self.gone = False  # the client has left
        self.moved = False  # something was sent since somebody last looked
        self._has_head = False  # its head was sent
        self._is_over = False  # all of it was sent, or nothing more will be

    @property
    def is_open(self) -> bool:
        """Whether the client waits for the answer, or for the rest of it."""
        return not (self._is_over or self.gone)

    def start(self) -> None:
        """Run the application in a task."""
        self._connection.tasks.add(self)
        self._task = asyncio.get_running_loop().create_task(self._run())
        self._task.add_done_callback(self._finish)

    # What the connection and the server call

    def take(self, data: bytes, *, is_last: bool) -> None:
        """Keep what has come of the body until it is received."""
        if self.is_open:
            self._unread += data
        self.is_whole = is_last
        self._news.set()

    def fail(self, failure: Failure) -> None:
        """Take note that the rest of the body will not come; `receive` raises the failure."""
        self._failure = failure
        self._news.set()

    def leave(self) -> None:
        """Take note that the client has left; after a while, end the application if it has not noticed."""
        self.gone = True
        self._news.set()
        if self._task is not None and not self._is_over:
            asyncio.get_running_loop().call_later(NOTICE_TIME, self._task.cancel)

    def cancel(self, msg: str = "") -> None:
        """End the application: the server has waited long enough."""
        if self._task is not None:
            # Not at once: a task that is cancelled before its first turn never runs, so that nobody would answer.
            asyncio.get_running_loop().call_soon(self._task.cancel)

    # The application

    async def _run(self) -> None:
        """Run the application. Refuse a request that it does not answer, and break off an answer that it leaves."""
        head = self._head
        app = self._app
        del self._app  # which may lead back here: nothing is left to Python's collector
        failure = _UNANSWERED
        try:
            await app(self._connection.make_scope(head, wire=self), self.receive, self.send)
        except Failure as raised:
            failure = raised.renew()  # a traceback leads here
        except asyncio.CancelledError:
            failure = STOPPING
        except Exception:
            log.exception("internal error of mockserver on %s %s", head.method, ascii(head.path))
            failure = CRASHED
        if self._has_head and self.is_open:
            self.close()
        elif self.is_open:
            await self._refuse(failure)

    async def _refuse(self, failure: Failure) -> None:
        reply = self._connection.shared.refuse(failure, self._head.method, self._head.path)
        headers = list(map(encode_header, reply.headers))
        await self.send({"type": "http.response.start", "status": reply.status, "headers": headers})
        await self.send({"type": "http.response.body", "body": reply.body})

    def _finish(self, task: asyncio.Task[None]) -> None:
        """Take note that the application has ended."""
        self._connection.tasks.discard(self)

    async def receive(self) -> Message:
        """Return what has come, or that the client has left. Raises Failure if no more will come."""
        if self._is_awaited and self.is_open:
            self._is_awaited = False
            self._ask_for_body()
        if self.is_open:
            await self._news.wait()
            self._news.clear()
        if not self.is_open:
            return {"type": "http.disconnect"}
        if self._failure is not None:
            failure = self._failure
            self._failure = None
            raise failure.renew()  # a traceback leads here
        data = bytes(self._unread)
        self._unread.clear()
        self._make_room()
        return {"type": "http.request", "body": data, "more_body": not self.is_whole}

    async def send(self, message: Message) -> None:
        """Send the head of the answer, or a piece of its body; wait while the client takes nothing."""
        self.moved = True
        if not self.gone:
            await self._connection.wait_for_turn()
        if self.gone:
            return
        expected = "http.response.body" if self._has_head else "http.response.start"
        if self._is_over or message["type"] != expected:
            raise RuntimeError(f"{message['type']} was sent where {expected} was due, or after the end of the answer")
        if self._has_head:
            await self._send_body(message.get("body", b""), is_last=not message.get("more_body"))
        else:
            self._send_head(message["status"], message.get("headers", ()))
            self._has_head = True
            self._is_awaited = False

    def _end(self) -> None:
        """Take note that all was sent, or that nothing more will be."""
        self._is_over = True
        self._news.set()

    # How bytes come and go

    @abstractmethod
    def _ask_for_body(self) -> None:
        """Tell the client to send the body, for which it waits."""

    @abstractmethod
    def _make_room(self) -> None:
        """Let more of the body come: what has come was received."""

    @abstractmethod
    def _send_head(self, status: int, headers: Iterable[Field]) -> None:
        """Send the head of the answer. Raises RuntimeError for a header that cannot be sent."""

    @abstractmethod
    async def _send_body(self, data: bytes, *, is_last: bool) -> None:
        """Send a piece of the body."""

    # The wire

    @property
    def stopping(self) -> bool:
        return self._connection.stopping

    @property
    def half_closed(self) -> bool:
        return self._connection.half_closed

    @property
    def unsent(self) -> int:
        return count_unsent(self._connection.transport)

    @abstractmethod
    def close(self, code: int = NO_CLOSE_FRAME) -> None:
        """Break off the answer."""

    def reset(self) -> None:
        self._end()
        self._connection.reset()

    def send_piece(self, data: bytes) -> bool:
        return False

    def send_whole(self, status: int, rest: bytes) -> bool:
        return False

    def send_paced(self, status: int, lines: bytes, stream: PacedStream) -> bool:
        return False


def make_refusal(failure: Failure) -> ASGIApp:
    """Return an application that refuses its request."""

    async def refuse(*_: object) -> None:
        raise failure.renew()  # its own traceback leads to the connection

    return refuse
