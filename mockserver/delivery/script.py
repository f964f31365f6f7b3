"""A reply and its pace become actions; time is a number in a Wait."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice, repeat
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from mockserver.core.action import Action, Flush, Head, Wait, Write
from mockserver.core.frames import Frame, Frames, write_event
from mockserver.core.http import WITHOUT_BODY, HeaderLines, Headers, Parts, Reply
from mockserver.core.lazy import join_batches
from mockserver.core.plan import Timing
from mockserver.core.seed import Random, Seed


class Pace(Struct, frozen=True):
    """A timing and the seed of its jitter: equal paces give equal waits, in any order."""

    timing: Timing = Timing()
    seed: Seed = Seed()

    @property
    def at_once(self) -> bool:
        return self.timing.at_once

    def compute_duration(self, tokens: int) -> float:
        """Return how many seconds pass until an answer of this many tokens is sent."""
        return self.fit(tokens).draw_moments().find(tokens)

    def fit(self, tokens: int) -> "Pace":
        """Return the pace at which the last of `tokens` tokens is sent after `total` seconds, if that is set."""
        total = self.timing.total
        if total is None:
            return self
        if tokens < 2:
            return Pace(Timing(first_token=total))
        first = min(self.timing.first_token or 0.0, total)
        even = replace(self.timing, first_token=first, per_token=(total - first) / (tokens - 1), jitter=0.0)
        weight = sum(islice(_draw_factors(self.timing, self.seed), 1, tokens))
        if not weight:  # a jitter as large as the waits can leave nothing of any of them
            return replace(self, timing=even)
        return replace(self, timing=replace(even, per_token=(total - first) / weight, jitter=self.timing.jitter))

    def draw_moments(self) -> "Moments":
        """Return when each token leaves, from the first on."""
        return Moments(self.timing, _draw_factors(self.timing, self.seed))


class Moments:
    """When the tokens of one answer are sent, in seconds from its start; ask in ascending order."""

    def __init__(self, timing: Timing, factors: Iterator[float]) -> None:
        self._per_token = timing.per_token
        self._factors = factors
        self._token = 1
        first = timing.first_token
        factor = next(factors)
        exact = timing.total is not None  # the first token is part of the promise
        self._at = (timing.per_token if first is None else first) * (1.0 if exact else factor)

    def find(self, token: int) -> float:
        """Return when a token is sent, counted from 1."""
        further = token - self._token
        if further > 0:
            self._token = token
            if self._per_token:
                self._at += self._per_token * (
                    next(self._factors) if further == 1 else sum(islice(self._factors, further))
                )
        return self._at


def _draw_factors(timing: Timing, seed: Seed) -> Iterator[float]:
    """Return the factor of each token's wait: 1 on average, never below 0."""
    if not timing.jitter:
        return repeat(1.0)
    draw = _DRAWS[timing.distribution]
    random = seed.stream("jitter")
    return (draw(random, timing.jitter) for _ in repeat(None))


def _draw_uniform(random: Random, share: float) -> float:
    return 1 + random.uniform(-share, share)


def _draw_normal(random: Random, share: float) -> float:
    return 1 + max(-1.0, min(random.gauss(0.0, share), 1.0))


def _draw_lognormal(random: Random, share: float) -> float:
    """Draw exp(N(m, s)): its mean is exp(m + s²/2), and its deviation, as a share of that, the root of exp(s²) - 1."""
    variance = math.log1p(share * share)
    return math.exp(random.gauss(-variance / 2, math.sqrt(variance)))


_DRAWS: Mapping[str, Callable[[Random, float], float]] = {
    "uniform": _draw_uniform,
    "normal": _draw_normal,
    "lognormal": _draw_lognormal,
}
AT_ONCE = Pace()


def make_script(reply: Reply, pace: Pace, more: Headers | HeaderLines = (), *, apart: bool = False) -> Iterable[Action]:
    """Yield the actions that send a reply. Without timing, many frames are sent together.

    A plain body waits as long as its stream would; a recorded reply keeps its own times. `more` are headers that go
    out after the reply's own; `apart` wants one Write for each frame, as faults do. A status for which HTTP allows no
    body gets none, or the client would take it for the next answer.
    """
    head = Head(reply.status, (*reply.headers, *more))
    if reply.status in WITHOUT_BODY:
        return (head, Write(b""))
    if reply.script is not None:
        return _follow(head, reply.script)
    if reply.parts.times and not pace.at_once:
        return _send_in_time(head, _write_parts(reply.body, reply.parts))
    if reply.frames is None:
        pauses = (
            []
            if pace.at_once
            else [Wait(reply.frame_times[0] if reply.frame_times else pace.compute_duration(reply.tokens))]
        )
        if reply.pieces is not None:
            return chain((*pauses, head), map(Write, join_batches(reply.pieces, _BATCH)))
        return (*pauses, head, Write(reply.body, reply.tokens))
    if pace.at_once and not apart:
        return chain((head,), map(Write, _join_in_batches(reply.frames)))
    if reply.frame_times and not pace.at_once:
        return _send_in_time(head, _keep_frame_times(reply.frames, reply.frame_times))
    return _send_in_time(head, _pace_frames(reply.frames, pace))


class PacedReply(NamedTuple):
    """A reply, and the pace at which it leaves."""

    reply: Reply
    pace: Pace


def fit_frame_times(reply: Reply, pace: Pace) -> PacedReply:
    """Return a reply whose last frame leaves when its pace is over, and not before the others, with its new pace."""
    *before, _ = reply.frame_times
    last = max((pace.compute_duration(reply.tokens), *before))
    if not last:
        return PacedReply(replace(reply, frame_times=()), AT_ONCE)
    return PacedReply(replace(reply, frame_times=(*before, last)), Pace(Timing(total=last)))


def _follow(head: Head, script: Iterator[Frame | float]) -> Iterator[Action]:
    yield head
    for each in script:
        if isinstance(each, Frame):
            yield from (Write(write_event(each), each.tokens, each), Flush())
        else:
            yield Wait(each)


def join_frames(reply: Reply) -> Reply:
    """Return the reply with its frames joined to bytes, if no wait or fault comes between them and they are few."""
    if reply.frames is None:
        return reply
    if isinstance(reply.frames, Frames) and len(body := reply.frames.join(write_event)) <= _BATCH:
        return Reply(reply.status, reply.headers, body)
    several = _join_in_batches(reply.frames)
    first = next(several, b"")
    second = next(several, None)
    if second is None:
        return Reply(reply.status, reply.headers, first)
    return replace(reply, frames=chain((first, second), several))


def fit_form(reply: Reply, pace: Pace, *, apart: bool, few: bool) -> Reply:
    """Return the reply in the form in which it leaves: joined, or in parts that are due at times if these are `few`.

    Faults want all frames `apart`, and a plain body as a whole.
    """
    if reply.frame_times and not pace.at_once:  # each frame has its time
        return reply
    if apart:
        if reply.pieces is None:
            return reply
        body = b"".join(reply.pieces)
        length = ("content-length", str(len(body)))
        return replace(reply, headers=(*reply.headers, length), body=body, pieces=None)
    if pace.at_once:
        return join_frames(reply)
    return join_paced_frames(reply, pace) if few else reply


def join_paced_frames(reply: Reply, pace: Pace) -> Reply:
    """Return the reply with its frames joined to a body, of which each part leaves at its time."""
    if reply.frames is None:
        return reply
    written: list[bytes] = []
    ends: dict[float, int] = {}
    size = 0
    for timed in _schedule_frames(reply.frames, pace):
        data = write_event(timed.frame)
        written.append(data)
        size += len(data)
        if data:
            ends[min(timed.at, NEVER)] = size
    stops = tuple(ends.values())
    openings = tuple([b"%x\r\n" % (end - start) for start, end in zip((0, *stops), stops, strict=False)])
    return replace(reply, frames=None, body=b"".join(written), parts=Parts(tuple(ends), stops, openings))


def _join_in_batches(frames: Iterable[Frame | bytes]) -> Iterator[bytes]:
    return join_batches(map(write_event, frames.runs if isinstance(frames, Frames) else frames), _BATCH)


_BATCH = 1 << 16  # bytes, about a millisecond of work
NEVER = 2.0**40  # seconds, some 35,000 years: later times never come


def _send_in_time(head: Head, writes: Iterable[tuple[float, Write]]) -> Iterator[Action]:
    """Yield the head and the writes, each at its time, in seconds since the start."""
    yield head
    now = 0.0
    for moment, write in writes:
        if moment > now:
            yield Wait(moment - now)
            now = moment
        yield write


def _pace_frames(frames: Iterable[Frame | bytes], pace: Pace) -> Iterator[tuple[float, Write]]:
    for timed in _schedule_frames(frames, pace):
        yield timed.at, Write(write_event(timed.frame), timed.tokens, timed.frame)


class _TimedFrame(NamedTuple):
    """A frame, when it leaves, in seconds since the start, and how many tokens it has."""

    at: float
    tokens: int
    frame: Frame | bytes


def _schedule_frames(frames: Iterable[Frame | bytes], pace: Pace) -> Iterator[_TimedFrame]:
    """Yield when each frame leaves.

    The frame that ends the n-th token leaves at that token's time; a frame without tokens follows the one before.
    """
    if pace.timing.total is not None:
        frames = tuple(frames)
        pace = pace.fit(sum(map(_count_tokens, frames)))
    moments = pace.draw_moments()
    token = 0
    now = 0.0
    for frame in frames:
        tokens = _count_tokens(frame)
        token += tokens
        now = max(now, moments.find(token))
        yield _TimedFrame(now, tokens, frame)


def _write_parts(body: bytes, parts: Parts) -> Iterator[tuple[float, Write]]:
    for moment, start, end in zip(parts.times, (0, *parts.ends), parts.ends, strict=False):
        yield moment, Write(body[start:end])


def _keep_frame_times(frames: Iterable[Frame | bytes], times: Iterable[float]) -> Iterator[tuple[float, Write]]:
    for frame, at in zip(frames, times, strict=True):
        yield at, Write(write_event(frame), _count_tokens(frame), frame)


def _count_tokens(frame: Frame | bytes) -> int:
    return 1 if isinstance(frame, bytes) else frame.tokens
