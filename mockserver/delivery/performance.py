"""Performs actions as far as nobody has to wait for it: what does is handed to the driver, one at a time."""

import asyncio
from collections.abc import Iterable

from mockserver.core.action import Action, Cut, Flush, Head, Spill, Wait, Write
from mockserver.delivery.line import Line, Note, departure
from mockserver.delivery.wheel import Wheel

MOUTHFUL = 1 << 18  # bytes of a body that are handed over at once


class Outbox:
    """Collects a head and bytes until something has to leave."""

    __slots__ = ("_note", "_pieces", "_short", "head", "size")

    def __init__(self, line: Line, note: Note | None) -> None:
        self._short, self._note = line.short, note
        self.head: Head | None = None
        self._pieces: list[bytes] = []
        self.size = 0

    def add(self, piece: bytes) -> None:
        """Put bytes of the body in."""
        self._pieces.append(piece)
        self.size += len(piece)

    def take(self) -> bytes:
        """Take all bytes out: they leave now."""
        body = self._joined()
        self._let_go(body)
        return body

    def left(self) -> bool:
        """Whether nothing is in it, if need be since it could leave by the short way."""
        if self.head is not None:
            return False
        if not self._pieces:
            return True
        if self._short is None or self.size > MOUTHFUL:
            return False
        body = self._joined()
        if not self._short.piece(body):
            return False
        self._let_go(body)
        return True

    def _joined(self) -> bytes:
        return self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)

    def _let_go(self, body: bytes) -> None:
        self._pieces.clear()
        self.size = 0
        if self._note is not None and body:
            self._note(body)


class Left:
    """Nobody is there any more for whom something could be done."""


class Performance:
    """Performs what nobody has to wait for: bytes that leave by the short way, and what lies between two moments.

    So a stream in good order costs no more than its wheel's turn; what is to be awaited is handed to the driver.
    """

    __slots__ = ("_actions", "_due", "_handed", "_line", "_rests", "_watch", "_wheel", "outbox")

    def __init__(self, actions: Iterable[Action], line: Line, note: Note | None, wheel: Wheel) -> None:
        self.outbox = Outbox(line, note)
        self._actions, self._line, self._wheel = iter(actions), line, wheel
        self._due = wheel.clock.time() if line.began is None else line.began
        self._rests = False  # a wait has begun
        self._handed: asyncio.Future[Handed] | None = None
        self._watch: asyncio.Task[None] | None = None

    async def next(self) -> "Handed":
        """The next action that has to be awaited, once its time has come; None at the end."""
        action = self._rest() if self._rests else self._go()
        if not isinstance(action, Wait):
            return action
        self._handed = asyncio.get_running_loop().create_future()
        return await self._handed

    def wake(self) -> None:
        """Go on, as the moment has come."""
        handed = self._handed
        if handed is None or handed.done():
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
        """Wait for nothing any longer."""
        self._wheel.leave(self, self._due)
        if self._watch is not None:
            self._watch.remove_done_callback(self._depart)
            self._watch.cancel()

    def _go(self) -> "Handed | Wait":
        """Perform actions until there is one to be awaited, or a Wait, which has begun."""
        outbox = self.outbox
        for action in self._actions:
            if isinstance(action, Write) and outbox.size <= MOUTHFUL:
                outbox.add(action.data)
            elif isinstance(action, Wait):
                self._due += action.seconds
                if self._due > self._wheel.clock.time():
                    return self._rest() if outbox.left() else self._begun()
            elif isinstance(action, Head):
                outbox.head = action
            else:
                return action
        return None

    def _begun(self) -> Flush:
        """Have the driver bring out what the wait is to follow."""
        self._rests = True
        return _FLUSH

    def _rest(self) -> "Left | Wait":
        """Sleep until the moment that is due."""
        if self._watch is None:
            self._watch = asyncio.get_running_loop().create_task(departure(self._line.receive))
            self._watch.add_done_callback(self._depart)
        elif self._watch.done():
            return _LEFT
        self._rests = True
        self._wheel.sleep(self, self._due)
        return _WAIT

    def _depart(self, _: "asyncio.Task[None]") -> None:
        """The client has left."""
        if self._handed is not None and not self._handed.done():
            self._handed.set_result(_LEFT)


Handed = Write | Head | Flush | Spill | Cut | Left | None
_LEFT, _FLUSH, _WAIT = Left(), Flush(), Wait(0.0)
