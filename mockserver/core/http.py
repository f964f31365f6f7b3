"""Requests, replies and stream frames, and how to parse hosts and origins."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any, Literal, final
from urllib.parse import quote

from msgspec import Struct

from mockserver.core.lazy import lazy_property
from mockserver.core.text import make_reprs

CONTROL = "/__mockserver__"  # the prefix of the control paths, which no rule can answer
# Headers that concern one connection only, and stay behind where a message goes on, or is kept.
HOP_BY_HOP = frozenset(
    ("connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade")
)
_ADDRESS = IPv4Address | IPv6Address
_HOST = re.compile(r"(\[[0-9a-f:.]{2,64}\]|[a-z0-9._-]{1,253})(?::[0-9]{0,5})?")
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]{0,30}://(\[[0-9a-f:.]{2,64}\]|[a-z0-9._-]{1,253})(?::[0-9]{1,5})?")
_STANDARD = re.compile(r"(?<=^http:)(//.*):80$|(?<=^https:)(//.*):443$")


def host_of(authority: str) -> str | None:
    """The name or address of `host`, `host:port` or `[address]:port`, in lower case without brackets; None: neither."""
    found = _HOST.fullmatch(authority.lower())
    return found[1].strip("[]").removesuffix(".") or None if found else None


def essence(media: str) -> str:
    """A media type without its parameters, in lower case: `application/json`."""
    return media.partition(";")[0].strip().lower()


def is_stream_type(media: str) -> bool:
    """Return whether a content type is that of a stream: of server-sent events, lines of JSON, or Amazon's messages."""
    return any(part in media for part in ("event-stream", "ndjson", "stream+json", "amazon.eventstream"))


def is_address(host: str) -> bool:
    return _parse_address(host) is not None


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a host: localhost, 127.0.0.0/8, ::1."""
    address = _parse_address(host)
    return host.lower() == "localhost" if address is None else address.is_loopback


def is_everywhere(host: str) -> bool:
    """Whether listening on this host means listening on every address of the machine."""
    address = _parse_address(host)
    return address is not None and address.is_unspecified


def matches(host: str, pattern: str) -> bool:
    pattern = pattern.lower()
    return pattern in ("*", host) or (pattern.startswith("*.") and host.endswith(pattern[1:]))


def origin(text: str) -> str | None:
    """Return an origin in lower case, without a default port; None if the text is no origin, or has more."""
    text = text.lower()
    return _STANDARD.sub(r"\1\2", text) if _ORIGIN.fullmatch(text) else None


def _parse_address(host: str) -> _ADDRESS | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


_HTTPS = re.compile(r"https\s*(,|$)", re.IGNORECASE)  # each proxy adds its own
WITHOUT_BODY = (204, 304)  # statuses
Headers = tuple[tuple[str, str], ...]


Fields = Sequence[tuple[bytes, bytes]]  # the headers of a request, in order


class HeaderTable(Struct, frozen=True):
    """The headers of a request, in order and by name: the first value of each. `weight` is the bytes of all values."""

    headers: Fields
    by_name: Mapping[bytes, bytes]
    weight: int


def tabulate(headers: Fields) -> HeaderTable:
    return HeaderTable(headers, find_first_values(headers), weigh(headers))


def find_first_values(headers: Fields) -> Mapping[bytes, bytes]:
    return dict(reversed(headers))


def weigh(headers: Fields) -> int:
    """Return how many bytes the values of headers have."""
    return sum([len(value) for _, value in headers])


@final
class HeaderLines(Struct, frozen=True, eq=False, gc=False):
    """The headers of a reply that a dialect makes, as the lines in which they are sent; names are lower-case.

    They are fit to be sent as they are, each is there once, and the type is none that a browser runs. `sized`: they
    state the length of the body. Whoever looks at them sees pairs, as in `Headers`.
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


class SocketAnswers:
    """The last answers on one WebSocket, by their ids: its client may go on from them, even if nothing is stored."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[str, Any]] = {}  # with the lane of each
        self._sizes: dict[str, int] = {}

    def keep(self, name: str, lane: str, answer: Any, *, size: int) -> None:
        """Keep an answer of about so many bytes; of too many, or too large ones, the oldest are forgotten."""
        self._kept[name] = (lane, answer)
        self._sizes[name] = size
        while len(self._kept) > MOST_SOCKET_ANSWERS or (
            len(self._kept) > 1 and sum(self._sizes.values()) > MOST_SOCKET_BYTES
        ):
            oldest = next(iter(self._kept))
            del self._kept[oldest], self._sizes[oldest]

    def get(self, name: str) -> Any:
        """Return an answer, or None."""
        return self._kept.get(name, ("", None))[1]

    def find_last(self, lane: str) -> str | None:
        """Return the id of the last answer of a lane."""
        return next((name for name, (kept, _) in reversed(self._kept.items()) if kept == lane), None)

    def forget(self, name: str, lane: str) -> None:
        """Forget an answer, if it is of this lane."""
        if self._kept.get(name, (None,))[0] == lane:
            del self._kept[name], self._sizes[name]


MOST_SOCKET_ANSWERS = 256
MOST_SOCKET_BYTES = 16_000_000


class SocketTurn(Struct, frozen=True, eq=False):
    """What a request on a WebSocket says beside its body: its lane, and whether anything is to be written for it.

    `write_frame` returns the request as the provider knows it, over `upstream`, the WebSocket behind this one.
    """

    answers: SocketAnswers
    lane: str = ""
    writes: bool = True
    write_frame: Callable[[], bytes] = bytes
    upstream: Any = None  # an UpstreamSocket


class HttpRequest(Struct, frozen=True, dict=True):
    """A frozen snapshot of one request; parsing it needs no server.

    `path` is decoded and relative to the dialect's mount; header names are lower-case bytes, as ASGI gives them.
    """

    method: str
    path: str
    query: Mapping[str, str] = {}
    headers: Fields = ()
    body: bytes = b""
    namespace: str = "default"
    path_params: Mapping[str, str] = {}
    turn: SocketTurn | None = None  # on a WebSocket
    form: Any = None  # `FormReader` in dialects/_forms: what has read the body, if it is too large to be kept in `body`

    __repr__, __rich_repr__ = make_reprs("headers")

    @property
    def server_url(self) -> str:
        """Where the client reached this server, with the namespace: `http://localhost:8080/ns/a`."""
        scheme = "https" if _HTTPS.match(self.header("x-forwarded-proto") or "") else "http"
        return f"{scheme}://{self.header('host') or 'localhost'}{self.prefix}"

    @property
    def prefix(self) -> str:
        """What stands before `path` in the URL: nothing, or `/ns/a`."""
        return "" if self.namespace == "default" else f"/ns/{quote(self.namespace)}"

    @lazy_property
    def fields(self) -> Mapping[bytes, bytes]:
        """The first value of each header, by its lower-case name."""
        return find_first_values(self.headers)

    def header(self, name: str) -> str | None:
        """The first value of a header (any case), or None."""
        value = self.fields.get(name.lower().encode("latin-1"))
        return None if value is None else value.decode("latin-1")


Framing = Literal["lf", "crlf", "message", "chunk", "bare"]


@final
class Frame(Struct, frozen=True):
    """One event of a stream: JSON bytes, its weight in tokens, and which part of the answer it carries.

    `framing` says what goes around the data: an SSE event that ends with LF or CRLF, a message of Amazon's event
    streams (`chunk`: within its payload, in base64), or nothing.
    """

    data: bytes
    event: str | None = None
    tokens: int = 0
    part: str = "text"  # open | text | arguments | finish | usage | end
    framing: Framing = "lf"
    id: str | None = None  # of an SSE event, by which clients take the stream up again


@final
class FrameRun(Struct, frozen=True):
    """Frames that are alike but for a piece of their data, which stands `before`, the pieces, and `after`.

    `tokens` are those of each frame.
    """

    before: bytes
    pieces: Sequence[bytes]
    after: bytes
    tokens: Sequence[int]
    event: str | None = None
    part: str = "text"
    framing: Framing = "lf"

    def __iter__(self) -> Iterator[Frame]:
        for piece, tokens in zip(self.pieces, self.tokens, strict=True):
            yield Frame(self.before + piece + self.after, self.event, tokens, self.part, self.framing)


class Frames:
    """The frames of a stream, one by one, or those that are alike as one."""

    __slots__ = ("_runs",)

    def __init__(self, runs: Sequence[Frame | FrameRun]) -> None:
        self._runs = runs

    @property
    def runs(self) -> Sequence[Frame | FrameRun]:
        """Return the frames, those that are alike as one."""
        return self._runs

    def __iter__(self) -> Iterator[Frame]:
        for each in self.runs:
            if isinstance(each, FrameRun):
                yield from each
            else:
                yield each

    def join(self, write: Callable[[Frame | FrameRun], bytes]) -> bytes:
        """Return the bytes of all frames; `write` returns those of each."""
        return b"".join(map(write, self.runs))


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
    beats: tuple[float, ...] = ()  # seconds since the start at which each frame leaves, or the body, if it was recorded
    parts: Parts = Parts()  # of a paced stream
    script: Iterator[Frame | float] | None = None  # of a stream of what happens: its frames, and seconds to wait
