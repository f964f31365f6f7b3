"""HTTP/2 without TLS, for clients that begin with it unasked, as the AWS SDK for JavaScript does: frames by h2.

Each request is answered by the application in a task, beside the others of its connection.
"""

import asyncio
import logging
from contextlib import suppress
from math import inf
from typing import Any

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    Event,
    RemoteSettingsChanged,
    RequestReceived,
    StreamEnded,
    StreamReset,
    WindowUpdated,
)
from h2.exceptions import ProtocolError, StreamClosedError
from starlette.types import ASGIApp, Message
from uvicorn.server import ServerState

from mockserver.core.action import NO_CLOSE_FRAME
from mockserver.core.http import WITHOUT_BODY
from mockserver.core.plan import Failure
from mockserver.delivery.connection import encode_header
from mockserver.delivery.paced import PacedStream
from mockserver.server.http.deadlines import CLIENT_CHECK, DeadlineWatch
from mockserver.server.http.framing import check_fields
from mockserver.server.http.parser import (
    FRAMING,
    Field,
    RequestHead,
    check_framing,
    check_size,
    check_target,
    make_bad_request,
    make_head,
    measure_head,
    read_path,
)
from mockserver.server.http.pipeline import Connection
from mockserver.server.http.request_cycle import NOTICE_TIME
from mockserver.server.http.tcp import MAX_DRAINED, count_unsent, reset
from mockserver.server.visit import CRASHED, STOPPING

MAX_STREAMS = 100  # requests of a connection that are answered at a time
MAX_CYCLES = 4 * MAX_STREAMS  # of a connection, with those whose client no longer waits, before it is cut
MAX_FRAME = 16_384  # bytes of an answer in one frame, also if the client would take more
MAX_PARTIAL = 1 << 18  # bytes without a whole head or other frame; h2 would take a frame of 16 MB before it looks
MAX_CONTROL = 1 << 20  # bytes that wait in a connection before its client is cut: answers wait long before
MAX_TABLE = 4096  # bytes of headers that are kept to be referred to, also if the client would keep more
_OF_CONNECTIONS = frozenset((b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade"))

log = logging.getLogger("mockserver")


class ServerFrames(H2Connection):
    """The frames of a connection, as a server has them.

    It goes on when its client says goodbye, which ends a connection for h2: open requests are answered (RFC 9113, 6.8).
    """

    def __init__(self) -> None:
        super().__init__(H2Configuration(client_side=False, header_encoding=None))
        self.come = 0  # whole frames; those of a head are one

    def _receive_frame(self, frame: Any) -> list[Event]:
        self.come += 1
        return super()._receive_frame(frame)

    def _receive_goaway_frame(self, frame: Any) -> tuple[list[Any], list[Event]]:
        return [], [ConnectionTerminated()]


class Http2Protocol(asyncio.Protocol):
    """One connection of a client that speaks HTTP/2."""

    def __init__(
        self,
        connection: Connection,
        app: ASGIApp,
        *,
        server_state: ServerState,
        watch: DeadlineWatch,
    ) -> None:
        """Take over a connection whose client has begun with HTTP/2."""
        self.transport = connection.transport
        self.flow = connection.flow
        self.tasks = connection.tasks
        self.refuse_unread = connection.refuse_unread
        self.make_scope = connection.make_scope
        self.server_state = server_state
        self.watch = watch
        self.app = app
        self.h2 = ServerFrames()
        self.stopping = False
        self.due = inf
        self.room = asyncio.Event()  # set when a client takes more of an answer than before
        self._connections: set[Any] = server_state.connections
        self._dropped = 0  # bytes of requests that were answered before they were whole
        self._cycles = dict[int, Http2Cycle]()  # that run, by stream
        self._partial = 0  # bytes that have come of a frame, or of frames that are one head
        self._is_leaving = False  # the client has said goodbye
        self._idle_by = inf  # when the client must have begun a request
        self._whole_by = inf  # when the head or other frame that is being read must be whole
        self._reads_no_more = False
        self._turn = asyncio.Lock()  # of the answer that writes the next frame

    def begin(self, data: bytes) -> None:
        """Serve the connection, of which this has come."""
        self._connections.add(self)
        self.watch.enter(self)
        self._expect_request()
        self.h2.initiate_connection()
        # Clients are told to have 100 streams. h2 would cut one that has begun more before it was told.
        self.h2.local_settings.max_concurrent_streams = MAX_CYCLES
        self.h2.local_settings.acknowledge()
        self.data_received(data)

    # What the transport calls

    def data_received(self, data: bytes) -> None:
        if self._reads_no_more:
            return
        come = self.h2.come
        try:
            events = self.h2.receive_data(data)
        except ProtocolError:  # of which h2 tells the client
            self.flush()
            self._leave()
            self.transport.close()
            return
        for event in events:
            self._take(event)
            if self._reads_no_more:
                return
        self._partial = 0 if self.h2.come > come else self._partial + len(data)
        if self._partial > MAX_PARTIAL:
            self._end(ErrorCodes.FRAME_SIZE_ERROR)
            return
        if not self._partial:
            self._whole_by = inf
        elif self._whole_by == inf:
            self._whole_by = self.watch.time + self.watch.deadlines.head
        if not self._cycles:
            self.due = min(self._idle_by, self._whole_by)
        self.flush()

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.discard(self)
        self.watch.leave(self)
        self._leave()
        self.flow.resume_writing()
        self.transport.close()

    def pause_writing(self) -> None:
        self.flow.pause_writing()

    def resume_writing(self) -> None:
        self.flow.resume_writing()

    # What the server and its watch call

    @property
    def busy(self) -> bool:
        """Whether an answer is being sent."""
        return bool(self._cycles)

    def shutdown(self) -> None:
        """Stop with the server: open requests are still answered, unless this is called twice."""
        if self.stopping:
            self.transport.abort()
            return
        self.stopping = True
        if not self._cycles:
            self._end()

    def handle_deadline(self, now: float) -> None:
        """Refuse requests whose body takes too long, and end a connection that nobody uses."""
        if self._reads_no_more:
            self.transport.abort()
            return
        for cycle in self._cycles.values():
            if cycle.is_late(now):
                cycle.fail(Failure("timeout", "The body of the request took too long."))
        if self._cycles:
            self.due = now + CLIENT_CHECK
        else:
            self._end()

    # Requests

    def _take(self, event: Event) -> None:
        match event:
            case RequestReceived(stream_id=stream, headers=headers):
                self._start(stream, [(bytes(name), bytes(value)) for name, value in headers])
            case DataReceived(stream_id=stream, data=data, flow_controlled_length=length):
                cycle = self._cycles.get(stream)
                if cycle is None:
                    self._drop(stream, length)
                else:
                    cycle.take(data, length)
            case StreamEnded(stream_id=stream) if stream in self._cycles:
                self._cycles[stream].complete()
            case StreamReset(stream_id=stream) if stream in self._cycles:
                self._cycles[stream].leave()
            case WindowUpdated():
                self.room.set()
            case RemoteSettingsChanged():
                encoder = self.h2.encoder
                encoder.header_table_size = min(encoder.header_table_size, MAX_TABLE)
                self.room.set()
            case ConnectionTerminated():  # after which Node still sends requests that it was asked for before
                self._is_leaving = True
                self._expect_request()

    def _drop(self, stream: int, length: int) -> None:
        """Let the rest of a request pass that was answered before it came: a reset would overtake the answer."""
        self._dropped += length
        if self._dropped > MAX_DRAINED:
            self.end_stream(stream, ErrorCodes.NO_ERROR)
        else:
            self.h2.acknowledge_received_data(length, stream)

    def _start(self, stream: int, fields: list[Field]) -> None:
        """Answer a request whose head has come. A client that leaves requests faster than they end is cut."""
        if len(self._cycles) >= MAX_CYCLES:
            self._end(ErrorCodes.ENHANCE_YOUR_CALM)
            return
        is_full = sum(cycle.is_open for cycle in self._cycles.values()) >= MAX_STREAMS
        if is_full or self.stopping:
            self.end_stream(stream, ErrorCodes.REFUSED_STREAM)
            return
        app = self.app
        try:
            head = read_head(fields)
        except Failure as failure:
            told = failure
            head = describe_refused(fields)

            async def app(*_: object) -> None:
                raise told.renew()  # its own traceback leads to the connection

        self.due = min(self.due, self.watch.time + CLIENT_CHECK)
        self._cycles[stream] = Http2Cycle(self, stream, head, app)

    def forget(self, stream: int) -> None:
        """Take note that a request was answered, or will not be."""
        del self._cycles[stream]
        if not self._cycles:
            self._expect_request()
            if self.stopping:
                self._end()

    def _expect_request(self) -> None:
        """Give the client time to begin a request, or to close: little if it has said goodbye."""
        watch = self.watch
        self._idle_by = watch.time + watch.deadlines.farewell if self._is_leaving else watch.idle_until
        if not self._cycles:
            self.due = min(self._idle_by, self._whole_by)

    # Answers

    async def wait_for_turn(self) -> None:
        """Return when a frame can be written, or the client has left. Answers take turns, so that none waits for ever.

        The frame has to be written before the next `await`, for another answer that waits would write one as well.
        """
        async with self._turn:
            while self.flow.write_paused:
                await self.flow.drain()

    def end_stream(self, stream: int, why: ErrorCodes) -> None:
        """End a stream early, unless its client already has."""
        with suppress(StreamClosedError):
            self.h2.reset_stream(stream, why)

    # The end

    def flush(self) -> None:
        """Send what h2 has written."""
        data = self.h2.data_to_send()
        if self.transport.is_closing():
            return
        self.transport.write(data)
        if self.transport.get_write_buffer_size() > MAX_CONTROL:
            self.transport.abort()

    def _end(self, why: ErrorCodes = ErrorCodes.NO_ERROR) -> None:
        """Say goodbye, and close: whoever still waits for an answer gets none."""
        if not self._reads_no_more:
            self.h2.close_connection(why)
            self.flush()
            self._leave()
            self.due = self.watch.time + self.watch.deadlines.linger
            self.transport.close()

    def _leave(self) -> None:
        """Take note that nothing more is read or sent."""
        self._reads_no_more = True
        for cycle in self._cycles.values():
            cycle.leave()


class Http2Cycle:
    """A request, and its answer by an application in a task. `send` is ASGI's; the rest is the `Wire` of the answer."""

    half_closed = False  # whether a client that has sent all is still there, its connection shows

    def __init__(self, connection: Http2Protocol, stream: int, head: RequestHead, app: ASGIApp) -> None:
        self.gone = False  # the client has left, or nothing more will be sent
        self._whole_by = connection.watch.time + connection.watch.deadlines.body
        self._connection = connection
        self._stream = stream
        self._head = head
        self._app = app

        # The request
        self._expects = head.expects  # the client waits to be told to send the body
        self._unread = bytearray()
        self._owed = 0  # bytes of the window that the client gets back when those are read
        self._is_whole = False
        self._failure: Failure | None = None  # why the rest will not come
        self._news = asyncio.Event()  # wakes `receive`

        # The answer
        self._has_head = False
        self._has_body = False  # what the application sends as its body is part of it
        self._is_sent = False  # all of it
        self._task = asyncio.get_running_loop().create_task(self._run())
        connection.tasks.add(self._task)
        self._task.add_done_callback(self._finish)

    # What the connection calls

    @property
    def is_open(self) -> bool:
        """Whether the client waits for the answer, or for the rest of it."""
        return not (self.gone or self._is_sent)

    def take(self, data: bytes, length: int) -> None:
        """Keep what has come of the body; of the window, it takes this length."""
        self._unread += data
        self._owed += length
        self._news.set()

    def complete(self) -> None:
        """Take note that the body is whole."""
        self._is_whole = True
        self._whole_by = inf
        self._news.set()

    def is_late(self, now: float) -> bool:
        """Return whether the body should be whole by now, and what has come of it is not in the way of the rest."""
        return now >= self._whole_by and not self._unread

    def fail(self, failure: Failure) -> None:
        """Take note that the rest of the body will not come; `receive` raises the failure."""
        self._whole_by = inf
        self._failure = failure
        self._news.set()

    def leave(self) -> None:
        """Take note that the client waits no longer."""
        self.gone = True
        self._news.set()
        self._connection.room.set()
        if not self._is_sent:
            asyncio.get_running_loop().call_later(NOTICE_TIME, self._task.cancel)

    # The application

    async def _run(self) -> None:
        """Run the application. Refuse a request that it does not answer, and break off an answer that it leaves."""
        failure: Failure | None = None
        head = self._head
        try:
            await self._app(self._connection.make_scope(head, wire=self), self.receive, self.send)
        except Failure as raised:
            failure = raised.renew()  # a traceback leads here
        except asyncio.CancelledError:
            failure = STOPPING
        except Exception:
            log.exception("internal error of mockserver on %s %s", head.method, ascii(head.path))
            failure = CRASHED
        if not self.is_open:
            return
        if self._has_head:
            self.close()
            return
        refused = failure or Failure("server_error", "The request was left without an answer.")
        reply = self._connection.refuse_unread(refused, head.method, head.path)
        headers = list(map(encode_header, reply.headers))
        await self.send({"type": "http.response.start", "status": reply.status, "headers": headers})
        await self.send({"type": "http.response.body", "body": reply.body})

    def _finish(self, task: asyncio.Task[None]) -> None:
        connection = self._connection
        connection.tasks.discard(task)
        if self._owed:
            connection.h2.acknowledge_received_data(self._owed, self._stream)
        connection.flush()
        connection.forget(self._stream)

    async def receive(self) -> Message:
        """Return what has come, or that the client has left, as ASGI has it. Raises Failure if no more will come."""
        connection = self._connection
        if self._expects and not (self._unread or self._is_whole or self.gone):
            connection.h2.send_headers(self._stream, [(b":status", b"100")])
            connection.flush()
        self._expects = False
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
        if self._owed:
            connection.h2.acknowledge_received_data(self._owed, self._stream)
            self._owed = 0
            connection.flush()
        return {"type": "http.request", "body": data, "more_body": not self._is_whole}

    async def send(self, message: Message) -> None:
        """Send the head of the answer, or a piece of its body; wait while the client takes nothing."""
        if not self.gone:
            await self._connection.wait_for_turn()
        if self.gone:
            return
        expected = "http.response.body" if self._has_head else "http.response.start"
        if self._is_sent or message["type"] != expected:
            raise RuntimeError(f"{message['type']} was sent where {expected} was due, or after the end of the answer")
        if self._has_head:
            data = message.get("body", b"") if self._has_body else b""
            await self._send_body(data, is_last=not message.get("more_body"))
        else:
            self._send_head(message["status"], message.get("headers", ()))

    def _send_head(self, status: int, headers: list[Field]) -> None:
        self._has_head = True
        self._has_body = self._head.method != "HEAD" and status not in WITHOUT_BODY
        fields = [field for field in check_fields(headers) if field[0] not in _OF_CONNECTIONS]
        start = [(b":status", b"%d" % status), *self._connection.server_state.default_headers]
        self._connection.h2.send_headers(self._stream, start + fields)
        self._connection.flush()

    async def _send_body(self, data: bytes, *, is_last: bool) -> None:
        """Send a piece of the body, in frames for which the client has room."""
        connection = self._connection
        rest = memoryview(data)
        while rest or is_last:
            await connection.wait_for_turn()
            if self.gone:
                return
            size = min(self._measure_room(), len(rest))
            if rest and not size:
                connection.room.clear()
                await connection.room.wait()
                continue
            is_end = is_last and size == len(rest)
            self._send_piece(bytes(rest[:size]), is_last=is_end)
            rest = rest[size:]
            if is_end:
                return

    def _measure_room(self) -> int:
        """Return how many bytes may be sent in one frame."""
        window = self._connection.h2.local_flow_control_window(self._stream)
        return max(0, min(window, MAX_FRAME))  # the window is less than 0 if the client has taken room back

    def _send_piece(self, data: bytes, *, is_last: bool) -> None:
        self._connection.h2.send_data(self._stream, data, end_stream=is_last)
        self._connection.flush()
        if is_last:
            self._is_sent = True
            self._news.set()

    # The wire

    @property
    def stopping(self) -> bool:
        return self._connection.stopping

    @property
    def unsent(self) -> int:
        return count_unsent(self._connection.transport)

    def write(self, data: bytes) -> None:
        """Send bytes beyond the stated length, if the client has room for them."""
        if self.is_open and self._has_body and 0 < len(data) <= self._measure_room():
            self._send_piece(data, is_last=False)

    def close(self, code: int = NO_CLOSE_FRAME) -> None:
        """Break off the answer: the other requests of the connection go on."""
        if self.is_open:
            self.gone = True
            self._connection.end_stream(self._stream, ErrorCodes.INTERNAL_ERROR)
            self._connection.flush()

    def reset(self) -> None:
        self.gone = True
        reset(self._connection.transport)

    def send_piece(self, data: bytes) -> bool:
        return False

    def send_whole(self, status: int, rest: bytes) -> bool:
        return False

    def send_paced(self, status: int, lines: bytes, stream: PacedStream) -> bool:
        return False


def read_head(fields: list[Field]) -> RequestHead:
    """Return the head of a request from its fields, which h2 has checked. Raises Failure if it cannot be accepted."""
    pseudo, headers = split_fields(fields)
    method = pseudo[b":method"].decode("latin-1")
    target = pseudo.get(b":path", b"")
    check_size(target, headers, measure_head(target, headers))
    check_framing("1.1", [field for field in headers if field[0] in FRAMING])
    check_target(method, target)
    if target[:1] not in (b"/", b"*"):
        raise make_bad_request("The :path of the request is not a path.")
    if not target.isascii():
        raise make_bad_request("The target of the request is not ASCII.")
    expects = any(name == b"expect" for name, _ in headers)
    return make_head(method, target, headers, version="2", keep_alive=True, expects=expects)


def describe_refused(fields: list[Field]) -> RequestHead:
    """Return as much of a head that cannot be accepted as may be shown in a refusal."""
    pseudo, headers = split_fields(fields)
    head = make_head(pseudo[b":method"].decode("latin-1"), b"/", [], version="2", keep_alive=True, expects=False)
    head.path = read_path(pseudo.get(b":path", b""), headers)
    return head


def split_fields(fields: list[Field]) -> tuple[dict[bytes, bytes], list[Field]]:
    """Return what HTTP/1.1 has in its first line, and the headers as it has them: a host, and cookies in one."""
    pseudo = {name: value for name, value in fields if name.startswith(b":")}
    headers = [field for field in fields if field[0] not in pseudo and field[0] != b"cookie"]
    if b":authority" in pseudo and all(name != b"host" for name, _ in headers):
        headers.insert(0, (b"host", pseudo[b":authority"]))
    if cookies := [value for name, value in fields if name == b"cookie"]:
        headers.append((b"cookie", b"; ".join(cookies)))
    return pseudo, headers
