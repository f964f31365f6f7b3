"""Perform the actions of answers on ASGI connections. No other code waits for the time at which something is sent."""

import asyncio
import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from heapq import heappop, heappush
from typing import Any, Protocol

from msgspec import Struct
from starlette.types import Message, Receive, Send

from mockserver.core.action import NO_CLOSE_FRAME, Action, Cut, Flush, Head, RawWrite, Wait, Write
from mockserver.core.exchange import COMPLETE, PIECE, Exchange, SentPart, SentParts, count_frames
from mockserver.core.http import WITHOUT_BODY, HeaderLines, Headers, Reply
from mockserver.core.seed import monotonic
from mockserver.delivery.script import NEVER

WIRE = "mockserver.wire"  # the extension of an ASGI scope in which a connection offers its Wire
IN_PROCESS = "mockserver.stage"  # the extension of an in-process client, which has no connection
Note = Callable[[bytes], None]  # called with bytes of the body as they are sent


class Wire(Protocol):
    """The connection beneath an ASGI server: `gone` once the client has left."""

    @property
    def gone(self) -> bool:
        """Return whether the client has left."""

    @property
    def stopping(self) -> bool:
        """Return whether the server stops, so that an answer without an end should end."""

    @property
    def unsent(self) -> int:
        """Return how many written bytes have not reached the client."""

    def write(self, data: bytes) -> None:
        """Write bytes to the connection outside HTTP framing."""

    def close(self, code: int = NO_CLOSE_FRAME) -> None:
        """Send what was written, then close, even if HTTP expects more; a WebSocket with a close frame of this code."""

    def reset(self) -> None:
        """End the connection by TCP RST."""

    def send_whole(self, status: int, head: bytes, body: bytes) -> bool:
        """Send a whole answer past ASGI: its header lines, and its body in its framing. False: nothing was sent."""

    def send_piece(self, data: bytes) -> bool:
        """Send a piece, not the last, of a chunked body past ASGI. False: nothing was sent."""

    def send_paced(self, status: int, head: bytes, stream: "PacedStream") -> bool:
        """Send the head of a paced stream past ASGI, then its parts when they are due. False: nothing was sent."""


class InProcessDriver(Protocol):
    """Performs answers for a client in the same process, without a connection and without waiting."""

    @property
    def patient(self) -> bool:
        """Return whether a request can wait for others."""

    async def perform(self, actions: Iterable[Action], note: Note) -> str:
        """Perform the actions and return how they ended, as the driver does."""


class ClientConnection(Struct):
    """An ASGI connection to one client. `began`: when the answer begins, in monotonic seconds; None: once driven."""

    receive: Receive
    send: Send
    wire: Wire | None = None
    began: float | None = None
    in_process: InProcessDriver | None = None


async def wait_until_left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


MAX_WRITE = 1 << 18  # bytes of a body written at once


class Buffer:
    """Pieces of a body that are sent together; `head` goes before them while it is not sent."""

    __slots__ = ("_note", "_pieces", "_wire", "head", "size")

    def __init__(self, client: ClientConnection, note: Note | None) -> None:
        self._wire, self._note = client.wire, note
        self.head: Head | None = None
        self._pieces: list[bytes] = []
        self.size = 0

    def add(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self.size += len(piece)

    def take(self) -> bytes:
        body = self._join()
        self._let_go(body)
        return body

    def send_at_once(self) -> bool:
        """Return whether it is empty, after sending what the connection can take at once."""
        if self.head is not None:
            return False
        if not self._pieces:
            return True
        if self._wire is None or self.size > MAX_WRITE:
            return False
        body = self._join()
        if not self._wire.send_piece(body):
            return False
        self._let_go(body)
        return True

    def _join(self) -> bytes:
        return self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)

    def _let_go(self, body: bytes) -> None:
        self._pieces.clear()
        self.size = 0
        if self._note is not None and body:
            self._note(body)


class Departed:
    """The client has left."""


class LoopClock:
    """Monotonic seconds, and the timers of the running event loop."""

    time = staticmethod(monotonic)

    def call_at(self, when: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        """Call back within about a millisecond after this time, or slightly early."""
        # uvloop's timers count whole milliseconds.
        delay = math.ceil((when - monotonic()) * 1000) / 1000
        return asyncio.get_running_loop().call_later(max(0.0, delay), callback)


class PacedStream:
    """A body whose parts leave when they are due. `on_end` is called with its row of the journal and the outcome."""

    sink: Any  # the chunked body that it writes to, by `write`, `end` the last; set before a wheel has it
    flow: Any  # of that, whose `write_paused` says that the client takes nothing for now
    write: Callable[[bytes], None]

    def __init__(self, reply: Reply, began: float, row: Exchange, on_end: Callable[[Exchange, str], None]) -> None:
        self.body, self.parts, self.row, self._on_end = reply.body, reply.parts, row, on_end
        self.began = math.ceil(began * TICKS) / TICKS  # never early
        self.at = 0  # the part with which it goes on, if it is in no cohort
        self.over = self.stalled = False
        self._sent: SentParts | None = None

    def join(self, log: list[SentPart]) -> None:
        """Go on with others that send the same parts; `log` is of what they send."""
        row = self.row
        self._sent = SentParts(self.body, log, () if self._sent is None else self._sent.parts)
        row.size = 0
        if row.kept:
            row.sent = self._sent

    def leave_others(self, *, unsent_last: bool = False) -> None:
        """Go on without the others, or not at all; they may be sending a part that this stream does not send."""
        row, sent = self.row, self._sent
        if sent is not None:
            sent.detach(unsent_last=unsent_last)
            row.size = sent.size
            if not row.kept:
                row.unkept = count_frames(self.body[: row.size])
            elif not sent:
                row.sent = []  # or it would keep the body

    def stop(self, ended: str) -> None:
        """Send no more: the client has left, or the server stops."""
        if not self.over:
            self.leave_others()
            self.finish(ended)

    def finish(self, ended: str) -> None:
        self.over, self.body = True, b""
        self._on_end(self.row, ended)


class Cohort:
    """Paced streams with the same parts that began in the same tick: all are at the same part, and go on together."""

    def __init__(self, stream: PacedStream) -> None:
        self.at = stream.at
        self.due = stream.began + stream.parts.times[self.at]  # when the next part is, in monotonic seconds
        self._log: list[SentPart] = []
        self.streams: list[PacedStream] = []
        self.add(stream)

    def add(self, stream: PacedStream) -> None:
        stream.join(self._log)
        self.streams.append(stream)

    def wake(self, now: float) -> None:
        """Send what is due; late parts leave in one chunk. Streams that end or whose clients take nothing drop out."""
        streams, first = self.streams, self.at
        parts, began = streams[0].parts, streams[0].began
        at, last = first + 1, len(parts.times)
        while at < last and began + parts.times[at] <= now:
            at += 1
        start, end = parts.ends[first - 1] if first else 0, parts.ends[at - 1]
        opening = parts.openings[first] if at == first + 1 else b"%x\r\n" % (end - start)
        ends = at == last
        self.at, self.due = at, math.inf if ends else began + parts.times[at]
        self._log.append((now, start, end))
        body, drops, failure = b"", ends, None
        for stream in streams:
            if stream.over:
                drops = True
                continue
            if stream.flow.write_paused:
                stream.at, stream.stalled, drops = first, True, True
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
                    row.size, row.unkept = end, 0 if row.kept else count_frames(body)
                    stream.finish(COMPLETE)
            except Exception as error:  # the others go on
                drops, failure = True, error
                if not stream.over:
                    stream.over = True
                    stream.leave_others(unsent_last=unsent)
        if drops:
            self.streams = [stream for stream in streams if not (stream.over or stream.stalled)]
        if failure is not None:
            raise failure  # to the loop, which logs it


Due = tuple[float, int, Cohort]  # the numbers tell apart what is due at once


class Wheel:
    """Wakes the paced streams of a server when they are due, by one timer.

    While requests (`is_crowded`) or first parts wait for their turn, streams that have begun get little time: what is
    late of them leaves together later.
    """

    def __init__(self, clock: LoopClock | None = None, *, is_crowded: Callable[[], bool] = lambda: False) -> None:
        self._clock, self._is_crowded = clock or _CLOCK, is_crowded
        self._unbegun = list[Due]()  # a heap of those that have sent nothing yet
        self._begun = list[Due]()
        self._numbers = itertools.count()
        self._new: dict[tuple[float, int], Cohort] = {}  # since the last turn, by when they began and their parts
        self._timer: asyncio.TimerHandle | None = None
        self._set_for = math.inf

    def add(self, stream: PacedStream) -> None:
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
        self._timer, self._set_for = None, -math.inf  # nothing sets a timer meanwhile
        self._new.clear()
        try:
            are_first_parts_late = self._wake_due(self._unbegun, TURN)
            self._wake_due(self._begun, SHORT_TURN if are_first_parts_late or self._is_crowded() else TURN)
        finally:  # whatever failed, the others go on
            self._set_for = math.inf
            self._set()

    def _wake_due(self, due: list[Due], seconds: float) -> bool:
        """Wake what is due by now, the latest first, for so many seconds; return whether that was not enough."""
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
SHORT_TURN = 0.002  # the same of streams that have begun, while requests or first parts wait


class Schedule:
    """Performs actions that need no waiting, at once and by timers; the driver gets what must be awaited."""

    __slots__ = ("_actions", "_alarm", "_client", "_clock", "_due", "_handed", "_rests", "_watch", "outbox")

    def __init__(
        self, actions: Iterable[Action], client: ClientConnection, note: Note | None, clock: LoopClock
    ) -> None:
        self.outbox = Buffer(client, note)
        self._actions, self._client, self._clock = iter(actions), client, clock
        self._due = clock.time() if client.began is None else client.began
        self._alarm: asyncio.TimerHandle | None = None
        self._rests = False  # a wait has begun
        self._handed: asyncio.Future[Handed] | None = None
        self._watch: asyncio.Task[None] | None = None

    async def next(self) -> "Handed":
        """Return the next action that must be awaited, when it is due; None at the end."""
        action = self._begin_wait() if self._rests else self._go()
        if not isinstance(action, Wait):
            return action
        self._handed = asyncio.get_running_loop().create_future()
        return await self._handed

    def wake(self) -> None:
        """Go on if the wait is over: timers may be early."""
        self._alarm = None
        handed = self._handed
        if handed is None or handed.done():
            return
        if self._due > self._clock.time():
            self._set_alarm()
            return
        self._rests = False
        try:
            action = self._go()
        except Exception as error:
            handed.set_exception(error)
        else:
            if not isinstance(action, Wait):
                handed.set_result(action)

    def stop(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if self._watch is not None:
            self._watch.remove_done_callback(self._depart)
            self._watch.cancel()

    def _go(self) -> "Handed | Wait":
        outbox = self.outbox
        for action in self._actions:
            if isinstance(action, Write) and outbox.size <= MAX_WRITE:
                outbox.add(action.data)
            elif isinstance(action, Wait):
                self._due += action.seconds
                if self._due > self._clock.time():
                    if outbox.send_at_once():
                        return self._begin_wait()
                    self._rests = True
                    return _FLUSH
            elif isinstance(action, Head):
                outbox.head = action
            else:
                return action
        return None

    def _begin_wait(self) -> "Departed | Wait":
        if self._watch is None:
            self._watch = asyncio.get_running_loop().create_task(wait_until_left(self._client.receive))
            self._watch.add_done_callback(self._depart)
        elif self._watch.done():
            return _LEFT
        self._rests = True
        self._set_alarm()
        return _WAIT

    def _set_alarm(self) -> None:
        if self._alarm is None and self._due < NEVER:
            self._alarm = self._clock.call_at(self._due, self.wake)

    def _depart(self, _: "asyncio.Task[None]") -> None:
        if self._handed is not None and not self._handed.done():
            self._handed.set_result(_LEFT)


Handed = Write | Head | Flush | RawWrite | Cut | Departed | None
_LEFT, _FLUSH, _WAIT = Departed(), Flush(), Wait(0.0)
_CLOCK = LoopClock()


CLIENT_LEFT, STOPPED = "client left", "server stopped"
CUT: Mapping[str, str] = {"end": "cut short", "close": "disconnected", "reset": "reset"}

_LOOKS, _BETWEEN_LOOKS = 1000, 0.003  # how long a client may take to read what precedes a reset


async def drive(
    actions: Iterable[Action], client: ClientConnection, note: Note | None = None, *, clock: LoopClock = _CLOCK
) -> str:
    """Perform the actions and return how they ended: `complete`, `client left`, or how they were cut.

    What stands between two waits leaves in one send, if it is not very much, and so does what is late already. Waits
    run on an absolute schedule, so lateness never adds up; a client that leaves ends them at once.
    """
    performance = Schedule(actions, client, note, clock)
    outbox = performance.outbox
    try:
        while (action := await performance.next()) is not None:
            match action:
                case Write():
                    await _flush(outbox, client)
                    await asyncio.sleep(0)  # let other requests run
                    outbox.add(action.data)
                case Flush():
                    await _flush(outbox, client)
                case RawWrite():
                    await _flush(outbox, client)
                    if client.wire is not None:
                        client.wire.write(action.data)
                case Cut():
                    await _flush(outbox, client, last=action.how == "end")
                    if action.how == "reset" and client.wire is not None:
                        await _await_delivery(client.wire)
                    _cut(client.wire, action)
                    return CUT[action.how]
                case Departed():
                    return CLIENT_LEFT
        await _flush(outbox, client, last=True)
    finally:
        performance.stop()
    return CLIENT_LEFT if client.wire is not None and client.wire.gone else COMPLETE


async def send_paced(reply: Reply, more: Headers | HeaderLines, client: ClientConnection, row: Exchange) -> str | None:
    """Send a paced stream: what `drive` would do with its script, but faster. None: that has to."""
    head = join_headers(reply, more) if client.wire is not None and reply.parts.times else None
    if head is None or client.wire is None:
        return None
    ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def end(_: Exchange, how: str) -> None:
        if not ended.done():  # it is cancelled when the server stops
            ended.set_result(how)

    stream = PacedStream(reply, monotonic() if client.began is None else client.began, row, end)
    if not client.wire.send_paced(reply.status, head, stream):
        return None
    try:
        return await ended
    finally:
        if not stream.over:
            stream.over = True
            stream.leave_others()


def join_headers(reply: Reply, more: Headers | HeaderLines) -> bytes | None:
    """Return the header lines of a reply that can be sent at once, and the framing of its body: in chunks or by length.

    None if it is not plain or too large, its status allows no body, or its headers are not clear, state another length
    or framing, or end the connection.
    """
    own = reply.headers
    if reply.script is not None or not (
        reply.frames is reply.pieces is None and len(reply.body) <= MAX_WRITE and reply.status not in WITHOUT_BODY
    ):
        return None
    if type(own) is not HeaderLines or type(more) is not HeaderLines:
        return _check_headers(reply, (*own, *more))
    lines = own.lines + more.lines
    return (lines if own.sized else lines + _CHUNKED).encode("latin-1", "replace")


def _check_headers(reply: Reply, headers: Headers) -> bytes | None:
    """Return the lines of headers that somebody states, if they are clear and suit the body."""
    told = "\n".join(map(": ".join, headers)) + "\n"
    lines = told.replace("\n", "\r\n")
    if len(lines) - len(told) != len(headers) or "\r" in told or "\0" in told:
        return None
    if "content-length: " in told:
        is_true = f"content-length: {len(reply.body)}\n" in told and not reply.parts.times
    else:
        is_true = "transfer-encoding: " not in told and ("connection: " not in told or _STAYS in told)
        lines += _CHUNKED
    return lines.encode("latin-1", "replace") if is_true else None


def frame_body(lines: bytes, body: bytes) -> bytes:
    """Return a whole body in the framing that its header lines state: as it is, or in one chunk."""
    if not lines.endswith(_IN_CHUNKS):
        return body
    return b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body) if body else b"0\r\n\r\n"


_CHUNKED, _STAYS = "transfer-encoding: chunked\r\n", "connection: keep-alive\n"
_IN_CHUNKS = _CHUNKED.encode()


async def _await_delivery(wire: Wire) -> None:
    """Return when the client has read what was written, or stopped reading: a reset discards unread bytes."""
    for _ in range(_LOOKS):
        if wire.gone or not wire.unsent:
            return
        await asyncio.sleep(_BETWEEN_LOOKS)


def _cut(wire: Wire | None, cut: Cut) -> None:
    if wire is not None and cut.how == "close":
        wire.close(cut.code)
    elif wire is not None and cut.how == "reset":
        wire.reset()


async def _flush(outbox: Buffer, client: ClientConnection, *, last: bool = False) -> None:
    if outbox.head is not None:
        await client.send(_start(outbox.head))
        outbox.head = None
    if not outbox.size and not last:
        return
    body, swallowed = outbox.take(), 0
    while len(body) - swallowed > MAX_WRITE:
        mouthful = body[swallowed : swallowed + MAX_WRITE]
        await client.send({"type": "http.response.body", "body": mouthful, "more_body": True})
        swallowed += MAX_WRITE
        await asyncio.sleep(0)  # let other requests run
    rest = body[swallowed:] if swallowed else body
    await client.send({"type": "http.response.body", "body": rest, "more_body": not last})


def _start(head: Head) -> Message:
    return {"type": "http.response.start", "status": head.status, "headers": list(map(encode_header, head.headers))}


@lru_cache(maxsize=4096)  # most headers repeat
def encode_header(header: tuple[str, str]) -> tuple[bytes, bytes]:
    """Return a header as it is sent; `?` for what no header can hold."""
    name, value = header
    return name.lower().encode("latin-1", "replace"), value.encode("latin-1", "replace")
