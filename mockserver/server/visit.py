"""One request while it is answered, and the response that it gets."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace
from starlette.types import Message, Receive

from mockserver.config.settings import Settings
from mockserver.core.call import Call
from mockserver.core.exchange import Exchange
from mockserver.core.http import HeaderLines, Headers, HttpRequest, Reply
from mockserver.core.plan import Plan
from mockserver.core.seed import monotonic
from mockserver.delivery.script import AT_ONCE, Pace
from mockserver.dialects import Operation
from mockserver.engine.engine import Engine
from mockserver.engine.offload import LARGEST_IN_LOOP
from mockserver.server.limits import Reservation
from mockserver.server.live import Live
from mockserver.state.journal import Journal

if TYPE_CHECKING:
    from mockserver.server.respond import Responder


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


class Visit(Struct, eq=False):
    """One request while it is answered: its row of the journal, what it holds, and what is known of its client.

    `request` has no content codings any more once these are undone; `sent` is then how it came. `receive` tells when
    the client has left. A client that is not `patient` cannot wait for others. One `in_process` is no browser, and has
    no connection whose bytes count. `passes_page_check`: its headers have shown that it comes from no web page.

    When it enters its namespace it is settled what answers it, `settings` and `engine`, as a reload is for the next
    request, and whether the answer is `timed`, that is, takes its time. `call` is what was read of it, and `remarks`
    are those on the history that it sends back.
    """

    responder: "Responder"
    request: HttpRequest
    settings: Settings
    engine: Engine
    journal: Journal  # a reset may replace that of the server
    row: Exchange
    receive: Receive = stay_forever
    patient: bool = True
    in_process: bool = False
    passes_page_check: bool = False
    operation: Operation | None = None  # None: the path has none, or takes other methods
    sent: HttpRequest | None = None
    timed: bool = True
    reservation: Reservation | None = None
    call: Call | None = None
    remarks: tuple[str, ...] = ()
    release: Callable[[], None] | None = None  # gives back what its call holds

    @property
    def live(self) -> Live:
        return self.responder.live

    @property
    def is_large(self) -> bool:
        """Return whether work on the request may take long, so that a thread has to do it."""
        return len(self.request.body) > LARGEST_IN_LOOP or self.request.form is not None

    def receive_body(self, body: bytes) -> None:
        """Take note of the body, which has come after the head."""
        self.row.asked = monotonic()
        self.row.take(body)
        self.request = replace(self.request, body=body)

    async def listen(self) -> Message:
        """Return the next message of the client, as ASGI has it; `receive` may become known after the start."""
        return await self.receive()

    def take(self, size: int) -> None:
        """Count bytes that the request takes. Raises Failure if all take too many."""
        if not self.in_process:
            self.live.unsent.take(self.row, size, limit=self.live.settings.max_unsent)

    def end(self, how: str) -> None:
        """Give back what the request held, and close its row: it was sent whole, or ended otherwise."""
        if self.reservation is not None:
            self.reservation.release()
        if self.release is not None:
            self.release()
        if self.row.held:
            self.live.unsent.release(self.row)
        self.journal.close(self.row, how)
