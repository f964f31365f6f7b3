"""The HTTP protocol for uvicorn: its own, under deadlines and limits, that refuses ambiguous requests."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping
from functools import partial
from math import inf
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT, FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from mockserver.core.action import NO_CLOSE_FRAME
from mockserver.core.exchange import COMPLETE
from mockserver.core.http import HttpRequest, Reply, tabulate
from mockserver.core.plan import Failure, Plan
from mockserver.delivery.connection import MAX_WRITE, WIRE, ClientConnection, frame_body
from mockserver.delivery.paced import PacedStream, Wheel
from mockserver.delivery.script import AT_ONCE
from mockserver.dialects import discover_all
from mockserver.server.app import Site
from mockserver.server.deliver import find_lines, serve
from mockserver.server.http import parser
from mockserver.server.http.parser import (
    BETWEEN,
    BODY,
    HEAD,
    Deadlines,
    DeadlineWatch,
    Newcomers,
    Refuse,
    RequestHead,
    RequestParser,
)
from mockserver.server.http.request_cycle import RequestCycle
from mockserver.server.http.tcp import count_unsent, is_abandoned, reset
from mockserver.server.limits import Unsent
from mockserver.server.live import Live
from mockserver.server.namespaces import split_namespace
from mockserver.server.respond import Response, Visit, return_response
from mockserver.server.routes import find_owner


def make_refuse(live: Live) -> Callable[[Failure, str, str], Reply]:
    """Render a failure in the dialect of a path, and note it in the journal."""

    def refuse(failure: Failure, method: str, path: str) -> Reply:
        namespace, inner = split_namespace(path)
        dialect = find_owner(inner, discover_all(live.settings.hosts), live.settings.dialect)
        exchange = live.journal.open(method, inner, dialect.name, namespace)
        reply = dialect.fail(HttpRequest(method, inner, namespace=namespace), failure, None)
        exchange.plan = Plan(None, "invalid")
        exchange.status = reply.status
        exchange.reply_headers = reply.headers
        exchange.note(reply.body)
        live.journal.close(exchange, COMPLETE)
        return reply

    return refuse


MAX_BUFFERED = 16_384  # bytes that wait in a connection before nothing more is written
MAX_HELD = 2 * MAX_WRITE  # bytes of an answer that is being sent which are made at once
PATIENCE = 1.0  # seconds that an application gets to notice that its client has left

log = logging.getLogger("mockserver")


def make_protocol_factory(
    refuse: Refuse,
    deadlines: Deadlines = Deadlines(),  # noqa: B008  # frozen
    unread: Unsent | None = None,
    site: Site | None = None,
) -> Callable[..., "ConnectionProtocol"]:
    """Return what uvicorn takes as `http`: it makes the protocol of each connection, and they share a deadline watch.

    `site` knows what answers at a path, which can then be called without the application.
    """
    newcomers = Newcomers()
    return partial(
        ConnectionProtocol,
        deadline_watch=DeadlineWatch(refuse, deadlines),
        newcomers=newcomers,
        unread=unread or Unsent(),
        site=site,
        wheel=Wheel(is_crowded=newcomers.are_waiting),
    )


class Resumed:
    """A coroutine that was begun outside of a task; awaiting it in one goes on with what it awaits."""

    def __init__(self, coroutine: Coroutine[Any, Any, Response], awaited: Any) -> None:
        self._coroutine = coroutine
        self._awaited = awaited

    def __await__(self) -> Generator[Any, Any, Response]:
        awaited = self._awaited
        while True:
            try:
                result = yield awaited
            except BaseException as error:
                go_on = partial(self._coroutine.throw, error)
            else:
                go_on = partial(self._coroutine.send, result)
            try:
                awaited = go_on()
            except StopIteration as done:
                response: Response = done.value
                return response


class ConnectionProtocol(RequestParser):
    """One connection of a client; a cycle uses it as its transport, the driver as wire."""

    _running: RequestCycle | None = None  # whose answer is being sent
    half = False  # the client has stopped sending
    _stopping = False  # the server ends
    _leaving = False  # nothing more is to be written
    _waiting = 0  # bytes that the client had not taken when last looked at
    _stalled = 0  # bytes of `max_unsent` that it takes because its client does not read

    def __init__(
        self,
        *,
        deadline_watch: DeadlineWatch,
        newcomers: Newcomers,
        unread: Unsent,
        site: Site | None,
        wheel: Wheel,
        **uvicorn: Any,
    ) -> None:
        super().__init__(**uvicorn)
        self.deadline_watch = deadline_watch
        self.newcomers = newcomers
        self._unread = unread
        self._site = site
        self._wheel = wheel

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.connections.add(self)
        self.transport = transport
        self.flow = FlowControl(transport)
        self.write = transport.write
        transport.set_write_buffer_limits(high=MAX_BUFFERED)
        self.lent = {WIRE: self}
        self.deadline_watch.enter(self)
        self.due = self.deadline_watch.time + self.deadline_watch.deadlines.first

    def answer(self, head: RequestHead, body: bytes, *, whole: bool) -> None:
        """Answer a plain request at once, if nothing has to be awaited for it; else run the application."""
        site = self._site
        may_open = head.asks_for_socket and self._running is None
        if may_open and site is not None and site.admits_socket(head.path, head.query, head.table.headers):
            self._hand_over(head, site)
            return
        is_free = self._running is None and not (self.deaf or self.half or self._stopping or self.flow.write_paused)
        found = site.find(head.path) if site is not None and is_free and whole and head.is_plain else None
        if found is None or not found.responder.live.has_room_for(body):
            scope = head.scope(**self.addresses, state=self.app_state.copy(), extensions=self.lent)
            self._queue(self._new_cycle(scope, head, body, whole=whole), self.app)
            return
        request = found.make_request(head.method, head.query, head.table, body)
        visit = found.responder.admit(request, head.query, weight=head.table.weight)
        visit.passes_page_check = head.passes_page_check
        first_step = found.responder.respond(visit)
        try:
            awaited = first_step.send(None)
        except StopIteration as done:
            self._send(done.value, visit, head)
        else:
            self._serve(Resumed(first_step, awaited), visit, head)

    def _hand_over(self, head: RequestHead, site: Site) -> None:
        """Leave the connection to a client that asks for a WebSocket where there is one."""
        from mockserver.server.http.socket_protocol import SocketProtocol  # few servers need it

        self.connections.discard(self)
        self.deadline_watch.leave(self)
        self._leaving = self.deaf = True
        protocol = SocketProtocol(
            self.config,
            self.server_state,
            self.app_state,
            site=site,
            deadline_watch=self.deadline_watch,
            unread=self._unread,
        )
        protocol.connection_made(self.transport)
        self.transport.set_protocol(protocol)
        self.successor = protocol
        protocol.begin(head)

    def _send(self, response: Response, visit: Visit, head: RequestHead) -> None:
        """Send a response that is ready."""
        lines = find_lines(response)
        if lines is None:
            self._serve(return_response(response), visit, head)
        elif response.pace is AT_ONCE:
            body = response.reply.body
            self.write_head(response.reply.status, lines, frame_body(lines, body))
            self.due = self.deadline_watch.idle_until
            visit.row.note(body)
            visit.end(COMPLETE)
        else:
            self._running = cycle = self._new_cycle(head.scope(), head, whole=True)
            self.tasks.add(cycle)  # a task as far as the server needs it: to cancel it
            row = visit.row
            stream = PacedStream(response.reply, row.began, row, lambda _, how: visit.end(how))
            self.send_paced(response.reply.status, lines, stream)

    def _serve(self, response: Awaitable[Response], visit: Visit, head: RequestHead) -> None:
        """Send a response that is to come, or that is sent in steps."""
        cycle = self._new_cycle(head.scope(), head, whole=True)
        visit.receive = cycle.receive  # now, before what waits for the client to leave has its first turn

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            await serve(response, visit, ClientConnection(receive, send, self), scope)

        self._queue(cycle, answer)

    def write_head(self, status: int, lines: bytes, body: bytes = b"") -> None:
        """Write a status line, the headers that every answer has, these header lines, and a body in its framing."""
        shared = self.server_state.default_headers
        known = self.deadline_watch.dated
        if shared is not known[0]:  # which changes each second
            self.deadline_watch.dated = known = shared, b"".join([b"%b: %b\r\n" % field for field in shared])
        self.write(b"".join((STATUS_LINE[status], known[1], lines, b"\r\n", body)))

    def pause_writing(self) -> None:
        self._stalled = self.transport.get_write_buffer_size() + MAX_HELD
        self._unread.add(self._stalled)
        self.flow.pause_writing()

    def resume_writing(self) -> None:
        self._release_stalled()
        self.flow.resume_writing()
        stream = None if self._running is None else self._running.stream
        if stream is not None and stream.stalled:
            stream.stalled = False
            self._wheel.add(stream)

    def _release_stalled(self) -> None:
        self._unread.add(-self._stalled)
        self._stalled = 0

    def connection_lost(self, exc: Exception | None) -> None:
        self._release_stalled()
        self.connections.discard(self)
        self.deadline_watch.leave(self)
        self._leaving = self.deaf = True
        self.pipeline.clear()
        cycle = self._running
        self.tasks.discard(cycle)
        if cycle is not None and not cycle.response_complete:
            cycle.leave()
            if cycle.task is not None:
                self.loop.call_later(PATIENCE, cycle.task.cancel)
        elif self.cycle is not None:
            self.cycle.message_event.set()
        self.flow.resume_writing()
        self.transport.close()
        del self.parser  # which refers to this

    def shutdown(self) -> None:
        """The server stops: the open request may still be answered, unless this is said twice."""
        if self._leaving or self._stopping:
            self.transport.abort()
        elif self._running is not None:
            self._stopping = True
            self._running.keep_alive = False
            self.pipeline.clear()
        elif drain := self.deadline_watch.deadlines.drain:
            self._stopping = True
            self.loop.call_later(drain, self._close_if_idle)
        else:
            self.close()

    @property
    def stopping(self) -> bool:
        """Whether the server stops, so that an answer without an end should end."""
        return self._stopping

    def _close_if_idle(self) -> None:
        if self._running is None:
            self.close()

    def eof_received(self) -> bool:
        """The client has stopped sending; if its request is whole it may still want its answer."""
        if self._leaving or self._running is None or not (self.deaf or self.stage == BETWEEN):
            return False
        self.half = True
        self.due = self.deadline_watch.time + self.deadline_watch.deadlines.farewell
        return True

    def _new_cycle(self, scope: Any, head: RequestHead, body: bytes = b"", *, whole: bool = False) -> RequestCycle:
        """Return a cycle for an answer; `body` is what has come of the request's and nobody has read."""
        cycle = RequestCycle(
            scope=scope,
            transport=self,  # type: ignore[arg-type]  # it is one as far as a cycle needs it
            flow=self.flow,
            logger=log,
            access_logger=log,
            access_log=False,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=head.expects,
            keep_alive=head.keep_alive and not self._stopping,
            on_response=self.on_response_complete,
        )
        cycle.body += body
        cycle.more_body = not whole
        if whole or body:
            cycle.message_event.set()
        if len(cycle.body) > HIGH_WATER_LIMIT:
            self.flow.pause_reading()
        return cycle

    def _queue(self, cycle: RequestCycle, app: ASGIApp) -> None:
        self.cycle = cycle
        if self._running is None:
            self._start(cycle, app)
        else:
            self._running.followed = True
            self.flow.pause_reading()
            self.due = min(self.due, self.deadline_watch.time + PATIENCE)  # to check whether the client is still there
            self.pipeline.appendleft((cycle, app))

    def _start(self, cycle: RequestCycle, app: ASGIApp) -> None:
        self._running, cycle.followed = cycle, bool(self.pipeline)
        cycle.task = task = self.loop.create_task(cycle.run(app, self.deadline_watch.make_refusing_app))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def refuse(self, failure: Failure) -> None:
        self.deaf = True
        self.cut = inf
        cycle = self.cycle
        if self.stage == BODY and cycle is not None:
            cycle.fail(failure)
        elif cycle is None or cycle.keep_alive:  # else nothing was to follow
            begun = self.stage == HEAD and self.url != b""
            method = self.parser.get_method().decode() if begun else ""
            path = parser.read_path(self.url, self.headers) if begun else "/"
            head = RequestHead(method, path, b"", b"", tabulate(()), "1.1", keep_alive=False, expects=False)
            self._queue(self._new_cycle(head.scope(), head), self.deadline_watch.make_refusing_app(failure))

    def on_response_complete(self) -> None:
        cycle = self._running
        self._running = None
        self.tasks.discard(cycle)
        if self._leaving:
            return
        if self.cut != inf:
            self.cut = self.time_limit
        if self.pipeline:
            self._start(*self.pipeline.pop())
        elif self.half:
            self.close()
        else:
            self.due = self.deadline_watch.time + self.deadline_watch.deadlines.idle
        if not self.pipeline:
            self.flow.resume_reading()

    @property
    def busy(self) -> bool:
        return self._running is not None

    @property
    def gone(self) -> bool:
        return self not in self.connections

    @property
    def unsent(self) -> int:
        return count_unsent(self.transport)

    def send_whole(self, status: int, head: bytes, body: bytes) -> bool:
        return self._running is not None and not self._leaving and self._running.send_whole(status, head, body)

    def send_piece(self, data: bytes) -> bool:
        return self._running is not None and not self._leaving and self._running.send_piece(data)

    def send_paced(self, status: int, head: bytes, stream: PacedStream) -> bool:
        if self._running is None or self._leaving or not self._running.begin_paced(status, head, stream):
            return False
        self._wheel.add(stream)
        return True

    def is_closing(self) -> bool:
        return self._leaving

    def close(self, code: int = NO_CLOSE_FRAME) -> None:
        """Send what was written, then close; drain what still comes, or the client may not receive all."""
        if self._leaving:
            return
        unread = self.deaf or self.stage != BETWEEN
        self._stop_answering()
        self._waiting = self.transport.get_write_buffer_size()
        self.due = self.deadline_watch.time + self.deadline_watch.deadlines.linger
        if unread and self.transport.can_write_eof():
            self.flow.resume_reading()
            self.transport.write_eof()
        else:
            self.transport.close()

    def reset(self) -> None:
        self._stop_answering()
        reset(self.transport)

    def _stop_answering(self) -> None:
        self._leaving = self.deaf = True
        if self._running is not None:
            self._running.response_started = self._running.response_complete = True

    def handle_deadline(self, now: float) -> None:
        cycle = self._running
        limits = self.deadline_watch.deadlines
        if self._leaving:
            before = self._waiting
            self._waiting = self.transport.get_write_buffer_size()
            self.due = now + limits.linger
            if not 0 < self._waiting < before:
                self.transport.abort()
        elif now >= self.cut and not self.flow.read_paused:
            self.refuse(Failure("timeout", f"The {_NAMES[self.stage]} of the request took too long."))
        elif cycle is None:
            self._handle_quiet()
        elif self.half and not cycle.moved:  # it has probably left, not only stopped sending
            self.transport.abort()
        elif self.half or self.flow.read_paused:
            cycle.moved = False
            self.half = self.half or is_abandoned(self.transport)
            self.due = now + (limits.farewell if self.half else PATIENCE)
        else:
            self.due = self.cut

    def _handle_quiet(self) -> None:
        if self.stage == HEAD:
            self.due = self.cut
        elif self.silent:
            self.refuse(Failure("timeout", "The head of the request took too long."))
        else:
            self.close()


_NAMES: Mapping[int, str] = {HEAD: "head", BODY: "body"}
