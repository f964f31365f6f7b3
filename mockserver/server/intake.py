"""Takes requests off a connection: llhttp reads the bytes, strictly; what it lets pass is vetted and limited here.

It leans on uvicorn's insides, as `door.py` and `turn.py` do. It knows nothing of answers.
"""

from math import inf
from typing import Any
from urllib.parse import unquote

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from mockserver.core.plan import Failure
from mockserver.server import framing
from mockserver.server.framing import MAX_FRAMING, MAX_HEAD, MAX_TRAILERS, TELLING
from mockserver.server.porter import Porter
from mockserver.server.turn import Turn

DRAINED = 1 << 27  # bytes of a refused request that are read and dropped, so that its client hears why

BETWEEN, HEAD, BODY = range(3)  # what is being read: nothing, as no request has begun; the head of one; its body


class Intake(HttpToolsProtocol):
    """The reading side of a connection."""

    porter: Porter
    due = inf  # when the porter has to look
    cut = inf  # when what is being read must be whole
    stage = BETWEEN
    silent = True  # the client has not said anything yet
    deaf = False  # what comes now is dropped
    lent: dict[str, Any]  # the extensions of every request's scope
    cycle: Turn  # that began last; None before the first
    _fed = 0  # bytes since the head began, less twice what of a body they held
    _dropped = 0
    _vetted: list[tuple[bytes, bytes]] | None = None  # what was found clear the last time

    def take(self, scope: Any, *, keep_alive: bool) -> None:
        """Have a request answered once those before it are; its body will go to `cycle`."""
        raise NotImplementedError

    def refuse(self, failure: Failure) -> None:
        """Answer what came before, and that this is none. Nothing that follows is read as a request."""
        raise NotImplementedError

    @property
    def time_limit(self) -> float:
        """When what is being read must be whole, if it began just now."""
        limits = self.porter.deadlines
        return self.loop.time() + (limits.head if self.stage == HEAD else limits.body)

    def data_received(self, data: bytes | memoryview) -> None:
        """Bytes have come."""
        if self.deaf:
            self._dropped += len(data)
            if self._dropped > DRAINED:
                self.transport.abort()
            return
        self.silent = False
        self._fed += len(data)
        try:
            while (rest := self._parsed(data)) is not None:
                data = rest
        except HttpParserError as error:
            self.refuse(self._why(error))
        else:
            if self.stage != BETWEEN:
                self._unfinished()

    def _parsed(self, data: bytes | memoryview) -> memoryview | None:
        """Let llhttp parse; where it stops as the client would change protocols, go on as if it would not."""
        try:
            self.parser.feed_data(data)
        except HttpParserUpgrade as upgrade:
            version = self.parser.get_http_version()
            head = framing.without_upgrade(self.parser.get_method(), self.url, version, self.headers)
            self.parser, rest = HttpRequestParser(self), memoryview(data)[upgrade.args[0] :]
            self.parser.feed_data(head)
            self._fed = len(rest)
            return rest
        return None

    def _why(self, error: HttpParserError) -> Failure:
        reason = error.__context__
        if reason is not None and not isinstance(reason, Failure):
            raise error
        if reason is None and self.stage == HEAD:
            reason = framing.oversized(self.url, self.headers, framing.size(self.url, self.headers))
        return reason or framing.unclear(f"This is not HTTP: {error}.")

    def _unfinished(self) -> None:
        """A head or a body is on its way: not for ever, and not without end."""
        if first := self.cut == inf:
            self.cut = self.time_limit
            self.due = min(self.due, self.cut)
        if self.stage == HEAD:
            failure = framing.oversized(self.url, self.headers, self._fed)
        else:
            if first:
                self._fed -= framing.size(self.url, self.cycle.scope["headers"])
            failure = framing.unclear("The body is framed at too great length.") if self._fed > MAX_FRAMING else None
        if failure is not None:
            self.refuse(failure)

    def on_message_begin(self) -> None:
        """A request begins."""
        self.stage, self.cut = HEAD, inf
        self.url, self.headers = b"", []
        self._telling = list[tuple[bytes, bytes]]()

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header of the head; or a trailer, that nobody will read."""
        name = name.lower()
        if name in TELLING:
            self._telling.append((name, value))
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        """The head of a request is there: have it answered, if it is clear. Raises Failure if not."""
        parser, headers, target, telling = self.parser, self.headers, self.url, self._telling
        arrived = framing.size(target, headers) if self._fed > MAX_HEAD else 0
        if failure := framing.oversized(target, headers, arrived):
            raise failure
        method, version = parser.get_method().decode(), parser.get_http_version()
        if telling != self._vetted or version != "1.1":
            framing.vet(version, telling)
            self._vetted = telling if version == "1.1" else None
        if target[0] != _SLASH or b"#" in target:
            target = framing.origin(method, target, headers)
        if parser.should_upgrade():
            return  # soon all of it is read again
        raw_path, _, query = target.partition(b"?")
        path = raw_path.decode()
        self.stage, self.cut, self.headers = BODY, inf, []
        self.expect_100_continue = len(telling) > 1 and version == "1.1" and any(n == b"expect" for n, _ in telling)
        scope = {
            "type": "http",
            "asgi": _ASGI,
            "http_version": version,
            "server": self.server,
            "client": self.client,
            "scheme": self.scheme,
            "root_path": "",
            "headers": headers,
            "state": self.app_state.copy(),
            "method": method,
            "path": unquote(path) if "%" in path else path,
            "raw_path": raw_path,
            "query_string": query,
            "extensions": self.lent,
        }
        self.take(scope, keep_alive=parser.should_keep_alive())

    def on_body(self, body: bytes) -> None:
        """A piece of a body."""
        self._fed -= 2 * len(body)
        turn = self.cycle
        if turn is not None and not turn.response_complete:
            turn.body += body
            if len(turn.body) > HIGH_WATER_LIMIT:
                self.flow.pause_reading()
            turn.message_event.set()

    def on_message_complete(self) -> None:
        """All of a request has come; or its head, if llhttp stops there as it would change protocols."""
        turn = self.cycle
        if self.stage == BODY and turn is not None:
            if self.headers and framing.size(b"", self.headers) > MAX_TRAILERS:
                raise framing.unclear("The trailers are too large.")
            self.stage, self._fed = BETWEEN, 0
            turn.more_body = False
            turn.message_event.set()


_ASGI: Any = {"version": "3.0", "spec_version": "2.3"}
_SLASH = ord("/")
