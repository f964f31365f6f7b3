"""Listens at a client's own connection, so that a test knows the very bytes that the client got."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field

import httpx2

from mockserver.dialects import discover
from tests.kit.strict import check_chunk, check_completion, check_text, check_text_chunk, frames
from tests.kit.strict_responses import check_event, check_response, check_tzafon, list_typed_frames


@dataclass
class CapturedResponse:
    path: str
    status: int
    headers: httpx2.Headers
    body: bytearray = field(default_factory=bytearray)

    @property
    def number(self) -> int:
        return int(self.headers["x-mockserver-call"])


@dataclass
class ResponseCapture:
    responses: list[CapturedResponse] = field(default_factory=list)

    @property
    def last(self) -> CapturedResponse:
        return self.responses[-1]

    def on_response(self, response: httpx2.Response) -> None:
        """For httpx's `event_hooks`: copies what the client reads."""
        captured = CapturedResponse(response.request.url.path, response.status_code, response.headers)
        self.responses.append(captured)
        response.stream = _CopiedStream(response.stream, captured.body)

    async def on_response_async(self, response: httpx2.Response) -> None:
        self.on_response(response)

    def check(self) -> None:
        """Hold every completion, of a chat or a text, and every response that was captured against the types."""
        for captured in self.responses:
            if captured.status == 200 and captured.path.endswith("/completions"):
                _check(captured, _dialect(captured.path))
            if captured.status == 200 and captured.path.endswith("/responses"):
                _check_response(captured, _dialect(captured.path))


def _check(captured: CapturedResponse, dialect: str) -> None:
    whole, chunk = (check_completion, check_chunk) if "/chat/" in captured.path else (check_text, check_text_chunk)
    if captured.headers["content-type"] == "application/json":
        whole(bytes(captured.body), dialect)
        return
    for frame in frames(bytes(captured.body)):
        if frame != b"[DONE]":
            chunk(frame, dialect)


def _check_response(captured: CapturedResponse, dialect: str) -> None:
    body = bytes(captured.body)
    if captured.headers["content-type"] != "application/json":
        for data in list_typed_frames(body):
            check_event(data)
    elif dialect == "tzafon":
        check_tzafon(body)
    else:
        check_response(body)


def _dialect(path: str) -> str:
    """Who speaks at a path; the bare ones are OpenAI's."""
    if "/azure/openai/" in path:
        return "azure_openai"
    found = (name for name, dialect in discover().items() for mount in dialect.mounts if f"{mount}/" in path)
    return next(found, "openai")


class _CopiedStream(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    """A response's stream that leaves a copy of what is read from it."""

    def __init__(self, stream: httpx2.SyncByteStream | httpx2.AsyncByteStream, copy: bytearray) -> None:
        self._stream, self._copy = stream, copy

    def __iter__(self) -> Iterator[bytes]:
        assert isinstance(self._stream, httpx2.SyncByteStream)
        for piece in self._stream:
            self._copy += piece
            yield piece

    async def __aiter__(self) -> AsyncIterator[bytes]:
        assert isinstance(self._stream, httpx2.AsyncByteStream)
        async for piece in self._stream:
            self._copy += piece
            yield piece

    def close(self) -> None:
        assert isinstance(self._stream, httpx2.SyncByteStream)
        self._stream.close()

    async def aclose(self) -> None:
        assert isinstance(self._stream, httpx2.AsyncByteStream)
        await self._stream.aclose()
