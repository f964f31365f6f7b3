"""The protocol of HTTP/1.1 for uvicorn: under deadlines and limits, with a refusal of ambiguous requests."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from enum import Enum
from functools import partial
from math import inf
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.config import Config
from uvicorn.server import ServerState

from mockserver.core.action import NO_CLOSE_FRAME
from mockserver.core.eager import MustWait, fail, run_at_once
from mockserver.core.plan import Failure
from mockserver.delivery.connection import CLIENT_LEFT, STOPPED, WIRE, ClientConnection
from mockserver.delivery.paced import PacedStream
from mockserver.server.deliver import send_past_asgi, serve
from mockserver.server.directory import Destination
from mockserver.server.http.any_connection import Connection, Shared
from mockserver.server.http.deadlines import CLIENT_CHECK
from mockserver.server.http.framing import LAST_CHUNK, BodyEnd, Framing, frame_answer, frame_chunk
from mockserver.server.http.parser import Field, RequestHead, RequestParser, Stage, make_bad_request
from mockserver.server.http.pipeline import Answering, Pipeline
from mockserver.server.http.request_cycle import RequestCycle, make_refusal
from mockserver.server.http.tcp import FlowControl, is_abandoned
from mockserver.server.visit import NO_PAGE, Response, Visit, return_response

MAX_UNREAD = 65_536  # bytes of a body that wait to be read before no more are received
_TLS = b"\x16\x03"  # with which a handshake begins
_PREFACE = b"PRI * HTTP/2.0\r\n"  # with which a client begins that speaks HTTP/2 without being asked (RFC 9113, 3.4)


class Phase(Enum):
    """How far a connection has come; it never goes back."""

    SILENT = "the client has not said anything yet"
    OPEN = "requests are read"
    DEAF = "what comes now is dropped; what came before is answered, unless the connection ends"


class ConnectionProtocol(Connection):
    """One connection of a client, for asyncio and uvicorn's server: has its requests answered one after the other.

    The way of a request: `data_received`, the parser, then `_answer` if it is plain, which mostly sends the answer in
    the same turn of the loop. Any other request, and one that has to wait, gets a `RequestCycle` with a task; after its
    answer, `finish_answer` starts the next.
    """

    pipeline: Pipeline
    write: Callable[[bytes], None]

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self.find = _find_nothing if shared.site is None else shared.site.directory.find
        self.parser = RequestParser()
        self.phase = Phase.SILENT
        self._latest: Http1Cycle | None = None  # of the request that came last: more of its body may come

    # What the transport calls

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.transport = transport
        self.write = transport.write
        self.flow = FlowControl(transport, self.shared.unsent)
        self.pipeline = Pipeline(self.flow)
        self.expect_whole(self.watch.deadlines.first)
        self.enter_server()

    def data_received(self, data: bytes) -> None:
        if self.phase is not Phase.OPEN and not self._admit(data):
            return
        known = self.parser.recall(data)
        if known is not None:
            self._answer(known.head, data[known.end :])
        else:
            self._read(data)

    def eof_received(self) -> bool:
        """Return whether the connection stays open after the client has stopped sending: it may wait for an answer."""
        is_reading = self.phase is Phase.OPEN and self.parser.stage is not Stage.BETWEEN
        if self.is_ending or self.pipeline.answering is None or is_reading:
            return False
        self.half_closed = True
        self.allow(self.watch.deadlines.farewell)
        return True

    def leave(self) -> None:
        self.pipeline.leave()

    def resume_writing(self) -> None:
        super().resume_writing()
        answering = self.pipeline.answering
        if isinstance(answering, PacedAnswer) and answering.stream.stalled:
            answering.stream.stalled = False
            self.shared.wheel.add(answering.stream)

    # The way of a request

    def _read(self, data: bytes) -> None:
        """Begin the requests that have come with these bytes, or go on with the latest; refuse what is not HTTP."""
        try:
            for part in self.parser.read(data):
                head = part.head
                if part.is_first or part.is_last:
                    self.expect_nothing()
                if not part.is_first:
                    assert self._latest is not None  # which the head began
                    self._latest.take(part.body, is_last=part.is_last)
                elif head.asks_for_socket and self._hand_over(head):
                    return
                elif head.is_plain and part.is_last:
                    self._answer(head, part.body)
                else:
                    self._run_application(head, part.body, is_whole=part.is_last)
        except Failure as failure:
            self.refuse(failure)
        else:
            if self.parser.stage is not Stage.BETWEEN:
                self.expect_whole(self._find_limit())

    def _answer(self, head: RequestHead, body: bytes) -> None:
        """Answer a plain request that has come whole: at once, if nothing has to be awaited."""
        found = None
        if self.pipeline.answering is None and not (self.stopping or self.flow.write_paused):
            found = self.find(head.path)
        if found is None or not found.responder.live.has_room_for(body):
            self._run_application(head, body, is_whole=True)
            return
        request = found.make_request(head.method, head.query, head.table, body)
        visit = found.responder.admit(request, head.query, weight=head.table.weight)
        if head.passes_page_check:
            visit.sender = NO_PAGE
        try:
            response = run_at_once(found.responder.respond(visit))
        except MustWait as wait:
            self._serve(wait.rest, visit, head)
        except Exception as error:  # a bug of mockserver, which ends the visit as one that arises later does
            self._serve(fail(error), visit, head)
        else:
            if not send_past_asgi(response, visit, self):
                self._serve(return_response(response), visit, head)

    def _serve(self, response: Awaitable[Response], visit: Visit, head: RequestHead) -> None:
        """Send the response to a plain request by a task, as it is to be awaited or is sent in steps."""

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            await serve(response, visit, ClientConnection(receive, send, scope["extensions"][WIRE]), scope)

        cycle = Http1Cycle(self, head, answer, is_whole=True)
        visit.receive = cycle.receive  # now, before what waits for the client to leave has its first turn
        self._queue(cycle)

    def _run_application(self, head: RequestHead, body: bytes, *, is_whole: bool) -> None:
        cycle = Http1Cycle(self, head, self.shared.config.loaded_app, is_whole=is_whole)
        if body:
            cycle.take(body, is_last=is_whole)
        self._queue(cycle)

    def refuse(self, failure: Failure) -> None:
        """Answer the earlier requests, then refuse the one that is being read, and ignore what follows."""
        self.phase = Phase.DEAF
        self.expect_nothing()
        latest = self._latest
        if latest is not None and self.parser.stage is Stage.BODY:
            latest.fail(failure)
        elif latest is None or latest.keep_alive:  # else nothing was to follow
            self._queue(Http1Cycle(self, self.parser.describe_refused(), make_refusal(failure), is_whole=False))

    def _queue(self, cycle: "Http1Cycle") -> None:
        self._latest = cycle
        if not self.pipeline.add(cycle):  # nothing more is read: look whether the client is still there
            self.due = min(self.due, self.watch.time + CLIENT_CHECK)

    def finish_answer(self, *, keep_alive: bool) -> None:
        """Take note that an answer was sent: start the next, if the connection stays open."""
        self.pipeline.answering = None
        if not keep_alive:
            self.close()
        if self.is_ending:
            return
        if self.whole_by != inf:  # while the answer was sent, what comes may not have been read
            self.whole_by = self.watch.time + self._find_limit()
        if self.pipeline.start_next():
            return
        if self.half_closed:
            self.close()
        else:
            self.due = min(self.watch.idle_until, self.whole_by)

    # Answers

    def send_head(self, status: int, lines: bytes) -> None:
        """Send the start of an answer, with these header lines."""
        self.write(b"%b%b\r\n" % (self.shared.starts.find(status, self.server_state.default_headers), lines))

    def send_whole(self, status: int, rest: bytes) -> bool:
        """Send an answer: its start, and then the rest, from the header lines on."""
        self.write(self.shared.starts.find(status, self.server_state.default_headers) + rest)
        self.due = self.watch.idle_until
        return True

    def send_paced(self, status: int, lines: bytes, stream: PacedStream) -> bool:
        """Send the head of a stream, which goes on by itself."""
        self.pipeline.answering = PacedAnswer(self, stream)
        self.send_head(status, lines)
        self.shared.wheel.add(stream)
        return True

    # The first bytes of a client, and the last of one that was refused

    def _admit(self, data: bytes) -> bool:
        """Return whether bytes are to be read now, on a connection that is not open yet or no longer."""
        if self.phase is Phase.DEAF:
            self.drop(data)
            return False
        self.phase = Phase.OPEN
        self.expect_nothing()
        if self.shared.newcomers.admit(partial(self._begin_late, data)):
            return self._begin(data)
        self.due = inf
        self.flow.pause_reading()
        return False

    def _begin_late(self, data: bytes) -> None:
        """Receive first bytes that had to wait."""
        if self.phase is Phase.OPEN:
            self.allow(self.watch.deadlines.first)
            self.flow.resume_reading()
            if self._begin(data):
                self._read(data)

    def _begin(self, data: bytes) -> bool:
        """Return whether a client that begins so speaks HTTP/1.1; else serve or refuse it."""
        if data.startswith(_PREFACE):
            from mockserver.server.http.http2 import Http2Protocol  # few clients need it

            protocol = Http2Protocol(self.shared)
            protocol.take_over(self)
            protocol.begin(data)
            return False
        if data.startswith(_TLS):
            self.shared.warn_of_tls()
            self.refuse(make_bad_request("This is a TLS handshake: the URL must begin with http://, not https://."))
            return False
        return True

    # Time

    def _find_limit(self) -> float:
        """Return how many seconds the head or body that is being read may take."""
        deadlines = self.watch.deadlines
        return deadlines.head if self.parser.stage is Stage.HEAD else deadlines.body

    def check_client(self, now: float) -> None:
        """End what takes too long: a client that takes or sends nothing more, has left, or does not begin."""
        answering = self.pipeline.answering
        stage = self.parser.stage
        if now >= self.whole_by and not self.flow.read_paused:
            what = Stage.HEAD if stage is Stage.BETWEEN else stage
            self.refuse(Failure("timeout", f"The {what.value} of the request took too long."))
        elif answering is None and stage is Stage.BETWEEN:
            self.close()
        elif answering is not None and (self.half_closed or self.flow.read_paused):
            self._check_presence(answering, now)
        else:
            self.due = self.whole_by

    def _check_presence(self, answering: Answering, now: float) -> None:
        """End the connection of a client that has probably left, not only stopped sending, or is not read from."""
        if self.half_closed and not answering.moved:
            self.transport.abort()
            return
        answering.moved = False
        self.half_closed = self.half_closed or is_abandoned(self.transport)
        self.due = now + (self.watch.deadlines.farewell if self.half_closed else CLIENT_CHECK)

    # Another protocol

    def _hand_over(self, head: RequestHead) -> bool:
        """Give the connection to the protocol of a WebSocket, and return True; False if there is none at the path."""
        site = self.shared.site
        if site is None or self.pipeline.answering is not None:
            return False
        if site.directory.find_socket(head.path, head.query, head.table.headers) is None:
            return False
        from mockserver.server.http.socket_protocol import SocketProtocol  # few servers need it

        rest = bytes(self.parser.rest)
        protocol = SocketProtocol(self.shared, head, site)
        protocol.take_over(self)
        protocol.begin(rest)
        if self.stopping:  # a session would hold up the server
            protocol.shutdown()
        return True

    # What the server calls

    @property
    def busy(self) -> bool:
        return self.pipeline.answering is not None

    def shutdown(self) -> None:
        """Stop with the server: the open request is still answered, unless this is called twice."""
        if self.stopping:
            self.transport.abort()
            return
        self.stopping = True
        drain = self.watch.deadlines.drain
        if self.pipeline.stop():
            return
        if drain and not self.is_ending:
            asyncio.get_running_loop().call_later(drain, self._close_if_idle)
        else:
            self.close()

    def _close_if_idle(self) -> None:
        if self.pipeline.answering is None:
            self.close()

    # The end

    def close(self) -> None:
        """Send what was written, then close."""
        if not self.is_ending:
            more_may_come = self.phase is Phase.DEAF or self.parser.stage is not Stage.BETWEEN
            self.phase = Phase.DEAF
            self.end(drains=more_may_come)

    def leave_server(self) -> None:
        super().leave_server()
        self.phase = Phase.DEAF
        self.parser.close()
        self._latest = None  # which leads back here: nothing is left to Python's collector


class Http1Cycle(RequestCycle):
    """A request and its answer by an application, on a connection of HTTP/1.1."""

    _connection: ConnectionProtocol

    def __init__(self, connection: ConnectionProtocol, head: RequestHead, app: ASGIApp, *, is_whole: bool) -> None:
        super().__init__(connection, head, app, is_whole=is_whole)
        self.write = connection.write
        self.keep_alive = head.keep_alive and not connection.stopping
        self._framing: Framing | None = None  # once the head of the answer was sent

    def take(self, data: bytes, *, is_last: bool) -> None:
        """Keep what has come of the body until it is received; nothing more is read meanwhile if that is much."""
        super().take(data, is_last=is_last)
        if len(self._unread) > MAX_UNREAD:
            self._connection.flow.pause_reading()

    async def _refuse(self, failure: Failure) -> None:
        self.keep_alive = False
        await super()._refuse(failure)

    def _ask_for_body(self) -> None:
        self.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _make_room(self) -> None:
        self._connection.pipeline.resume_reading()

    def _send_head(self, status: int, headers: Iterable[Field]) -> None:
        keep_alive = self.keep_alive and self.is_whole
        self._framing = framing = frame_answer(self._head, status, headers, keep_alive=keep_alive)
        self.keep_alive = framing.keep_alive
        self._connection.send_head(status, framing.lines)

    async def _send_body(self, data: bytes, *, is_last: bool) -> None:
        """Send a piece of the body. A stated length may be wrong: the body goes out as it is, then the connection."""
        framing = self._framing
        assert framing is not None  # the head was sent
        framed = framing.frame(data, is_last=is_last)
        if framed:
            self.write(framed)
        if is_last:
            self.keep_alive = self.keep_alive and not framing.missing
            self._end()
            self._connection.finish_answer(keep_alive=self.keep_alive)

    # The wire

    def close(self, code: int = NO_CLOSE_FRAME) -> None:
        self._end()
        self._connection.close()

    def send_piece(self, data: bytes) -> bool:
        is_chunked = self._framing is not None and self._framing.end is BodyEnd.CHUNKS
        if not (is_chunked and data and self.is_open) or self._connection.flow.write_paused:
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
            (self.is_whole and not self._has_head)
            and (self.is_open and not self._connection.flow.write_paused)
            and (self.keep_alive and self._head.version == "1.1" and self._head.method != "HEAD")
        )


class PacedAnswer:
    """A stream that goes on by itself, without a task: the wheel of the server writes its parts when they are due."""

    def __init__(self, connection: ConnectionProtocol, stream: PacedStream) -> None:
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


def _find_nothing(path: str) -> Destination | None:
    return None


class ProtocolFactory(Shared):
    """Makes the protocols of a server's connections, for uvicorn's setting `http`."""

    def __call__(
        self,
        *,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> ConnectionProtocol:
        self.config = config
        self.server_state = server_state
        self.app_state = app_state
        return ConnectionProtocol(self)
