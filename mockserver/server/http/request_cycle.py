"""One request and its answer on a connection, as ASGI has them, and what may be written past ASGI."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Protocol

from starlette.types import ASGIApp, Message, Scope
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT, FlowControl
from uvicorn.protocols.http.httptools_impl import HEADER_RE, HEADER_VALUE_RE

from mockserver.core.http import WITHOUT_BODY, Reply
from mockserver.core.plan import Failure
from mockserver.delivery.connection import CLIENT_LEFT, STOPPED, encode_header
from mockserver.delivery.paced import PacedStream
from mockserver.server.http.parser import Field, RequestHead

log = logging.getLogger("mockserver")

Refuse = Callable[[Failure, str, str], Reply]  # the answer to a method and path that are refused


class Connection(Protocol):
    """What a cycle needs of its connection."""

    flow: FlowControl
    stopping: bool  # the server stops
    write: Callable[[bytes], None]
    refuse_unread: Refuse

    def write_head(self, status: int, lines: bytes, body: bytes = b"") -> None:
        """Write a status line, the headers that every answer has, these header lines, and a body in its framing."""

    def is_closing(self) -> bool:
        """Return whether nothing more is to be written."""

    def close(self) -> None:
        """Send what was written, then close."""

    def on_response_complete(self) -> None:
        """Go on with the next request."""


class Framing(Enum):
    """How a client finds the end of a body."""

    CHUNKS = "after the last chunk"
    LENGTH = "after the stated length"
    CONNECTION = "where the connection ends"
    NONE = "there is no body"


class RequestCycle:
    """One request and its answer, which is sent by an application, or by the connection in its place.

    `receive` and `send` are ASGI's. Among uvicorn's tasks it stands for what goes on for it, a task or a stream: a
    server that stops waits for all of these, then cancels them.
    """

    def __init__(self, connection: Connection, head: RequestHead, scope: Scope | None = None, *, whole: bool) -> None:
        self.connection = connection
        self.flow = connection.flow
        self.scope = scope or head.scope()
        self.keep_alive = head.keep_alive and not connection.stopping
        self.disconnected = False
        self.task: asyncio.Task[None] | None = None  # that answers
        self.stream: PacedStream | None = None  # the answer, if it goes on by itself
        self._news = asyncio.Event()  # wakes `receive`

        # The request
        self.more_body = not whole
        self.followed = False  # another request waits behind it, and no more is to be read
        self._body = bytearray()  # that nobody has read
        self._expects = head.expects  # the client waits to be told to send the body
        self._failure: Failure | None = None  # why the rest of the body will not come
        if whole:
            self._news.set()

        # The answer
        self.response_started = False
        self.response_complete = False
        self.moved = False  # something was sent since somebody last looked
        self._framing = Framing.NONE
        self._missing = 0  # bytes of the stated length that are still to come

    async def run(self, app: ASGIApp) -> None:
        """Run the application; refuse what it leaves unanswered, close the connection of an unfinished answer."""
        failure: Failure | None = None
        try:
            await app(self.scope, self.receive, self.send)
        except Failure as raised:
            failure = raised
        except asyncio.CancelledError:
            failure = Failure("overloaded", "The server is stopping.")
        except Exception:
            log.exception("internal error of mockserver on %s %s", self.scope["method"], ascii(self.scope["path"]))
            failure = Failure("server_error", "mockserver failed on this request; its log says how.")
        if self.response_complete or self.disconnected or self.stream is not None:
            return
        if self.response_started:
            self.connection.close()
        else:
            await self.refuse(failure or Failure("server_error", "The request was left without an answer."))

    def cancel(self, msg: str = "") -> None:
        """End what goes on for it, as the server has waited long enough."""
        if self.task is not None and not self.task.done():
            # Not at once: a task that is cancelled before its first turn never runs, so that nobody would answer.
            asyncio.get_running_loop().call_soon(self.task.cancel)
        if self.stream is not None and self.is_streaming:
            self.stream.stop(STOPPED)
            self.connection.close()

    @property
    def is_over(self) -> bool:
        """Whether nothing goes on for it any more."""
        return (self.task is None or self.task.done()) and not self.is_streaming

    @property
    def is_streaming(self) -> bool:
        """Whether the answer goes on by itself."""
        return self.stream is not None and not (self.response_complete or self.disconnected)

    async def refuse(self, failure: Failure) -> None:
        """Send a failure, after which the connection ends."""
        self.keep_alive = False
        reply = self.connection.refuse_unread(failure, self.scope["method"], self.scope["path"])
        headers = list(map(encode_header, reply.headers))
        await self.send({"type": "http.response.start", "status": reply.status, "headers": headers})
        await self.send({"type": "http.response.body", "body": reply.body})

    # The request

    def take_body(self, body: bytes, *, is_last: bool) -> None:
        """Keep what has come of the body until somebody reads it; nothing more is received if that is much."""
        if not self.response_complete:
            self._body += body
            if len(self._body) > HIGH_WATER_LIMIT:
                self.flow.pause_reading()
        self.more_body = not is_last
        self._news.set()

    def fail(self, failure: Failure) -> None:
        """The rest of the body will not come; raise this to its reader."""
        self._failure = failure
        self._news.set()

    def leave(self) -> None:
        """The client has left."""
        self.disconnected = True
        self._news.set()
        if self.stream is not None:
            self.stream.stop(CLIENT_LEFT)

    async def receive(self) -> Message:
        """What has come of the body, or that the client has left. Raises Failure when the body will never be whole."""
        if self._expects and not self.connection.is_closing():
            self._expects = False
            self.connection.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if not (self.disconnected or self.response_complete):
            if not self.followed:
                self.flow.resume_reading()
            await self._news.wait()
            self._news.clear()
        if self.disconnected or self.response_complete:
            return {"type": "http.disconnect"}
        if self._failure is not None:
            failure = self._failure
            self._failure = None
            raise failure
        body = bytes(self._body)
        self._body = bytearray()
        return {"type": "http.request", "body": body, "more_body": self.more_body}

    # The answer, through ASGI

    async def send(self, message: Message) -> None:
        """Send the head of the answer, or a piece of its body; wait while the client takes nothing."""
        self.moved = True
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()
        if self.disconnected:
            return
        expected = "http.response.body" if self.response_started else "http.response.start"
        if self.response_complete or message["type"] != expected:
            raise RuntimeError(f"{message['type']} was sent where {expected} was due, or after the end of the answer")
        if not self.response_started:
            self._send_head(message["status"], message.get("headers", ()))
        else:
            self._send_body(message.get("body", b""), is_last=not message.get("more_body"))

    def _send_head(self, status: int, headers: Iterable[Field]) -> None:
        """Send a head as it suits a connection that may end after it, or a client that knows no chunks."""
        self.response_started = True
        fields = [(name.lower(), value) for name, value in headers]
        for name, value in fields:
            if HEADER_RE.search(name) or HEADER_VALUE_RE.search(value):
                raise RuntimeError(f"this is not a valid header: {name!r}: {value!r}")
        is_latest = self.scope["http_version"] == "1.1"
        stays = self.keep_alive and not self.more_body
        self._choose_framing(status, fields)
        self.keep_alive = stays and self._framing is not Framing.CONNECTION and not _state_close(fields)
        if not (is_latest and stays):  # else it goes without saying, and the application may say otherwise
            fields = [field for field in fields if field[0] != b"connection"]
            fields.append((b"connection", b"keep-alive" if self.keep_alive else b"close"))
        if not is_latest:
            fields = [field for field in fields if field[0] != b"transfer-encoding"]
        elif self._framing is Framing.CHUNKS and not _state_chunks(fields):
            fields.append((b"transfer-encoding", b"chunked"))
        self._begin(status, b"".join([b"%b: %b\r\n" % field for field in fields]))

    def _choose_framing(self, status: int, fields: list[Field]) -> None:
        """Choose how the body ends, for a client that may not know chunks."""
        is_latest = self.scope["http_version"] == "1.1"
        length = next((value for name, value in fields if name == b"content-length"), None)
        if self.scope["method"] == "HEAD" or status in WITHOUT_BODY:
            self._framing = Framing.NONE
        elif is_latest and _state_chunks(fields):
            self._framing = Framing.CHUNKS
        elif length is not None:
            self._framing = Framing.LENGTH
            self._missing = int(length)
        else:
            self._framing = Framing.CHUNKS if is_latest else Framing.CONNECTION

    def _send_body(self, body: bytes, *, is_last: bool) -> None:
        """Send a piece of the body. A stated length may be wrong: the body goes out as it is, then the connection."""
        if self._framing is Framing.CHUNKS:
            self.connection.write(_frame_chunk(body) + (_LAST_CHUNK if is_last else b""))
        elif self._framing is not Framing.NONE:
            self.connection.write(body)
            self._missing -= len(body)
        if is_last:
            if self._framing is Framing.LENGTH and self._missing:
                self.keep_alive = False
            self._complete()

    def _begin(self, status: int, lines: bytes, body: bytes = b"") -> None:
        self.response_started = True
        self.moved = True
        self._expects = False
        self.connection.write_head(status, lines, body)

    def _complete(self) -> None:
        self.response_complete = True
        self._news.set()
        if not self.keep_alive:
            self.connection.close()
        self.connection.on_response_complete()

    # The answer, past ASGI

    @property
    def is_simple(self) -> bool:
        """Whether an answer with a body can be written past ASGI.

        The request is whole, nothing was sent, the client is there and takes bytes, it knows chunks and wants a body,
        and the connection stays open.
        """
        return (
            not (self.more_body or self.response_started or self.disconnected or self.flow.write_paused)
            and (self.keep_alive and self.scope["http_version"] == "1.1")
            and self.scope["method"] != "HEAD"
        )

    def send_whole(self, status: int, lines: bytes, body: bytes) -> None:
        """Send a simple answer at once: its header lines, and its body in its framing."""
        self._begin(status, lines, body)
        self._complete()

    def begin_paced(self, status: int, lines: bytes, stream: PacedStream) -> None:
        """Send the head of a simple answer whose body is a stream, which goes on by itself."""
        self._framing = Framing.CHUNKS
        self.stream = stream
        stream.sink = self
        stream.flow = self.flow
        stream.write = self.connection.write
        self._begin(status, lines)

    def end(self, chunk: bytes) -> None:
        """Send the last chunk of a stream."""
        self.connection.write(chunk + _LAST_CHUNK)
        self._complete()

    def send_piece(self, data: bytes) -> bool:
        """Send a chunk of the body; False: it does not go out in chunks, or not at once."""
        if self._framing is not Framing.CHUNKS or not self.response_started or self.response_complete:
            return False
        if self.disconnected or self.flow.write_paused or not data:
            return False
        self.moved = True
        self.connection.write(_frame_chunk(data))
        return True


def _state_chunks(fields: list[Field]) -> bool:
    """Return whether headers say that the body comes in chunks."""
    return any(name == b"transfer-encoding" and value.lower() == b"chunked" for name, value in fields)


def _state_close(fields: list[Field]) -> bool:
    """Return whether headers say that the connection ends after the answer."""
    told = [value for name, value in fields if name == b"connection"]
    return any(option.strip().lower() == b"close" for value in told for option in value.split(b","))


def _frame_chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data) if data else b""


_LAST_CHUNK = b"0\r\n\r\n"
