"""One request while it is answered, and the response that it gets."""

import asyncio
from collections.abc import Callable
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace
from starlette.types import Message, Receive

from mockserver.config.settings import Settings
from mockserver.core.call import Call
from mockserver.core.http import HeaderLines, Headers, HttpRequest, Reply, write_lines
from mockserver.core.plan import Failure, Plan
from mockserver.core.row import Row
from mockserver.core.seed import monotonic
from mockserver.core.text import escape_line
from mockserver.delivery.script import AT_ONCE, Pace
from mockserver.dialects import Dialect, Operation
from mockserver.dialects._reply import drop_headers
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
)


class Response(Struct):
    """The answer to one request, ready to be sent.

    `extra_headers` go out after those of the reply: what is left of the limits, and what answered. `forwarded` is the
    request as it came, if the upstream is to answer it.
    """

    plan: Plan
    reply: Reply
    call: Call | None = None
    pace: Pace = AT_ONCE
    extra_headers: Headers | HeaderLines = ()
    forwarded: HttpRequest | None = None


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


class Visit(Struct, eq=False):
    """One request while it is answered: what is known of it, its row of the journal, and what it holds till it ends."""

    # Known from the start: who set out to answer it, and who asks
    live: Live
    dialect: Dialect
    request: HttpRequest  # once its body is read, with that; once its content codings are undone, without them
    settings: Settings
    engine: Engine
    journal: Journal  # a reset may replace that of the server
    row: Row
    operation: Operation | None = None  # None: the path has none, or takes other methods
    sender: Sender = UNKNOWN
    receive: Receive = stay_forever  # tells when the client has left

    # Known once it has entered its namespace, whose `settings` and `engine` answer it: a reload affects later ones only
    timed: bool = True  # the answer takes its time

    # Known once it is read
    sent: HttpRequest | None = None  # how it came, if its content codings were undone
    call: Call | None = None
    remarks: tuple[str, ...] = ()  # on the history that it sends back

    # Held until it ends
    reservation: Reservation | None = None  # of the limits
    release: Callable[[], None] | None = None  # gives back what its call holds
    held: int = 0  # bytes of `max_unsent`

    @property
    def is_large(self) -> bool:
        """Return whether work on the request may take long, so that a thread has to do it."""
        return len(self.request.body) > LARGEST_IN_LOOP or self.request.form is not None

    def receive_body(self, body: bytes) -> None:
        """Take note of the body, which has come after the head."""
        self.row.note_body(body, monotonic())
        self.request = replace(self.request, body=body)

    async def listen(self) -> Message:
        """Return the next message of the client, as ASGI has it; `receive` may become known after the start."""
        return await self.receive()

    def take(self, size: int) -> None:
        """Count bytes that the request takes. Raises Failure if all take too many."""
        if not self.sender.in_process:
            self.live.unsent.take(self, size, limit=self.settings.max_unsent)

    def refuse(self, failure: Failure, call: Call | None = None) -> Response:
        """Return the response to a request that is refused, in the words of the provider."""
        source = "limited" if failure.reason in LIMIT_REASONS else "invalid"
        plan = Plan(None, "state lost" if failure is STATE_LOST else source)
        return Response(plan, self.dialect.fail(self.request, failure, call), call)

    def finish(self, response: Response, *, tells_limits: bool = True) -> Response:
        """Add the headers that every response has, and note it in the journal.

        What is left of limits is told, unless that is false, or an upstream answers, which tells of its own.
        """
        plan = response.plan
        own = response.reply.headers
        may_run = type(own) is not HeaderLines or plan.faults  # as these may change the type
        if may_run and response.forwarded is None and may_be_shown(self.request):
            own = (*own, *forbid_scripts(self.request, () if plan.faults else own))
        limits: Headers = ()
        if self.reservation is not None and tells_limits and response.forwarded is None:
            limits = self.reservation.headers
            own = drop_headers(own, frozenset(dict(limits))) if limits else own
        if own is not response.reply.headers:
            response.reply = replace(response.reply, headers=own)
        row = self.row
        row.note_answer(plan, response.reply, response.call)
        more = ""
        if limits:
            more = write_lines(limits)
            if isinstance(own, HeaderLines):
                row.reply_headers = HeaderLines(own.lines + more, own.sized)
            else:
                row.reply_headers = (*own, *limits)
        settings = self.settings
        if settings.source_headers:
            more += f"{_write_source_line(plan.source)}x-mockserver-call: {row.seq}\r\n"
            if self.live.fleet is not None and self.live.fleet.lost:
                more += "x-mockserver-state: lost\r\n"
        if settings.cors and response.forwarded is None:  # what an upstream answers is not known yet
            merged, across = add_origin_headers(self.request, own, settings.cors)
            if merged is not own:
                response.reply = replace(response.reply, headers=merged)
            more += across.lines
        response.extra_headers = HeaderLines(more)
        return response

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
