"""Who is at work and who waits."""

import asyncio

import pytest

from mockserver.core.rates import Limits
from mockserver.server.limits import Concurrency
from mockserver.server.snapshot import ClientLeftError


async def stay() -> None:
    """A client that does not leave."""
    await asyncio.Future()


async def leave() -> None:
    """One that has left already."""


async def test_those_who_wait_come_in_order_and_nobody_overtakes() -> None:
    slots, came = Concurrency(Limits(concurrent=1, queue=3)), list[int]()

    async def work(number: int) -> None:
        await slots.wait("n", stay)
        came.append(number)

    assert slots.acquire("n")
    waiting = [asyncio.create_task(work(number)) for number in range(3)]
    await asyncio.sleep(0)
    assert slots.full("n")
    for number in range(3):
        slots.release("n")
        assert not slots.acquire("n")
        await waiting[number]
    assert came == [0, 1, 2]
    slots.release("n")
    assert slots.acquire("n")


async def test_a_slot_that_comes_as_the_client_leaves_goes_to_the_next() -> None:
    slots = Concurrency(Limits(concurrent=1, queue=2))
    slots.acquire("n")
    gone = asyncio.Event()

    async def left() -> None:
        await gone.wait()

    first = asyncio.create_task(slots.wait("n", left))
    second = asyncio.create_task(slots.wait("n", stay))
    await asyncio.sleep(0.01)
    gone.set()
    await asyncio.sleep(0)  # now the client has left
    slots.release("n")
    with pytest.raises(ClientLeftError):
        await first
    await asyncio.wait_for(second, 5)


async def test_a_wait_that_is_cancelled_leaves_nothing() -> None:
    slots = Concurrency(Limits(concurrent=1, queue=1))
    slots.acquire("n")
    waiting = asyncio.create_task(slots.wait("n", stay))
    await asyncio.sleep(0.01)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    slots.release("n")
    assert slots.acquire("n")


async def test_limits_may_be_lifted_while_some_wait() -> None:
    slots = Concurrency(Limits(concurrent=1, queue=2))
    slots.acquire("n")
    waiting = [asyncio.create_task(slots.wait("n", stay)) for _ in range(2)]
    await asyncio.sleep(0)
    slots.limits = Limits()
    slots.release("n")
    await asyncio.gather(*waiting)
