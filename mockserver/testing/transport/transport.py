"""The transport: what httpx and httpx2 hand their requests to, in place of a connection."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from email.utils import formatdate
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import unquote
from weakref import WeakSet

from starlette.types import ASGIApp, Scope

from mockserver.core.action import Head
from mockserver.core.seed import wall
from mockserver.testing.transport.answer import Answer, Heard
from mockserver.testing.transport.clock import Clock
from mockserver.testing.transport.hosts import Hosts
from mockserver.testing.transport.libraries import Library, library_of
from mockserver.testing.transport.steps import Gate, Steps

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
