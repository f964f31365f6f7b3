"""The transport: answers the requests of httpx and httpx2 without a connection."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import suppress
from email.utils import formatdate
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import unquote
from weakref import WeakSet

from starlette.types import Scope

from mockserver.cassettes.addresses import DialectRoutes, find_dialect, find_local_target
from mockserver.core.action import Head
from mockserver.core.http import is_loopback
from mockserver.core.seed import wall
from mockserver.dialects import discover
from mockserver.server.routes import operation_at, places
from mockserver.testing.transport.in_process import ClientResponse, Clock, Gate, Received, Steps


def make_path_finder() -> Callable[[str, str, str], str]:
    """A function that maps the method, host and path of a provider's URL to a path of this server.

    The path of an unknown host stays as it is.
    """
    served = places(discover(), "openai")
    mounts = {name: dialect.mounts for name, dialect in discover().items()}
    known = DialectRoutes(mounts, lambda method, path: operation_at(method, path, served), lambda _, body: body)

    @lru_cache(maxsize=1024)
    def path_of(method: str, host: str, path: str) -> str:
        url = f"https://{host}{path}"
        dialect = None if is_loopback(host) or not host else find_dialect(url, known)
        found = None if dialect is None else find_local_target(method, url, dialect, known)
        return path if found is None else found[0]

    return path_of


class ResponseBody:
    """The body of a response as a byte stream, synchronous and asynchronous."""

    def __init__(self, answer: Any) -> None:  # an Answer whose head was received
        self._answer = answer

    def __iter__(self) -> Iterator[bytes]:
        while (piece := self._answer.next()) is not None:
            yield piece

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self  # not a generator, as trio warns about unfinished ones

    async def __anext__(self) -> bytes:
        piece: bytes | None = await self._answer.next_async()
        if piece is None:
            raise StopAsyncIteration
        return piece

    def close(self) -> None:
        """Stop reading."""
        self._answer.close()

    async def aclose(self) -> None:
        """Stop reading asynchronously."""
        self._answer.close()


def find_library(request: Any) -> Any:
    """The module of a request, httpx or httpx2; a user may have derived its class."""
    base = next(base for base in reversed(type(request).__mro__) if base.__name__ == "Request")
    return sys.modules[base.__module__.partition(".")[0]]


@cache
def make_body_class(library: Any) -> Any:
    """The class of response bodies for a library."""
    return type("Body", (ResponseBody, library.SyncByteStream, library.AsyncByteStream), {})


if TYPE_CHECKING:
    import httpx
    import httpx2

    from mockserver.server.app import Site

    class _Base(  # type: ignore[misc]  # it takes the requests of both
        httpx.BaseTransport, httpx.AsyncBaseTransport, httpx2.BaseTransport, httpx2.AsyncBaseTransport
    ): ...
else:
    _Base = object


class Transport(_Base):
    """Connects any number of clients of httpx and httpx2 to a server of this process, without a socket.

    Closing it has no effect, so clients can share it.
    """

    def __init__(self, site: "Site", clock: Clock) -> None:
        self._gate, self._clock, self._path = Gate(site, site.find), clock, make_path_finder()
        self._answers = WeakSet[ClientResponse]()

    def handle_request(self, request: Any) -> Any:
        """Answer the request of a synchronous client."""
        answer = self._answer(request, request.read(), patient=False)
        return _make_response(request, answer.next(), answer)

    async def handle_async_request(self, request: Any) -> Any:
        """Answer the request of an asynchronous client."""
        answer = self._answer(request, await request.aread(), patient=_is_in_asyncio())
        return _make_response(request, await answer.next_async(), answer)

    def hang_up(self) -> None:
        """Abort the answers that clients have not read to the end."""
        with self._gate.lock:  # other threads can add answers
            for answer in tuple(self._answers):
                answer.abort()

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

    def _answer(self, request: Any, body: bytes, *, patient: bool) -> ClientResponse:
        url = request.url
        raw, _, query = url.raw_path.partition(b"?")
        path = self._path(request.method, url.host, unquote(raw.decode("latin-1")))
        scope: Scope = {
            **_SCOPE,
            "method": request.method,
            "path": path,
            "raw_path": raw,
            "query_string": query,
            "headers": [(name.lower(), value) for name, value in request.headers.raw],
        }
        steps = Steps(self._gate, scope, body, patient=patient)
        read_timeout = request.extensions.get("timeout", _NO_TIMEOUT).get("read")

        def make_error(name: str, message: str) -> Exception:
            error: Exception = getattr(find_library(request), name)(message, request=request)
            return error

        answer = ClientResponse(steps, self._clock, make_error, read_timeout)
        with self._gate.lock:
            self._answers.add(answer)
        return answer


def _make_response(request: Any, head: Received, answer: ClientResponse) -> Any:
    if not isinstance(head, Head):
        raise TypeError("an answer must start with its head")
    last = request.headers.get("connection", "").lower() == "close"
    headers = [(b"date", _write_date(int(wall()))), *answer.begin(head, bare=request.method == "HEAD", last=last)]
    library = find_library(request)
    return library.Response(head.status, headers=headers, stream=make_body_class(library)(answer))


def _is_in_asyncio() -> bool:
    """Whether an asyncio loop runs, in which requests can wait for each other."""
    with suppress(RuntimeError):
        return asyncio.get_running_loop() is not None
    return False


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
