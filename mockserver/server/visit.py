"""One request while it is answered, and the response that it gets."""

import asyncio
from collections.abc import Callable
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace
from starlette.types import Message, Receive

from mockserver.config.settings import Settings
from mockserver.core.call import Call
from mockserver.core.frames import Frame
from mockserver.core.http import HeaderLines, HttpRequest, Reply
from mockserver.core.plan import CRASH, Failure, Plan
from mockserver.core.row import Row
from mockserver.core.seed import monotonic
from mockserver.core.text import escape_line
from mockserver.delivery.script import AT_ONCE, Pace
from mockserver.dialects import Dialect, Operation
from mockserver.engine.engine import Engine
from mockserver.engine.offload import LARGEST_IN_LOOP
from mockserver.server.access import add_origin_headers, forbid_scripts, may_be_shown
from mockserver.server.limits import LIMIT_REASONS, Reservation
from mockserver.server.live import Live
from mockserver.state.journal import Journal

HOME = Plan(None, "generated")  # of `GET /`
STATE_LOST = Failure(
    "overloaded",
    "The shared state of mockserver is out of reach; this request may have been counted. Please try again.",
    retry_after=1.0,
    source="state lost",
)
STOPPING = Failure("overloaded", "The server is stopping.", source="invalid")  # no limit refuses it
CRASHED = Failure("server_error", "mockserver failed on this request; its log says how.", source=CRASH)


class Response(Struct):
    """The answer to one request, ready to be sent.

    `extra_headers` go out after those of the reply: what is left of the limits, and what answered. `forwarded` is the
    request as it came, if the upstream is to answer it. `error_frame` shapes the provider's error amid the answer, if
    its operation does not.
    """

    plan: Plan
    reply: Reply
    call: Call | None = None
    pace: Pace = AT_ONCE
    extra_headers: HeaderLines = HeaderLines()
    forwarded: HttpRequest | None = None
    error_frame: Callable[[Reply, bytes], Frame] | None = None


async def return_response(response: Response) -> Response:
    """Return a response that is there already."""
    return response


async def stay_forever() -> Message:
    """Tell of a client that never leaves, as ASGI does."""
    await asyncio.get_running_loop().create_future()
    raise AssertionError("nobody sets the result")


class Sender(Struct, frozen=True):
    """What is known of who sent a request.

    One `in_process` is no browser, and has no connection whose bytes count. One that is not `patient` cannot wait for
    others. `passes_page_check`: the headers of its request have shown that it comes from no web page.
    """

    in_process: bool = False
    patient: bool = True
    passes_page_check: bool = False


UNKNOWN = Sender()
NO_PAGE = Sender(passes_page_check=True)


class Visit(Struct, eq=False, kw_only=True):
    """One request while it is answered: what is known of it, its row of the journal, and what it holds till it ends."""

    # Given when it is admitted
    live: Live
    journal: Journal  # a reset may replace that of the server
    row: Row
    dialect: Dialect
    operation: Operation | None  # None: the path has none, or none yet that takes this method
    request: HttpRequest  # replaced when its body has come, and when that is decoded
    sender: Sender = UNKNOWN  # by the entrance, if that knows more
    receive: Receive = stay_forever  # tells when the client has left; of a connection, once something awaits that

    # Set by `enter`; until then those of the server
    settings: Settings
    engine: Engine
    timed: bool = True  # the answer takes its time; the request may override it
    key: str | None = None  # the credential of the request, if the settings list keys

    # Set when it is read, by `reading.py`
    sent: HttpRequest | None = None  # how it came, if its body was decoded
    call: Call | None = None
    remarks: tuple[str, ...] = ()  # on the history that it sends back

    # Held until `end`
    reservation: Reservation | None = None  # of the limits
    release: Callable[[], None] | None = None  # gives back what its call holds
    held: int = 0  # bytes of `max_unsent`, which `hold` counts

    @property
    def is_large(self) -> bool:
        """Whether work on the request may take long, so that a thread has to do it."""
        return len(self.request.body) > LARGEST_IN_LOOP or self.request.form is not None

    def receive_body(self, body: bytes) -> None:
        """Take note of the body, which has come after the head."""
        self.row.note_body(body, monotonic())
        self.request = replace(self.request, body=body)

    def enter(self) -> None:
        """Enter its namespace. What answers there from now on is fixed: a reload affects later requests only."""
        live = self.live
        space = live.namespaces.touch(self.request.namespace)
        self.settings = live.settings
        self.engine = engine = space.find_engine(live.engine)
        self.timed = space.timed
        self.row.rules = engine.rule_set.rules

    async def listen(self) -> Message:
        """Return the next message of the client, as ASGI has it; `receive` may become known after the start."""
        return await self.receive()

    def hold(self, size: int) -> None:
        """Count bytes that the request takes. Raises Failure if all take too many."""
        if not self.sender.in_process:
            self.live.unsent.take(self, size, limit=self.settings.max_unsent)

    def refuse(self, failure: Failure, call: Call | None = None) -> Response:
        """Return the response to a request that is refused, in the words of the provider."""
        source = failure.source or ("limited" if failure.reason in LIMIT_REASONS else "invalid")
        return Response(Plan(failure, source).rendered, self.dialect.fail(self.request, failure, call), call)

    def finish(self, response: Response, *, tells_limits: bool = True) -> Response:
        """Add the headers that every response has, and note it in the journal; `tells_limits`: what is left of them.

        An upstream that is to answer tells of its own limits, and sends its own headers.
        """
        if response.forwarded is None:
            response.reply = self._complete(response, tells_limits=tells_limits)
        self.row.note_answer(response.plan, response.reply, response.call)
        lines = self._write_source_lines(response.plan) if self.settings.source_headers else ""
        if self.settings.cors and response.forwarded is None:
            headers, across = add_origin_headers(self.request, response.reply.headers, self.settings.cors)
            if headers is not response.reply.headers:
                response.reply = replace(response.reply, headers=headers)
            lines += across.lines
        response.extra_headers = HeaderLines(lines)
        return response

    def _complete(self, response: Response, *, tells_limits: bool) -> Reply:
        """Return the reply with headers that keep a browser from running it, and with what is left of the limits."""
        reply = response.reply
        headers = reply.headers
        faults = response.plan.faults
        may_run = type(headers) is not HeaderLines or faults  # as these may change the type
        if may_run and may_be_shown(self.request):
            headers = (*headers, *forbid_scripts(self.request, () if faults else headers))
        if self.reservation is not None and tells_limits:
            headers = self.reservation.tell(headers)
        return reply if headers is reply.headers else replace(reply, headers=headers)

    def _write_source_lines(self, plan: Plan) -> str:
        """Return the lines of the headers that tell what answered."""
        lines = f"{_write_source_line(plan.source)}x-mockserver-call: {self.row.seq}\r\n"
        if self.live.fleet is not None and self.live.fleet.lost:
            lines += "x-mockserver-state: lost\r\n"
        return lines

    def end(self, how: str) -> None:
        """Give back what the request held, and close its row: it was sent whole, or ended otherwise."""
        if self.reservation is not None:
            self.reservation.release()
        if self.release is not None:
            self.release()
        if self.held:
            self.live.unsent.release(self)
        self.journal.close(self.row, how)


@lru_cache(maxsize=1024)
def _write_source_line(source: str) -> str:
    return f"x-mockserver-source: {escape_line(source)}\r\n"
