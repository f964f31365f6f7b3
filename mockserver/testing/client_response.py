"""What a client of this process receives of an answer: its head, then its body piece by piece, or an error."""

import errno
import math
import os
from collections import deque
from collections.abc import Awaitable, Callable, Iterable

from mockserver.core.action import Cut, Flush, Head, RawWrite, Wait, Write
from mockserver.core.http import WITHOUT_BODY, is_stream_type
from mockserver.delivery.connection import encode_header
from mockserver.testing.clock import Clock
from mockserver.testing.stepped_request import END, Step, SteppedRequest, meet_here, meet_in_loop

MakeError = Callable[[str, str], Exception]  # from the name of an error of the client's library, and a message
Received = Head | bytes | None  # None: the answer is over
Meet = Callable[[Clock, object], Awaitable[object]]


class ClientResponse:
    """An answer that a client receives, waiting at most `read_timeout` seconds for each piece."""

    def __init__(self, steps: SteppedRequest, clock: Clock, make_error: MakeError, read_timeout: float | None) -> None:
        self._steps = steps
        self._clock = clock
        self._make_error = make_error
        self._read_timeout = math.inf if read_timeout is None else read_timeout
        self._due = clock.now()
        self._pieces: deque[bytes] = deque()
        self._begun = self._events = False
        self._length = self._left = math.inf  # bytes of the body by its head, and those still to come
        self._cut: str | None = None

    def begin(self, head: Head, *, bare: bool = False, last: bool = False) -> list[tuple[bytes, bytes]]:
        """Start with a head; return the headers as on the wire.

        `bare`: the answer to HEAD, without a body. `last`: the client closes the connection afterwards.
        """
        self._begun = True
        headers = list(map(encode_header, head.headers))
        if last:
            headers = [*(header for header in headers if header[0] != b"connection"), (b"connection", b"close")]
        for name, value in headers:
            if name == b"content-length":
                self._length = int(value)
            elif name == b"content-type":
                self._events = is_stream_type(value.decode("latin-1"))
        if bare or head.status in WITHOUT_BODY:
            self._length = 0
        elif self._length == math.inf:
            headers.append((b"transfer-encoding", b"chunked"))
        self._left = self._length
        return headers

    def next(self) -> Received:
        """Return what the client receives next. Raises the error that it gets instead."""
        try:
            self._receive(meet_here).send(None)  # which never suspends it
        except StopIteration as end:
            received: Received = end.value
        return received

    async def next_async(self) -> Received:
        """Return what an asynchronous client receives next."""
        return await self._receive(meet_in_loop)

    def close(self) -> None:
        """Stop reading. What would have been sent by now counts as sent; of a stream, only what was read."""
        if not self._pieces:
            self._run_on(0.0)
        self._pieces.clear()
        self._steps.leave()

    def abort(self) -> None:
        """Reset the connection after what was sent."""
        if not self._steps.over:
            self._cut = "reset"
            self._steps.leave()

    async def _receive(self, meet: Meet) -> Received:
        if self._pieces:
            return self._hand_over()
        if self._left == 0:  # the client has the advertised length, whatever follows
            self._run_on(math.inf)
            self._steps.leave()
            return None
        try:
            return await self._run_to_piece(meet)
        except BaseException:
            self._steps.leave()
            raise

    async def _run_to_piece(self, meet: Meet) -> Received:
        since = self._clock.now()
        step = self._steps.next()
        while step is not END:
            match step:
                case Head():
                    return step
                case Write():
                    if self._take(step):
                        return self._hand_over()
                case Wait(seconds=seconds):
                    await self._wait(seconds, since, meet)
                case Cut(how=how):
                    self._cut = how
                case Flush() | RawWrite():  # data after the end is not received
                    pass
                case _:
                    step = await self._meet(meet, step)
                    continue
            step = self._steps.next()
        self._check()
        return None

    async def _meet(self, meet: Meet, need: object) -> Step:
        try:
            result = await meet(self._clock, need)
        except Exception as error:
            return self._steps.next(error=error)
        return self._steps.next(result)

    async def _wait(self, seconds: float, since: float, meet: Meet) -> None:
        """Wait, at most until the timeout of the client, which waits since a moment."""
        self._due += seconds
        if self._due <= self._clock.now():
            return
        if self._due - since > self._read_timeout:
            await meet(self._clock, since + self._read_timeout)
            raise self._make_error("ReadTimeout", "timed out")
        await meet(self._clock, self._due)

    def _take(self, write: Write) -> bool:
        """Take the bytes of a Write, each event of a stream separately; return whether there are any."""
        data = write.data
        if len(data) > self._left:
            data = data[: int(self._left)]
        self._left -= len(data)
        if self._events and write.frame is None:
            self._pieces.extend(_split_events(data))
        elif data:
            self._pieces.append(data)
        return bool(self._pieces)

    def _hand_over(self) -> bytes:
        piece = self._pieces.popleft()
        self._steps.note(piece)
        return piece

    def _check(self) -> None:
        """Raise the client's error if the connection did not end properly."""
        if self._cut == "reset":
            raise self._make_error("ReadError", f"[Errno {errno.ECONNRESET}] {os.strerror(errno.ECONNRESET)}")
        if not self._begun:
            raise self._make_error("RemoteProtocolError", "Server disconnected without sending a response.")
        if self._length < math.inf:
            what = f"received {self._length - self._left:.0f} bytes, expected {self._length:.0f}"
        elif self._cut == "close":
            what = "incomplete chunked read"
        else:
            return
        message = f"peer closed connection without sending complete message body ({what})"
        raise self._make_error("RemoteProtocolError", message)

    def _run_on(self, seconds: float) -> None:
        """Continue without the client, up to a wait of at least this many seconds."""
        while not self._steps.over:
            match self._steps.next():
                case Write(data=data):
                    if self._events and data:
                        return
                    self._steps.note(data)
                case Wait(seconds=pause) if pause >= seconds:
                    return


def _split_events(data: bytes) -> Iterable[bytes]:
    blank = b"\r\n\r\n" if data.endswith(b"\r\n\r\n") else b"\n\n"
    end = b"\n" if data[:1] == b"{" else blank  # a line of JSON, or an event
    *events, rest = data.split(end)
    yield from (event + end for event in events)
    if rest:
        yield rest
