"""Performs actions on an ASGI connection: the only sleep, the only socket."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from starlette.types import Message, Receive, Send

from mockserver.core.action import Action, Cut, Flush, Head, Spill, Wait, Write
from mockserver.core.http import Headers, Reply
from mockserver.delivery.script import WITHOUT_BODY
from mockserver.delivery.wheel import Sleeper, Wheel, shared

MOUTHFUL = 1 << 18  # bytes of a body that are handed over at once
COMPLETE, CLIENT_LEFT, STOPPED = "complete", "client left", "server stopped"
CUT: Mapping[str, str] = {"end": "cut short", "close": "disconnected", "reset": "reset"}

_LOOKS, _BETWEEN_LOOKS = 1000, 0.003  # how often a client is given time to take what was sent before a reset

WIRE = "mockserver.wire"  # the extension of an ASGI scope in which a door lends its Wire
WHOLE = "mockserver.whole"  # the one in which it lends a Whole; whoever changes answers on their way takes it off
Note = Callable[[bytes], None]  # is told of bytes of the body as they leave
Whole = Callable[[int, bytes, bytes], bool]  # sends status, header lines and body at once, if nothing stands against it


class Wire(Protocol):
    """The connection beneath an ASGI server, which the door lends: `gone` once the client has left."""

    @property
    def gone(self) -> bool:
        """Whether the client has left."""

    @property
    def unsent(self) -> int:
        """How many bytes were written and have not reached the client."""

    def write(self, data: bytes) -> None:
        """Put bytes on the connection past all framing."""

    def close(self) -> None:
        """Send what was written, then close, whatever HTTP still expects."""

    def reset(self) -> None:
        """End the connection by TCP RST."""


@dataclass(slots=True)  # not frozen, as every request makes one
class Line:
    """An ASGI connection to one client; without a door there is no wire beneath.

    `began` is when the answer begins, on the clock of the wheel; None: once it is driven.
    """

    receive: Receive
    send: Send
    wire: Wire | None = None
    whole: Whole | None = None
    began: float | None = None


async def drive(actions: Iterable[Action], line: Line, note: Note | None = None, *, wheel: Wheel | None = None) -> str:
    """Send what the actions say and return how it ended: `complete`, `client left`, or how it was cut.

    What stands between two waits leaves in one send, if it is not very much, and so does what is late already. Waits
    run on an absolute schedule, so lateness never adds up; a client that leaves ends them at once.
    """
    outbox = _Outbox(line.send, note)
    schedule: _Schedule | None = None
    try:
        for action in actions:
            match action:
                case Write():
                    if outbox.size > MOUTHFUL:
                        await outbox.flush()
                        await asyncio.sleep(0)  # the others' turn
                    outbox.add(action.data)
                case Head():
                    outbox.head = action
                case Wait():
                    schedule = schedule or _Schedule(line, shared() if wheel is None else wheel)
                    if schedule.late(action.seconds):
                        continue
                    await outbox.flush()
                    if not await schedule.wait():
                        return CLIENT_LEFT
                case Flush():
                    await outbox.flush()
                case Spill():
                    await outbox.flush()
                    if line.wire is not None:
                        line.wire.write(action.data)
                case Cut():
                    await outbox.flush(last=action.how == "end")
                    if action.how == "reset" and line.wire is not None:
                        await _delivered(line.wire)
                    _cut(line.wire, action)
                    return CUT[action.how]
        await outbox.flush(last=True)
    finally:
        if schedule is not None:
            schedule.stop()
    return CLIENT_LEFT if line.wire is not None and line.wire.gone else COMPLETE


async def hand_over(reply: Reply, more: Headers, line: Line, note: Note) -> str:
    """Send a plain reply and more headers at once, as `drive` would its script, by a shorter way."""
    body = reply.body
    if body:
        note(body)
    if line.whole is None or not _handed(line.whole, reply, more):
        headers = [_encoded(header) for header in (*reply.headers, *more)]
        await line.send({"type": "http.response.start", "status": reply.status, "headers": headers})
        await line.send({"type": "http.response.body", "body": body, "more_body": False})
    return CLIENT_LEFT if line.wire is not None and line.wire.gone else COMPLETE


def _handed(whole: Whole, reply: Reply, more: Headers) -> bool:
    """Whether a reply went out whole: if its length is told, and its lines are lines."""
    head, length = _lines(reply.headers)
    if length != len(reply.body):
        return False
    if more:
        told = "".join([f"{name}: {value}\n" for name, value in more])
        if told.count("\n") != len(more) or "\r" in told or "\0" in told:
            return False
        head += told.replace("\n", "\r\n").encode("latin-1")
    return whole(reply.status, head, reply.body)


def fits(reply: Reply) -> bool:
    """Whether a reply is one to `hand_over`: plain, not too large, and not of a status that allows no body."""
    return reply.frames is None and len(reply.body) <= MOUTHFUL and reply.status not in WITHOUT_BODY


async def _delivered(wire: Wire) -> None:
    """Return when the client has what was written, or will not take it: a reset throws away what is on its way."""
    for _ in range(_LOOKS):
        if wire.gone or not wire.unsent:
            return
        await asyncio.sleep(_BETWEEN_LOOKS)


def _cut(wire: Wire | None, cut: Cut) -> None:
    """End the connection; without a wire the ASGI server will, as the answer is not complete."""
    if wire is not None and cut.how == "close":
        wire.close()
    elif wire is not None and cut.how == "reset":
        wire.reset()


class _Outbox:
    """Collects a head and bytes until something has to leave."""

    def __init__(self, send: Send, note: Note | None) -> None:
        self._send, self._note = send, note
        self.head: Head | None = None
        self.pieces: list[bytes] = []
        self.size = 0

    def add(self, piece: bytes) -> None:
        self.pieces.append(piece)
        self.size += len(piece)

    async def flush(self, *, last: bool = False) -> None:
        if self.head is not None:
            await self._send(_start(self.head))
            self.head = None
        if self.pieces or last:
            body = self.pieces[0] if len(self.pieces) == 1 else b"".join(self.pieces)
            self.pieces.clear()
            self.size = 0
            if self._note is not None and body:
                self._note(body)
            swallowed = 0
            while len(body) - swallowed > MOUTHFUL:
                mouthful = body[swallowed : swallowed + MOUTHFUL]
                await self._send({"type": "http.response.body", "body": mouthful, "more_body": True})
                swallowed += MOUTHFUL
                await asyncio.sleep(0)  # the others' turn
            rest = body[swallowed:] if swallowed else body
            await self._send({"type": "http.response.body", "body": rest, "more_body": not last})


def _start(head: Head) -> Message:
    return {"type": "http.response.start", "status": head.status, "headers": list(map(_encoded, head.headers))}


@lru_cache(maxsize=256)  # a reply that is remembered has the same ones each time
def _lines(headers: Headers) -> tuple[bytes, int]:
    """The lines of a head, and the length that they tell; -1 if they tell none, or are none."""
    fields = list(map(_encoded, headers))
    lengths = [int(value) for name, value in fields if name == b"content-length"]
    clear = len(lengths) == 1 and not any(byte in part for field in fields for part in field for byte in b"\r\n\0")
    return b"".join([b"%b: %b\r\n" % field for field in fields]), lengths[0] if clear else -1


@lru_cache(maxsize=4096)  # most headers of an answer stand in the next one too
def _encoded(header: tuple[str, str]) -> tuple[bytes, bytes]:
    name, value = header
    return name.lower().encode("latin-1"), value.encode("latin-1")


class _Schedule:
    """Waits until absolute times, and no longer once the client has left."""

    def __init__(self, line: Line, wheel: Wheel) -> None:
        self._line, self._wheel = line, wheel
        self._due = wheel.clock.time() if line.began is None else line.began
        self._watch: asyncio.Task[None] | None = None
        self._sleeper: Sleeper | None = None

    def late(self, seconds: float) -> bool:
        """Let so much time pass after the last wait was due; whether it has passed already."""
        self._due += seconds
        return self._due <= self._wheel.clock.time()

    async def wait(self) -> bool:
        """Wait until it is due; False when the client left meanwhile."""
        if self._watch is None:
            self._watch = asyncio.get_running_loop().create_task(departure(self._line.receive))
            self._watch.add_done_callback(self._wake)
        elif self._watch.done():
            return False
        self._sleeper = self._wheel.sleep(self._due)
        return await self._sleeper

    def stop(self) -> None:
        """Wait for nothing any longer."""
        if self._sleeper is not None:
            self._wheel.leave(self._sleeper, self._due)
        if self._watch is not None:
            self._watch.remove_done_callback(self._wake)
            self._watch.cancel()

    def _wake(self, _: "asyncio.Task[None]") -> None:
        if self._sleeper is not None and not self._sleeper.done():
            self._sleeper.set_result(False)


async def departure(receive: Receive) -> None:
    """Return once the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass
