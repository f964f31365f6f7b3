"""What a client hears of an answer: the head, then bytes as it asks for them; or the error that a socket would give it.

Time is the clock's: a wait puts it forward, unless the client would not have waited so long.
"""

import asyncio
import errno
import math
import os
from collections import deque
from collections.abc import Callable, Generator, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock, RLock
from typing import Any, TypeVar

from anyio import sleep_forever, to_thread
from anyio.lowlevel import checkpoint
from starlette.types import ASGIApp, Message, Scope

from mockserver.config.errors import ConfigError
from mockserver.core.action import Action, Cut, Flush, Head, RawWrite, Wait, Write
from mockserver.core.seed import monotonic
from mockserver.delivery.drive import COMPLETE, CUT, IN_PROCESS, Note, encoded
from mockserver.delivery.script import WITHOUT_BODY
from mockserver.engine.offload import BY_HAND, Work
from mockserver.server.snapshot import ClientLeftError

QUIET = 5  # turns of the event loop without anybody who is due before


class Clock:
    """Real time, and as much more as was skipped. Limits go by it, and so does all that passes over a transport."""

    def __init__(self) -> None:
        self._skipped, self._lock = 0.0, Lock()
        self._due: list[float] = []  # of those who wait in event loops

    def now(self) -> float:
        """Seconds since some moment; they only run forward."""
        return monotonic() + self._skipped

    def advance(self, seconds: float) -> None:
        """Let so much time pass at once: `advance(60)` fills the buckets of limits by the minute."""
        if not 0 <= seconds < math.inf:
            raise ConfigError(f"advance takes seconds, 0 or more, not {seconds!r}")
        with self._lock:
            self._skipped += seconds

    def reach(self, moment: float) -> None:
        """Let the time until a moment pass at once; one that is over is fine."""
        with self._lock:
            self._skipped += max(0.0, moment - self.now())

    async def reached(self, moment: float) -> None:
        """The same, behind all others in this event loop that are due before, so that what is quicker comes first."""
        self._due.append(moment)
        quiet = 0
        try:
            while quiet < QUIET:
                await checkpoint()
                quiet = 0 if min(self._due) < moment else quiet + 1
        finally:
            self._due.remove(moment)
        self.reach(moment)


T = TypeVar("T")


class EndlessError(AssertionError):
    """A client without a timeout waits for what never comes."""


@dataclass(frozen=True, slots=True)
class Until:
    """A moment that has to come first; an infinite one never does."""

    moment: float


def run(asking: Generator[object, Any, T], clock: Clock) -> T:
    """What a generator comes to that yields its needs. Raises what it raises, EndlessError where it would not end."""
    try:
        need = next(asking)
        while True:
            try:
                done = _met(need, clock)
            except BaseException as error:
                need = asking.throw(error)
            else:
                need = asking.send(done)
    except StopIteration as end:
        result: T = end.value
        return result


async def run_async(asking: Generator[object, Any, T], clock: Clock) -> T:
    """The same in an event loop, where others go on meanwhile; what never comes is waited for."""
    try:
        need = next(asking)
        while True:
            try:
                done = await _met_async(need, clock)
            except BaseException as error:
                need = asking.throw(error)
            else:
                need = asking.send(done)
    except StopIteration as end:
        result: T = end.value
        return result


def _met(need: object, clock: Clock) -> object:
    match need:
        case Until(moment=math.inf):
            raise EndlessError(_ENDLESS)
        case Until(moment=moment):
            clock.reach(moment)
            return None
        case Work(work=work):
            return work()
        case None:  # the others' turn; there are none
            return None
    raise RuntimeError("this request needs an event loop; send it with an asynchronous client, or over the socket")


async def _met_async(need: object, clock: Clock) -> object:
    match need:
        case Until(moment=math.inf):
            await sleep_forever()
        case Until(moment=moment):
            await clock.reached(moment)
        case Work(work=work):
            return await to_thread.run_sync(work, abandon_on_cancel=True)
        case None:
            await checkpoint()
        case _:
            return await _Awaited(need)
    return None


class _Awaited:
    """Awaits what an event loop knows how to: it goes up to it as it is."""

    def __init__(self, need: object) -> None:
        self._need = need

    def __await__(self) -> Any:
        return (yield self._need)


_ENDLESS = "this answer never goes on, and its client has no read timeout: over a socket it would wait for ever"


Step = Action | Work | object


class End:
    """There is nothing more to come."""


END = End()


@dataclass(frozen=True, slots=True)
class Gate:
    """The way into an application, in which one step at a time is made, on whichever thread."""

    app: ASGIApp
    turnstile: RLock = field(default_factory=RLock)


class Steps:
    """The steps of one request, which is `patient` if it can wait for others; to the application it is the stage."""

    def __init__(self, gate: Gate, scope: Scope, body: bytes, *, patient: bool) -> None:
        self.patient, self.over = patient, False
        self._turnstile = gate.turnstile
        self._note: Note | None = None
        self._body: bytes | None = body
        self._coroutine: Any = gate.app({**scope, "extensions": {IN_PROCESS: self}}, self._receive, self._send)

    def next(self, result: object = None, error: BaseException | None = None) -> Step:
        """Go on, with what the last step wanted, to the next one. Raises what the application raises."""
        with self._turnstile:
            if self.over:  # somebody else has ended it meanwhile
                return END
            before = BY_HAND.set(True)
            try:
                step: Step = self._coroutine.send(result) if error is None else self._coroutine.throw(error)
                return step
            except StopIteration:
                self.over = True
                return END
            except BaseException:
                self.over = True
                raise
            finally:
                BY_HAND.reset(before)

    def leave(self) -> None:
        """The client has left: nothing more is wanted."""
        if not self.over:
            with suppress(ClientLeftError):
                self.next(error=ClientLeftError())
            self.over = True
            self._coroutine.close()

    def note(self, data: bytes) -> None:
        """Bytes of the body have reached the client; of what is not in the journal nobody is told."""
        if self._note is not None:
            self._note(data)

    async def perform(self, actions: Iterable[Action], note: Note) -> str:
        """Hand up one action after another."""
        self._note = note
        for action in actions:
            await _Handed(action)
            if isinstance(action, Cut):
                return CUT[action.how]
        return COMPLETE

    async def _receive(self) -> Message:
        """The body of the request; after it nothing but that the client leaves, which a waiting task is told else."""
        body, self._body = self._body, None
        if body is None:
            await asyncio.get_running_loop().create_future()
        return {"type": "http.request", "body": body, "more_body": False}

    async def _send(self, message: Message) -> None:
        """What answers without a stage."""
        if message["type"] == "http.response.start":
            headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in message["headers"])
            await _Handed(Head(message["status"], headers))
        elif data := message.get("body"):
            await _Handed(Write(data))


class _Handed:
    """Awaited, it goes up to whoever steps the coroutine."""

    __slots__ = ("_what",)

    def __init__(self, what: Action) -> None:
        self._what = what

    def __await__(self) -> Any:
        return (yield self._what)


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
                case Flush() | RawWrite():  # what spills over the end is not heard
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
