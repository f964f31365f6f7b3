"""A reply and its pace become actions. The only place that writes SSE.

It never sleeps: time is a number in a Wait.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain

from mockserver.core.action import Action, Head, Wait, Write
from mockserver.core.http import Frame, Headers, Reply
from mockserver.delivery.pace import Pace


def script(reply: Reply, pace: Pace, more: Headers = (), *, apart: bool = False) -> Iterable[Action]:
    """Actions that put a reply on the wire. Without timing, frames leave together: all of them, or many at once.

    A plain body waits as long as its stream would; what was recorded keeps its own beat. `more` are headers that go out
    after the reply's own; `apart` wants one Write for each frame, as faults do. A status that HTTP allows no body gets
    none, or the client would take it for the next answer.
    """
    head = Head(reply.status, (*reply.headers, *more))
    if reply.status in WITHOUT_BODY:
        return (head, Write(b""))
    if reply.beats and not pace.at_once:
        return _beaten(head, reply)
    if reply.frames is None:
        pauses = [] if pace.at_once else [Wait(pace.duration(reply.tokens))]
        return (*pauses, head, Write(reply.body, reply.tokens))
    if pace.at_once and not apart:
        return chain((head,), map(Write, _batches(reply.frames)))
    return _paced(head, reply.frames, pace)


def written(reply: Reply) -> Reply:
    """The same reply, its frames as bytes, for one between which nothing will stand, if they are not too many."""
    if reply.frames is None:
        return reply
    batches = _batches(reply.frames)
    first, second = next(batches, b""), next(batches, None)
    if second is None:
        return Reply(reply.status, reply.headers, first)
    return replace(reply, frames=chain((first, second), batches))


class Kept:
    """Frames that are made once, when the first reader comes to them; whoever reads them later gets the same."""

    def __init__(self, frames: Iterable[Frame | bytes]) -> None:
        self._source, self._made = iter(frames), list[Frame | bytes]()

    def __iter__(self) -> Iterator[Frame | bytes]:
        at = 0
        while True:
            if at == len(self._made):
                frame = next(self._source, None)
                if frame is None:
                    return
                self._made.append(frame)
            yield self._made[at]
            at += 1


def sse(frame: Frame | bytes) -> bytes:
    """One server-sent event: exactly one space after each colon, LF only (`wire/README.md`, SSE bytes).

    Bytes that a rule gives raw go out as they are.
    """
    if isinstance(frame, bytes):
        return frame
    if frame.event is None:
        return b"data: " + frame.data + b"\n\n"
    return b"event: " + frame.event.encode() + b"\ndata: " + frame.data + b"\n\n"


def comment(words: str) -> bytes:
    """What clients of server-sent events are to pass over."""
    return b": " + words.encode() + b"\n\n"


def _batches(frames: Iterable[Frame | bytes]) -> Iterator[bytes]:
    """Frames on the wire, many at once: all of a huge stream together would fill the memory."""
    pieces, size = list[bytes](), 0
    for frame in frames:
        pieces.append(sse(frame))
        size += len(pieces[-1])
        if size >= _BATCH:
            yield b"".join(pieces)
            pieces, size = [], 0
    if pieces:
        yield b"".join(pieces)


_BATCH = 1 << 16  # bytes, which take about a millisecond to make
WITHOUT_BODY = (204, 304)  # statuses


def _paced(head: Head, frames: Iterable[Frame | bytes], pace: Pace) -> Iterator[Action]:
    """The frame that ends the n-th token goes out when that token comes; what weighs nothing, with the one before."""
    if pace.timing.total is not None:
        frames = tuple(frames)
        pace = pace.fitted(sum(map(_tokens, frames)))
    yield head
    moments, token, now = pace.moments(), 0, 0.0
    for frame in frames:
        tokens = _tokens(frame)
        token += tokens
        moment = moments.of(token)
        if moment > now:
            yield Wait(moment - now)
            now = moment
        yield Write(sse(frame), tokens, frame)


def _beaten(head: Head, reply: Reply) -> Iterator[Action]:
    """Each frame goes out at its beat, counted from the start, so that lateness never adds up; so does a plain body."""
    now = 0.0
    if reply.frames is None:
        yield from (Wait(reply.beats[0]), head, Write(reply.body, reply.tokens))
        return
    yield head
    for frame, beat in zip(reply.frames, reply.beats, strict=True):
        if beat > now:
            yield Wait(beat - now)
            now = beat
        yield Write(sse(frame), _tokens(frame), frame)


def _tokens(frame: Frame | bytes) -> int:
    return 1 if isinstance(frame, bytes) else frame.tokens
