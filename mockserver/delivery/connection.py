"""A line to one client: ASGI's two callables, and what a door lends beside them, past ASGI."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from starlette.types import Receive, Send

from mockserver.core.action import Action

WIRE = "mockserver.wire"  # the extension of an ASGI scope in which a door lends its Wire
SHORT = "mockserver.short"  # the one in which it lends a Short; whoever changes answers on their way takes it off
STAGE = "mockserver.stage"  # the one in which a Stage is lent, where there is no connection
Note = Callable[[bytes], None]  # is told of bytes of the body as they leave


class Wire(Protocol):
    """The connection beneath an ASGI server, which the door lends: `gone` once the client has left."""

    @property
    def gone(self) -> bool:
        """Whether the client has left."""

    @property
    def unsent(self) -> int:
        """How many bytes were written and have not reached the client."""

    def write(self, data: bytes) -> None:
        """Put bytes on the connection past all framing."""

    def close(self) -> None:
        """Send what was written, then close, whatever HTTP still expects."""

    def reset(self) -> None:
        """End the connection by TCP RST."""


class Short(Protocol):
    """The short way past ASGI messages, for what is simple and often; False: this is not, and nothing was sent."""

    def whole(self, status: int, head: bytes, body: bytes) -> bool:
        """Send a whole answer; `head` are its header lines, one of them the body's length."""

    def piece(self, data: bytes) -> bool:
        """Send a piece, not the last, of a body without a length."""


class Stage(Protocol):
    """Performs answers itself, for a client in the same process: there is no connection, and no time has to pass."""

    @property
    def patient(self) -> bool:
        """Whether a request can wait for others to be answered."""

    async def perform(self, actions: Iterable[Action], note: Note) -> str:
        """Do what the actions say and return how it ended, as the driver does."""


@dataclass(slots=True)  # not frozen, as every request makes one
class Line:
    """An ASGI connection to one client; without a door there is no wire beneath, and on a stage no connection.

    `began` is when the answer begins, on the clock of the wheel; None: once it is driven.
    """

    receive: Receive
    send: Send
    wire: Wire | None = None
    short: Short | None = None
    began: float | None = None
    stage: Stage | None = None


async def departure(receive: Receive) -> None:
    """Return once the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass
