"""What has to be done before an answer goes on: time passes, large work, whatever an event loop awaits."""

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, TypeVar

from anyio import sleep_forever, to_thread
from anyio.lowlevel import checkpoint

from mockserver.engine.apart import Work
from mockserver.testing.transport.clock import Clock

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
