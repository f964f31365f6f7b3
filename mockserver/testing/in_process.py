"""A request to an application of this process: how it goes on without a socket, and what its client receives.

The application runs only as far as its client asks for more (`InProcessResponse` for `InProcessRequest.next_action`).
It yields its actions one by one, and between them what it awaits to go on, which a `Driver` meets: at once, or in an
event loop. Waits take no time, they advance a clock.
"""

import asyncio
import errno
import math
import os
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from contextvars import copy_context
from threading import RLock
from typing import Any, Literal, NamedTuple, Protocol

from msgspec import Struct, field
from starlette.types import ASGIApp, Message, Scope

from mockserver.core.action import Action, Cut, Flush, Head, RawWrite, Wait, Write
from mockserver.core.http import WITHOUT_BODY, is_stream_type
from mockserver.core.row import COMPLETE
from mockserver.core.server_sent_events import split_events
from mockserver.delivery.connection import CUT, IN_PROCESS, Note, encode_header
from mockserver.engine.offload import WORKER
from mockserver.server.snapshot import ClientLeftError
from mockserver.testing.drivers import Driver, pass_on


class InProcessRequest:
    """A request that an application answers with actions, each when it is asked for.

    The coroutine of the application yields its actions; all else that it yields is for the `driver`. Requests that
    share a `lock` go on one at a time, on any thread. `over`: the application has ended.
    """

    def __init__(self, app: ASGIApp, scope: Scope, body: bytes, *, driver: Driver, lock: "RLock | None" = None) -> None:
        self.driver = driver
        self.over = False
        self._lock = lock or RLock()
        self._note: Note | None = None
        self._body: bytes | None = body
        self._context = copy_context()
        self._context.run(WORKER.set, driver.do_work)
        self._coroutine: Any = app({**scope, "extensions": {IN_PROCESS: self}}, self._receive, self._send)

    @property
    def patient(self) -> bool:
        """Whether it can wait for others."""
        return self.driver.patient

    async def next_action(self) -> Action | None:
        """Return the next action of the application; None at its end. Raises what the application raises."""
        yielded = self.go_on()
        while not (self.over or isinstance(yielded, Action)):
            try:
                met = await self.driver.meet(yielded)
            except Exception as error:
                yielded = self.go_on(error=error)
            else:
                yielded = self.go_on(met)
        return yielded if isinstance(yielded, Action) else None

    def go_on(self, met: object = None, *, error: Exception | None = None) -> object:
        """Return what the application yields next, told what came of the last; None also at its end."""
        with self._lock:
            if self.over:  # ended by another thread
                return None
            try:
                if error is None:
                    return self._context.run(self._coroutine.send, met)
                return self._context.run(self._coroutine.throw, error)
            except StopIteration:
                self.over = True
                return None
            except BaseException:
                self.over = True
                raise

    def end(self) -> None:
        """Tell the application that its client left, unless it has ended."""
        with self._lock:
            if self.over:
                return
            with suppress(ClientLeftError):
                self.go_on(error=ClientLeftError())
            self.over = True
            self._coroutine.close()

    def note(self, data: bytes) -> None:
        """Note in the journal that the client received bytes of the body."""
        if self._note is not None:
            self._note(data)

    async def perform(self, actions: Iterable[Action], note: Note) -> str:
        """Hand each action to the client, and return how they ended."""
        self._note = note
        for action in actions:
            await pass_on(action)
            if isinstance(action, Cut):
                return CUT[action.how]
        return COMPLETE

    async def _receive(self) -> Message:
        """Return the body of the request, then nothing: `end` raises if the client leaves."""
        body = self._body
        self._body = None
        if body is None:
            await asyncio.get_running_loop().create_future()
        return {"type": "http.request", "body": body, "more_body": False}

    async def _send(self, message: Message) -> None:
        """Send a response of an endpoint that does not use `perform`."""
        if message["type"] == "http.response.start":
            headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in message["headers"])
            await pass_on(Head(message["status"], headers))
        elif data := message.get("body"):
            await pass_on(Write(data))


class WireHead(NamedTuple):
    """The head of an answer as it is on the wire."""

    status: int
    headers: list[tuple[bytes, bytes]]


class ReceivedBody(Struct, eq=False):
    """What came of a body: the pieces that the client has not taken yet. Of a stream, each event or line is one.

    `length`: its bytes by its head, infinite if it comes in chunks; `left`: those still to come.
    """

    length: float
    left: float
    is_stream: bool
    pieces: deque[bytes] = field(default_factory=deque)

    @classmethod
    def expect(cls, method: str, head: WireHead) -> "ReceivedBody":
        """Return the body that is still to come after this head, to a request of this method."""
        stated = dict(head.headers)
        length = math.inf
        if method == "HEAD" or head.status in WITHOUT_BODY:
            length = 0
        elif b"content-length" in stated:
            length = int(stated[b"content-length"])
        is_stream = is_stream_type(stated.get(b"content-type", b"").decode("latin-1"))
        return cls(length, left=length, is_stream=is_stream)

    def add(self, write: Write) -> None:
        """Add what came, up to the length."""
        data = write.data
        if len(data) > self.left:
            data = data[: int(self.left)]
        self.left -= len(data)
        if self.is_stream and write.frame is None:
            self.pieces.extend(data.splitlines(keepends=True) if data.startswith(b"{") else split_events(data))
        elif data:
            self.pieces.append(data)

    def explain_incomplete(self, cut: str | None) -> str:
        """Return what is missing at the end of the connection, which may be cut; empty if nothing is."""
        if self.length < math.inf:
            return f"received {self.length - self.left:.0f} bytes, expected {self.length:.0f}"
        return "incomplete chunked read" if cut == "close" else ""


class ClientErrors(Protocol):
    """What a client's library raises for answers that do not come whole; httpx and httpx2 have these names."""

    ReadError: type[Exception]
    ReadTimeout: type[Exception]
    RemoteProtocolError: type[Exception]


class InProcessResponse:
    """The answer to a request as its client receives it: the head, then the body, or an error.

    The client waits at most `read_timeout` seconds for each piece; None: as long as it takes.
    """

    _body: ReceivedBody  # known with the head

    def __init__(self, request: InProcessRequest, *, errors: ClientErrors, read_timeout: float | None) -> None:
        self._request = request
        self._driver = request.driver
        self._clock = request.driver.clock
        self._errors = errors
        self._read_timeout = math.inf if read_timeout is None else read_timeout
        self._due = self._clock.now()  # of the next action
        self._cut: str | None = None

    async def receive_head(self, method: str = "GET", *, closing: bool = False) -> WireHead:
        """Return the head of the answer to a request of this method. Raises the error that the client gets instead.

        `closing`: the client closes the connection afterwards, as the server does then.
        """
        head = await self._receive(self._clock.now())
        if head is None:
            self._check_reset()
            raise self._errors.RemoteProtocolError("Server disconnected without sending a response.")
        if not isinstance(head, Head):
            raise TypeError("an answer must start with its head")
        headers = list(map(encode_header, head.headers))
        if closing:
            headers = [*(header for header in headers if header[0] != b"connection"), (b"connection", b"close")]
        wire_head = WireHead(head.status, headers)
        self._body = ReceivedBody.expect(method, wire_head)
        if self._body.length == math.inf:
            headers.append((b"transfer-encoding", b"chunked"))
        return wire_head

    async def receive_piece(self) -> bytes | None:
        """Return the next piece of the body; None at its end. Raises the error that the client gets instead."""
        pieces = self._body.pieces
        if not pieces:
            await self._wait_for_piece()
        if not pieces:
            return None
        piece = pieces.popleft()
        self._request.note(piece)
        return piece

    def end(self, by: Literal["client", "server"]) -> None:
        """End the answer where it is, if it goes on. What a client has received it can still read.

        By the client, which reads no more: what the application sends at once counts as received, except of a stream;
        once the client has the whole length, also what it sends after waits. By the server: the connection is reset.
        """
        if self._request.over:
            return
        if by == "server":
            self._cut = "reset"
        elif not self._body.pieces:
            self._receive_unread()
        self._request.end()

    def _receive_unread(self) -> None:
        """Let the application go on as far as it needs no client."""
        while isinstance(action := self._request.go_on(), Action):
            match action:
                case Write(data=data):
                    if self._body.is_stream and data:
                        return
                    self._request.note(data)
                case Wait(seconds=seconds) if seconds == math.inf or self._body.left > 0:
                    return

    async def _wait_for_piece(self) -> None:
        """Return once a piece of the body has come, or its end."""
        body = self._body
        asked = self._clock.now()
        while not body.pieces:
            if body.left == 0:  # the client has the advertised length, whatever follows
                self.end(by="client")
                return
            write = await self._receive(asked)
            if not isinstance(write, Write):
                self._check_end()
                return
            body.add(write)

    async def _receive(self, since: float) -> Head | Write | None:
        """Return what comes next, when it is due; None at the end. The client waits since a moment."""
        try:
            while (action := await self._request.next_action()) is not None:
                match action:
                    case Head() | Write():
                        return action
                    case Wait(seconds=seconds):
                        await self._wait(seconds, since)
                    case Cut(how=how):
                        self._cut = how
                    case Flush() | RawWrite():  # data after the end is not received
                        pass
        except BaseException:
            self._request.end()
            raise
        return None

    async def _wait(self, seconds: float, since: float) -> None:
        """Wait, at most until the timeout of the client, which waits since a moment."""
        self._due += seconds
        if self._due <= self._clock.now():
            return
        if self._due - since > self._read_timeout:
            await self._driver.wait_until(since + self._read_timeout)
            raise self._errors.ReadTimeout("timed out")
        await self._driver.wait_until(self._due)

    def _check_reset(self) -> None:
        """Raise the client's error if the connection was reset."""
        if self._cut == "reset":
            raise self._errors.ReadError(f"[Errno {errno.ECONNRESET}] {os.strerror(errno.ECONNRESET)}")

    def _check_end(self) -> None:
        """Raise the client's error if the connection ended before the body."""
        self._check_reset()
        if missing := self._body.explain_incomplete(self._cut):
            raise self._errors.RemoteProtocolError(
                f"peer closed connection without sending complete message body ({missing})"
            )
