"""What an answer needs before it goes on, done without an event loop and within one."""

import asyncio
import math
import threading
from collections.abc import Generator
from typing import Any

import pytest

from mockserver.engine.offload import Work
from mockserver.testing import Clock
from mockserver.testing.transport.in_process import EndlessError, Until, run, run_async

Asking = Generator[object, Any, Any]


def asking(*needs: object) -> Asking:
    """Asks for one after the other, and comes to what it got."""
    got = list[object]()
    for need in needs:
        try:
            got.append((yield need))
        except ValueError as error:
            got.append(str(error))
    return got


def fail() -> None:
    raise ValueError("no")


def test_time_passes_and_work_is_done_where_one_is() -> None:
    clock = Clock()
    moment = clock.now() + 30
    assert run(asking(Until(moment), Work(threading.get_ident), None), clock) == [None, threading.get_ident(), None]
    assert clock.now() >= moment


async def test_in_a_loop_work_is_done_on_a_thread() -> None:
    clock = Clock()
    moment = clock.now() + 30
    nothing, thread, also_nothing = await run_async(asking(Until(moment), Work(threading.get_ident), None), clock)
    assert (nothing, also_nothing) == (None, None)
    assert thread != threading.get_ident()
    assert clock.now() >= moment


async def test_work_may_fail() -> None:
    assert run(asking(Work(fail)), Clock()) == ["no"]
    assert await run_async(asking(Work(fail)), Clock()) == ["no"]


async def test_what_a_loop_awaits_is_awaited() -> None:
    future = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(future.set_result, "came")

    def waits() -> Asking:
        yield from future
        return future.result()

    assert await run_async(waits(), Clock()) == "came"


def test_without_a_loop_it_is_not() -> None:
    with pytest.raises(RuntimeError, match="needs an event loop; send it with an asynchronous client"):
        run(asking(object()), Clock())


def test_nobody_waits_for_ever() -> None:
    with pytest.raises(EndlessError, match="never goes on, and its client has no read timeout"):
        run(asking(Until(math.inf)), Clock())


async def test_in_a_loop_one_waits_until_one_is_told_otherwise() -> None:
    closed = list[type[BaseException]]()

    def endless() -> Asking:
        try:
            yield Until(math.inf)
        except BaseException as error:
            closed.append(type(error))
            raise

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await run_async(endless(), Clock())
    assert closed == [asyncio.CancelledError]
