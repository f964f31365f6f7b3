"""The transport: what httpx and httpx2 hand their requests to, in place of a connection."""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import suppress
from email.utils import formatdate
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Protocol, Self
from urllib.parse import unquote
from weakref import WeakSet

from starlette.types import ASGIApp, Scope

from mockserver.cassettes.convert.providers import DialectRoutes, dialect_of, local_target
from mockserver.core.action import Head
from mockserver.core.http import is_loopback
from mockserver.core.seed import wall
from mockserver.dialects import discover
from mockserver.server.routes import operation_at, places
from mockserver.testing.transport.in_process import Answer, Clock, Gate, Heard, Steps


class Hosts:
    """The hosts of the providers, and where their paths stand here."""

    def __init__(self) -> None:
        served = places(discover(), "openai")
        mounts = {name: dialect.mounts for name, dialect in discover().items()}
        self._known = DialectRoutes(
            mounts, lambda method, path: operation_at(method, path, served), lambda _, body: body
        )
        self.path = lru_cache(maxsize=1024)(self._path)

    def _path(self, method: str, host: str, path: str) -> str:
        """The path here; of a host that is nobody's it stays as it is."""
        url = f"https://{host}{path}"
        dialect = None if is_loopback(host) or not host else dialect_of(url, self._known)
        found = None if dialect is None else local_target(method, url, dialect, self._known)
        return path if found is None else found.path


class Hearing(Protocol):
    """The body of an answer."""

    def next(self) -> Any:
        """The bytes that come next of it; None at the end."""

    async def next_async(self) -> Any:
        """The same where an event loop runs."""

    def close(self) -> None:
        """No more of it is wanted."""


class Body:
    """The body of a response, piece by piece as they are asked for."""

    def __init__(self, hearing: Hearing) -> None:
        self._hearing = hearing

    def __iter__(self) -> Iterator[bytes]:
        while (piece := self._hearing.next()) is not None:
            yield piece

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self  # no generator: trio would warn of one that is left

    async def __anext__(self) -> bytes:
        piece: bytes | None = await self._hearing.next_async()
        if piece is None:
            raise StopAsyncIteration
        return piece

    def close(self) -> None:
        """The client wants no more."""
        self._hearing.close()

    async def aclose(self) -> None:
        """The same of an asynchronous one."""
        self._hearing.close()


class Library:
    """What a response is made of, and the errors that are raised in its place."""

    def __init__(self, module: Any) -> None:
        self._response = module.Response
        self._body: Any = type("Body", (Body, module.SyncByteStream, module.AsyncByteStream), {})
        self._errors: Mapping[str, Any] = {name: getattr(module, name) for name in ERRORS}

    def response(self, status: int, headers: list[tuple[bytes, bytes]], hearing: Hearing) -> Any:
        """A response whose body is still to be heard."""
        return self._response(status, headers=headers, stream=self._body(hearing))

    def error(self, name: str, message: str, request: Any) -> Exception:
        """An error as the library itself would raise it."""
        error: Exception = self._errors[name](message, request=request)
        return error


def library_of(request: Any) -> Library:
    """The library that a request was made by."""
    kind: Any = type(request)
    return _library(kind)


@cache
def _library(kind: type) -> Library:
    """The library of a class of requests, perhaps of one that a user has derived."""
    own = next(base for base in reversed(kind.__mro__) if base.__name__ == "Request")
    return _named(own.__module__.partition(".")[0])


@cache
def _named(name: str) -> Library:
    return Library(sys.modules[name])


ERRORS = ("ReadTimeout", "ReadError", "RemoteProtocolError")


if TYPE_CHECKING:
    import httpx
    import httpx2

    class _Base(  # type: ignore[misc]  # it takes the requests of both
        httpx.BaseTransport, httpx.AsyncBaseTransport, httpx2.BaseTransport, httpx2.AsyncBaseTransport
    ): ...
else:
    _Base = object


class Transport(_Base):
    """A way to a server of this process without a socket, for any number of clients of httpx and httpx2.

    It may be closed with its clients as often as they like.
    """

    def __init__(self, app: ASGIApp, clock: Clock) -> None:
        self._gate, self._clock, self._hosts = Gate(app), clock, Hosts()
        self._answers = WeakSet[Answer]()

    def handle_request(self, request: Any) -> Any:
        """Answer the request of a synchronous client."""
        library = library_of(request)
        answer = self._answer(request, request.read(), library, patient=False)
        return _response(request, answer.next(), answer, library)

    async def handle_async_request(self, request: Any) -> Any:
        """Answer the request of an asynchronous client."""
        library = library_of(request)
        answer = self._answer(request, await request.aread(), library, patient=_in_asyncio())
        return _response(request, await answer.next_async(), answer, library)

    def hang_up(self) -> None:
        """Break off the answers that clients have not heard to their end."""
        with self._gate.turnstile:  # other threads may be asking for more answers
            for answer in tuple(self._answers):
                answer.break_off()

    def close(self) -> None:
        """Nothing has to be let go."""

    async def aclose(self) -> None:
        """The same."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None: ...

    def _answer(self, request: Any, body: bytes, library: Library, *, patient: bool) -> Answer:
        """The answer to a request, not begun yet."""
        url = request.url
        raw, _, query = url.raw_path.partition(b"?")
        path = self._hosts.path(request.method, url.host, unquote(raw.decode("latin-1")))
        scope: Scope = {
            **_SCOPE,
            "method": request.method,
            "path": path,
            "raw_path": raw,
            "query_string": query,
            "headers": [(name.lower(), value) for name, value in request.headers.raw],
        }
        steps = Steps(self._gate, scope, body, patient=patient)
        patience = request.extensions.get("timeout", _NO_TIMEOUT).get("read")
        answer = Answer(steps, self._clock, lambda name, message: library.error(name, message, request), patience)
        with self._gate.turnstile:
            self._answers.add(answer)
        return answer


def _response(request: Any, head: Heard, answer: Answer, library: Library) -> Any:
    """The response that begins so."""
    if not isinstance(head, Head):
        raise TypeError("an answer begins with its head")
    last = request.headers.get("connection", "").lower() == "close"
    headers = answer.begin(head, bare=request.method == "HEAD", last=last)
    return library.response(head.status, [(b"date", _date(int(wall()))), *headers], answer)


def _in_asyncio() -> bool:
    """Whether it is asyncio's loop that runs, in which requests can wait for each other."""
    with suppress(RuntimeError):
        return asyncio.get_running_loop() is not None
    return False


@lru_cache(maxsize=1)
def _date(second: int) -> bytes:
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
