"""Perform the actions of answers on ASGI connections, each at its time."""

import asyncio
from collections.abc import Iterable

from mockserver.core.action import Action, Cut, Flush, Head, RawWrite, Wait, Write
from mockserver.core.row import COMPLETE
from mockserver.delivery.connection import (
    CLIENT_LEFT,
    CUT,
    MAX_WRITE,
    ClientConnection,
    Note,
    Wire,
    wait_until_left,
)
from mockserver.delivery.paced import CLOCK, LoopClock
from mockserver.delivery.script import NEVER


class Buffer:
    """Pieces of a body that are sent together; `head` goes before them while it is not sent."""

    __slots__ = ("_note", "_pieces", "_wire", "head", "size")

    def __init__(self, client: ClientConnection, note: Note | None) -> None:
        self._wire = client.wire
        self._note = note
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


class Schedule:
    """Performs actions that need no waiting, at once and by timers; the driver gets what must be awaited."""

    __slots__ = ("_actions", "_alarm", "_client", "_clock", "_due", "_handed", "_rests", "_watch", "outbox")

    def __init__(
        self, actions: Iterable[Action], client: ClientConnection, note: Note | None, clock: LoopClock
    ) -> None:
        self.outbox = Buffer(client, note)
        self._actions = iter(actions)
        self._client = client
        self._clock = clock
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
_LEFT = Departed()
_FLUSH = Flush()
_WAIT = Wait(0.0)


# how long a client may take to read what precedes a reset
_LOOKS = 1000
_BETWEEN_LOOKS = 0.003


async def drive(
    actions: Iterable[Action], client: ClientConnection, note: Note | None = None, *, clock: LoopClock = CLOCK
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
        await client.send_head(outbox.head.status, outbox.head.headers)
        outbox.head = None
    if not outbox.size and not last:
        return
    body = outbox.take()
    swallowed = 0
    while len(body) - swallowed > MAX_WRITE:
        mouthful = body[swallowed : swallowed + MAX_WRITE]
        await client.send({"type": "http.response.body", "body": mouthful, "more_body": True})
        swallowed += MAX_WRITE
        await asyncio.sleep(0)  # let other requests run
    rest = body[swallowed:] if swallowed else body
    await client.send({"type": "http.response.body", "body": rest, "more_body": not last})
