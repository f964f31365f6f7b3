"""The transport: answers the requests of httpx and httpx2 without a connection."""

import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from email.utils import formatdate
from functools import cache, lru_cache
from threading import RLock
from types import ModuleType
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote, unquote
from weakref import WeakSet

from starlette.types import Scope

from mockserver.cassettes.addresses import find_dialect, find_local_target
from mockserver.core.origins import is_loopback
from mockserver.core.seed import wall
from mockserver.server.handshakes import asks_for_socket
from mockserver.server.routes import make_dialect_routes
from mockserver.testing.clock import Clock
from mockserver.testing.in_process import (
    Driver,
    ImmediateDriver,
    InProcessRequest,
    InProcessResponse,
    LoopDriver,
    WireHead,
    run_at_once,
)

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


class Transport(_Base):
    """Connects any number of clients of httpx and httpx2 to a server of this process, without a socket.

    Handshakes of WebSockets alone go to the address of that server, which `find_address` returns: frames need a
    connection, which the client gets as the `network_stream` of the response. Closing the transport has no effect, so
    clients can share it.
    """

    def __init__(self, site: "Site", clock: Clock, find_address: Callable[[], str] | None = None) -> None:
        self._site = site
        self._clock = clock
        self._find_path = make_path_finder()
        self._lock = RLock()  # of the site, which makes one step at a time, on any thread
        self._find_address = find_address
        self._responses = WeakSet[InProcessResponse]()

    def handle_request(self, request: "Request") -> Any:
        """Answer the request of a synchronous client with a response of its library."""
        if (handshake := self._readdress_handshake(request)) is not None:
            return _connect(request, "HTTPTransport").handle_request(handshake)
        response = self._begin(request, request.read(), ImmediateDriver(self._clock))
        head = run_at_once(response.receive_head(bare=request.method == "HEAD", last=_is_last(request)))
        return _make_response(request, head, response)

    async def handle_async_request(self, request: "Request") -> Any:
        """Answer the request of an asynchronous client with a response of its library."""
        if (handshake := self._readdress_handshake(request)) is not None:
            return await _connect(request, "AsyncHTTPTransport").handle_async_request(handshake)
        response = self._begin(request, await request.aread(), LoopDriver(self._clock))
        head = await response.receive_head(bare=request.method == "HEAD", last=_is_last(request))
        return _make_response(request, head, response)

    def hang_up(self) -> None:
        """Abort the answers that clients have not read to the end."""
        with self._lock:  # other threads can add answers
            for response in tuple(self._responses):
                response.abort()

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

    def _readdress_handshake(self, request: "Request") -> "Request | None":
        """Return the handshake of a WebSocket with the address of the running server; None for any other request."""
        if self._find_address is None or not asks_for_socket(request.method, request.headers.get("upgrade", "")):
            return None
        raw, mark, query = request.url.raw_path.partition(b"?")
        # a provider's WebSocket is where its clients POST otherwise
        path = quote(self._find_path("POST", request.url.host, unquote(raw.decode("latin-1"))))
        url = f"{self._find_address()}{path}{(mark + query).decode('latin-1')}"
        headers = [field for field in request.headers.multi_items() if field[0].lower() != "host"]
        handshake: Request = find_library(request).Request("GET", url, headers=headers, extensions=request.extensions)
        return handshake

    def _begin(self, request: "Request", body: bytes, driver: Driver) -> InProcessResponse:
        """Return what a client is about to receive."""
        url = request.url
        raw, _, query = url.raw_path.partition(b"?")
        scope: Scope = {
            **_SCOPE,
            "method": request.method,
            "path": self._find_path(request.method, url.host, unquote(raw.decode("latin-1"))),
            "raw_path": raw,
            "query_string": query,
            "headers": [(name.lower(), value) for name, value in request.headers.raw],
        }

        def make_error(name: str, message: str) -> Exception:
            error: Exception = getattr(find_library(request), name)(message, request=request)
            return error

        response = InProcessResponse(
            InProcessRequest(self._site, scope, body, driver=driver, lock=self._lock),
            make_error=make_error,
            read_timeout=request.extensions.get("timeout", _NO_TIMEOUT).get("read"),
        )
        with self._lock:
            self._responses.add(response)
        return response


def _is_last(request: "Request") -> bool:
    """Return whether the client closes its connection after this request."""
    return request.headers.get("connection", "").lower() == "close"


def _connect(request: "Request", kind: str) -> Any:
    """Return a transport of the library of a request for one connection, which ends with its response."""
    library = find_library(request)
    return getattr(library, kind)(verify=False, limits=library.Limits(max_keepalive_connections=0))


def _make_response(request: "Request", head: WireHead, response: InProcessResponse) -> Any:
    headers = [(b"date", _write_date(int(wall()))), *head.headers]
    library = find_library(request)
    return library.Response(head.status, headers=headers, stream=make_body_class(library)(response))


@lru_cache(maxsize=1)
def _write_date(second: int) -> bytes:
    return formatdate(second, usegmt=True).encode()


_SCOPE: Scope = {
    "type": "http",
    "asgi": {"version": "3.0", "spec_version": "2.3"},
    "http_version": "1.1",
    "server": ("mockserver", 80),
    "client": ("in-process", 0),
    "scheme": "http",
    "root_path": "",
    "state": {},
}
_NO_TIMEOUT: Mapping[str, float] = {}


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
        self._response.close()

    async def aclose(self) -> None:
        """Stop reading asynchronously."""
        self._response.close()


def find_library(request: "Request") -> "ModuleType":
    """Return the module of a request, httpx or httpx2; a user may have derived its class."""
    base = next(base for base in reversed(type(request).__mro__) if base.__name__ == "Request")
    return sys.modules[base.__module__.partition(".")[0]]


@cache
def make_body_class(library: "ModuleType") -> type[ResponseBody]:
    """Return the class of response bodies for a library."""
    return type("Body", (ResponseBody, library.SyncByteStream, library.AsyncByteStream), {})


def make_path_finder() -> Callable[[str, str, str], str]:
    """Return a function that maps the method, host and path of a provider's URL to a path of this server.

    The path of an unknown host stays as it is.
    """
    known = make_dialect_routes()

    @lru_cache(maxsize=1024)
    def path_of(method: str, host: str, path: str) -> str:
        url = f"https://{host}{quote(path)}"
        dialect = None if is_loopback(host) or not host else find_dialect(url, known)
        found = None if dialect is None else find_local_target(method, url, dialect=dialect, routes=known)
        return path if found is None else found.path

    return path_of
