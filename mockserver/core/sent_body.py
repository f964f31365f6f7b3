"""What was sent of an answer's body: pieces with their times, and the frames in them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from mockserver.core.event_stream import (
    MESSAGE_SIGN,
    describe_message,
    is_prelude,
    is_whole,
    read_message,
    split_messages,
)
from mockserver.core.server_sent_events import END_OF_EVENT, find_data

Piece = tuple[float, bytes]  # the time, and the bytes sent then
SentPart = tuple[float, int, int]  # the time, and from where to where the body was sent then


class SentFrame(Struct, frozen=True):
    """A frame as it was sent: the time of its last byte, and its bytes without their end.

    An event ends with a blank line, a line of JSON with a line feed. `whole`: that end was sent as well.
    """

    at: float
    raw: bytes
    whole: bool = True

    @property
    def event(self) -> str | None:
        if (message := read_message(self.raw)) is not None:
            return message.name
        return next((line[6:].strip().decode(errors="replace") for line in self._lines if line[:6] == b"event:"), None)

    @property
    def text(self) -> str:
        """The data of an event, or what a message of Amazon's event streams says."""
        if (message := read_message(self.raw)) is not None:
            return describe_message(message)
        return (find_data(self.raw) or self.raw).decode("utf-8", "replace")

    @property
    def _lines(self) -> Sequence[bytes]:
        return _LINE.split(self.raw)


def split_frames(pieces: Sequence[Piece]) -> tuple[SentFrame, ...]:
    """Return the frames in the pieces of a stream; bytes after the last end of one are an incomplete frame."""
    pieces = list(pieces)
    data = b"".join([data for _, data in pieces])
    if is_prelude(data):
        ends = _list_message_ends(data)
    else:
        separator = _LINE if data[:1] == b"{" else END_OF_EVENT
        ends = (found.span() for found in separator.finditer(data))
    return tuple(_cut_frames(data, ends, pieces))


def count_frames(data: bytes) -> int:
    """Return roughly how many frames end in these bytes."""
    if data[:1] == b"{":  # a line of JSON, as no event begins
        return data.count(b"\n")
    return data.count(b"\n\n") + data.count(b"\r\n\r\n") + data.count(MESSAGE_SIGN)


def _list_message_ends(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield where each message of Amazon's event streams ends, twice, as nothing comes between them."""
    end = 0
    for message in split_messages(data):
        end += len(message)
        if is_whole(message):
            yield end, end


def _cut_frames(data: bytes, ends: Iterable[tuple[int, int]], pieces: Sequence[Piece]) -> Iterator[SentFrame]:
    start = 0
    row = 0
    reached = len(pieces[0][1]) if pieces else 0
    for end, following in ends:
        while reached < following:
            row += 1
            reached += len(pieces[row][1])
        if end > start or data[:1] != b"{":  # an empty line, which keeps a stream of lines alive, is not one
            yield SentFrame(pieces[row][0], data[start:end])
        start = following
    if start < len(data):
        yield SentFrame(pieces[-1][0], data[start:], whole=False)


_LINE = re.compile(rb"\r\n|\n|\r")


class SentParts(Sequence[Piece]):
    """What was sent of the body of a paced stream, cut out of it when somebody looks.

    `log` is of the streams that go on together, and grows while they do; `before` is of what this one sent without
    them.
    """

    __slots__ = ("_before", "_body", "_log")

    def __init__(self, body: bytes, log: list[SentPart], before: Sequence[SentPart] = ()) -> None:
        self._body = body
        self._log = log
        self._before = before

    def detach(self, *, unsent_last: bool = False) -> None:
        """Stop growing with the log, whose last part may be unsent."""
        self._before = self.parts[: len(self) - unsent_last]
        self._log = []

    @property
    def parts(self) -> list[SentPart]:
        return [*self._before, *self._log]

    @property
    def size(self) -> int:
        """How many bytes of the body were sent."""
        return self._log[-1][2] if self._log else self._before[-1][2] if self._before else 0

    def __len__(self) -> int:
        return len(self._before) + len(self._log)

    def __iter__(self) -> Iterator[Piece]:
        return ((time, self._body[start:end]) for time, start, end in self.parts)

    def __getitem__(self, at: Any) -> Any:
        return [*self][at]
