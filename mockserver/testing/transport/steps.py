"""A request on its way through the application, a coroutine that is stepped by hand where a server has an event loop.

Each step ends with what the application comes to next: an action of its answer, work that is large, or something of the
event loop around it, if there is one.
"""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
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


class Steps:
    """The steps of one request; to the application it is the stage. `turnstile` lets one at a time be at work."""

    def __init__(self, app: ASGIApp, scope: Scope, body: bytes, turnstile: RLock, *, patient: bool) -> None:
        self.patient, self.over = patient, False
        self._turnstile, self._note = turnstile, _unnoted
        self._body: bytes | None = body
        self._coroutine: Any = app({**scope, "extensions": {STAGE: self}}, self._receive, self._send)

    def next(self, result: object = None, error: BaseException | None = None) -> Step:
        """Go on, with what the last step wanted, to the next one. Raises what the application raises."""
        with self._turnstile:
            before = BY_HAND.set(True)
            try:
                return self._coroutine.send(result) if error is None else self._coroutine.throw(error)
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
        """Bytes of the body have reached the client."""
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


def _unnoted(_: bytes) -> None:
    """Of what has no row in the journal nothing is noted."""
