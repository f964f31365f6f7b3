"""One request and its answer on a connection: through ASGI, or past it if a dialect answers."""

import asyncio
import logging

from starlette.types import ASGIApp, Message

from mockserver.core.action import NO_CLOSE_FRAME
from mockserver.core.plan import Failure
from mockserver.delivery.connection import CLIENT_LEFT, STOPPED, encode_header
from mockserver.delivery.paced import PacedStream
from mockserver.server.http.framing import LAST_CHUNK, BodyEnd, Framing, frame_answer, frame_chunk
from mockserver.server.http.parser import RequestHead
from mockserver.server.http.pipeline import Connection
from mockserver.server.http.tcp import count_unsent
from mockserver.server.visit import CRASHED, STOPPING

MAX_UNREAD = 65_536  # bytes of a body that wait to be read before no more are received
NOTICE_TIME = 1.0  # seconds that an application gets to notice that its client has left

log = logging.getLogger("mockserver")


class RequestBody:
    """The body of a request, which comes piece by piece until an application has received it."""

    def __init__(self, connection: Connection, head: RequestHead, *, is_whole: bool) -> None:
        self.is_whole = is_whole
        self.is_awaited = head.expects  # the client waits to be told to send it
        self._connection = connection
        self._unread = bytearray()
        self._failure: Failure | None = None  # why the rest will not come
        self._is_over = False  # nobody reads it any more
        self._news = asyncio.Event()  # wakes `receive`
        if is_whole:
            self._news.set()

    def take(self, data: bytes, *, is_last: bool) -> None:
        """Keep what has come until it is received; nothing more is read meanwhile if that is much."""
        if not self._is_over:
            self._unread += data
            if len(self._unread) > MAX_UNREAD:
                self._connection.flow.pause_reading()
        self.is_whole = is_last
        self._news.set()

    def fail(self, failure: Failure) -> None:
        """Take note that the rest will not come; `receive` raises the failure."""
        self._failure = failure
        self._news.set()

    def end(self) -> None:
        """Take note that nobody reads more: the client has left, or its answer was sent."""
        self._is_over = True
        self._news.set()

    async def receive(self) -> Message:
        """Return what has come, or that the client has left, as ASGI has it. Raises Failure if no more will come."""
        if self.is_awaited and not self._connection.is_closing():
            self.is_awaited = False
            self._connection.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if not self._is_over:
            self._connection.pipeline.resume_reading()
            await self._news.wait()
            self._news.clear()
        if self._is_over:
            return {"type": "http.disconnect"}
        if self._failure is not None:
            failure = self._failure
            self._failure = None
            raise failure.renew()  # a traceback leads here
        data = bytes(self._unread)
        self._unread.clear()
        return {"type": "http.request", "body": data, "more_body": not self.is_whole}


class RequestCycle:
    """A request, and its answer by an application in a task. `send` is ASGI's; the rest is the `Wire` of the answer."""

    def __init__(self, connection: Connection, head: RequestHead, app: ASGIApp, *, is_whole: bool) -> None:
        self.body = RequestBody(connection, head, is_whole=is_whole)
        self.write = connection.write
        self.keep_alive = head.keep_alive and not connection.stopping
        self.moved = False
        self.gone = False  # the client has left
        self._connection = connection
        self._head = head
        self._app = app
        self._task: asyncio.Task[None] | None = None
        self._framing: Framing | None = None  # once the head of the answer was sent
        self._is_over = False  # all of it was sent, or nothing more will be

    def start(self) -> None:
        """Run the application in a task."""
        tasks = self._connection.tasks
        tasks.add(self)
        self._task = asyncio.get_running_loop().create_task(self._run())
        self._task.add_done_callback(lambda _: tasks.discard(self))

    async def _run(self) -> None:
        """Run the application. Refuse a request that it does not answer, and close where it does not finish."""
        scope = self._connection.make_scope(self._head, wire=self)
        failure: Failure | None = None
        try:
            await self._app(scope, self.body.receive, self.send)
        except Failure as raised:
            failure = raised.renew()  # a traceback leads here
        except asyncio.CancelledError:
            failure = STOPPING
        except Exception:
            log.exception("internal error of mockserver on %s %s", self._head.method, ascii(self._head.path))
            failure = CRASHED
        if self._is_over or self.gone:
            return
        if self._framing is not None:
            self._connection.close()
        else:
            await self._refuse(failure or Failure("server_error", "The request was left without an answer."))

    async def _refuse(self, failure: Failure) -> None:
        """Send a failure, after which the connection ends."""
        self.keep_alive = False
        reply = self._connection.refuse_unread(failure, self._head.method, self._head.path)
        headers = list(map(encode_header, reply.headers))
        await self.send({"type": "http.response.start", "status": reply.status, "headers": headers})
        await self.send({"type": "http.response.body", "body": reply.body})

    def leave(self) -> None:
        self.gone = True
        self.body.end()
        if self._task is not None and not self._is_over:
            asyncio.get_running_loop().call_later(NOTICE_TIME, self._task.cancel)

    def cancel(self, msg: str = "") -> None:
        if self._task is not None:
            # Not at once: a task that is cancelled before its first turn never runs, so that nobody would answer.
            asyncio.get_running_loop().call_soon(self._task.cancel)

    # ASGI

    async def send(self, message: Message) -> None:
        """Send the head of the answer, or a piece of its body; wait while the client takes nothing."""
        flow = self._connection.flow
        self.moved = True
        if flow.write_paused and not self.gone:
            await flow.drain()
        if self.gone:
            return
        expected = "http.response.start" if self._framing is None else "http.response.body"
        if self._is_over or message["type"] != expected:
            raise RuntimeError(f"{message['type']} was sent where {expected} was due, or after the end of the answer")
        if self._framing is None:
            self._send_head(message["status"], message.get("headers", ()))
        else:
            self._send_body(self._framing, message.get("body", b""), is_last=not message.get("more_body"))

    def _send_head(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        keep_alive = self.keep_alive and self.body.is_whole
        self._framing = framing = frame_answer(self._head, status, headers, keep_alive=keep_alive)
        self.keep_alive = framing.keep_alive
        self.body.is_awaited = False
        self._connection.send_head(status, framing.lines)

    def _send_body(self, framing: Framing, data: bytes, *, is_last: bool) -> None:
        """Send a piece of the body. A stated length may be wrong: the body goes out as it is, then the connection."""
        framed = framing.frame(data, is_last=is_last)
        if framed:
            self.write(framed)
        if is_last:
            self.keep_alive = self.keep_alive and not framing.missing
            self._end()
            self._connection.finish_answer(keep_alive=self.keep_alive)

    def _end(self) -> None:
        self._is_over = True
        self.body.end()

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

    def close(self, code: int = NO_CLOSE_FRAME) -> None:
        self._end()
        self._connection.close()

    def reset(self) -> None:
        self._end()
        self._connection.reset()

    def send_piece(self, data: bytes) -> bool:
        is_chunked = self._framing is not None and self._framing.end is BodyEnd.CHUNKS
        if not (is_chunked and data) or self._is_over or self.gone or self._connection.flow.write_paused:
            return False
        self.moved = True
        self.write(frame_chunk(data))
        return True

    def send_whole(self, status: int, rest: bytes) -> bool:
        if not self._is_plain:
            return False
        self._end()
        self._connection.send_whole(status, rest)
        self._connection.finish_answer(keep_alive=True)
        return True

    def send_paced(self, status: int, lines: bytes, stream: PacedStream) -> bool:
        if not self._is_plain:
            return False
        self._end()
        return self._connection.send_paced(status, lines, stream)

    @property
    def _is_plain(self) -> bool:
        """Whether an answer can be written past ASGI.

        The request is whole, nothing was sent, the client is there and takes bytes, it knows chunks and wants a body,
        and the connection stays open.
        """
        return (
            (self.body.is_whole and self._framing is None)
            and not (self._is_over or self.gone or self._connection.flow.write_paused)
            and (self.keep_alive and self._head.version == "1.1" and self._head.method != "HEAD")
        )


class PacedAnswer:
    """A stream that goes on by itself, without a task: the wheel of the server writes its parts when they are due."""

    def __init__(self, connection: Connection, stream: PacedStream) -> None:
        self.keep_alive = True
        self.moved = True
        self.stream = stream
        self._connection = connection
        connection.tasks.add(self)
        stream.sink = self
        stream.flow = connection.flow
        stream.write = connection.write

    def end(self, chunk: bytes) -> None:
        """Send the last chunk."""
        self._connection.write(chunk + LAST_CHUNK)
        self._connection.tasks.discard(self)
        self._connection.finish_answer(keep_alive=self.keep_alive)

    def leave(self) -> None:
        self._connection.tasks.discard(self)
        self.stream.stop(CLIENT_LEFT)

    def cancel(self, msg: str = "") -> None:
        self.stream.stop(STOPPED)
        self._connection.close()
