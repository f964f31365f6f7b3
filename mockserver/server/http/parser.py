"""Read requests from a connection: llhttp parses the bytes strictly, and ambiguous or oversized requests are refused.

Depends on uvicorn's internals, as all of this package does. Knows nothing of answers.
"""

import asyncio
import re
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from math import inf
from typing import Any, Protocol
from urllib.parse import unquote

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser
from msgspec import Struct
from msgspec.structs import replace
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT, FlowControl
from uvicorn.protocols.utils import get_local_addr, get_remote_addr, is_ssl

from mockserver.core.http import Fields, HeaderTable, Reply, tabulate
from mockserver.core.plan import Failure
from mockserver.core.seed import monotonic
from mockserver.delivery.connection import encode_header
from mockserver.server.access import passes_page_check
from mockserver.server.http.request_cycle import RequestCycle

MAX_TARGET = 32_768  # bytes of the target
MAX_HEAD = 65_536  # bytes in all
MAX_HEADERS = 100
MAX_FRAMING = 65_536  # bytes of a chunked body that frame it, beyond as many again as it holds
MAX_TRAILERS = 8_192  # bytes
_HANDSHAKE = b"\x16\x03"
_TLS = "This is a TLS handshake: the URL must begin with http://, not https://."

TELLING = (b"host", b"transfer-encoding", b"expect")  # the headers that `vet` looks at


def measure_head(target: bytes, headers: Iterable[tuple[bytes, bytes]]) -> int:
    return len(target) + sum([len(name) + len(value) + 4 for name, value in headers])


def check_size(target: bytes, headers: Fields, arrived: int) -> Failure | None:
    if len(target) > MAX_TARGET:
        return Failure("bad_parameter", f"The target of the request is longer than {MAX_TARGET} bytes.", status=414)
    if len(headers) > MAX_HEADERS:
        return Failure("bad_parameter", f"The request has more than {MAX_HEADERS} headers.", status=431)
    if arrived > MAX_HEAD:
        return Failure("bad_parameter", f"The head of the request is larger than {MAX_HEAD} bytes.", status=431)
    return None


def check_clear(version: str, telling: Fields) -> None:
    """Raise Failure for an ambiguous request; `telling`: those of its headers that matter here."""
    if version not in ("1.1", "1.0"):
        raise refuse_unclear("This server speaks HTTP/1.1 and 1.0.")
    hosts, codings, expected = [[value.lower() for name, value in telling if name == each] for each in TELLING]
    if len(hosts) != 1 and (hosts or version == "1.1"):
        raise refuse_unclear("More than one Host header." if hosts else "No Host header.")
    if hosts and not _HOST.fullmatch(hosts[0]):
        raise refuse_unclear("The Host header is not a valid host.")
    if codings and version == "1.0":
        raise refuse_unclear("HTTP/1.0 has no Transfer-Encoding.")
    if codings not in ([], [b"chunked"]):
        raise refuse_unclear("The only supported Transfer-Encoding is chunked.")
    if version == "1.1" and expected not in ([], [b"100-continue"]):  # 1.0 knows none (RFC 9110, 10.1.1)
        raise Failure("bad_parameter", "Only `Expect: 100-continue` is supported.", status=417)


def find_target(method: str, target: bytes, headers: list[tuple[bytes, bytes]]) -> bytes:
    """The path and query of a target; its host replaces the header (RFC 9112, 3.2.2). Raises Failure if it has none."""
    if method == "CONNECT":
        raise Failure("method_not_allowed", "This server is not a proxy: CONNECT is not supported.")
    if b"#" in target:
        raise refuse_unclear("The target of the request contains a #; clients must not send fragments.")
    if target.startswith(b"/") or (target == b"*" and method == "OPTIONS"):
        return target
    whole = _URL.fullmatch(target)
    if whole is None or not _HOST.fullmatch(whole[1]):
        raise refuse_unclear("The target of the request is neither a path nor an absolute URL.")
    headers[:] = [(name, whole[1] if name == b"host" else value) for name, value in headers]
    rest = whole[2] or b""
    return rest if rest.startswith(b"/") else b"/" + rest


def read_path(target: bytes, headers: Fields) -> str:
    whole, _, query = target.partition(b"?")
    path = unquote(_AUTHORITY.sub(b"", whole, count=1).decode("latin-1"))
    from mockserver.cassettes.redaction.shown_secrets import find_secrets  # only for the journal's rows of bad requests

    return find_secrets(tuple(headers), query).mask_text(path) if path.startswith("/") else "/"


def drop_upgrade(method: bytes, target: bytes, version: str, headers: Fields) -> bytes:
    lines = [b"%b %b HTTP/%b\r\n" % (method, target, version.encode())]
    for name, value in headers:
        if name == b"connection":
            options = [option.strip() for option in value.split(b",")]
            value = b", ".join([option for option in options if option.lower() not in _UPGRADING])
        if name not in _UPGRADING:
            lines.append(b"%b: %b\r\n" % (name, value))
    return b"".join(lines) + b"\r\n"


def refuse_unclear(why: str) -> Failure:
    return Failure("bad_parameter", why, status=400)


UPGRADE = (b"upgrade", b"websocket")
_OF_BODIES = frozenset((b"content-length", b"transfer-encoding"))
_UPGRADING = frozenset((b"upgrade", b"http2-settings"))
_AUTHORITY = re.compile(rb"^[^/]+//[^/]*")  # of a whole URL; it may hold a password
_URL = re.compile(rb"https?://([^/?]+)([/?].*)?", re.IGNORECASE)
_HOST = re.compile(rb"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~!$&'()*+;=%-]*)(?::\d{0,5})?")


Refuse = Callable[[Failure, str, str], Reply]  # the answer to a method and path that are refused


class Deadlines(Struct, frozen=True):
    """Seconds. They are absolute: bytes that trickle in do not put them off.

    `idle` is longer than clients keep unused connections (mostly 5 to 60 s), so that they close them: if the server
    does while a request is sent, that request fails. `farewell` is for clients that have stopped sending, because
    their request is complete or because they have left. `first` is longer than `head`: what a client sends while too
    many connections wait to be accepted is lost, and its system sends it again after up to half a minute.
    """

    first: float = 60.0  # for the first byte of a connection
    head: float = 10.0
    body: float = 10.0
    idle: float = 75.0
    farewell: float = 2.0
    linger: float = 5.0  # for what was written to be taken, and for the rest of a refused request to be drained
    look: float = 0.5  # between two checks
    drain: float = 0.0  # for a quiet connection when the server stops: its client may be sending a request


class Watched(Protocol):
    """A connection that has deadlines; `due`: when to look at it, in the time of its watch."""

    due: float

    def handle_deadline(self, now: float) -> None:
        """Handle a deadline: `due` has passed."""


class DeadlineWatch:
    """Checks the connections of one server, which say when they are due, by one timer; renders their refusals."""

    def __init__(self, refuse: Refuse, deadlines: Deadlines) -> None:
        self.refuse = refuse
        self.deadlines = deadlines
        self._passed = 0.0  # seconds, when last looked
        self._looked = 0.0  # the loop's time then
        self.idle_until = inf  # when a connection is due that is idle from now on, roughly
        self._inside: set[Watched] = set()
        self._timer: asyncio.TimerHandle | None = None
        self.dated: tuple[Any, bytes] = None, b""  # the headers that every answer has, and their lines

    @property
    def time(self) -> float:
        """The time that deadlines count: it stands still while the loop is behind, and what has come is not read."""
        return self._passed + min(asyncio.get_running_loop().time() - self._looked, MOST_LOOKS * self.deadlines.look)

    def enter(self, one: "Watched") -> None:
        self._inside.add(one)
        if self._timer is None:
            self._look()

    def leave(self, one: "Watched") -> None:
        self._inside.discard(one)

    def make_refusing_app(self, failure: Failure) -> ASGIApp:
        """An application that answers every request with this failure."""

        async def refuse_request(scope: Scope, _: Receive, send: Send) -> None:
            reply = self.refuse(failure, scope["method"], scope["path"])
            headers = list(map(encode_header, reply.headers))
            await send({"type": "http.response.start", "status": reply.status, "headers": headers})
            await send({"type": "http.response.body", "body": reply.body})

        return refuse_request

    def _look(self) -> None:
        loop = asyncio.get_running_loop()
        self._passed = self.time
        self._looked = loop.time()
        now = self._passed
        self.idle_until = now + self.deadlines.look + self.deadlines.idle
        for one in [one for one in self._inside if one.due <= now]:
            one.due = inf
            one.handle_deadline(now)
        self._timer = loop.call_later(self.deadlines.look, self._look) if self._inside else None


class Newcomers:
    """Has the first bytes of connections read, for a while in each turn of the loop; then others have their turn.

    If all that has come were answered in one turn, a crowd would not be accepted meanwhile, and the system drops
    connections that are too many.
    """

    def __init__(self) -> None:
        self._waiting: deque[tuple[RequestParser, bytes | memoryview]] = deque()
        self._until = 0.0  # the end of this turn

    def are_waiting(self) -> bool:
        return bool(self._waiting)

    def admit(self, one: "RequestParser", data: bytes | memoryview) -> bool:
        """Return whether this may be read now; if not, it will be, and nothing more is received until then."""
        if not self._waiting:
            now = monotonic()
            if now >= self._until + PAUSE:
                self._until = now + TURN
            if now < self._until:
                return True
            asyncio.get_running_loop().call_soon(self._turn)
        one.due = inf
        one.flow.pause_reading()
        self._waiting.append((one, data))
        return False

    def _turn(self) -> None:
        self._until = monotonic() + TURN
        try:
            while self._waiting and monotonic() < self._until:
                one, data = self._waiting.popleft()
                one.resume(data)
        finally:  # whatever failed, the others go on
            if self._waiting:
                asyncio.get_running_loop().call_soon(self._turn)


TURN = 0.02  # seconds that newcomers are answered before others have their turn
PAUSE = 1.0  # seconds after which others certainly had it
MOST_LOOKS = 2  # for how many looks at most one counts, if it comes late
DRAINED = 1 << 27  # bytes of a refused request that are read and dropped, so that its client receives the answer

BETWEEN, HEAD, BODY = range(3)  # what is being read: nothing yet, the head of a request, or its body


class RequestHead(Struct, eq=False):
    """The head of a request that is clear. Several requests may have the same, so nobody changes it."""

    method: str
    path: str
    raw_path: bytes
    query: bytes
    table: HeaderTable
    version: str
    keep_alive: bool
    expects: bool  # the client waits to be told to send the body
    is_plain: bool = False  # it asks for nothing but an answer with a body, after which the connection stays open
    passes_page_check: bool = False  # no web page of a browser can have sent it
    asks_for_socket: bool = False  # a client wants to go on over a WebSocket

    def scope(self, **more: Any) -> dict[str, Any]:
        """Return the scope that an ASGI application gets."""
        return {
            "type": "http",
            "asgi": _ASGI,
            "http_version": self.version,
            "root_path": "",
            "headers": list(self.table.headers),
            "method": self.method,
            "path": self.path,
            "raw_path": self.raw_path,
            "query_string": self.query,
            **more,
        }


class KnownHead(Struct, eq=False):
    """The head of a whole request, and its bytes without the empty line at its end.

    A client mostly sends the same head with each request of a connection, but for the length of the body. A constant
    text takes 38 us with this and 52 us without, where an answer through a task takes 74 us.
    """

    head: RequestHead
    data: bytes
    at: int  # where the length stands in the bytes
    length: int

    def read(self, data: bytes) -> tuple[RequestHead, bytes] | None:
        """Return head and body of a request that is this head, with its own length, and that body; None of any other.

        The length must be written as this server would: the parser judges all others.
        """
        head, _, body = data.partition(_END_OF_HEAD)
        if (head == self.data or self._adapt(head, len(body))) and len(body) == self.length:
            return self.head, body
        return None

    def _adapt(self, data: bytes, length: int) -> bool:
        """Become a head with this length, unless its bytes differ in more than that."""
        old = b"%d" % self.length
        new = b"%d" % length
        if data != self.data[: self.at] + new + self.data[self.at + len(old) :]:
            return False
        table = self.head.table
        headers = [*table.headers]
        headers[headers.index((_LENGTH, old))] = (_LENGTH, new)
        table = HeaderTable(headers, {**table.by_name, _LENGTH: new}, table.weight + len(new) - len(old))
        self.head = replace(self.head, table=table)
        self.data = data
        self.length = length
        return True


def remember(head: RequestHead, data: bytes, body: bytes) -> KnownHead | None:
    """Return the head of a request that has come whole in these bytes, if it states the length of its body."""
    end = len(data) - len(body) - len(_END_OF_HEAD)
    found = _LENGTH_LINE.search(data, 0, end + 2)
    if found is None or found[1] != b"%d" % len(body) or end > MAX_KNOWN or data.find(_END_OF_HEAD) != end:
        return None
    return KnownHead(head, data[:end], found.start(1), len(body))


MAX_KNOWN = 4_096  # bytes of a head that is remembered
_LENGTH = b"content-length"
_LENGTH_LINE = re.compile(rb"\r\n[Cc]ontent-[Ll]ength: ?(\d+)(?=\r\n)")
_END_OF_HEAD = b"\r\n\r\n"


class RequestParser(asyncio.Protocol):
    transport: asyncio.Transport
    flow: FlowControl
    deadline_watch: DeadlineWatch
    newcomers: Newcomers
    due = inf  # when the deadline_watch has to look
    cut = inf  # when what is being read must be whole
    stage = BETWEEN
    silent = True  # the client has not said anything yet
    deaf = False  # what comes now is dropped
    headers: list[tuple[bytes, bytes]]
    head: RequestHead | None = None  # of the request that has just come, until it is answered
    known: KnownHead | None = None  # of the latest request, if nothing has come since
    cycle: RequestCycle = None  # type: ignore[assignment]  # that began last
    successor: asyncio.Protocol | None = None  # of the connection, once it is a WebSocket
    _addresses: Mapping[str, Any] | None = None
    _fed = 0  # bytes since the head began, less twice what of a body they held
    _dropped = 0
    _is_whole = False  # so has all of its body, of which `_pieces` is what has come
    _begun = 0  # requests that have begun in what has just come
    _asks_for_socket = False  # the head that is read again did so
    _vetted: list[tuple[bytes, bytes]] | None = None  # what was found clear the last time

    def __init__(self, config: Any, server_state: Any, app_state: Any, _loop: Any = None) -> None:
        self.config = config
        self.app = config.loaded_app
        self.loop = _loop or asyncio.get_running_loop()
        self.app_state = app_state
        self.server_state = server_state
        self.connections = server_state.connections
        self.tasks = server_state.tasks
        self.parser = HttpRequestParser(self)
        self._pieces: list[bytes] = []
        self.pipeline: deque[tuple[RequestCycle, ASGIApp]] = deque()

    @property
    def addresses(self) -> Mapping[str, Any]:
        """The addresses of both ends, and the scheme, as ASGI has them."""
        if self._addresses is None:  # a lazy_property needs vars(self), which makes all attributes slower
            ours = get_local_addr(self.transport)
            theirs = get_remote_addr(self.transport)
            scheme = "https" if is_ssl(self.transport) else "http"
            self._addresses = {"server": ours, "client": theirs, "scheme": scheme}
        return self._addresses

    def answer(self, head: RequestHead, body: bytes, *, whole: bool) -> None:
        """Answer a request after those before it; the rest of its body goes to `cycle`, unless it is whole."""
        raise NotImplementedError

    def refuse(self, failure: Failure) -> None:
        """Answer the earlier requests, then refuse this one and ignore what follows."""
        raise NotImplementedError

    def handle_deadline(self, now: float) -> None:
        """Handle a deadline: `due` has passed."""
        raise NotImplementedError

    @property
    def time_limit(self) -> float:
        limits = self.deadline_watch.deadlines
        return self.deadline_watch.time + (limits.head if self.stage == HEAD else limits.body)

    def data_received(self, data: bytes | memoryview) -> None:
        if self.deaf:
            self._dropped += len(data)
            if self._dropped > DRAINED:
                self.transport.abort()
            return
        if self.silent:
            self.silent = False
            if not self.newcomers.admit(self, data):
                return
        known = self.known
        if known is not None and type(data) is bytes and (found := known.read(data)) is not None:
            self.answer(*found, whole=True)
            return
        is_start = self.stage == BETWEEN and not self._fed
        self._fed += len(data)
        self._begun = 0
        self.known = None
        try:
            while (rest := self._parse(data)) is not None:
                data = rest
                if self.head is not None and self.head.asks_for_socket:
                    self._take_head()
                if self.successor is not None:  # which reads all that follows
                    if rest:
                        self.successor.data_received(bytes(rest))
                    return
        except HttpParserError as error:
            self._take_head()
            self.refuse(refuse_unclear(_TLS) if bytes(data[:2]) == _HANDSHAKE else self._explain(error))
        else:
            head = self.head
            if head is not None and head.is_plain and self._is_whole and is_start and self._begun == 1:
                self.known = remember(head, bytes(data), self._body)
            self._take_head()
            if self.stage != BETWEEN:
                self._wait_for_rest()

    def resume(self, data: bytes | memoryview) -> None:
        """Go on with bytes that had to wait."""
        if not self.deaf:
            self.due = self.deadline_watch.time + self.deadline_watch.deadlines.first
            self.flow.resume_reading()
            self.data_received(data)

    def _take_head(self) -> None:
        head = self.head
        self.head = None
        if head is not None:
            self.answer(head, self._body, whole=self._is_whole)

    @property
    def _body(self) -> bytes:
        """What has come of the body of the request that has just come."""
        return self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)

    def _parse(self, data: bytes | memoryview) -> memoryview | None:
        """Let llhttp parse; where it stops as the client would change protocols, go on as if it would not."""
        try:
            self.parser.feed_data(data)
        except HttpParserUpgrade as upgrade:
            version = self.parser.get_http_version()
            method = self.parser.get_method()
            head = drop_upgrade(method, self.url, version, self.headers)
            self._asks_for_socket = method == b"GET" and any(
                name == UPGRADE[0] and UPGRADE[1] in value.lower() for name, value in self.headers
            )
            self.parser = HttpRequestParser(self)
            rest = memoryview(data)[upgrade.args[0] :]
            self.parser.feed_data(head)
            self._fed = len(rest)
            return rest
        return None

    def _explain(self, error: HttpParserError) -> Failure:
        reason = error.__context__
        if reason is not None and not isinstance(reason, Failure):
            raise error
        if reason is None and self.stage == HEAD:
            reason = check_size(self.url, self.headers, measure_head(self.url, self.headers))
        return reason or refuse_unclear(f"This is not valid HTTP: {error}.")

    def _wait_for_rest(self) -> None:
        if first := self.cut == inf:
            self.cut = self.time_limit
            self.due = min(self.due, self.cut)
        if self.stage == HEAD:
            failure = check_size(self.url, self.headers, self._fed)
        else:
            if first:
                self._fed -= measure_head(self.url, self.cycle.scope["headers"])
            failure = refuse_unclear("The body has too much chunked framing.") if self._fed > MAX_FRAMING else None
        if failure is not None:
            self.refuse(failure)

    def on_message_begin(self) -> None:
        self._take_head()  # another request follows in the same bytes
        self._begun += 1
        self.stage = HEAD
        self.cut = inf
        self.url = b""
        self.headers = []
        self._telling: list[tuple[bytes, bytes]] = []

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header of the head; or a trailer, that nobody will read."""
        name = name.lower()
        if name in TELLING:
            self._telling.append((name, value))
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        """The head of a request is there: have it answered, if it is clear. Raises Failure if not."""
        parser = self.parser
        headers = self.headers
        target = self.url
        telling = self._telling
        arrived = measure_head(target, headers) if self._fed > MAX_HEAD else 0
        if failure := check_size(target, headers, arrived):
            raise failure
        method = parser.get_method().decode()
        version = parser.get_http_version()
        if telling != self._vetted or version != "1.1":
            check_clear(version, telling)
            self._vetted = telling if version == "1.1" else None
        if target[0] != _SLASH or b"#" in target:
            target = find_target(method, target, headers)
        if parser.should_upgrade():
            find_target(method, target, headers)  # refuses to CONNECT to paths, too
            return  # soon all of it is read again
        raw_path, _, query = target.partition(b"?")
        path = raw_path.decode()
        is_latest = version == "1.1"
        asks_for_socket = self._asks_for_socket
        self._asks_for_socket = False
        if asks_for_socket:
            headers.append(UPGRADE)
        keep_alive = parser.should_keep_alive()
        expects = len(telling) > 1 and is_latest and any(name == b"expect" for name, _ in telling)
        self.stage = BODY
        self.cut = inf
        self.headers = []
        self._pieces = []
        self._is_whole = False
        table = tabulate(headers)
        self.head = RequestHead(
            method=method,
            path=unquote(path) if "%" in path else path,
            raw_path=raw_path,
            query=query,
            table=table,
            version=version,
            keep_alive=keep_alive,
            expects=expects,
            is_plain=is_latest and keep_alive and not expects and method not in _BODILESS,
            passes_page_check=passes_page_check(method, table.by_name),
            asks_for_socket=asks_for_socket and is_latest and _OF_BODIES.isdisjoint(table.by_name),
        )

    def on_body(self, body: bytes) -> None:
        self._fed -= 2 * len(body)
        head = self.head
        cycle = self.cycle
        if head is not None:
            self._pieces.append(body)
        elif cycle is not None and not cycle.response_complete:
            cycle.body += body
            if len(cycle.body) > HIGH_WATER_LIMIT:
                self.flow.pause_reading()
            cycle.message_event.set()

    def on_message_complete(self) -> None:
        """All of a request has come; or its head, if llhttp stops there as it would change protocols."""
        head = self.head
        cycle = self.cycle
        if self.stage != BODY or (head is None and cycle is None):
            return
        if self.headers and measure_head(b"", self.headers) > MAX_TRAILERS:
            raise refuse_unclear("The trailers are too large.")
        self.stage = BETWEEN
        self._fed = 0
        self.cut = inf
        if head is not None:
            self._is_whole = True
        else:
            cycle.more_body = False
            cycle.message_event.set()


_ASGI: Any = {"version": "3.0", "spec_version": "2.3"}
_SLASH = ord("/")
_BODILESS = ("HEAD", "OPTIONS")
