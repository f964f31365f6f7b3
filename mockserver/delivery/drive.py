"""Performs actions on an ASGI connection: the only sleep, the only socket."""

import asyncio
from collections.abc import Iterable

from starlette.types import Message, Receive, Send

from mockserver.core.action import Action, Head, Wait, Write

MOUTHFUL = 1 << 20  # bytes of a body that are handed over at once
COMPLETE, CLIENT_LEFT, CUT = "complete", "client left", "cut"


async def drive(actions: Iterable[Action], receive: Receive, send: Send) -> str:
    """Send what the actions say and return how it ended: `complete`, or `client left`.

    What stands between two waits leaves in one send, if it is not very much. Waits run on an absolute schedule, so
    lateness never adds up; a client that leaves ends them at once.
    """
    outbox = _Outbox(send)
    clock: _Schedule | None = None
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
                    await outbox.flush()
                    clock = clock or _Schedule(receive)
                    if not await clock.wait(action.seconds):
                        return CLIENT_LEFT
        await outbox.flush(last=True)
    finally:
        if clock is not None:
            clock.stop()
    return COMPLETE


class _Outbox:
    """Collects a head and bytes until something has to leave."""

    def __init__(self, send: Send) -> None:
        self._send = send
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
            swallowed = 0
            while len(body) - swallowed > MOUTHFUL:
                mouthful = body[swallowed : swallowed + MOUTHFUL]
                await self._send({"type": "http.response.body", "body": mouthful, "more_body": True})
                swallowed += MOUTHFUL
                await asyncio.sleep(0)  # the others' turn
            rest = body[swallowed:] if swallowed else body
            await self._send({"type": "http.response.body", "body": rest, "more_body": not last})


def _start(head: Head) -> Message:
    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in head.headers]
    return {"type": "http.response.start", "status": head.status, "headers": headers}


class _Schedule:
    """Waits until absolute times, and no longer once the client has left."""

    def __init__(self, receive: Receive) -> None:
        self._loop = asyncio.get_running_loop()
        self._due = self._loop.time()
        self._gone = self._loop.create_task(_disconnect(receive))

    async def wait(self, seconds: float) -> bool:
        """Wait for this long after the last wait was due; False when the client left meanwhile."""
        self._due += seconds
        await asyncio.wait({self._gone}, timeout=max(0.0, self._due - self._loop.time()))
        return not self._gone.done()

    def stop(self) -> None:
        self._gone.cancel()


async def _disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
