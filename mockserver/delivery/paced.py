"""Paced streams of many clients, which one timer wakes: each part leaves when it is due."""

import asyncio
import itertools
import math
from collections.abc import Callable
from heapq import heappop, heappush
from typing import Protocol

from mockserver.core.http import Reply
from mockserver.core.row import COMPLETE, PIECE, Row
from mockserver.core.seed import monotonic
from mockserver.core.sent_body import SentPart, SentParts, count_frames


class LoopClock:
    """Monotonic seconds, and the timers of the running event loop."""

    time = staticmethod(monotonic)

    def call_at(self, when: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        """Call back within about a millisecond after this time, or slightly early."""
        # uvloop's timers count whole milliseconds.
        delay = math.ceil((when - monotonic()) * 1000) / 1000
        return asyncio.get_running_loop().call_later(max(0.0, delay), callback)


CLOCK = LoopClock()


class Sink(Protocol):
    """The chunked body of an answer."""

    moved: bool  # something was sent since somebody last looked

    def end(self, chunk: bytes) -> None:
        """Send the last chunk."""


class ConnectionFlow(Protocol):
    """The flow of a connection: whether its client takes nothing for now."""

    write_paused: bool


class PacedStream:
    """A body whose parts leave when they are due. `on_end` is called with the outcome, when the row has the rest."""

    # where it goes, which is set before a wheel has it
    sink: "Sink"
    flow: "ConnectionFlow"
    write: Callable[[bytes], None]

    def __init__(self, reply: Reply, began: float, row: Row, on_end: Callable[[str], None]) -> None:
        self.body = reply.body
        self.parts = reply.parts
        self.row = row
        self._on_end = on_end
        self.began = math.ceil(began * TICKS) / TICKS  # never early
        self.at = 0  # the part with which it goes on, if it is in no cohort
        self.over = False
        self.stalled = False
        self._sent: SentParts | None = None

    def join(self, log: list[SentPart]) -> None:
        """Go on with others that send the same parts, and write what they send to one `log`."""
        row = self.row
        self._sent = SentParts(self.body, log, () if self._sent is None else self._sent.parts)
        row.size = 0
        if row.kept:
            row.parts = self._sent

    def leave_others(self, *, unsent_last: bool = False) -> None:
        """Go on without the others, or not at all; `unsent_last`: this stream has not sent the last part in the log."""
        row = self.row
        sent = self._sent
        if sent is not None:
            sent.detach(unsent_last=unsent_last)
            row.size = sent.size
            if not row.kept:
                row.unkept = count_frames(self.body[: row.size])
            elif not sent:
                row.parts = None  # or it would keep the body

    def stop(self, ended: str) -> None:
        """Send no more: the client has left, or the server stops."""
        if not self.over:
            self.leave_others()
            self.finish(ended)

    def finish(self, ended: str) -> None:
        """Forget the body, and report how it ended: one of the outcomes of a row."""
        self.over = True
        self.body = b""
        del self.sink  # which leads back here
        self._on_end(ended)


class Cohort:
    """Paced streams with the same parts that began in the same tick: all are at the same part, and go on together."""

    def __init__(self, stream: PacedStream) -> None:
        self.at = stream.at
        self.due = stream.began + stream.parts.times[self.at]  # when the next part is, in monotonic seconds
        self._log: list[SentPart] = []
        self.streams: list[PacedStream] = []
        self.add(stream)

    def add(self, stream: PacedStream) -> None:
        """Let a stream go on with the others."""
        stream.join(self._log)
        self.streams.append(stream)

    def wake(self, now: float) -> None:
        """Send what is due; late parts leave in one chunk. Streams that end or whose clients take nothing drop out."""
        streams = self.streams
        first = self.at
        parts = streams[0].parts
        began = streams[0].began
        at = first + 1
        last = len(parts.times)
        while at < last and began + parts.times[at] <= now:
            at += 1
        start = parts.ends[first - 1] if first else 0
        end = parts.ends[at - 1]
        opening = parts.openings[first] if at == first + 1 else b"%x\r\n" % (end - start)
        ends = at == last
        self.at = at
        self.due = math.inf if ends else began + parts.times[at]
        self._log.append((now, start, end))
        body = b""
        drops = ends
        failure = None
        for stream in streams:
            if stream.over:
                drops = True
                continue
            if stream.flow.write_paused:
                stream.at = first
                stream.stalled = True
                drops = True
                stream.leave_others(unsent_last=True)
                continue
            if stream.body is not body:
                body = stream.body
                chunk = opening + body[start:end] + b"\r\n"
            unsent = True
            try:
                if ends:
                    stream.sink.end(chunk)
                else:
                    stream.write(chunk)
                    stream.sink.moved = True
                unsent = False
                if not first:
                    row = stream.row
                    row.first = now - row.began
                    row.weigh(len(body) + PIECE * last)
                if ends:
                    row = stream.row
                    row.size = end
                    row.unkept = 0 if row.kept else count_frames(body)
                    stream.finish(COMPLETE)
            except Exception as error:  # the others go on
                drops = True
                failure = error
                if not stream.over:
                    stream.over = True
                    stream.leave_others(unsent_last=unsent)
        if drops:
            self.streams = [stream for stream in streams if not (stream.over or stream.stalled)]
        if failure is not None:
            raise failure  # the loop logs it


Due = tuple[float, int, Cohort]  # the numbers tell apart what is due at once


class Wheel:
    """Wakes the paced streams of a server when they are due, by one timer.

    While requests (`is_crowded`) or first parts wait for their turn, streams that have begun get little time: what is
    late of them leaves together later.
    """

    def __init__(self, clock: LoopClock | None = None, *, is_crowded: Callable[[], bool] = lambda: False) -> None:
        self._clock = clock or CLOCK
        self._is_crowded = is_crowded
        self._unbegun = list[Due]()  # a heap of those that have sent nothing yet
        self._begun = list[Due]()
        self._numbers = itertools.count()
        self._new: dict[tuple[float, int], Cohort] = {}  # since the last turn, by when they began and their parts
        self._timer: asyncio.TimerHandle | None = None
        self._set_for = math.inf

    def add(self, stream: PacedStream) -> None:
        """Wake a stream when its parts are due, beside those that began in the same tick."""
        key = stream.began, id(stream.parts)
        cohort = self._new.get(key)
        if cohort is None or cohort.at != stream.at:
            cohort = self._new[key] = Cohort(stream)
            self._enter(cohort)
            self._set()
        else:
            cohort.add(stream)

    def _enter(self, cohort: Cohort) -> None:
        heappush(self._begun if cohort.at else self._unbegun, (cohort.due, next(self._numbers), cohort))

    def _set(self) -> None:
        first = min([heap[0][0] for heap in (self._unbegun, self._begun) if heap], default=math.inf)
        if first < self._set_for:
            if self._timer is not None:
                self._timer.cancel()
            self._set_for = first
            self._timer = self._clock.call_at(min(first, self._clock.time() + LONGEST_TIMER), self._turn)

    def _turn(self) -> None:
        """Wake what is due by now, for a while: then others have their turn. First parts go before all others."""
        # nothing sets a timer meanwhile
        self._timer = None
        self._set_for = -math.inf
        self._new.clear()
        try:
            are_first_parts_late = self._wake_due(self._unbegun, TURN)
            self._wake_due(self._begun, SHORT_TURN if are_first_parts_late or self._is_crowded() else TURN)
        finally:  # whatever failed, the others go on
            self._set_for = math.inf
            self._set()

    def _wake_due(self, due: list[Due], seconds: float) -> bool:
        """Wake what is due by now, the most overdue first, for at most `seconds`; return whether any is left."""
        time = self._clock.time
        began = now = time()
        while due and due[0][0] <= began and now < began + seconds:
            cohort = heappop(due)[2]
            try:
                cohort.wake(now)
            finally:
                if cohort.streams:
                    self._enter(cohort)
            now = time()
        return bool(due) and due[0][0] <= began


TICKS = 2048  # a second; a power of two, by which floats are divided exactly
LONGEST_TIMER = 3600.0  # seconds
TURN = 0.02  # seconds that paced streams are written before others have their turn
SHORT_TURN = 0.002  # seconds of such a turn of streams that have begun, while requests or first parts wait
