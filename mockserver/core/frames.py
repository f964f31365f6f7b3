"""The frames of streams, and how they are written. Only what stands here and in `event_stream.py` makes events."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Literal, final

from msgspec import Struct

from mockserver.core.event_stream import write_chunk, write_chunks, write_event_message, write_event_messages

Framing = Literal["lf", "crlf", "message", "chunk", "bare"]


@final
class Frame(Struct, frozen=True):
    """One event of a stream: JSON bytes, its weight in tokens, and which part of the answer it carries.

    `framing` says what goes around the data: an SSE event that ends with LF or CRLF, a message of Amazon's event
    streams (`chunk`: within its payload, in base64), or nothing.
    """

    data: bytes
    event: str | None = None
    tokens: int = 0
    part: str = "text"  # open | text | arguments | finish | usage | end
    framing: Framing = "lf"
    id: str | None = None  # of an SSE event, by which clients take the stream up again


@final
class FrameRun(Struct, frozen=True):
    """Frames that are alike but for a piece of their data, which stands `before`, the pieces, and `after`.

    `tokens` are those of each frame.
    """

    before: bytes
    pieces: Sequence[bytes]
    after: bytes
    tokens: Sequence[int]
    event: str | None = None
    part: str = "text"
    framing: Framing = "lf"

    def __iter__(self) -> Iterator[Frame]:
        for piece, tokens in zip(self.pieces, self.tokens, strict=True):
            data = self.before + piece + self.after
            yield Frame(data, self.event, tokens, self.part, self.framing)  # positions: names take longer


class Frames:
    """The frames of a stream, one by one, or those that are alike as one."""

    __slots__ = ("_runs",)

    def __init__(self, runs: Sequence[Frame | FrameRun]) -> None:
        self._runs = runs

    @property
    def runs(self) -> Sequence[Frame | FrameRun]:
        """The frames, those that are alike as one."""
        return self._runs

    def __iter__(self) -> Iterator[Frame]:
        for each in self.runs:
            if isinstance(each, FrameRun):
                yield from each
            else:
                yield each

    def join(self, write: Callable[[Frame | FrameRun], bytes]) -> bytes:
        """Return the bytes of all frames; `write` returns those of each."""
        return b"".join(map(write, self.runs))


def write_event(frame: Frame | FrameRun | bytes) -> bytes:
    """Write an event as its framing says, or a run of them, with one space after each colon; bytes go out unchanged."""
    if isinstance(frame, bytes):
        return frame
    if frame.framing in ("message", "chunk"):
        return _write_messages(frame)
    before, after = _frame_event(frame.event, frame.framing)
    if type(frame) is Frame:
        whole = before + frame.data + after
        return whole if frame.id is None else b"id: " + frame.id.encode() + b"\n" + whole
    before = before + frame.before
    after = frame.after + after
    return before + (after + before).join(frame.pieces) + after


def _write_messages(frame: Frame | FrameRun) -> bytes:
    """Return an event, or a run of them, as messages of Amazon's event streams."""
    holds_chunks = frame.framing == "chunk"
    name = frame.event or ""
    if type(frame) is Frame:
        return write_chunk(frame.data) if holds_chunks else write_event_message(name, frame.data)
    around = frame.before, frame.pieces, frame.after
    return write_chunks(*around) if holds_chunks else write_event_messages(name, *around)


@lru_cache(maxsize=256)
def _frame_event(event: str | None, framing: str) -> tuple[bytes, bytes]:
    before, after = _FRAMINGS[framing]
    return before if event is None else b"event: " + event.encode() + b"\n" + before, after


_FRAMINGS: Mapping[str, tuple[bytes, bytes]] = {
    "lf": (b"data: ", b"\n\n"),
    "crlf": (b"data: ", b"\r\n\r\n"),
    "bare": (b"", b""),
}


def fold_lines(data: bytes) -> bytes:
    """Return the data of a frame that has several lines, which an event says one by one."""
    return b"\ndata: ".join(data.splitlines())


def write_retry(milliseconds: int) -> bytes:
    """Return the data of a frame that has none, whose event tells clients how long to wait before they reconnect."""
    return b"\nretry: %d" % milliseconds


def write_comment(words: str) -> bytes:
    return b": " + words.encode() + b"\n\n"
