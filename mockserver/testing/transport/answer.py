"""What a client hears of an answer: the head, then bytes as it asks for them; or the error that a socket would give it.

Time is the clock's: a wait puts it forward, unless the client would not have waited so long.
"""

import errno
import math
import os
from collections import deque
from collections.abc import Callable, Generator, Iterable
from typing import Any

from mockserver.core.action import Cut, Flush, Head, Spill, Wait, Write
from mockserver.delivery.drive import encoded
from mockserver.delivery.script import WITHOUT_BODY
from mockserver.testing.transport.clock import Clock
from mockserver.testing.transport.needs import Until, run, run_async
from mockserver.testing.transport.steps import END, Steps

Raised = Callable[[str, str], Exception]  # an error of the client's library, by its name, with a message


Heard = Head | bytes | None  # None: the answer is over
Hear = Generator[object, Any, Heard]  # yields what has to be done first


class Answer:
    """An answer on its way to a client, that waits `patience` seconds for each piece of it."""

    def __init__(self, steps: Steps, clock: Clock, raised: Raised, patience: float | None) -> None:
        self._steps, self._clock, self._raised = steps, clock, raised
        self._patience = math.inf if patience is None else patience
        self._due = clock.now()
        self._pieces: deque[bytes] = deque()
        self._begun = self._events = False
        self._told = self._left = math.inf  # bytes of the body by its head, and of these the ones still to come
        self._cut: str | None = None

    def begin(self, head: Head, *, bare: bool = False, last: bool = False) -> list[tuple[bytes, bytes]]:
        """The headers of an answer that begins, as they are on the wire.

        `bare`: it is to HEAD, and has no body. `last`: the client wants no other on this connection.
        """
        self._begun, headers = True, list(map(encoded, head.headers))
        if last:
            headers = [*(header for header in headers if header[0] != b"connection"), (b"connection", b"close")]
        for name, value in headers:
            if name == b"content-length":
                self._told = int(value)
            elif name == b"content-type":
                self._events = b"event-stream" in value
        if bare or head.status in WITHOUT_BODY:
            self._told = 0
        elif self._told == math.inf:
            headers.append((b"transfer-encoding", b"chunked"))
        self._left = self._told
        return headers

    def next(self) -> Heard:
        """What the client hears next. Raises the error that it gets instead."""
        return run(self._hear(), self._clock)

    async def next_async(self) -> Heard:
        """The same for an asynchronous client."""
        return await run_async(self._hear(), self._clock)

    def close(self) -> None:
        """The client wants no more: what would have left by now, has; but of a stream only what was asked for."""
        if not self._pieces:
            self._run_on(0.0)
        self._pieces.clear()
        self._steps.leave()

    def break_off(self) -> None:
        """The server wants no more: behind what has left, the client hears of a connection that was reset."""
        if not self._steps.over:
            self._cut = "reset"
            self._steps.leave()

    def _hear(self) -> Hear:
        if self._pieces:
            return self._handed()
        if self._left == 0:  # the client has all that it was told of, whatever follows
            self._run_on(math.inf)
            self._steps.leave()
            return None
        try:
            return (yield from self._heard())
        except BaseException:
            self._steps.leave()
            raise

    def _heard(self) -> Hear:
        asked, step = self._clock.now(), self._steps.next()
        while step is not END:
            match step:
                case Head():
                    return step
                case Write():
                    if self._taken(step):
                        return self._handed()
                case Wait(seconds=seconds):
                    yield from self._waited(seconds, asked)
                case Cut(how=how):
                    self._cut = how
                case Flush() | Spill():  # what spills over the end is not heard
                    pass
                case _:
                    step = yield from self._met(step)
                    continue
            step = self._steps.next()
        self._check()
        return None

    def _met(self, need: object) -> Generator[Any, Any, object]:
        """Have something done, and go on to the next step."""
        try:
            result = yield need
        except Exception as error:
            return self._steps.next(error=error)
        return self._steps.next(result)

    def _waited(self, seconds: float, asked: float) -> Generator[Until, None, None]:
        """Have time pass; no more of it than the client waits, who asked at that moment."""
        self._due += seconds
        if self._due <= self._clock.now():
            return
        if self._due - asked > self._patience:
            yield Until(asked + self._patience)
            raise self._raised("ReadTimeout", "timed out")
        yield Until(self._due)

    def _taken(self, write: Write) -> bool:
        """Take the bytes of a Write, each event of a stream apart; whether there are any."""
        data = write.data
        if len(data) > self._left:
            data = data[: int(self._left)]
        self._left -= len(data)
        if self._events and write.frame is None:
            self._pieces.extend(_events(data))
        elif data:
            self._pieces.append(data)
        return bool(self._pieces)

    def _handed(self) -> bytes:
        piece = self._pieces.popleft()
        self._steps.note(piece)
        return piece

    def _check(self) -> None:
        """Raise what a client hears of a connection that ends otherwise than in good order."""
        if self._cut == "reset":
            raise self._raised("ReadError", f"[Errno {errno.ECONNRESET}] {os.strerror(errno.ECONNRESET)}")
        if not self._begun:
            raise self._raised("RemoteProtocolError", "Server disconnected without sending a response.")
        if self._told < math.inf:
            came = f"received {self._told - self._left:.0f} bytes, expected {self._told:.0f}"
        elif self._cut == "close":
            came = "incomplete chunked read"
        else:
            return
        message = f"peer closed connection without sending complete message body ({came})"
        raise self._raised("RemoteProtocolError", message)

    def _run_on(self, seconds: float) -> None:
        """Go on by oneself, up to a wait that is as long as this or longer."""
        while not self._steps.over:
            match self._steps.next():
                case Write(data=data):
                    if self._events and data:
                        return
                    self._steps.note(data)
                case Wait(seconds=pause) if pause >= seconds:
                    return


def _events(data: bytes) -> Iterable[bytes]:
    """The events of a stream, one by one."""
    *events, rest = data.split(b"\n\n")
    yield from (event + b"\n\n" for event in events)
    if rest:
        yield rest
