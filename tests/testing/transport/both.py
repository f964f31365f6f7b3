"""What a client hears of an answer, over a socket or a transport, so that the two can be compared."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from mockserver.testing import MockServer, ReceivedCall

PATIENCE = httpx.Timeout(20.0)


@dataclass(frozen=True)
class RawResponse:
    """All of an answer as it came: raw headers in order, the body, the error at its end, how the journal tells it."""

    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes
    error: str
    source: str
    ended: str


def received(server: MockServer, client: httpx.Client, request: httpx.Request) -> RawResponse:
    """What a client hears. How an answer ended from which it ran away is not told: a server takes its time to see."""
    status, headers, body, error = 0, list[tuple[bytes, bytes]](), b"", ""
    try:
        response = client.send(request, stream=True)
        status, headers = response.status_code, [_masked(*header) for header in response.headers.raw]
        for piece in response.iter_raw():
            body += piece
    except httpx.HTTPError as failure:
        error = f"{type(failure).__name__}: {failure}"
    fled = error.startswith("ReadTimeout")
    call = server.calls[-1] if fled else _over(server)
    all_of_it = f"client left after {len(body)} bytes"  # while the server still paused behind the last of them
    ended = "complete" if call.ended == all_of_it and not error else call.ended
    return RawResponse(status, tuple(headers), body, error, call.source, "" if fled else ended)


def _over(server: MockServer) -> ReceivedCall:
    """The last call, once it is over."""
    deadline = time.monotonic() + 10
    while not (calls := server.calls) or calls[-1].ended == "open":
        assert time.monotonic() < deadline
        time.sleep(0.001)
    return calls[-1]


def request(url: str, path: str, body: Any = None, **more: Any) -> httpx.Request:
    """A request to the server; a body that is not bytes is sent as JSON."""
    sent: Mapping[str, Any] = {} if body is None else {"content": body} if isinstance(body, bytes) else {"json": body}
    timeout = more.pop("timeout", PATIENCE)
    method = more.pop("method", "POST")
    return httpx.Request(method, url + path, extensions={"timeout": timeout.as_dict()}, **sent, **more)


def _masked(name: bytes, value: bytes) -> tuple[bytes, bytes]:
    return name, b"now" if name == b"date" else value
