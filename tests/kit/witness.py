"""Listens at a client's own connection, so that a test knows the very bytes that the client got."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field

import httpx2

from mockserver.dialects import discover
from tests.kit.strict import check_chunk, check_completion, check_text, check_text_chunk, frames
from tests.kit.strict_responses import check_event, check_response, check_tzafon, typed_frames


@dataclass
class Heard:
    path: str
    status: int
    headers: httpx2.Headers
    body: bytearray = field(default_factory=bytearray)

    @property
    def number(self) -> int:
        return int(self.headers["x-mockserver-call"])


@dataclass
class Witness:
    heard: list[Heard] = field(default_factory=list)

    @property
    def last(self) -> Heard:
        return self.heard[-1]

    def listen(self, response: httpx2.Response) -> None:
        """For httpx's `event_hooks`: copies what the client reads."""
        heard = Heard(response.request.url.path, response.status_code, response.headers)
        self.heard.append(heard)
        response.stream = _Copied(response.stream, heard.body)

    async def listen_async(self, response: httpx2.Response) -> None:
        self.listen(response)

    def check(self) -> None:
        """Hold every completion, of a chat or a text, and every response that was heard against the types."""
        for heard in self.heard:
            if heard.status == 200 and heard.path.endswith("/completions"):
                _check(heard, _dialect(heard.path))
            if heard.status == 200 and heard.path.endswith("/responses"):
                _check_response(heard, _dialect(heard.path))


def _check(heard: Heard, dialect: str) -> None:
    whole, chunk = (check_completion, check_chunk) if "/chat/" in heard.path else (check_text, check_text_chunk)
    if heard.headers["content-type"] == "application/json":
        whole(bytes(heard.body), dialect)
        return
    for frame in frames(bytes(heard.body)):
        if frame != b"[DONE]":
            chunk(frame, dialect)


def _check_response(heard: Heard, dialect: str) -> None:
    body = bytes(heard.body)
    if heard.headers["content-type"] != "application/json":
        for data in typed_frames(body):
            check_event(data)
    elif dialect == "tzafon":
        check_tzafon(body)
    else:
        check_response(body)


def _dialect(path: str) -> str:
    """Who speaks at a path; the bare ones are OpenAI's."""
    found = (name for name, dialect in discover().items() for mount in dialect.mounts if f"{mount}/" in path)
    return next(found, "openai")


class _Copied(httpx2.SyncByteStream, httpx2.AsyncByteStream):
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
