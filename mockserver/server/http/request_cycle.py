"""One request and its answer on a connection: uvicorn's cycle, completed for HTTP/1.0 and for broken answers."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from msgspec import Struct
from starlette.types import ASGIApp, Message, Scope
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from mockserver.core.plan import Failure
from mockserver.delivery.connection import CLIENT_LEFT, STOPPED, encode_header
from mockserver.delivery.paced import PacedStream
from mockserver.server.http.parser import RequestHead

log = logging.getLogger("mockserver")


class RequestCycle(RequestResponseCycle):
    """One request and its answer, which is sent by an application, or by the connection in its place."""

    transport: Any  # the ConnectionProtocol, which is a transport as far as a cycle needs one

    def __init__(self, connection: Any, head: RequestHead, scope: Scope | None = None, *, whole: bool) -> None:
        super().__init__(
            scope=scope or head.scope(),  # type: ignore[arg-type]
            transport=connection,
            flow=connection.flow,
            logger=log,
            access_logger=log,
            access_log=False,
            default_headers=connection.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=head.expects,
            keep_alive=head.keep_alive and not connection.stopping,
            on_response=connection.on_response_complete,
        )
        if whole:
            self.more_body = False
            self.message_event.set()
        self.task: asyncio.Task[None] | None = None  # that answers
        self.stream: PacedStream | None = None  # the answer, if it goes on by itself
        self.stream_task: StreamTask | None = None  # if it has no other task
        self.followed = False  # another request waits behind it, and no more is to be read
        self.moved = False  # something was sent since somebody last looked
        self._failure: Failure | None = None  # why the rest of the body will not come
        self._ends_with_connection = False  # the answer does: neither a length nor a last chunk tells its end

    async def run(self, app: ASGIApp) -> None:
        """Run the application; refuse what it leaves unanswered, close the connection of an unfinished answer."""
        failure: Failure | None = None
        try:
            await app(self.scope, self.receive, self.send)  # type: ignore[arg-type]
        except Failure as raised:
            failure = raised
        except asyncio.CancelledError:
            failure = Failure("overloaded", "The server is stopping.")
        except Exception:
            log.exception("internal error of mockserver on %s %s", self.scope["method"], ascii(self.scope["path"]))
            failure = Failure("server_error", "mockserver failed on this request; its log says how.")
        if self.response_complete or self.disconnected:
            return
        if self.response_started:
            self.transport.close()
        else:
            await self.refuse(failure or Failure("server_error", "The request was left without an answer."))

    async def refuse(self, failure: Failure) -> None:
        """Send a failure, after which the connection ends."""
        self.keep_alive = False
        reply = self.transport.shared.refuse(failure, self.scope["method"], self.scope["path"])
        headers = list(map(encode_header, reply.headers))
        await self.send({"type": "http.response.start", "status": reply.status, "headers": headers})
        await self.send({"type": "http.response.body", "body": reply.body})

    def take_body(self, body: bytes, *, is_last: bool) -> None:
        """Keep what has come of the body until somebody reads it; nothing more is received if that is much."""
        if not self.response_complete:
            self.body += body
            if len(self.body) > HIGH_WATER_LIMIT:
                self.flow.pause_reading()
        self.more_body = not is_last
        self.message_event.set()

    def fail(self, failure: Failure) -> None:
        """The rest of the body will not come; raise this to its reader."""
        self._failure = failure
        self.message_event.set()

    def leave(self) -> None:
        """The client has left."""
        self.disconnected = True
        self.message_event.set()
        if self.stream is not None:
            self.stream.stop(CLIENT_LEFT)

    async def receive(self) -> Any:
        """What has come of the body, or that the client has left. Raises Failure when the body will never be whole."""
        if self.waiting_for_100_continue and not self.transport.is_closing():
            self.waiting_for_100_continue = False
            self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if not (self.disconnected or self.response_complete):
            if not self.followed:
                self.flow.resume_reading()
            await self.message_event.wait()
            self.message_event.clear()
        if self.disconnected or self.response_complete:
            return {"type": "http.disconnect"}
        if self._failure is not None:
            failure = self._failure
            self._failure = None
            raise failure
        body = bytes(self.body)
        self.body = bytearray()
        return {"type": "http.request", "body": body, "more_body": self.more_body}

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
        self.response_complete = True
        self._begin(status, lines, body)
        self.message_event.set()
        self.on_response()

    def begin_paced(self, status: int, lines: bytes, stream: PacedStream) -> None:
        """Send the head of a simple answer whose body is a stream, which goes on by itself."""
        self.chunked_encoding = True
        self.stream = stream
        stream.sink = self
        stream.flow = self.flow
        stream.write = self.transport.write
        self._begin(status, lines)

    def _begin(self, status: int, lines: bytes, body: bytes = b"") -> None:
        self.response_started = self.moved = True
        self.waiting_for_100_continue = False
        self.transport.write_head(status, lines, body)

    def end(self, chunk: bytes) -> None:
        """Send the last chunk of a stream."""
        self.response_complete = True
        self.transport.write(chunk + b"0\r\n\r\n")
        self.message_event.set()
        if not self.keep_alive:
            self.transport.close()
        self.on_response()

    def send_piece(self, data: bytes) -> bool:
        """Send a chunk of the body; False: it does not go out in chunks, or not at once."""
        if not self.chunked_encoding or self.response_complete or self.disconnected or self.flow.write_paused:
            return False
        if not data or self.scope["method"] == "HEAD":
            return False
        self.moved = True
        self.transport.write(b"%x\r\n%b\r\n" % (len(data), data))
        return True

    def send(self, message: Any) -> Coroutine[Any, Any, None]:
        """Send the head of the answer, or a piece of its body; wait while the client takes nothing."""
        self.moved = True
        if self._ends_with_connection or (
            self.chunked_encoding is False and self.response_started and self._has_wrong_length(message)
        ):
            return self._send_rest(message)
        if not self.response_started and (self.more_body or not self.keep_alive or self.scope["http_version"] == "1.0"):
            message = self._fit_head(message)
        return RequestResponseCycle.send(self, message)

    def _fit_head(self, start: Message) -> Message:
        """The head as it suits a connection that may end after it, or a client that knows no chunks."""
        headers = [(name.lower(), value) for name, value in start.get("headers", ())]
        keep_alive = self.keep_alive and not self.more_body and (b"connection", b"close") not in headers
        dropped = (b"connection", b"transfer-encoding")
        if self.scope["http_version"] == "1.1":
            dropped = (b"connection", b"")
        elif not any(name == b"content-length" for name, _ in headers):
            self._ends_with_connection = self.scope["method"] != "HEAD" and start["status"] not in (204, 304)
            self.chunked_encoding = False
        self.keep_alive = keep_alive and not self._ends_with_connection
        headers = [field for field in headers if field[0] not in dropped]
        if self.keep_alive:
            headers.append((b"connection", b"keep-alive"))
        return {**start, "headers": headers}

    def _has_wrong_length(self, piece: Message) -> bool:
        """Whether the body is longer or shorter than was stated; it goes out as it is, and the connection with it."""
        length = len(piece.get("body", b""))
        stated = self.expected_content_length
        if length == stated or (length < stated and piece.get("more_body")) or self.scope["method"] == "HEAD":
            return False
        self._ends_with_connection = not self.response_complete
        self.keep_alive = False
        return self._ends_with_connection

    async def _send_rest(self, message: Message) -> None:
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()
        if self.disconnected or self.response_complete:
            return
        self.transport.write(message.get("body", b""))
        if not message.get("more_body"):
            self.response_complete = True
            self.message_event.set()
            self.transport.close()
            self.on_response()


class StreamTask(Struct, eq=False):
    """Stands among uvicorn's tasks for an answer that goes on without one: a server that stops waits for them all."""

    cycle: RequestCycle

    def cancel(self, msg: str = "") -> None:
        """End the stream, as uvicorn has waited long enough."""
        stream = self.cycle.stream
        if stream is not None and not stream.over:
            stream.stop(STOPPED)
            self.cycle.transport.close()
