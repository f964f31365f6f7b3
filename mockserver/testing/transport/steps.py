"""A request on its way through the application, a coroutine that is stepped by hand where a server has an event loop.

Each step ends with what the application comes to next: an action of its answer, work that is large, or something of the
event loop around it, if there is one.
"""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from threading import RLock
from typing import Any

from starlette.types import ASGIApp, Message, Scope

from mockserver.core.action import Action, Cut, Head, Write
from mockserver.delivery.drive import COMPLETE, CUT
from mockserver.delivery.line import STAGE, Note
from mockserver.engine.apart import BY_HAND, Work
from mockserver.server.snapshot import ClientLeftError

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
        self._coroutine: Any = gate.app({**scope, "extensions": {STAGE: self}}, self._receive, self._send)

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
