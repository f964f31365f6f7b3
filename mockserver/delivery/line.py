"""A line to one client: ASGI's two callables, and what a door lends beside them, past ASGI."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from starlette.types import Receive, Send

WIRE = "mockserver.wire"  # the extension of an ASGI scope in which a door lends its Wire
SHORT = "mockserver.short"  # the one in which it lends a Short; whoever changes answers on their way takes it off
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


@dataclass(slots=True)  # not frozen, as every request makes one
class Line:
    """An ASGI connection to one client; without a door there is no wire beneath.

    `began` is when the answer begins, on the clock of the wheel; None: once it is driven.
    """

    receive: Receive
    send: Send
    wire: Wire | None = None
    short: Short | None = None
    began: float | None = None


async def departure(receive: Receive) -> None:
    """Return once the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass
