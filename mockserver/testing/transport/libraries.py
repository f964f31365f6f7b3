"""httpx and httpx2: both have the same classes, and a client wants those of its own."""

import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from functools import cache
from typing import Any, Protocol


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
