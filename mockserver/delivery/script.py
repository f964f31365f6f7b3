"""A reply and its timing become actions. The only place that writes SSE.

It never sleeps: time is a number in a Wait.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain

from mockserver.core.action import Action, Head, Wait, Write
from mockserver.core.http import Frame, Headers, Reply
from mockserver.core.plan import Timing

Draw = Callable[[], float]


def script(reply: Reply, timing: Timing, jitter: Draw, more: Headers = ()) -> Iterable[Action]:
    """Actions that put a reply on the wire. Without timing, frames leave together: all of them, or many at once.

    A plain body waits as long as its stream would. `jitter` gives a number from -1 to 1 for each frame with tokens;
    `more` are headers that go out after the reply's own.
    A status that HTTP allows no body gets none, or the client would take it for the next answer.
    """
    head = Head(reply.status, (*reply.headers, *more))
    timed = timing != _AT_ONCE
    if reply.status in _WITHOUT_BODY:
        return (head, Write(b""))
    if reply.frames is None:
        pauses = [Wait(_duration(reply.tokens, timing, jitter))] if timed else []
        return (*pauses, head, Write(reply.body))
    if not timed:
        return chain((head,), map(Write, _batches(reply.frames)))
    return _paced(head, reply.frames, timing, jitter)


def written(reply: Reply, timing: Timing) -> Reply:
    """The same reply; its frames are already bytes where nothing will stand between them, and they are not too many."""
    if reply.frames is None or timing != _AT_ONCE:
        return reply
    batches = _batches(reply.frames)
    first, second = next(batches, b""), next(batches, None)
    if second is None:
        return Reply(reply.status, reply.headers, first)
    return replace(reply, frames=chain((first, second), batches))


def sse(frame: Frame | bytes) -> bytes:
    """One server-sent event: exactly one space after each colon, LF only (`wire/README.md`, SSE bytes).

    Bytes that a rule gives raw go out as they are.
    """
    if isinstance(frame, bytes):
        return frame
    if frame.event is None:
        return b"data: " + frame.data + b"\n\n"
    return b"event: " + frame.event.encode() + b"\ndata: " + frame.data + b"\n\n"


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


_AT_ONCE = Timing()
_BATCH = 1 << 18  # bytes
_WITHOUT_BODY = (204, 304)


def _paced(head: Head, frames: Iterable[Frame | bytes], timing: Timing, jitter: Draw) -> Iterator[Action]:
    if timing.total is not None:
        frames = tuple(frames)
        timing = _stretched(timing, sum(map(_tokens, frames)))
    yield head
    first = True
    for frame in frames:
        pause = timing.first_token if first else 0.0
        if not first or timing.total is not None:
            pause += _token_time(_tokens(frame), timing, jitter)
        if pause > 0:
            yield Wait(pause)
        first = False
        yield Write(sse(frame))


def _tokens(frame: Frame | bytes) -> int:
    return 1 if isinstance(frame, bytes) else frame.tokens


def _duration(tokens: int, timing: Timing, jitter: Draw) -> float:
    if timing.total is not None:
        return timing.total
    return timing.first_token + _token_time(tokens, timing, jitter)


def _stretched(timing: Timing, tokens: int) -> Timing:
    """The pace at which this many tokens take `total` seconds; jitter would break the promise."""
    total = timing.total or 0.0
    first = min(timing.first_token, total) if tokens else total
    return Timing(first_token=first, per_token=(total - first) / max(tokens, 1), total=total)


def _token_time(tokens: int, timing: Timing, jitter: Draw) -> float:
    if not tokens:
        return 0.0
    return tokens * timing.per_token * (1 + timing.jitter * jitter())
