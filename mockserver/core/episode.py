"""Episode: a recorded interaction, which is a request and the whole answer to it."""

import re

from msgspec import Struct
from msgspec.structs import astuple

from mockserver.core.http import (
    HOP_BY_HOP,
    WITHOUT_BODY,
    HeaderLines,
    Headers,
    Reply,
    read_media_type,
    write_lines,
)
from mockserver.core.lazy import lazy_property
from mockserver.core.text import make_reprs

SUFFIX = ".yaml"  # of a cassette's file
RecordedEvent = tuple[float, bytes]  # seconds since the request was sent, and one event of a stream with its end


def name_file(cassette: str) -> str:
    """Return the name of a cassette's file, such as `chat.yaml`; that of the cassette may have the suffix, too."""
    return cassette.removesuffix(SUFFIX) + SUFFIX


class Sent(Struct, frozen=True):
    """A request as it was sent, without its namespace and without content codings.

    `query` is the raw text after the question mark; header names are lower case.
    """

    method: str
    path: str
    query: str = ""
    headers: Headers = ()
    body: bytes = b""

    __repr__, __rich_repr__ = make_reprs("headers")


class Recorded(Struct, frozen=True, eq=False, dict=True):
    """An answer as it arrived, without content codings: a body, or the events of a stream with their times.

    `took`: seconds until it was complete. Answers are equal whatever file they come from.
    """

    status: int
    headers: Headers = ()
    body: bytes = b""
    frames: tuple[RecordedEvent, ...] | None = None
    took: float = 0.0
    source: str = ""  # `cassette chat.yaml#3`, if it comes from a file

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Recorded) and astuple(self)[:-1] == astuple(other)[:-1]

    def __ne__(self, other: object) -> bool:  # Struct has its own
        return not self == other

    def __hash__(self) -> int:
        return hash(astuple(self)[:-1])

    @property
    def bytes(self) -> bytes:
        return self.body if self.frames is None else b"".join([data for _, data in self.frames])

    @lazy_property
    def reply(self) -> Reply:
        """Return the answer as it is sent again."""
        fields = [(name.lower(), value) for name, value in self.headers]
        headers = [field for field in fields if field[0] not in _CONNECTION_HEADERS]
        if self.frames is not None:
            return Reply(self.status, tuple(headers), frames=tuple([data for _, data in self.frames]))
        if self.status not in WITHOUT_BODY:
            headers.append(("content-length", str(len(self.body))))
        return Reply(self.status, tuple(headers), self.body)

    @lazy_property
    def joined_reply(self) -> Reply:
        """Return the same with its frames joined to a body, unless that is large, and its headers as lines."""
        reply = self.reply
        body = self.bytes
        if self.frames is not None and len(body) > MAX_JOINED_FRAMES:
            return reply
        headers = tuple(reply.headers)
        return Reply(self.status, _write_lines(headers) or headers, body)


def _write_lines(headers: Headers) -> HeaderLines | None:
    """Return headers as lines, if they are as those that a dialect makes."""
    fields = dict(headers)
    media = fields.get("content-type", "")
    if len(fields) < len(headers) or "," in media or read_media_type(media) not in _SHOWN_AS_TEXT:
        return None
    if any(_NAME.fullmatch(name) is None or _VALUE.fullmatch(value) is None for name, value in headers):
        return None
    return HeaderLines(write_lines(headers), sized="content-length" in fields)


MAX_JOINED_FRAMES = 1 << 16  # bytes of the frames that `joined_reply` joins
_SHOWN_AS_TEXT = (
    "application/json",
    "application/x-ndjson",
    "text/event-stream",
)  # by browsers, which run no script in them
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9a-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
# Headers of the connection and the coding that an answer was recorded with; the server sends its own date.
_CONNECTION_HEADERS = HOP_BY_HOP | {"content-length", "content-encoding", "date", "server"}


class Episode(Struct, frozen=True):
    """A request to a dialect and its answer; `at` is the Unix time of the recording."""

    dialect: str
    operation: str
    model: str
    request: Sent
    reply: Recorded
    at: float = 0.0


def join_header(headers: Headers, name: str) -> str:
    """The values of a header (lower case), separated by commas; empty if it is absent."""
    return ", ".join(value for key, value in headers if key == name)
