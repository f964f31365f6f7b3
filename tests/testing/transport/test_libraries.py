"""Responses, bodies and errors in the classes of the library that asks."""

from typing import Any

import httpx
import httpx2
import pytest

from mockserver.testing.transport import library_of


class Pieces:
    """A body of two pieces."""

    def __init__(self) -> None:
        self._pieces = [b"one ", b"two"]
        self.closed = 0

    def next(self) -> bytes | None:
        return self._pieces.pop(0) if self._pieces else None

    async def next_async(self) -> bytes | None:
        return self.next()

    def close(self) -> None:
        self.closed += 1


@pytest.mark.parametrize("module", [httpx, httpx2])
async def test_each_gets_its_own(module: Any) -> None:
    library, pieces = library_of(module.Request("GET", "http://x")), Pieces()
    response = library.response(201, [(b"a", b"b")], pieces)
    assert isinstance(response, module.Response)
    assert (response.status_code, response.headers["a"]) == (201, "b")
    assert response.read() == b"one two"
    assert pieces.closed == 1
    assert await library.response(200, [], Pieces()).aread() == b"one two"


@pytest.mark.parametrize("module", [httpx, httpx2])
@pytest.mark.parametrize("name", ["ReadTimeout", "ReadError", "RemoteProtocolError"])
def test_errors_are_those_of_the_library(module: Any, name: str) -> None:
    request = module.Request("GET", "http://x")
    error: Any = library_of(request).error(name, "why", request)
    assert type(error) is getattr(module, name)
    assert (str(error), error.request) == ("why", request)


def test_a_class_of_ones_own_will_do() -> None:
    class Request(httpx.Request):
        """One of httpx's."""

    assert library_of(Request("GET", "http://x")) is library_of(httpx.Request("GET", "http://x"))
