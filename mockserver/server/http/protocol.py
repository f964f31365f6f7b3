"""The HTTP protocol for uvicorn: its own, under deadlines and limits, that refuses ambiguous requests."""

import asyncio
from collections.abc import Awaitable, Callable
from enum import IntEnum
from functools import partial
from math import inf
from typing import Any

from starlette.types import Receive, Scope, Send
from uvicorn.config import Config
from uvicorn.server import ServerState

from mockserver.core.eager import MustWait, fail, run_at_once
from mockserver.core.plan import Failure
from mockserver.delivery.connection import WIRE, ClientConnection
from mockserver.delivery.paced import PacedStream, Wheel
from mockserver.server.app import Site
from mockserver.server.deliver import send_past_asgi, serve
from mockserver.server.directory import Destination
from mockserver.server.http.deadlines import ConnectionDeadline, Deadlines, DeadlineWatch, Newcomers
from mockserver.server.http.framing import AnswerStarts
from mockserver.server.http.parser import RequestHead, RequestParser, Stage
from mockserver.server.http.pipeline import Pipeline, Refuse
from mockserver.server.http.request_cycle import PacedAnswer, RequestCycle
from mockserver.server.http.tcp import MAX_DRAINED, FlowControl, find_addresses, reset
from mockserver.server.limits import Unsent
from mockserver.server.visit import NO_PAGE, Response, Visit, return_response

_PREFACE = b"PRI * HTTP/2.0\r\n"  # with which a client begins that speaks HTTP/2 without being asked (RFC 9113, 3.4)


class Phase(IntEnum):
    """How far a connection has come; it never goes back."""

    SILENT = 0  # the client has not said anything yet
    OPEN = 1
    DEAF = 2  # a request was refused: what comes now is dropped, what came before is answered
    LEAVING = 3  # nothing more is written either
    GONE = 4  # it is closed, or belongs to another protocol


class ConnectionProtocol(asyncio.Protocol):
    """One connection of a client, for asyncio and uvicorn's server: has its requests answered one after the other.

    The way of a request: `data_received`, the parser, then `_answer` if it is plain, which mostly sends the answer in
    the same turn of the loop. Any other request, and one that has to wait, gets a `RequestCycle` with a task; after its
    answer, `finish_answer` starts the next.
    """

    transport: asyncio.Transport
    flow: FlowControl
    deadline: ConnectionDeadline
    pipeline: Pipeline
    write: Callable[[bytes], None]

    def __init__(
        self,
        shared: "ProtocolFactory",
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        # The server
        self.shared = shared
        self.config = config
        self.server_state = server_state
        self.connections: set[Any] = server_state.connections
        self.tasks: set[Any] = server_state.tasks
        self.app_state = app_state
        self.refuse_unread = shared.refuse
        self.stopping = False  # the server stops: endless answers end, and no other request is answered

        # The connection
        self.parser = RequestParser()
        self.phase = Phase.SILENT
        self.half_closed = False  # the client has stopped sending, but may still read
        self._latest: RequestCycle | None = None  # of the request that came last: more of its body may come
        self._dropped = 0  # bytes that have come since it became deaf
        self._addresses: dict[str, Any] | None = None  # of both ends, once an application was told

    # What the transport calls

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.transport = transport
        self.write = transport.write
        self.flow = FlowControl(transport, self.shared.unsent)
        self.deadline = ConnectionDeadline(self, self.shared.watch)
        self.pipeline = Pipeline(self.flow)
        self.deadline.expect_first_byte()
        self.shared.watch.enter(self.deadline)
        self.connections.add(self)

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
        if self.is_closing() or self.pipeline.answering is None or is_reading:
            return False
        self.half_closed = True
        self.deadline.allow(self.shared.deadlines.farewell)
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        self._leave_server()
        self.pipeline.leave()
        self.flow.resume_writing()
        self.transport.close()

    def pause_writing(self) -> None:
        self.flow.pause_writing()

    def resume_writing(self) -> None:
        self.flow.resume_writing()
        answering = self.pipeline.answering
        if isinstance(answering, PacedAnswer) and answering.stream.stalled:
            answering.stream.stalled = False
            self.shared.wheel.add(answering.stream)

    # The way of a request

    def _read(self, data: bytes) -> None:
        """Begin the requests that have come with these bytes, or go on with the latest; refuse what is not HTTP."""
        if data.startswith(_PREFACE) and self.parser.stage is Stage.BETWEEN and self.pipeline.answering is None:
            self._speak_http2(data)
            return
        try:
            for part in self.parser.read(data):
                head = part.head
                if part.is_first or part.is_last:
                    self.deadline.expect_nothing()
                if not part.is_first:
                    assert self._latest is not None  # which the head began
                    self._latest.body.take(part.body, is_last=part.is_last)
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
                self.deadline.expect_whole()

    def _answer(self, head: RequestHead, body: bytes) -> None:
        """Answer a plain request that has come whole: at once, if nothing has to be awaited."""
        found = None
        if self.pipeline.answering is None and not (self.stopping or self.flow.write_paused):
            found = self.shared.find(head.path)
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

        cycle = RequestCycle(self, head, answer, is_whole=True)
        visit.receive = cycle.body.receive  # now, before what waits for the client to leave has its first turn
        self._queue(cycle)

    def _run_application(self, head: RequestHead, body: bytes, *, is_whole: bool) -> None:
        cycle = RequestCycle(self, head, self.config.loaded_app, is_whole=is_whole)
        if body:
            cycle.body.take(body, is_last=is_whole)
        self._queue(cycle)

    def refuse(self, failure: Failure) -> None:
        """Answer the earlier requests, then refuse the one that is being read, and ignore what follows."""
        self.phase = max(self.phase, Phase.DEAF)
        self.deadline.expect_nothing()
        latest = self._latest
        if latest is not None and self.parser.stage is Stage.BODY:
            latest.body.fail(failure)
        elif latest is None or latest.keep_alive:  # else nothing was to follow

            async def refuse(*_: object) -> None:
                raise failure.renew()  # its own traceback leads to the connection

            self._queue(RequestCycle(self, self.parser.describe_refused(), refuse, is_whole=False))

    def _queue(self, cycle: RequestCycle) -> None:
        self._latest = cycle
        if not self.pipeline.add(cycle):
            self.deadline.look_soon()

    def finish_answer(self, *, keep_alive: bool) -> None:
        """Take note that an answer was sent: start the next, if the connection stays open."""
        self.pipeline.answering = None
        if not keep_alive:
            self.close()
        if self.is_closing():
            return
        self.deadline.put_off()
        if self.pipeline.start_next():
            return
        if self.half_closed:
            self.close()
        else:
            self.deadline.expect_next()

    def make_scope(self, head: RequestHead, wire: object) -> Scope:
        """Return the scope of a request whose answer is sent over a wire."""
        if self._addresses is None:
            self._addresses = find_addresses(self.transport)
        return head.make_scope(**self._addresses, state=self.app_state.copy(), extensions={WIRE: wire})

    # Answers

    def send_head(self, status: int, lines: bytes) -> None:
        """Send the start of an answer, with these header lines."""
        self.write(b"%b%b\r\n" % (self.shared.starts.find(status, self.server_state.default_headers), lines))

    def send_whole(self, status: int, rest: bytes) -> bool:
        """Send an answer: its start, and then the rest, from the header lines on."""
        self.write(self.shared.starts.find(status, self.server_state.default_headers) + rest)
        self.deadline.due = self.shared.watch.idle_until
        return True

    def send_paced(self, status: int, lines: bytes, stream: PacedStream) -> bool:
        """Send the head of a stream, which goes on by itself."""
        self.pipeline.answering = PacedAnswer(self, stream)
        self.send_head(status, lines)
        self.shared.wheel.add(stream)
        return True

    # Crowds, and clients that were refused

    def _admit(self, data: bytes) -> bool:
        """Return whether bytes are to be read now, on a connection that is not open yet or no longer."""
        if self.phase is Phase.SILENT:
            self.phase = Phase.OPEN
            self.deadline.expect_nothing()
            if self.shared.newcomers.admit(partial(self._receive_late, data)):
                return True
            self.deadline.due = inf
            self.flow.pause_reading()
            return False
        self._dropped += len(data)
        if self._dropped > MAX_DRAINED:
            self.transport.abort()
        return False

    def _receive_late(self, data: bytes) -> None:
        """Receive bytes that had to wait."""
        if self.phase is Phase.OPEN:
            self.deadline.allow(self.shared.deadlines.first)
            self.flow.resume_reading()
            self.data_received(data)

    # Other protocols

    def _speak_http2(self, data: bytes) -> None:
        """Give the connection to the protocol of HTTP/2, with which its client has begun."""
        from mockserver.server.http.http2 import Http2Protocol  # few clients need it

        self._leave_server()
        protocol = Http2Protocol(
            self,
            self.config.loaded_app,
            server_state=self.server_state,
            watch=self.shared.watch,
        )
        self.transport.set_protocol(protocol)
        protocol.begin(data)

    def _hand_over(self, head: RequestHead) -> bool:
        """Give the connection to the protocol of a WebSocket, and return True; False if there is none at the path."""
        site = self.shared.site
        if site is None or self.pipeline.answering is not None:
            return False
        if site.directory.find_socket(head.path, head.query, head.table.headers) is None:
            return False
        from mockserver.server.http.socket_protocol import SocketProtocol  # few servers need it

        rest = self.parser.rest
        self._leave_server()
        protocol = SocketProtocol(
            self,
            head,
            site,
            server_state=self.server_state,
            watch=self.shared.watch,
            max_size=self.config.ws_max_size,
        )
        self.transport.set_protocol(protocol)
        protocol.begin()
        if rest:
            protocol.data_received(bytes(rest))
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
        drain = self.shared.deadlines.drain
        if self.pipeline.stop():
            return
        if drain and not self.is_closing():
            asyncio.get_running_loop().call_later(drain, self._close_if_idle)
        else:
            self.close()

    def _close_if_idle(self) -> None:
        if self.pipeline.answering is None:
            self.close()

    # The end

    def is_closing(self) -> bool:
        """Return whether nothing more is to be written."""
        return self.phase >= Phase.LEAVING

    def close(self) -> None:
        """Send what was written, then close; drain what still comes, or the client may not receive all."""
        if self.is_closing():
            return
        more_may_come = self.phase is Phase.DEAF or self.parser.stage is not Stage.BETWEEN
        self.phase = Phase.LEAVING
        self.deadline.expect_end()
        if more_may_come and self.transport.can_write_eof():
            self.flow.resume_reading()
            self.transport.write_eof()
        else:
            self.transport.close()

    def reset(self) -> None:
        """End the connection by TCP RST."""
        self.phase = max(self.phase, Phase.LEAVING)
        reset(self.transport)

    def _leave_server(self) -> None:
        self.phase = Phase.GONE
        self.connections.discard(self)
        self.shared.watch.leave(self.deadline)
        self.parser.close()
        del self.deadline  # which leads back here, as the latest request does: nothing is left to Python's collector
        self._latest = None


def _find_nothing(path: str) -> Destination | None:
    return None


class ProtocolFactory:
    """Makes the protocols of a server's connections, for uvicorn's setting `http`, and holds what these share.

    With a `site`, a connection finds what answers at a path by itself, and calls it without the application.
    """

    def __init__(
        self,
        refuse: Refuse,
        deadlines: Deadlines = Deadlines(),
        unsent: Unsent | None = None,
        site: Site | None = None,
    ) -> None:
        self.refuse = refuse
        self.deadlines = deadlines
        self.unsent = unsent or Unsent()
        self.site = site
        self.find = _find_nothing if site is None else site.directory.find
        self.watch = DeadlineWatch(deadlines)
        self.newcomers = Newcomers()
        self.wheel = Wheel(is_crowded=self.newcomers.are_waiting)
        self.starts = AnswerStarts()

    def __call__(self, **uvicorn: Any) -> ConnectionProtocol:
        return ConnectionProtocol(self, **uvicorn)
