"""How an answer is framed, so that its client finds the end of the body, whatever version of HTTP it speaks. No I/O."""

import re
from collections.abc import Iterable
from enum import Enum
from http import HTTPStatus

from msgspec import Struct

from mockserver.core.http import WITHOUT_BODY, RawHeaders
from mockserver.server.http.parser import Field, RequestHead

_KNOWN_STATUSES = frozenset(HTTPStatus)
LAST_CHUNK = b"0\r\n\r\n"
_NO_NAME = re.compile(rb'[\x00-\x20\x7f()<>@,;:\[\]={}\\"]')
_NO_VALUE = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")


class AnswerStarts:
    """Writes the first lines of answers: the status, and the headers of every answer, which change with the date."""

    def __init__(self) -> None:
        self._headers: RawHeaders = ()
        self._starts = dict[int, bytes]()

    def find(self, status: int, headers: RawHeaders) -> bytes:
        """Return the first lines of an answer with this status and these headers."""
        if headers is not self._headers:  # the date has changed
            self._headers = headers
            self._starts.clear()
        return self._starts.get(status) or self._write(status, headers)

    def _write(self, status: int, headers: RawHeaders) -> bytes:
        lines = [b"%b: %b\r\n" % field for field in headers]
        start = self._starts[status] = b"".join((f"HTTP/1.1 {status} {find_phrase(status)}\r\n".encode(), *lines))
        return start


class BodyEnd(Enum):
    """How a client finds the end of a body."""

    CHUNKS = "after the last chunk"
    LENGTH = "after the stated length"
    CONNECTION = "where the connection ends"
    NONE = "there is no body"


class Framing(Struct):
    """The header lines of one answer, and how its body is framed."""

    lines: bytes
    end: BodyEnd
    keep_alive: bool  # the connection stays open after the answer
    missing: int = 0  # bytes of the stated length that are still to come; less than 0: it was wrong

    def frame(self, data: bytes, *, is_last: bool) -> bytes:
        """Return a piece of the body as it is sent."""
        if self.end is BodyEnd.NONE:
            return b""
        if self.end is BodyEnd.CHUNKS:
            return frame_chunk(data) + (LAST_CHUNK if is_last else b"")
        if self.end is BodyEnd.LENGTH:
            self.missing -= len(data)
        return data


def frame_answer(request: RequestHead, status: int, headers: Iterable[Field], *, keep_alive: bool) -> Framing:
    """Return the framing of an answer with these headers, after which the connection can stay open, or not.

    Raises RuntimeError for a header that cannot be sent.
    """
    fields = check_fields(headers)
    is_latest = request.version == "1.1"
    length = next((value for name, value in fields if name == b"content-length"), None)
    end = _choose_end(request, status, fields, states_length=length is not None)
    stays = keep_alive and end is not BodyEnd.CONNECTION and not _states_close(fields)
    if not (is_latest and keep_alive):  # else it goes without saying, and the application may say otherwise
        fields = [field for field in fields if field[0] != b"connection"]
        fields.append((b"connection", b"keep-alive" if stays else b"close"))
    if not is_latest:
        fields = [field for field in fields if field[0] != b"transfer-encoding"]
    elif end is BodyEnd.CHUNKS and not _states_chunks(fields):
        fields.append((b"transfer-encoding", b"chunked"))
    lines = b"".join([b"%b: %b\r\n" % field for field in fields])
    return Framing(lines, end, keep_alive=stays, missing=int(length or 0) if end is BodyEnd.LENGTH else 0)


def check_fields(headers: Iterable[Field]) -> list[Field]:
    """Return headers with their names in lower case. Raises RuntimeError for one that cannot be sent."""
    fields = [(name.lower(), value) for name, value in headers]
    for name, value in fields:
        if _NO_NAME.search(name) or _NO_VALUE.search(value):
            raise RuntimeError(f"this is not a valid header: {name!r}: {value!r}")
    return fields


def find_phrase(status: int) -> str:
    """Return the words for a status in a status line; empty for a status that the standard library does not know."""
    return HTTPStatus(status).phrase if status in _KNOWN_STATUSES else ""


def frame_chunk(data: bytes) -> bytes:
    """Return data as a chunk (RFC 9112, 7.1); nothing for none, which would be the last chunk."""
    return b"%x\r\n%b\r\n" % (len(data), data) if data else b""


def _choose_end(request: RequestHead, status: int, fields: list[Field], *, states_length: bool) -> BodyEnd:
    """Return how the body ends, for a client that may not know chunks."""
    is_latest = request.version == "1.1"
    if request.method == "HEAD" or status in WITHOUT_BODY:
        return BodyEnd.NONE
    if is_latest and _states_chunks(fields):
        return BodyEnd.CHUNKS
    if states_length:
        return BodyEnd.LENGTH
    return BodyEnd.CHUNKS if is_latest else BodyEnd.CONNECTION


def _states_chunks(fields: list[Field]) -> bool:
    """Return whether headers say that the body comes in chunks."""
    return any(name == b"transfer-encoding" and value.lower() == b"chunked" for name, value in fields)


def _states_close(fields: list[Field]) -> bool:
    """Return whether headers say that the connection ends after the answer."""
    told = [value for name, value in fields if name == b"connection"]
    return any(option.strip().lower() == b"close" for value in told for option in value.split(b","))
