"""Requests and replies, and their headers."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, final
from urllib.parse import quote

from msgspec import Struct

from mockserver.core.frames import Frame
from mockserver.core.lazy import lazy_property
from mockserver.core.socket_turn import SocketTurn
from mockserver.core.text import make_reprs, show_value

CONTROL = "/__mockserver__"  # the prefix of the control paths, which no rule can answer
# Headers that concern one connection only, and stay behind where a message goes on, or is kept.
HOP_BY_HOP = frozenset(
    ("connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade")
)
HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, 5.1
_HTTPS = re.compile(r"https\s*(,|$)", re.IGNORECASE)  # each proxy adds its own


def explain_header_name(name: str) -> str | None:
    """Return why a header cannot have this name; None if it can."""
    if HEADER_NAME.fullmatch(name):
        return None
    return f"{show_value(name)} is not a valid header name: use only letters, digits and !#$%&'*+.^_`|~-"


def read_media_type(media: str) -> str:
    """Return a media type without its parameters, in lower case: `application/json`."""
    return media.partition(";")[0].strip().lower()


def is_stream_type(media: str) -> bool:
    """Return whether a content type is that of a stream: of server-sent events, lines of JSON, or Amazon's messages."""
    return any(part in media for part in ("event-stream", "ndjson", "stream+json", "amazon.eventstream"))


WITHOUT_BODY = (204, 304)  # statuses
Headers = tuple[tuple[str, str], ...]


RawHeaders = Sequence[tuple[bytes, bytes]]  # the headers of a request, in order


class HeaderTable(Struct, frozen=True):
    """The headers of a request, in order and by name: the first value of each. `weight` is the bytes of all values."""

    headers: RawHeaders
    by_name: Mapping[bytes, bytes]
    weight: int


def tabulate(headers: RawHeaders) -> HeaderTable:
    """Return the headers of a request with what is looked up in them."""
    return HeaderTable(headers, find_first_values(headers), weigh(headers))


def find_first_values(headers: RawHeaders) -> Mapping[bytes, bytes]:
    """Return the first value of each header, by its name."""
    return dict(reversed(headers))


def weigh(headers: RawHeaders) -> int:
    """Return how many bytes the values of headers have."""
    return sum([len(value) for _, value in headers])


@final
class HeaderLines(Struct, frozen=True, eq=False, gc=False):
    """The headers of a reply that a dialect makes, as the lines in which they are sent; names are lower-case.

    They are fit to be sent as they are, each is there once, and a browser does not run the type. `sized`: they
    state the length of the body, which the status allows. Whoever looks at them sees pairs, as in `Headers`.
    """

    lines: str = ""
    sized: bool = False

    def __iter__(self) -> Iterator[tuple[str, str]]:
        for line in self.lines.split("\r\n")[:-1]:
            name, _, value = line.partition(": ")
            yield name, value

    def __len__(self) -> int:
        return self.lines.count("\r\n")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HeaderLines | tuple) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))


def write_lines(headers: Iterable[tuple[str, str]]) -> str:
    """Return headers as the lines in which they are sent."""
    return "".join([f"{name}: {value}\r\n" for name, value in headers])


class HttpRequest(Struct, frozen=True, dict=True):
    """A frozen snapshot of one request; parsing it needs no server.

    `path` is decoded and relative to the dialect's mount; header names are lower-case bytes, as ASGI gives them.
    """

    method: str
    path: str
    query: Mapping[str, str] = {}
    headers: RawHeaders = ()
    body: bytes = b""
    namespace: str = "default"
    path_params: Mapping[str, str] = {}
    turn: SocketTurn | None = None  # on a WebSocket
    form: Any = None  # `FormReader` in dialects/_forms: what has read the body, if it is too large to be kept in `body`

    __repr__, __rich_repr__ = make_reprs("headers")

    @property
    def server_url(self) -> str:
        """Where the client reached this server, with the namespace: `http://localhost:8080/ns/a`."""
        scheme = "https" if _HTTPS.match(self.find_header("x-forwarded-proto") or "") else "http"
        return f"{scheme}://{self.find_header('host') or 'localhost'}{self.prefix}"

    @property
    def prefix(self) -> str:
        """What stands before `path` in the URL: nothing, or `/ns/a`."""
        return "" if self.namespace == "default" else f"/ns/{quote(self.namespace)}"

    @lazy_property
    def header_values(self) -> Mapping[bytes, bytes]:
        """The first value of each header, by its lower-case name."""
        return find_first_values(self.headers)

    def find_header(self, name: str) -> str | None:
        """Return the first value of a header, or None; `name` is one that a header can have, in any case."""
        value = self.header_values.get(name.lower().encode("latin-1"))
        return None if value is None else value.decode("latin-1")


class Parts(Struct, frozen=True, gc=False):
    """When the parts of a body leave, in seconds since the start; where they end; the first lines of their chunks."""

    times: tuple[float, ...] = ()
    ends: tuple[int, ...] = ()
    openings: tuple[bytes, ...] = ()


class Reply(Struct, frozen=True, gc=False):
    """What a dialect puts on the wire: a body, or frames when it streams; bytes among them go out as they are.

    The names of `headers` are lower-case.
    """

    status: int
    headers: Headers | HeaderLines
    body: bytes = b""
    frames: Iterable[Frame | bytes] | None = None
    pieces: Iterable[bytes] | None = None  # of a large body, made as they are sent, once; `body` is empty then
    tokens: int = 0  # weight of a plain body, so that it can wait as long as its stream would
    # Seconds since the start at which each frame leaves; of a plain body, one: recorded replies and MCP's notices.
    frame_times: tuple[float, ...] = ()
    parts: Parts = Parts()  # of a paced stream
    script: Iterator[Frame | float] | None = None  # of a stream of what happens: its frames, and seconds to wait
