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


async def drive(
    actions: Iterable[Action], client: ClientConnection, note: Note | None = None, *, clock: LoopClock = CLOCK
) -> str:
    """Perform the actions and return how they ended: `complete`, `client left`, or how they were cut.

    Writes between two waits leave in one send unless they are large, and so do writes that are late already. Waits run
    on an absolute schedule, so lateness never adds up; a client that leaves ends them at once.
    """
    schedule = Schedule(actions, client, note=note, clock=clock)
    outbox = schedule.outbox
    try:
        while (action := await schedule.await_next()) is not None:
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
                case ClientLeft():
                    return CLIENT_LEFT
        await _flush(outbox, client, last=True)
    finally:
        schedule.stop()
    return CLIENT_LEFT if client.wire is not None and client.wire.gone else COMPLETE


class ClientLeft:
    """The client has left, which ends all waits."""


Awaited = Write | Head | Flush | RawWrite | Cut | ClientLeft | None  # what `drive` does, as it must be awaited


class Schedule:
    """Goes through the actions, each at its time: fills the outbox, and waits; `drive` does what must be awaited.

    A wait is a timer and not a task, so that a stream which only waits and sends small pieces costs no turns of tasks.
    """

    __slots__ = ("_actions", "_client", "_clock", "_due", "_is_waiting", "_leaving", "_next", "_timer", "outbox")

    def __init__(
        self, actions: Iterable[Action], client: ClientConnection, note: Note | None, clock: LoopClock
    ) -> None:
        self.outbox = Outbox(client, note)
        self._actions = iter(actions)
        self._client = client
        self._clock = clock
        self._due = clock.time() if client.began is None else client.began
        self._is_waiting = False  # a wait has begun
        self._timer: asyncio.TimerHandle | None = None  # at its end
        self._next: asyncio.Future[Awaited] | None = None  # what is returned after it
        self._leaving: asyncio.Task[None] | None = None  # ends when the client leaves

    async def await_next(self) -> Awaited:
        """Return the next action that must be awaited, when it is due; None at the end."""
        action = self._wait() if self._is_waiting else self._advance()
        if not isinstance(action, Wait):
            return action
        self._next = asyncio.get_running_loop().create_future()
        return await self._next

    def stop(self) -> None:
        """End all waits."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._leaving is not None:
            self._leaving.remove_done_callback(self._notice_leaving)
            self._leaving.cancel()

    def _advance(self) -> "Awaited | Wait":
        """Go on to the next action that must be awaited, or to a wait, which has begun then."""
        outbox = self.outbox
        for action in self._actions:
            if isinstance(action, Write) and outbox.size <= MAX_WRITE:
                outbox.add(action.data)
            elif isinstance(action, Wait):
                self._due += action.seconds
                if self._due > self._clock.time():
                    if outbox.send_at_once():
                        return self._wait()
                    self._is_waiting = True
                    return _FLUSH
            elif isinstance(action, Head):
                outbox.head = action
            else:
                return action
        return None

    def _wait(self) -> "ClientLeft | Wait":
        """Begin to wait, unless the client has left."""
        if self._leaving is None:
            self._leaving = asyncio.get_running_loop().create_task(wait_until_left(self._client.receive))
            self._leaving.add_done_callback(self._notice_leaving)
        elif self._leaving.done():
            return _CLIENT_LEFT
        self._is_waiting = True
        self._set_timer()
        return _WAIT

    def _set_timer(self) -> None:
        if self._timer is None and self._due < NEVER:
            self._timer = self._clock.call_at(self._due, self._wake)

    def _wake(self) -> None:
        """Go on if the wait is over: timers may be early."""
        self._timer = None
        if self._next is None or self._next.done():
            return
        if self._due > self._clock.time():
            self._set_timer()
            return
        self._is_waiting = False
        try:
            action = self._advance()
        except Exception as error:
            self._next.set_exception(error)
        else:
            if not isinstance(action, Wait):
                self._next.set_result(action)

    def _notice_leaving(self, _: "asyncio.Task[None]") -> None:
        if self._next is not None and not self._next.done():
            self._next.set_result(_CLIENT_LEFT)


_CLIENT_LEFT = ClientLeft()
_FLUSH = Flush()
_WAIT = Wait(0.0)


class Outbox:
    """Pieces of a body that are sent together; `head` goes before them while it is not sent."""

    __slots__ = ("_note", "_pieces", "_wire", "head", "size")

    def __init__(self, client: ClientConnection, note: Note | None) -> None:
        self._wire = client.wire
        self._note = note
        self.head: Head | None = None
        self._pieces: list[bytes] = []
        self.size = 0

    def add(self, piece: bytes) -> None:
        """Add a piece, in bytes."""
        self._pieces.append(piece)
        self.size += len(piece)

    def take(self) -> bytes:
        """Return all pieces, which are sent now."""
        body = self._join()
        self._clear(body)
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
        self._clear(body)
        return True

    def _join(self) -> bytes:
        return self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)

    def _clear(self, body: bytes) -> None:
        """Forget the pieces of a body, and note that it is sent."""
        self._pieces.clear()
        self.size = 0
        if self._note is not None and body:
            self._note(body)


async def _flush(outbox: Outbox, client: ClientConnection, *, last: bool = False) -> None:
    """Send what is in the outbox; `last`: it ends the body."""
    if outbox.head is not None:
        await client.send_head(outbox.head.status, outbox.head.headers)
        outbox.head = None
    if not outbox.size and not last:
        return
    body = outbox.take()
    sent = 0
    while len(body) - sent > MAX_WRITE:
        piece = body[sent : sent + MAX_WRITE]
        await client.send({"type": "http.response.body", "body": piece, "more_body": True})
        sent += MAX_WRITE
        await asyncio.sleep(0)  # let other requests run
    rest = body[sent:] if sent else body
    await client.send({"type": "http.response.body", "body": rest, "more_body": not last})


async def _await_delivery(wire: Wire) -> None:
    """Return when the client has read what was written, or stopped reading: a reset discards unread bytes."""
    for _ in range(_LOOKS):
        if wire.gone or not wire.unsent:
            return
        await asyncio.sleep(_BETWEEN_LOOKS)


# how long a client may take to read what precedes a reset
_LOOKS = 1000
_BETWEEN_LOOKS = 0.003  # seconds


def _cut(wire: Wire | None, cut: Cut) -> None:
    if wire is not None and cut.how == "close":
        wire.close(cut.code)
    elif wire is not None and cut.how == "reset":
        wire.reset()
