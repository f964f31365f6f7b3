"""What left of a stream, piece by piece, read back as frames with times. It never writes one."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

Piece = tuple[float, bytes]  # when bytes left, and these


@dataclass(frozen=True, slots=True)
class SentFrame:
    """A frame as it was sent: when its last byte left, its bytes without the blank line that ends it.

    `whole`: that line was sent as well.
    """

    at: float
    raw: bytes
    whole: bool = True

    @property
    def event(self) -> str | None:
        """The name of the event, where it has one."""
        return next((line[6:].strip().decode(errors="replace") for line in self._lines if line[:6] == b"event:"), None)

    @property
    def text(self) -> str:
        """What its data say; of a comment, the comment."""
        texts = [line[5:].removeprefix(b" ") for line in self._lines if line[:5] == b"data:"]
        return (b"\n".join(texts) if texts else self.raw).decode("utf-8", "replace")

    @property
    def _lines(self) -> Sequence[bytes]:
        return _LINE.split(self.raw)


def frames(pieces: Sequence[Piece]) -> tuple[SentFrame, ...]:
    """The frames in the pieces of a stream; what follows the last blank line is a frame that is not whole."""
    return tuple(_frames(b"".join([data for _, data in pieces]), pieces))


def count(data: bytes) -> int:
    """How many frames end in these bytes, about."""
    return data.count(b"\n\n") + data.count(b"\r\n\r\n")


def _frames(text: bytes, pieces: Sequence[Piece]) -> Iterator[SentFrame]:
    start, row, reached = 0, 0, len(pieces[0][1]) if pieces else 0
    for found in _BLANK.finditer(text):
        while reached < found.end():
            row += 1
            reached += len(pieces[row][1])
        yield SentFrame(pieces[row][0], text[start : found.start()])
        start = found.end()
    if start < len(text):
        yield SentFrame(pieces[-1][0], text[start:], whole=False)


_LINE = re.compile(rb"\r\n|\n|\r")
_BLANK = re.compile(rb"\r\n\r\n|\n\n|\r\r")
