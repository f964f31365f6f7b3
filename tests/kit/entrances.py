"""One server with three ways in: a connection, an ASGI application, and the transport without a socket."""

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol, Self

import httpx
import pytest
from msgspec import Struct
from starlette.types import Message, Receive, Scope, Send

from mockserver.core.row import Row
from mockserver.server.access import add_cors
from mockserver.server.app import Site
from mockserver.server.asgi_entrance import answer
from mockserver.server.compose import start
from mockserver.server.directory import Destination
from mockserver.server.live import Live
from mockserver.server.reload import reload
from mockserver.server.run import Running
from mockserver.server.sources import Sources
from mockserver.testing.clock import Clock
from mockserver.testing.transport import Transport
from tests.kit.asgi import make_scope_of
from tests.kit.raw import Raw

FRAMING = ("date", "connection", "transfer-encoding")  # headers that are the connection's


class Request(Struct, frozen=True):
    """A request as each entrance is sent it: also its Host and the length of its body."""

    path: str
    body: bytes = b""
    headers: Mapping[str, str] = {}
    method: str = "POST"

    @property
    def fields(self) -> dict[str, str]:
        host = {} if any(name.lower() == "host" for name in self.headers) else {"host": "localhost"}
        length = {"content-length": str(len(self.body))} if self.body or self.method == "POST" else {}
        return {**host, **self.headers, **length}


class Heard(Struct, frozen=True):
    """What a client hears of an answer, and what the journal tells of it."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    row: tuple[object, ...]


class Entrance(Protocol):
    live: Live

    def ask(self, request: Request) -> Heard:
        """Send a request, and return what is heard of it."""


class Direct:
    """A connection to a running server that stays open. `by_asgi`: the paths that its protocol left to ASGI."""

    def __init__(self, live: Live, stack: ExitStack) -> None:
        self.live, self.by_asgi = live, list[str]()
        self._running = stack.enter_context(Running(live))
        self._stack = stack
        self._line: Raw | None = None
        stack.enter_context(pytest.MonkeyPatch.context()).setattr("mockserver.server.app.answer", self._watched())

    @property
    def port(self) -> int:
        return int(self._running.address.rpartition(":")[2])

    def reload(self, rules: str) -> None:
        """Have the server read its rules file again, which now says this."""
        self.live.sources.files[0].write_text(rules)
        self._running.wait_for(reload(self.live, self.live.sources))

    def stop(self) -> None:
        """Stop the server."""
        self._running.stop()

    def ask(self, request: Request) -> Heard:
        line, self._line = self._line or self._stack.enter_context(Raw(self.port)), None
        lines = [f"{name}: {value}\r\n" for name, value in request.fields.items()]
        head = f"{request.method} {request.path} HTTP/1.1\r\n{''.join(lines)}\r\n"
        found = line.send(head.encode("latin-1") + request.body).receive(to=request.method)
        if found.headers.get("connection") != "close":
            self._line = line
        return _make_heard(self.live, found.status, found.headers.items(), found.body)

    def _watched(self) -> Any:
        async def watched(found: Destination, scope: Scope, receive: Receive, send: Send) -> None:
            if found.responder.live is self.live:
                self.by_asgi.append(found.path)
            await answer(found, scope, receive, send)

        return watched


class ByAsgi:
    """The application as any ASGI server calls it."""

    def __init__(self, live: Live) -> None:
        self.live, self._app = live, add_cors(Site(live), live.settings.cors)

    def ask(self, request: Request) -> Heard:
        return asyncio.run(self._ask(request))

    async def _ask(self, request: Request) -> Heard:
        incoming: list[Message] = [{"type": "http.request", "body": request.body}]
        outgoing: list[Message] = []

        async def receive() -> Message:
            return incoming.pop() if incoming else await asyncio.Future()

        async def send(message: Message) -> None:
            outgoing.append(message)

        await self._app(make_scope_of(request.path, request.fields, request.method), receive, send)
        head, *pieces = outgoing
        fields = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in head["headers"]]
        body = b"" if request.method == "HEAD" else b"".join([piece.get("body", b"") for piece in pieces])
        return _make_heard(self.live, head["status"], fields, body)


class InProcess:
    """The transport of a client in this process."""

    def __init__(self, live: Live) -> None:
        clock = Clock()
        live.now = clock.now
        self.live, self._transport = live, Transport(Site(live), clock, lambda: pytest.fail("no handshake is sent"))

    def ask(self, request: Request) -> Heard:
        url = httpx.URL(scheme="http", host="localhost", raw_path=request.path.encode("latin-1"))
        headers = [(name.encode(), value.encode("latin-1")) for name, value in request.fields.items()]
        response = self._transport.handle_request(
            httpx.Request(request.method, url, headers=headers, content=request.body)
        )
        return _make_heard(self.live, response.status_code, response.headers.multi_items(), b"".join(response.stream))


class Entrances:
    """The same server behind each entrance; each has a memory of its own, so that what one is asked no other knows."""

    def __init__(self, stack: ExitStack, rules: str = "", **settings: Any) -> None:
        self._file = Path(stack.enter_context(TemporaryDirectory())) / "rules.yaml"
        lives = [self._started(rules, settings) for _ in range(3)]
        self.direct = Direct(lives[0], stack)
        self.all: tuple[Entrance, ...] = (self.direct, ByAsgi(lives[1]), InProcess(lives[2]))

    def load(self, rules: str, **settings: Any) -> Self:
        """Start over with other rules and settings."""
        for entrance in self.all:
            live = self._started(rules, settings)
            entrance.live.renew(live.settings, live.engine, live.journal)
        return self

    def ask(self, request: Request) -> Heard:
        """Return what is heard of a request at all three entrances. Raises AssertionError if that differs."""
        direct, by_asgi, in_process = [entrance.ask(request) for entrance in self.all]
        asked = f"{request.method} {request.path} with {request.body[:1000]!r}"
        assert direct == by_asgi, f"the connection differs from ASGI on {asked}"
        assert direct == in_process, f"the connection differs from the transport on {asked}"
        return direct

    def _started(self, rules: str, settings: Mapping[str, Any]) -> Live:
        self._file.write_text(rules)
        return start(Sources((self._file,), {"port": 0, **settings}, {}))


def _make_heard(live: Live, status: int, headers: Iterable[tuple[str, str]], body: bytes) -> Heard:
    fields = tuple((name.lower(), value) for name, value in headers if name.lower() not in FRAMING)
    row = live.journal.find(live.journal.last)
    return Heard(status, fields, body, () if row is None else _describe_row(row))  # a look at the root is not a call


def _describe_row(row: Row) -> tuple[object, ...]:
    said = (row.method, row.path, row.query, row.dialect, row.namespace, row.body, row.operation, row.model)
    return (row.seq, *said, row.source, row.status, row.usage, row.reply_headers, row.faults, row.remarks)
