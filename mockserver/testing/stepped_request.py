"""A request to an application of this process, which goes on step by step as its client asks for more.

A coroutine yields what it needs: an action to be received, work, a moment to wait for. Who steps it meets the need, at
once or in an event loop.
"""

import asyncio
import math
from collections.abc import Iterable
from contextlib import suppress
from threading import RLock
from typing import Any

from anyio import sleep_forever, to_thread
from anyio.lowlevel import checkpoint
from starlette.types import ASGIApp, Message, Scope

from mockserver.core.action import Action, Cut, Head, Write
from mockserver.core.exchange import COMPLETE
from mockserver.delivery.connection import CUT, IN_PROCESS, Note
from mockserver.engine.offload import IN_PROCESS_DRIVER, Work
from mockserver.server.snapshot import ClientLeftError
from mockserver.testing.clock import Clock

Step = Action | Work | object
END = object()  # no more steps


class SteppedRequest:
    """A request that an application answers with actions, one for each step; a `patient` one can wait for others.

    Requests that share a `lock` step one at a time, on any thread.
    """

    def __init__(self, app: ASGIApp, scope: Scope, body: bytes, *, patient: bool, lock: "RLock | None" = None) -> None:
        self.patient = patient
        self.over = False
        self._lock = lock or RLock()
        self._note: Note | None = None
        self._body: bytes | None = body
        self._coroutine: Any = app({**scope, "extensions": {IN_PROCESS: self}}, self._receive, self._send)

    def next(self, result: object = None, error: BaseException | None = None) -> Step:
        """Run to the next step, with the result of the last one. Raises what the application raises."""
        with self._lock:
            if self.over:  # ended by another thread
                return END
            before = IN_PROCESS_DRIVER.set(True)
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
                IN_PROCESS_DRIVER.reset(before)

    def leave(self) -> None:
        """Tell the application that the client left."""
        if not self.over:
            with suppress(ClientLeftError):
                self.next(error=ClientLeftError())
            self.over = True
            self._coroutine.close()

    def note(self, data: bytes) -> None:
        """Note in the journal that the client received bytes of the body."""
        if self._note is not None:
            self._note(data)

    async def perform(self, actions: Iterable[Action], note: Note) -> str:
        """Hand each action to the caller of `next`."""
        self._note = note
        for action in actions:
            await _PassOn(action)
            if isinstance(action, Cut):
                return CUT[action.how]
        return COMPLETE

    async def _receive(self) -> Message:
        """Return the body of the request, then nothing: `leave` raises if the client leaves."""
        body = self._body
        self._body = None
        if body is None:
            await asyncio.get_running_loop().create_future()
        return {"type": "http.request", "body": body, "more_body": False}

    async def _send(self, message: Message) -> None:
        """Send a response of an endpoint that does not use `perform`."""
        if message["type"] == "http.response.start":
            headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in message["headers"])
            await _PassOn(Head(message["status"], headers))
        elif data := message.get("body"):
            await _PassOn(Write(data))


class _PassOn:
    """Awaiting it passes a value to whoever runs the coroutine: an action, or the need of an event loop."""

    __slots__ = ("_what",)

    def __init__(self, what: object) -> None:
        self._what = what

    def __await__(self) -> Any:
        return (yield self._what)


class EndlessError(AssertionError):
    """A client without a timeout waits for data that is never sent."""


async def meet_here(clock: Clock, need: object) -> object:
    """Meet a need (a moment to wait for, or an application's) at once. Raises EndlessError for a wait without end."""
    match need:
        case math.inf:
            raise EndlessError(_ENDLESS)
        case float():
            clock.reach(need)
        case Work(work=work):
            return work()
        case None:  # a turn for others, of which there are none
            pass
        case _:
            raise RuntimeError("this request needs an event loop; use an asynchronous client, or a socket")
    return None


async def meet_in_loop(clock: Clock, need: object) -> object:
    """Meet a need in an event loop, where others run meanwhile; an endless wait is really waited for."""
    match need:
        case math.inf:
            await sleep_forever()
        case float():
            await clock.wait_for(need)
        case Work(work=work):
            return await to_thread.run_sync(work, abandon_on_cancel=True)
        case None:
            await checkpoint()
        case _:
            return await _PassOn(need)
    return None


_ENDLESS = "this answer never continues, and its client has no read timeout; over a socket it would wait forever"
