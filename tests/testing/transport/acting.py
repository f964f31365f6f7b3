"""Applications that do as they are told, to be stepped."""

from collections.abc import Callable, Iterable
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from mockserver.core.action import Action, Head
from mockserver.delivery.drive import IN_PROCESS
from mockserver.testing.transport.in_process import Gate, Steps

OK = Head(200, ())
STREAM = Head(200, (("content-type", "text/event-stream"),))


class Acting:
    """Performs these actions on its stage, and keeps what it is told."""

    def __init__(self, actions: Iterable[Action]) -> None:
        self.actions = actions
        self.noted = list[bytes]()
        self.ended: str | type[BaseException] = ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            self.ended = await scope["extensions"][IN_PROCESS].perform(self.actions, self.noted.append)
        except BaseException as error:
            self.ended = type(error)
            raise


def steps(app: ASGIApp, body: bytes = b"") -> Steps:
    """The steps of a request to an application."""
    return Steps(Gate(app), {"type": "http"}, body, patient=False)


def doing(work: Callable[[Any, Any], Any]) -> ASGIApp:
    """An application that is a function of what it receives by and sends by."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await work(receive, send)

    return app
