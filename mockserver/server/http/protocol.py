"""The HTTP protocol for uvicorn: its own, under deadlines and limits, that refuses ambiguous requests."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping
from enum import IntEnum
from functools import partial
from math import inf
from types import coroutine
from typing import Any

from msgspec import Struct
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.config import Config
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE
from uvicorn.protocols.utils import get_local_addr, get_remote_addr, is_ssl
from uvicorn.server import ServerState

from mockserver.core.action import NO_CLOSE_FRAME
from mockserver.core.plan import Failure
from mockserver.delivery.connection import MAX_WRITE, WIRE, ClientConnection
from mockserver.delivery.paced import PacedStream, Wheel
from mockserver.server.app import Site
from mockserver.server.deliver import send_past_asgi, serve
from mockserver.server.http.deadlines import Deadlines, DeadlineWatch, Newcomers
from mockserver.server.http.parser import RequestHead, RequestParser, RequestPart, Stage
from mockserver.server.http.request_cycle import Refuse, RequestCycle
from mockserver.server.http.tcp import MAX_DRAINED, count_unsent, is_abandoned, reset
from mockserver.server.limits import Unsent
from mockserver.server.visit import NO_PAGE, Response, Visit, return_response

MAX_BUFFERED = 16_384  # bytes that wait in a connection before nothing more is written
MAX_HELD = 2 * MAX_WRITE  # bytes of an answer that exist before they are written, at most
PATIENCE = 1.0  # seconds that an application gets to notice that its client has left


class Phase(IntEnum):
    """How far a connection has come; it never goes back."""

    SILENT = 0  # the client has not said anything yet
    OPEN = 1
    DEAF = 2  # a request was refused: what comes now is dropped, what came before is answered
    LEAVING = 3  # nothing more is written either
    GONE = 4  # it is closed, or belongs to another protocol


class ConnectionProtocol(asyncio.Protocol):
    """One connection of a client, to which its cycles write; the wire of the answer that is being sent."""

    transport: asyncio.Transport
    flow: FlowControl
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
        self.app: ASGIApp = config.loaded_app
        self.app_state = app_state
        self.server_state = server_state
        self.connections: set[Any] = server_state.connections
        self.tasks: set[Any] = server_state.tasks
        self.loop = _loop or asyncio.get_running_loop()
        self.stopping = False  # the server stops: endless answers end, and no other request is answered
        self.refuse_unread = shared.refuse
        self._site = shared.site

        # The connection
        self.phase = Phase.SILENT
        self.half_closed = False  # the client has stopped sending, but may still read
        self.held = 0  # bytes of `max_unsent` that it takes because its client does not read
        self._dropped = 0  # bytes that have come since it became deaf
        self._untaken = 0  # bytes that the client had not taken at the last look, while it is leaving
        self.extensions = {WIRE: self}  # of ASGI scopes
        self._addresses: Mapping[str, Any] | None = None

        # Its deadlines, in the time of the deadline watch
        self.due = inf  # when the watch has to look
        self.whole_by = inf  # when what is being read must be whole

        # Its requests
        self.parser = RequestParser()
        self._running: RequestCycle | None = None  # whose answer is being sent
        self._latest: RequestCycle | None = None  # that was begun or queued last: more of its body may come
        self.pipeline: deque[tuple[RequestCycle, ASGIApp]] = deque()  # those that wait, the next one last

    # What the transport calls

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.connections.add(self)
        self.transport = transport
        self.flow = FlowControl(transport)
        self.write = transport.write
        transport.set_write_buffer_limits(high=MAX_BUFFERED)
        self.shared.watch.enter(self)
        self.due = self._after(self.shared.deadlines.first)

    def data_received(self, data: bytes) -> None:
        if self.phase is not Phase.OPEN and not self._admit(data):
            return
        recalled = self.parser.recall(data)
        if recalled is not None:
            self.answer(recalled)
            return
        try:
            for part in self.parser.read(data):
                if part.is_first or part.is_last:
                    self.whole_by = inf
                if not part.is_first:
                    assert self._latest is not None  # which the head began
                    self._latest.take_body(part.body, is_last=part.is_last)
                elif part.head.asks_for_socket and self._hand_over(part.head):
                    return
                else:
                    self.answer(part)
        except Failure as failure:
            self.refuse(failure)
        else:
            if self.parser.stage is not Stage.BETWEEN and self.whole_by == inf:
                self.whole_by = self._find_time_limit()
                self.due = min(self.due, self.whole_by)

    def eof_received(self) -> bool:
        """The client has stopped sending; if its request is whole it may still want its answer."""
        is_reading = self.phase is Phase.OPEN and self.parser.stage is not Stage.BETWEEN
        if self.is_closing() or self._running is None or is_reading:
            return False
        self.half_closed = True
        self.due = self._after(self.shared.deadlines.farewell)
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        self._leave_server()
        self.shared.unsent.release(self)
        self.pipeline.clear()
        cycle = self._running or self._latest
        if cycle is not None:
            cycle.leave()
            self._note_end(cycle)
            if cycle.task is not None and not cycle.response_complete:
                self.loop.call_later(PATIENCE, cycle.task.cancel)
        self.flow.resume_writing()
        self.transport.close()

    def pause_writing(self) -> None:
        self.shared.unsent.settle(self, self.transport.get_write_buffer_size() + MAX_HELD)
        self.flow.pause_writing()

    def resume_writing(self) -> None:
        self.shared.unsent.release(self)
        self.flow.resume_writing()
        stream = None if self._running is None else self._running.stream
        if stream is not None and stream.stalled:
            stream.stalled = False
            self.shared.wheel.add(stream)

    # What the server calls

    def shutdown(self) -> None:
        """The server stops: what was written and the open request may still be sent, unless this is said twice."""
        if self.stopping:
            self.transport.abort()
            return
        self.stopping = True
        drain = self.shared.deadlines.drain
        if self._running is not None:
            self._running.keep_alive = False
            self.pipeline.clear()
        elif drain and not self.is_closing():
            self.loop.call_later(drain, self._close_if_idle)
        else:
            self.close()

    def _close_if_idle(self) -> None:
        if self._running is None:
            self.close()

    def handle_deadline(self, now: float) -> None:
        """End what takes too long: a client that takes or sends nothing more, has left, or does not begin."""
        cycle = self._running
        limits = self.shared.deadlines
        if self.is_closing():
            before = self._untaken
            self._untaken = self.transport.get_write_buffer_size()
            self.due = now + limits.linger
            if not 0 < self._untaken < before:
                self.transport.abort()
        elif now >= self.whole_by and not self.flow.read_paused:
            self.refuse(Failure("timeout", f"The {self.parser.stage.value} of the request took too long."))
        elif cycle is None:
            self._handle_quiet()
        elif self.half_closed and not cycle.moved:  # it has probably left, not only stopped sending
            self.transport.abort()
        elif self.half_closed or self.flow.read_paused:
            cycle.moved = False
            self.half_closed = self.half_closed or is_abandoned(self.transport)
            self.due = now + (limits.farewell if self.half_closed else PATIENCE)
        else:
            self.due = self.whole_by

    def _handle_quiet(self) -> None:
        if self.parser.stage is Stage.HEAD:
            self.due = self.whole_by
        elif self.phase is Phase.SILENT:
            self.refuse(Failure("timeout", "The head of the request took too long."))
        else:
            self.close()

    # Requests

    def answer(self, request: RequestPart) -> None:
        """Answer a plain request at once, if nothing has to be awaited for it; else run the application."""
        head = request.head
        site = self._site
        if (
            site is not None
            and (self._running is None and request.is_last and head.is_plain)
            and not (self.half_closed or self.stopping or self.flow.write_paused)
        ):
            found = site.directory.find(head.path)
            if found is not None and (responder := found.responder).live.has_room_for(request.body):
                http = found.make_request(head.method, head.query, head.table, request.body)
                visit = responder.admit(http, head.query, weight=head.table.weight)
                if head.passes_page_check:
                    visit.sender = NO_PAGE
                first_step = responder.respond(visit)
                try:
                    awaited = first_step.send(None)
                except StopIteration as done:
                    if not send_past_asgi(done.value, visit, ImmediateSender(self, head)):
                        self._serve(return_response(done.value), visit, head)
                else:
                    self._serve(resume(first_step, awaited), visit, head)
                return
        self._run_application(request)

    def _run_application(self, request: RequestPart) -> None:
        head = request.head
        scope = head.scope(**self.addresses, state=self.app_state.copy(), extensions=self.extensions)
        cycle = RequestCycle(self, head, scope, whole=request.is_last)
        if request.body:
            cycle.take_body(request.body, is_last=request.is_last)
        self._queue(cycle, self.app)

    def refuse(self, failure: Failure) -> None:
        """Answer the earlier requests, then refuse the one that is being read, and ignore what follows."""
        self._pass_to(Phase.DEAF)
        self.whole_by = inf
        latest = self._latest
        if latest is not None and self.parser.stage is Stage.BODY:
            latest.fail(failure)
        elif latest is None or latest.keep_alive:  # else nothing was to follow
            head = self.parser.describe_refused()
            cycle = RequestCycle(self, head, whole=False)

            async def refuse_request(*_: object) -> None:
                await cycle.refuse(failure)

            self._queue(cycle, refuse_request)

    def on_response_complete(self) -> None:
        cycle = self._running
        self._running = None
        if cycle is not None:
            self._note_end(cycle)
        if self.is_closing():
            return
        if self.whole_by != inf:
            self.whole_by = self._find_time_limit()
        if self.pipeline:
            self._start(*self.pipeline.pop())
        elif self.half_closed:
            self.close()
        else:
            self.due = self._after(self.shared.deadlines.idle)
        if not self.pipeline:
            self.flow.resume_reading()

    @property
    def addresses(self) -> Mapping[str, Any]:
        """The addresses of both ends, and the scheme, as ASGI has them."""
        if self._addresses is None:  # a lazy_property needs vars(self), which makes all attributes slower
            ours = get_local_addr(self.transport)
            theirs = get_remote_addr(self.transport)
            scheme = "https" if is_ssl(self.transport) else "http"
            self._addresses = {"server": ours, "client": theirs, "scheme": scheme}
        return self._addresses

    def _admit(self, data: bytes) -> bool:
        """Return whether bytes are to be read now, on a connection that is not open yet or no longer."""
        if self.phase is Phase.SILENT:
            self.phase = Phase.OPEN
            if self.shared.newcomers.admit(partial(self._receive_late, data)):
                return True
            self.due = inf
            self.flow.pause_reading()
            return False
        self._dropped += len(data)
        if self._dropped > MAX_DRAINED:
            self.transport.abort()
        return False

    def _receive_late(self, data: bytes) -> None:
        """Receive bytes that had to wait."""
        if self.phase is Phase.OPEN:
            self.due = self._after(self.shared.deadlines.first)
            self.flow.resume_reading()
            self.data_received(data)

    def _hand_over(self, head: RequestHead) -> bool:
        """Leave the connection to a client that asks for a WebSocket, where there is one; False: there is none."""
        site = self._site
        if site is None or self._running is not None:
            return False
        if site.directory.find_socket(head.path, head.query, head.table.headers) is None:
            return False
        from mockserver.server.http.socket_protocol import SocketProtocol  # few servers need it

        rest = self.parser.rest
        self._leave_server()
        protocol = SocketProtocol(
            self.config,
            self.server_state,
            self.app_state,
            site=site,
            watch=self.shared.watch,
            unsent=self.shared.unsent,
        )
        protocol.connection_made(self.transport)
        self.transport.set_protocol(protocol)
        protocol.begin(head)
        if rest:
            protocol.data_received(bytes(rest))
        return True

    def _leave_server(self) -> None:
        self._pass_to(Phase.GONE)
        self.connections.discard(self)
        self.shared.watch.leave(self)
        self.parser.close()

    def _pass_to(self, phase: Phase) -> None:
        self.phase = max(self.phase, phase)

    def _queue(self, cycle: RequestCycle, app: ASGIApp) -> None:
        self._latest = cycle
        if self._running is None:
            self._start(cycle, app)
        else:
            self._running.followed = True
            self.flow.pause_reading()
            self.due = min(self.due, self._after(PATIENCE))  # to check whether the client is still there
            self.pipeline.appendleft((cycle, app))

    def _start(self, cycle: RequestCycle, app: ASGIApp) -> None:
        self._running = cycle
        cycle.followed = bool(self.pipeline)
        cycle.task = self.loop.create_task(cycle.run(app))
        cycle.task.add_done_callback(lambda _: self._note_end(cycle))
        self.tasks.add(cycle)

    def _note_end(self, cycle: RequestCycle) -> None:
        if cycle.is_over:
            self.tasks.discard(cycle)

    def _find_time_limit(self) -> float:
        limits = self.shared.deadlines
        return self._after(limits.head if self.parser.stage is Stage.HEAD else limits.body)

    def _after(self, seconds: float) -> float:
        """Return the time of the deadline watch in so many seconds."""
        return self.shared.watch.time + seconds

    # Answers

    def begin_paced(self, cycle: RequestCycle, status: int, lines: bytes, stream: PacedStream) -> None:
        """Begin an answer that is a stream, which goes on without a task."""
        self._running = cycle
        self.tasks.add(cycle)
        cycle.begin_paced(status, lines, stream)
        self.shared.wheel.add(stream)

    def _serve(self, response: Awaitable[Response], visit: Visit, head: RequestHead) -> None:
        """Send a response to a plain request that is to come, or that is sent in steps."""
        cycle = RequestCycle(self, head, whole=True)
        visit.receive = cycle.receive  # now, before what waits for the client to leave has its first turn

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            await serve(response, visit, ClientConnection(receive, send, self), scope)

        self._queue(cycle, answer)

    def write_head(self, status: int, lines: bytes, body: bytes = b"") -> None:
        """Write a status line, the headers that every answer has, these header lines, and a body in its framing."""
        defaults = self.server_state.default_headers
        shared = self.shared
        if defaults is not shared.default_headers:  # which changes each second
            shared.default_headers = defaults
            shared.default_lines = b"".join([b"%b: %b\r\n" % field for field in defaults])
        self.write(b"".join((STATUS_LINE[status], shared.default_lines, lines, b"\r\n", body)))

    # The wire of the answer that is being sent

    @property
    def busy(self) -> bool:
        return self._running is not None

    @property
    def gone(self) -> bool:
        return self.phase is Phase.GONE

    @property
    def unsent(self) -> int:
        return count_unsent(self.transport)

    def send_whole(self, status: int, lines: bytes, body: bytes) -> bool:
        cycle = self._find_simple()
        if cycle is None:
            return False
        cycle.send_whole(status, lines, body)
        return True

    def send_paced(self, status: int, lines: bytes, stream: PacedStream) -> bool:
        cycle = self._find_simple()
        if cycle is None:
            return False
        self.begin_paced(cycle, status, lines, stream)
        return True

    def _find_simple(self) -> RequestCycle | None:
        """Return the cycle whose answer is being sent, if that can be written past ASGI."""
        cycle = self._running
        return cycle if cycle is not None and cycle.is_simple and not self.is_closing() else None

    def send_piece(self, data: bytes) -> bool:
        return self._running is not None and not self.is_closing() and self._running.send_piece(data)

    def is_closing(self) -> bool:
        return self.phase >= Phase.LEAVING

    def close(self, code: int = NO_CLOSE_FRAME) -> None:
        """Send what was written, then close; drain what still comes, or the client may not receive all."""
        if self.is_closing():
            return
        more_may_come = self.phase is Phase.DEAF or self.parser.stage is not Stage.BETWEEN
        self._stop_answering()
        self._untaken = self.transport.get_write_buffer_size()
        self.due = self._after(self.shared.deadlines.linger)
        if more_may_come and self.transport.can_write_eof():
            self.flow.resume_reading()
            self.transport.write_eof()
        else:
            self.transport.close()

    def reset(self) -> None:
        self._stop_answering()
        reset(self.transport)

    def _stop_answering(self) -> None:
        self._pass_to(Phase.LEAVING)
        if self._running is not None:
            self._running.response_complete = True


class ImmediateSender(Struct, frozen=True):
    """Sends the answer to a plain request in the turn of the loop in which that came whole.

    So the answer needs no task; nor does it need a cycle, if it is not a stream.
    """

    connection: ConnectionProtocol
    head: RequestHead

    def send_whole(self, status: int, lines: bytes, body: bytes) -> bool:
        connection = self.connection
        connection.write_head(status, lines, body)
        connection.due = connection.shared.watch.idle_until
        return True

    def send_paced(self, status: int, lines: bytes, stream: PacedStream) -> bool:
        cycle = RequestCycle(self.connection, self.head, whole=True)
        self.connection.begin_paced(cycle, status, lines, stream)
        return True


@coroutine
def resume(begun: Coroutine[Any, Any, Response], awaited: object) -> Generator[Any, Any, Response]:
    """Go on, in a task, with a coroutine that was begun outside of one, and with what it awaits.

    So a request that waits for nothing costs no task. The price: what runs before it first waits has no current task,
    so that `asyncio.timeout` or anyio would fail there; and a task that is cancelled before its first turn never goes
    on with it, so that its visit would not end. Hence `RequestCycle.cancel` lets that turn pass.
    """
    while True:
        try:
            try:
                yield awaited
            except BaseException as thrown:
                awaited = begun.throw(thrown)
            else:
                awaited = begun.send(None)
        except StopIteration as done:
            response: Response = done.value
            return response


class ProtocolFactory:
    """What uvicorn takes as `http`: makes the protocol of each connection of a server, which share all that is here.

    `site` knows what answers at a path, which can then be called without the application.
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
        self.watch = DeadlineWatch(deadlines)
        self.newcomers = Newcomers()
        self.wheel = Wheel(is_crowded=self.newcomers.are_waiting)
        self.default_headers: object = None  # those that every answer has
        self.default_lines = b""

    def __call__(self, **uvicorn: Any) -> ConnectionProtocol:
        return ConnectionProtocol(self, **uvicorn)
