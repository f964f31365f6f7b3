"""What an application waits for while it answers without a socket, and the drivers that meet it.

`ImmediateDriver` does everything at once, for synchronous clients; `LoopDriver` awaits it in the event loop of its
client. Either skips the time that an answer takes.
"""

import asyncio
import math
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Generator
from contextlib import suppress
from types import coroutine
from typing import Any, TypeVar

from anyio import sleep_forever, to_thread
from anyio.lowlevel import checkpoint
from msgspec import Struct

from mockserver.engine.offload import Work
from mockserver.testing.clock import Clock

T = TypeVar("T")


class YieldTurn(Struct, frozen=True):
    """An application lets others run before it goes on."""


class AwaitFuture(Struct, frozen=True):
    """An application waits for a future of asyncio."""

    future: object


Need = Work | YieldTurn | AwaitFuture  # the first: a function to call on a thread


class Driver(ABC):
    """Meets the needs of a request, and waits as its client does. `patient`: the request can wait for others."""

    patient = False

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    @abstractmethod
    async def meet(self, need: Need) -> object:
        """Return what the application waits for."""

    @abstractmethod
    async def wait_until(self, moment: float) -> None:
        """Return at a moment of the clock; never, if it is infinite."""


class ImmediateDriver(Driver):
    """Does everything at once, without an event loop, so that no coroutine is ever suspended."""

    async def meet(self, need: Need) -> object:
        """Return what the application waits for. Raises RuntimeError for what only an event loop has."""
        match need:
            case Work(work=work):
                return work()
            case YieldTurn():
                return None
            case AwaitFuture():
                raise RuntimeError("this request needs an event loop; use an asynchronous client, or a socket")

    async def wait_until(self, moment: float) -> None:
        """Skip the time until a moment. Raises EndlessError if it never comes."""
        if moment == math.inf:
            raise EndlessError(_ENDLESS)
        self.clock.advance_to(moment)


class LoopDriver(Driver):
    """Lets others of an event loop run meanwhile, of asyncio or trio; a wait without an end is really waited for."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        with suppress(RuntimeError):  # trio's loop, in which nothing of ours can wait for others
            asyncio.get_running_loop()
            self.patient = True

    async def meet(self, need: Need) -> object:
        """Return what the application waits for."""
        match need:
            case Work(work=work):
                return await to_thread.run_sync(work, abandon_on_cancel=True)
            case YieldTurn():
                await checkpoint()
                return None
            case AwaitFuture(future=future):
                return await pass_on(future)

    async def wait_until(self, moment: float) -> None:
        """Skip the time until a moment, once nobody waits for an earlier one; sleep if it never comes."""
        if moment == math.inf:
            await sleep_forever()
        await self.clock.wait_until(moment)


class EndlessError(AssertionError):
    """A client without a timeout waits for data that is never sent."""


_ENDLESS = "this answer never continues, and its client has no read timeout; over a socket it would wait forever"


def run_at_once(running: Coroutine[Any, Any, T]) -> T:
    """Return what a coroutine returns that is never suspended."""
    try:
        running.send(None)
    except StopIteration as end:
        returned: T = end.value
        return returned
    raise RuntimeError("this coroutine waits for something")


@coroutine
def pass_on(step: object) -> Generator[object, Any, Any]:
    """Yield a step to whoever runs the coroutine that awaits this, and return what that sends back."""
    return (yield step)
