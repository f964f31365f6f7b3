"""The transport: answers the requests of httpx and httpx2 without a connection.

From `client.chat.completions.create(...)` to its answer:

1. The client calls `handle_request`; on asyncio or trio, `handle_async_request`. The two differ only in their driver
   (`drivers.py`): one does at once all that the application waits for, so that nothing is ever suspended, and
   `run_at_once` needs no event loop; the other awaits it in the client's loop.
2. `_answer` calls the application, the same `Site` as behind a socket. `InProcessRequest` has its coroutine.
3. `InProcessResponse.receive_head` runs this as far as the head: of what an answer does (`server/deliver.py`),
   `InProcessRequest.perform` hands over one action each time.
4. The client gets a response of its library, with a `ResponseBody` that runs the application on for each piece.
5. A wait skips time on the server's clock. One that is longer than the client's read timeout raises the ReadTimeout of
   its library. Closing the response tells the application that its client left.
"""

import sys
from collections.abc import AsyncIterator, Callable, Iterator
from email.utils import formatdate
from functools import cache, lru_cache
from threading import RLock
from types import ModuleType
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote, unquote
from weakref import WeakSet

from starlette.types import Scope

from mockserver.cassettes.addresses import find_dialect, find_local_target
from mockserver.core.eager import run_at_once
from mockserver.core.origins import is_loopback
from mockserver.core.seed import wall
from mockserver.server.handshakes import asks_for_socket
from mockserver.server.routes import make_dialect_routes
from mockserver.testing.clock import Clock
from mockserver.testing.drivers import Driver, ImmediateDriver, make_loop_driver
from mockserver.testing.in_process import InProcessRequest, InProcessResponse

if TYPE_CHECKING:
    import httpx
    import httpx2

    from mockserver.server.app import Site

    Request = httpx.Request | httpx2.Request

    class _Base(  # type: ignore[misc]  # it takes the requests of both
        httpx.BaseTransport, httpx.AsyncBaseTransport, httpx2.BaseTransport, httpx2.AsyncBaseTransport
    ): ...
else:
    _Base = object

Response = Any  # of the library of the request; no type is a response of both


class Transport(_Base):
    """Connects any number of clients of httpx and httpx2 to a server of this process, without a socket.

    Handshakes of WebSockets alone go to the address of that server, which `find_address` returns: frames need a
    connection, which the client gets as the `network_stream` of the response. Closing the transport has no effect, so
    clients can share it.
    """

    def __init__(self, site: "Site", clock: Clock, find_address: Callable[[], str]) -> None:
        self._site = site
        self._clock = clock
        self._find_path = make_path_finder()
        self._lock = RLock()  # of the site, which makes one step at a time, on any thread
        self._find_address = find_address
        self._responses = WeakSet[InProcessResponse]()

    def handle_request(self, request: "Request") -> Response:
        """Answer the request of a synchronous client."""
        if _is_handshake(request):
            connection = _make_connection(request, "HTTPTransport")
            return connection.handle_request(self._readdress(request))
        request.read()
        return run_at_once(self._answer(request, ImmediateDriver(self._clock)))

    async def handle_async_request(self, request: "Request") -> Response:
        """Answer the request of an asynchronous client."""
        if _is_handshake(request):
            connection = _make_connection(request, "AsyncHTTPTransport")
            return await connection.handle_async_request(self._readdress(request))
        await request.aread()
        return await self._answer(request, make_loop_driver(self._clock))

    async def _answer(self, request: "Request", driver: Driver) -> Response:
        """Run the application as far as the head of its answer; the body has it run on while it is read."""
        library = find_library(request)
        response = InProcessResponse(
            InProcessRequest(self._site, self._make_scope(request), request.content, driver=driver, lock=self._lock),
            errors=library,
            read_timeout=request.extensions.get("timeout", {}).get("read"),
        )
        with self._lock:
            self._responses.add(response)
        closing = request.headers.get("connection", "").lower() == "close"
        head = await response.receive_head(request.method, closing=closing)
        return library.Response(
            head.status,
            headers=[(b"date", _write_date(int(wall()))), *head.headers],
            stream=make_body_class(library)(response),
        )

    def _make_scope(self, request: "Request") -> Scope:
        """Return what ASGI tells of a request: it comes to the path of this server for its URL."""
        raw, _, query = request.url.raw_path.partition(b"?")
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "server": ("mockserver", 80),
            "client": ("in-process", 0),
            "scheme": "http",
            "root_path": "",
            "state": {},
            "method": request.method,
            "path": self._find_path(request.method, request.url.host, unquote(raw.decode("latin-1"))),
            "raw_path": raw,
            "query_string": query,
            "headers": [(name.lower(), value) for name, value in request.headers.raw],
        }

    def hang_up(self) -> None:
        """Abort the answers that clients have not read to the end."""
        with self._lock:  # other threads can add answers
            for response in tuple(self._responses):
                response.end(by="server")

    def close(self) -> None:
        """Do nothing."""

    async def aclose(self) -> None:
        """Do nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None: ...

    def _readdress(self, request: "Request") -> "Request":
        """Return a handshake with the address of the running server."""
        raw, mark, query = request.url.raw_path.partition(b"?")
        # a provider's WebSocket is where its clients POST otherwise
        path = quote(self._find_path("POST", request.url.host, unquote(raw.decode("latin-1"))))
        url = f"{self._find_address()}{path}{(mark + query).decode('latin-1')}"
        headers = [field for field in request.headers.multi_items() if field[0].lower() != "host"]
        library = find_library(request)
        handshake: Request = library.Request("GET", url, headers=headers, extensions=request.extensions)
        return handshake


def _is_handshake(request: "Request") -> bool:
    return asks_for_socket(request.method, request.headers.get("upgrade", ""))


def _make_connection(request: "Request", kind: str) -> Any:
    """Return a transport of a request's library for one connection, which ends with its response."""
    library = find_library(request)
    return getattr(library, kind)(verify=False, limits=library.Limits(max_keepalive_connections=0))


@lru_cache(maxsize=1)
def _write_date(second: int) -> bytes:
    return formatdate(second, usegmt=True).encode()


class ResponseBody:
    """The body of a response as a byte stream, synchronous and asynchronous."""

    def __init__(self, response: InProcessResponse) -> None:  # its head was received
        self._response = response

    def __iter__(self) -> Iterator[bytes]:
        while (piece := run_at_once(self._response.receive_piece())) is not None:
            yield piece

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self  # not a generator, as trio warns about unfinished ones

    async def __anext__(self) -> bytes:
        piece = await self._response.receive_piece()
        if piece is None:
            raise StopAsyncIteration
        return piece

    def close(self) -> None:
        """Stop reading."""
        self._response.end(by="client")

    async def aclose(self) -> None:
        """Stop reading asynchronously."""
        self._response.end(by="client")


def find_library(request: "Request") -> ModuleType:
    """Return the module of a request, httpx or httpx2; a user may have derived its class."""
    base = next(base for base in reversed(type(request).__mro__) if base.__name__ == "Request")
    return sys.modules[base.__module__.partition(".")[0]]


@cache
def make_body_class(library: ModuleType) -> type[ResponseBody]:
    """Return the class of response bodies for a library."""
    return type("Body", (ResponseBody, library.SyncByteStream, library.AsyncByteStream), {})


def make_path_finder() -> Callable[[str, str, str], str]:
    """Return a function that maps the method, host and path of a provider's URL to a path of this server.

    The path of an unknown host stays as it is.
    """
    known = make_dialect_routes()

    @lru_cache(maxsize=1024)
    def find_path(method: str, host: str, path: str) -> str:
        url = f"https://{host}{quote(path)}"
        dialect = None if is_loopback(host) or not host else find_dialect(url, known)
        found = None if dialect is None else find_local_target(method, url, dialect=dialect, routes=known)
        return path if found is None else found.path

    return find_path
