"""Drivers, which wait for an application that answers without a socket: for its work, its futures and its pauses.

`ImmediateDriver` does everything at once, for synchronous clients; the others await it in the event loop of their
client. All skip the time that an answer takes.
"""

import asyncio
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from types import coroutine
from typing import Any

from anyio import sleep_forever, to_thread
from anyio.lowlevel import checkpoint

from mockserver.engine.offload import work_on_thread
from mockserver.testing.clock import Clock


class Driver(ABC):
    """Waits for an application as its client can wait. With a `patient` one, a request can wait for others."""

    patient = False

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    @abstractmethod
    async def do_work(self, work: Callable[[], Any]) -> Any:
        """Return what `work` returns, which may take long. The application awaits this."""

    @abstractmethod
    async def meet(self, yielded: object) -> object:
        """Return what the application gets for what it yields: None (to let others run), a future, or work."""

    @abstractmethod
    async def wait_until(self, moment: float) -> None:
        """Return at a moment of the clock; never, if it is infinite."""


class ImmediateDriver(Driver):
    """Does everything at once, without an event loop, so that no client is ever suspended."""

    async def do_work(self, work: Callable[[], Any]) -> Any:
        """Yield the work to `meet`, which does it while requests of other threads go on."""
        return await pass_on(work)

    async def meet(self, yielded: object) -> object:
        """Return what yielded work returns, or None for None. Raises RuntimeError for a future, as there is no loop."""
        if yielded is None:
            return None
        if callable(yielded):
            return yielded()
        raise RuntimeError("this request needs an event loop; use an asynchronous client, or a socket")

    async def wait_until(self, moment: float) -> None:
        """Skip the time until a moment. Raises EndlessError if it never comes."""
        if moment == math.inf:
            raise EndlessError(_ENDLESS)
        self.clock.advance_to(moment)


class LoopDriver(Driver):
    """Lets other tasks of an event loop run. A wait without an end is waited for."""

    async def meet(self, yielded: object) -> object:
        """Pass what is yielded on to the loop, and return what that sends back; for None, let other tasks run."""
        if yielded is None:
            await checkpoint()
            return None
        return await pass_on(yielded)

    async def wait_until(self, moment: float) -> None:
        """Skip the time until a moment, once nobody waits for an earlier one; sleep if it never comes."""
        if moment == math.inf:
            await sleep_forever()
        await self.clock.wait_until(moment)


class AsyncioDriver(LoopDriver):
    """Drives an application on a loop of asyncio, for which it is written."""

    patient = True

    async def do_work(self, work: Callable[[], Any]) -> Any:
        """Do the work on a thread, as over a socket."""
        return await work_on_thread(work)


class TrioDriver(LoopDriver):
    """Drives an application on a loop of trio, which has no futures: a request cannot wait for others."""

    async def do_work(self, work: Callable[[], Any]) -> Any:
        """Do the work on a thread of trio."""
        return await to_thread.run_sync(work, abandon_on_cancel=True)


def make_loop_driver(clock: Clock) -> Driver:
    """Return the driver for the loop that runs, of asyncio or trio."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return TrioDriver(clock)
    return AsyncioDriver(clock)


class EndlessError(AssertionError):
    """A client without a timeout waits for data that is never sent."""


_ENDLESS = "this answer never continues, and its client has no read timeout; over a socket it would wait forever"


@coroutine
def pass_on(thing: object) -> Generator[object, Any, Any]:
    """Yield a thing to whoever runs the coroutine that awaits this, and return what that sends back."""
    return (yield thing)
