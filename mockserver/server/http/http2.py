"""HTTP/2 without TLS, for clients that begin with it unasked, as the AWS SDK for JavaScript does: frames by h2.

Each request is answered by the application in a task, beside the others of its connection.
"""

import asyncio
import re
from collections.abc import Iterable
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
from starlette.types import ASGIApp

from mockserver.core.action import NO_CLOSE_FRAME
from mockserver.core.http import WITHOUT_BODY
from mockserver.core.plan import Failure
from mockserver.server.http.any_connection import Connection, Shared
from mockserver.server.http.deadlines import CLIENT_CHECK
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
    make_refused_head,
    measure_head,
)
from mockserver.server.http.request_cycle import RequestCycle, make_refusal
from mockserver.server.http.tcp import MAX_DRAINED

MAX_STREAMS = 100  # requests of a connection that are answered at a time
MAX_CYCLES = 4 * MAX_STREAMS  # of a connection, with those whose client no longer waits, before it is cut
MAX_READ = 16_384  # bytes that are read before others have their turn
MAX_FRAME = 16_384  # bytes of an answer in one frame, also if the client would take more
MAX_PARTIAL = 1 << 18  # bytes without a whole head or other frame; h2 would take a frame of 16 MB before it looks
MAX_CONTROL = 1 << 20  # bytes that wait in a connection before its client is cut: answers wait long before
MAX_WASTE = 1000  # frames that bring nothing further, before a client is cut; those of ordinary ones are earned
WASTE_FADES = 100  # of these in a second
EARNED = 2  # frames for each frame of an answer: its client may give back the windows of stream and connection
MAX_TABLE = 4096  # bytes of headers that are kept to be referred to, also if the client would keep more
_DATA, _HEADERS, _RESET = 0, 1, 3  # the types of frames (RFC 9113, 6)
_METHOD = re.compile(rb"[A-Z-]{1,32}")
_TARGET = re.compile(rb"[!-~]*")
_OF_CONNECTIONS = frozenset((b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade"))


class ServerFrames(H2Connection):
    """The frames of a connection, as a server has them.

    It goes on when its client says goodbye, which ends a connection for h2: open requests are answered (RFC 9113, 6.8).
    """

    def __init__(self) -> None:
        super().__init__(H2Configuration(client_side=False, header_encoding=None))
        self.come = 0  # whole frames; those of a head are one
        self.waste = 0  # frames that bring neither a request nor an answer further, less those that answers have earned

    def _receive_frame(self, frame: Any) -> list[Event]:
        self.come += 1
        brings_data = frame.type == _DATA and (frame.data or "END_STREAM" in frame.flags)
        if not (brings_data or frame.type == _HEADERS):
            self.waste += 1  # also a reset: its request was for nothing (CVE-2023-44487)
        return super()._receive_frame(frame)

    def _prepare_for_sending(self, frames: list[Any]) -> None:
        for frame in frames:
            if frame.type == _RESET:
                self.waste += 1  # as the client may want (CVE-2025-8671)
            elif frame.type in (_DATA, _HEADERS):
                self.waste -= EARNED
        super()._prepare_for_sending(frames)

    def _receive_goaway_frame(self, frame: Any) -> tuple[list[Any], list[Event]]:
        return [], [ConnectionTerminated()]


class Http2Protocol(Connection):
    """The connection of a client that speaks HTTP/2."""

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self.h2 = ServerFrames()
        self.room = asyncio.Event()  # set when a client takes more of an answer than before
        self._cycles = dict[int, Http2Cycle]()  # that run, by stream
        self._rests = dict[int, int]()  # how much has come of requests after their answers, by stream
        self._partial = 0  # bytes that have come of a frame, or of frames that are one head
        self._waste = 0.0  # frames that brought nothing further lately
        self._wasted_at = self.watch.time
        self._is_leaving = False  # the client has said goodbye
        self._idle_by = inf  # when the client must have begun a request
        self._turn = asyncio.Lock()  # of the answer that writes the next frame

    def begin(self, data: bytes) -> None:
        """Serve the client, of whom this has come."""
        self._expect_request()
        self.h2.initiate_connection()
        # Clients are told to have 100 streams. h2 would cut one that has begun more before it was told.
        self.h2.local_settings.max_concurrent_streams = MAX_CYCLES
        self.h2.local_settings.acknowledge()
        self.data_received(data)

    # What the transport calls

    def data_received(self, data: bytes) -> None:
        if self.is_ending:
            self.drop(data)
        elif len(data) <= MAX_READ:
            self._read(data)
        else:
            self.flow.pause_reading()
            self._read_in_turns(memoryview(data))

    def _read_in_turns(self, data: memoryview) -> None:
        """Read what has come piece by piece: others have their turns meanwhile, also if it is thousands of frames."""
        self._read(bytes(data[:MAX_READ]))
        if self.is_ending:
            return
        if len(data) > MAX_READ:
            asyncio.get_running_loop().call_soon(self._read_in_turns, data[MAX_READ:])
        else:
            self.flow.resume_reading()

    def _read(self, data: bytes) -> None:
        if self.is_ending:
            return
        come = self.h2.come
        try:
            events = self.h2.receive_data(data)
        except ProtocolError:  # of which h2 tells the client
            self._end_all(drains=True)
            return
        for event in events:
            self._take(event)
            if self.is_ending:
                return
        if self._count_waste() > MAX_WASTE:
            self._say_goodbye(ErrorCodes.ENHANCE_YOUR_CALM)
            return
        self._partial = 0 if self.h2.come > come else self._partial + len(data)
        if self._partial > MAX_PARTIAL:
            self._say_goodbye(ErrorCodes.FRAME_SIZE_ERROR)
            return
        if self._partial:
            self.expect_whole(self.watch.deadlines.head)
        else:
            self.expect_nothing()
        self.flush()

    def _count_waste(self) -> float:
        """Return how many frames have brought nothing further lately."""
        faded = (self.watch.time - self._wasted_at) * WASTE_FADES
        self._waste = max(0.0, max(0.0, self._waste - faded) + self.h2.waste)
        self._wasted_at = self.watch.time
        self.h2.waste = 0
        return self._waste

    def eof_received(self) -> bool | None:
        self.leave()
        return super().eof_received()

    def leave(self) -> None:
        for cycle in self._cycles.values():
            cycle.leave()

    # What the server and its watch call

    @property
    def busy(self) -> bool:
        return bool(self._cycles)

    def shutdown(self) -> None:
        if self.stopping:
            self.transport.abort()
            return
        self.stopping = True
        if not self._cycles:
            self._say_goodbye()

    def check_client(self, now: float) -> None:
        """Refuse requests whose body takes too long, and end a connection that nobody uses."""
        for cycle in self._cycles.values():
            cycle.check_body(now)
        if self._cycles:
            self.due = now + CLIENT_CHECK
        elif now < min(self._idle_by, self.whole_by):
            self._set_due()
        else:
            self._say_goodbye()

    # Requests

    def _take(self, event: Event) -> None:
        match event:
            case RequestReceived(stream_id=stream, headers=headers):
                self._start(stream, [(bytes(name), bytes(value)) for name, value in headers])
            case DataReceived(stream_id=stream, data=data, flow_controlled_length=length):
                cycle = self._cycles.get(stream)
                if cycle is None or not cycle.is_open:
                    self._drop(stream, length)
                else:
                    cycle.take_frame(data, length)
            case StreamEnded(stream_id=stream):
                self._rests.pop(stream, None)
                if stream in self._cycles:
                    self._cycles[stream].take(b"", is_last=True)
            case StreamReset(stream_id=stream):
                self._rests.pop(stream, None)
                if stream in self._cycles:
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
        dropped = self._rests.get(stream, 0) + length
        if dropped > MAX_DRAINED:
            self._rests.pop(stream, None)
            self.end_stream(stream, ErrorCodes.NO_ERROR)
        else:
            self._rests[stream] = dropped
            self.h2.acknowledge_received_data(length, stream)

    def _start(self, stream: int, fields: list[Field]) -> None:
        """Answer a request whose head has come. A client that leaves requests faster than they end is cut."""
        if len(self._cycles) >= MAX_CYCLES:
            self._say_goodbye(ErrorCodes.ENHANCE_YOUR_CALM)
            return
        is_full = sum(cycle.is_open for cycle in self._cycles.values()) >= MAX_STREAMS
        if is_full or self.stopping:
            self.end_stream(stream, ErrorCodes.REFUSED_STREAM)
            return
        app = self.shared.config.loaded_app
        try:
            head = read_head(fields)
        except Failure as failure:
            head = describe_refused(fields)
            app = make_refusal(failure)
        self.due = min(self.due, self.watch.time + CLIENT_CHECK)
        cycle = self._cycles[stream] = Http2Cycle(self, stream, head, app)
        cycle.start()

    def forget(self, stream: int) -> None:
        """Take note that a request was answered, or will not be."""
        del self._cycles[stream]
        if not (self._cycles or self.is_ending):
            self._expect_request()
            if self.stopping:
                self._say_goodbye()

    def _expect_request(self) -> None:
        """Give the client time to begin a request, or to close: little if it has said goodbye."""
        watch = self.watch
        self._idle_by = watch.time + watch.deadlines.farewell if self._is_leaving else watch.idle_until
        if not self._cycles:
            self._set_due()

    def _set_due(self) -> None:
        self.due = min(self._idle_by, self.whole_by)

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
        if self.is_ending or self.transport.is_closing():
            return
        self.transport.write(data)
        if self.transport.get_write_buffer_size() > MAX_CONTROL:
            self.transport.abort()

    def _say_goodbye(self, why: ErrorCodes = ErrorCodes.NO_ERROR) -> None:
        """Tell the client that the connection ends, and end it."""
        if not self.is_ending:
            self.h2.close_connection(why)
            self._end_all(drains=why is not ErrorCodes.NO_ERROR)

    def _end_all(self, *, drains: bool) -> None:
        """End the connection: whoever still waits for an answer gets none."""
        self.flush()
        self.leave()
        self.end(drains=drains)


class Http2Cycle(RequestCycle):
    """A request and its answer by an application, on a stream of a connection of HTTP/2."""

    _connection: Http2Protocol

    def __init__(self, connection: Http2Protocol, stream: int, head: RequestHead, app: ASGIApp) -> None:
        super().__init__(connection, head, app, is_whole=False)
        self._stream = stream
        self._whole_by = connection.watch.time + connection.watch.deadlines.body  # its body must be
        self._owed = 0  # bytes of the window that the client gets back when those that have come are read
        self.held = 0  # bytes of `max_unsent`: the rest of an answer for which the client has no room
        self._has_body = False  # what the application sends as its body is part of the answer

    # What the connection calls

    def take_frame(self, data: bytes, length: int) -> None:
        """Keep what has come of the body; of the window, it takes this length."""
        self._owed += length
        self.take(data, is_last=False)

    def check_body(self, now: float) -> None:
        """Refuse a body that should be whole by now, unless what has come of it is in the way of the rest."""
        if now >= self._whole_by and not (self.is_whole or self._unread):
            self._whole_by = inf
            self.fail(Failure("timeout", "The body of the request took too long."))

    def leave(self) -> None:
        super().leave()
        self._connection.room.set()

    # The application

    def _finish(self, task: asyncio.Task[None]) -> None:
        super()._finish(task)
        self._connection.shared.unsent.release(self)
        self._make_room()
        self._connection.forget(self._stream)

    def _ask_for_body(self) -> None:
        self._connection.h2.send_headers(self._stream, [(b":status", b"100")])
        self._connection.flush()

    def _make_room(self) -> None:
        if self._owed and not self._connection.is_ending:
            self._connection.h2.acknowledge_received_data(self._owed, self._stream)
            self._connection.flush()
            self._owed = 0

    def _send_head(self, status: int, headers: Iterable[Field]) -> None:
        fields = [field for field in check_fields(headers) if field[0] not in _OF_CONNECTIONS]
        start = [(b":status", b"%d" % status), *self._connection.server_state.default_headers]
        self._has_body = self._head.method != "HEAD" and status not in WITHOUT_BODY
        self._connection.h2.send_headers(self._stream, start + fields)
        self._connection.flush()

    async def _send_body(self, data: bytes, *, is_last: bool) -> None:
        """Send a piece of the body, in frames for which the client has room."""
        connection = self._connection
        rest = memoryview(data if self._has_body else b"")
        while rest or is_last:
            await connection.wait_for_turn()
            if not self.is_open:
                return
            size = min(self._measure_room(), len(rest))
            if rest and not size:
                connection.shared.unsent.settle(self, len(rest))
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
            self._end()

    # The wire

    def write(self, data: bytes) -> None:
        """Send bytes beyond the stated length, if the client has room for them."""
        if self.is_open and self._has_body and 0 < len(data) <= self._measure_room():
            self._send_piece(data, is_last=False)

    def close(self, code: int = NO_CLOSE_FRAME) -> None:
        """Break off the answer: the other requests of the connection go on."""
        if self.is_open:
            self._end()
            self._connection.end_stream(self._stream, ErrorCodes.INTERNAL_ERROR)
            self._connection.flush()


def read_head(fields: list[Field]) -> RequestHead:
    """Return the head of a request from its fields, which h2 has checked. Raises Failure if it cannot be accepted."""
    pseudo, headers = split_fields(fields)
    if not _METHOD.fullmatch(pseudo[b":method"]):
        raise make_bad_request("The method of the request is not valid.")
    method = pseudo[b":method"].decode()
    target = pseudo.get(b":path", b"")
    check_size(target, headers, measure_head(target, headers))
    check_framing("1.1", [field for field in headers if field[0] in FRAMING])
    check_target(method, target)
    if target[:1] not in (b"/", b"*"):
        raise make_bad_request("The :path of the request is not a path.")
    if not _TARGET.fullmatch(target):
        raise make_bad_request("The target of the request has characters that must be percent-encoded.")
    expects = any(name == b"expect" for name, _ in headers)
    return make_head(method, target, headers, version="2", keep_alive=True, expects=expects)


def describe_refused(fields: list[Field]) -> RequestHead:
    """Return as much of a head that cannot be accepted as may be shown in a refusal."""
    pseudo, headers = split_fields(fields)
    method = pseudo[b":method"]
    shown = method.decode() if _METHOD.fullmatch(method) else ""
    return make_refused_head(shown, pseudo.get(b":path", b""), headers, version="2")


def split_fields(fields: list[Field]) -> tuple[dict[bytes, bytes], list[Field]]:
    """Return what HTTP/1.1 has in its first line, and the headers as it has them: a host, and cookies in one."""
    pseudo = {name: value for name, value in fields if name.startswith(b":")}
    headers = [field for field in fields if field[0] not in pseudo and field[0] != b"cookie"]
    if b":authority" in pseudo and all(name != b"host" for name, _ in headers):
        headers.insert(0, (b"host", pseudo[b":authority"]))
    if cookies := [value for name, value in fields if name == b"cookie"]:
        headers.append((b"cookie", b"; ".join(cookies)))
    return pseudo, headers
