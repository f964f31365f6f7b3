"""The connection to one client: the ways past ASGI to send an answer there, and its bytes."""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Protocol

from msgspec import Struct
from starlette.types import Receive, Send

from mockserver.core.action import NO_CLOSE_FRAME, Action
from mockserver.core.http import WITHOUT_BODY, HeaderLines, Reply
from mockserver.delivery.paced import PacedStream

WIRE = "mockserver.wire"  # the extension of an ASGI scope in which a connection offers its Wire
IN_PROCESS = "mockserver.in_process"  # the extension in which a client of this process takes actions
Note = Callable[[bytes], None]  # called with bytes of the body as they are sent


class AnswerSink(Protocol):
    """What can send an answer past ASGI."""

    def send_whole(self, status: int, rest: bytes) -> bool:
        """Send a whole answer: its status, and the rest, from the header lines on. False: nothing was sent."""

    def send_paced(self, status: int, lines: bytes, stream: PacedStream) -> bool:
        """Send the head of a paced stream, then its parts when they are due. False: nothing was sent."""


class Wire(AnswerSink, Protocol):
    """The connection beneath an ASGI server: `gone` once the client has left."""

    @property
    def gone(self) -> bool:
        """Whether the client has left."""

    @property
    def stopping(self) -> bool:
        """Whether the server stops, so that an answer without an end should end."""

    @property
    def half_closed(self) -> bool:
        """Whether the client has stopped sending, although it may still read."""

    @property
    def unsent(self) -> int:
        """The number of written bytes that have not reached the client."""

    def write(self, data: bytes) -> None:
        """Write bytes to the connection outside HTTP framing."""

    def close(self, code: int = NO_CLOSE_FRAME) -> None:
        """Send what was written, then close, even if HTTP expects more; a WebSocket with a close frame of this code."""

    def reset(self) -> None:
        """End the connection by TCP RST."""

    def send_piece(self, data: bytes) -> bool:
        """Send a piece, not the last, of a chunked body past ASGI. False: nothing was sent."""


class InProcessClient(Protocol):
    """A client in the same process, without a connection. `testing/in_process.py`, a floor above, has it."""

    @property
    def patient(self) -> bool:
        """Whether a request can wait for others."""

    async def perform(self, actions: Iterable[Action], note: Note) -> str:
        """Take the actions of an answer, and return how they ended, as `drive` does."""


class ClientConnection(Struct):
    """An ASGI connection to one client, for one answer.

    `began`: when the answer begins, in monotonic seconds; None: when `drive` does. `has_head`: its head was sent, so
    that it can only go on or break off.
    """

    receive: Receive
    send: Send
    wire: Wire | None = None
    began: float | None = None
    in_process: InProcessClient | None = None
    has_head: bool = False

    async def send_head(self, status: int, headers: Iterable[tuple[str, str]]) -> None:
        """Send the head of the answer."""
        encoded = list(map(encode_header, headers))
        await self.send({"type": "http.response.start", "status": status, "headers": encoded})
        self.has_head = True


async def wait_until_left(receive: Receive) -> None:
    """Return when the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass


CLIENT_LEFT = "client left"
STOPPED = "server stopped"
CUT: Mapping[str, str] = {"end": "cut short", "close": "disconnected", "reset": "reset"}


MAX_WRITE = 1 << 18  # bytes of a body written at once


def join_answer(reply: Reply, more: HeaderLines) -> bytes | None:
    """Return the header lines of a reply with these more, and its body in its framing: as it is, or in one chunk.

    None where `join_headers` returns None.
    """
    own = reply.headers
    if type(own) is HeaderLines and own.sized:
        return f"{own.lines}{more.lines}\r\n".encode("latin-1", "replace") + reply.body
    lines = join_headers(reply, more)
    if lines is None:
        return None
    body = reply.body
    if not lines.endswith(_IN_CHUNKS):
        return b"%b\r\n%b" % (lines, body)
    if not body:
        return lines + b"\r\n0\r\n\r\n"
    return b"%b\r\n%x\r\n%b\r\n0\r\n\r\n" % (lines, len(body), body)


def join_headers(reply: Reply, more: HeaderLines) -> bytes | None:
    """Return the header lines of a reply with these more, and with the framing of its body, which comes in chunks.

    None if it is not plain, its status allows no body, or its headers are not valid, state another length or framing,
    or end the connection.
    """
    if reply.script is not None or reply.frames is not None or reply.pieces is not None:
        return None
    if reply.status in WITHOUT_BODY:
        return None
    own = reply.headers
    lines = f"{own.lines}{more.lines}{_CHUNKED}" if type(own) is HeaderLines else _check_headers(reply, more)
    return None if lines is None else lines.encode("latin-1", "replace")


def _check_headers(reply: Reply, more: HeaderLines) -> str | None:
    """Return the lines of a reply's headers and of these more; None if they are invalid or do not suit the body."""
    stated = "\n".join(("", *map(": ".join, reply.headers), ""))  # each name is behind the end of a line
    lines = stated[1:].replace("\n", "\r\n") + more.lines
    if stated.count("\n") != len(reply.headers) + 1 or "\r" in stated or "\0" in stated:
        return None
    if "\ncontent-length: " in stated:
        is_true = f"\ncontent-length: {len(reply.body)}\n" in stated and not reply.parts.times
        return lines if is_true else None
    is_free = "\ntransfer-encoding: " not in stated and ("\nconnection: " not in stated or _STAYS in stated)
    return lines + _CHUNKED if is_free else None


_CHUNKED = "transfer-encoding: chunked\r\n"
_STAYS = "\nconnection: keep-alive\n"
_IN_CHUNKS = _CHUNKED.encode()


@lru_cache(maxsize=4096)  # most headers repeat
def encode_header(header: tuple[str, str]) -> tuple[bytes, bytes]:
    """Return a header as it is sent; letters that no header can hold become `?`."""
    name, value = header
    return name.lower().encode("latin-1", "replace"), value.encode("latin-1", "replace")
