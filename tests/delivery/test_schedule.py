"""What is performed without anybody waiting for it, on a clock of the test's own."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from mockserver.core.action import Action, Flush, Head, Wait, Write
from mockserver.delivery.drive import Departed, Line, Schedule
from tests.kit.clock import HandClock

HEAD = Head(200, ())


class Way:
    """A short way that notes what goes it, and when, while it is open."""

    def __init__(self, clock: HandClock, *, open: bool = True) -> None:
        self.clock, self.open, self.went = clock, open, list[tuple[float, bytes]]()

    def whole(self, status: int, head: bytes, body: bytes) -> bool:
        raise AssertionError("this is the way of pieces")

    def piece(self, data: bytes) -> bool:
        self.went += [(self.clock.now, data)] * self.open
        return self.open


class Client:
    """Stays until told to leave."""

    def __init__(self) -> None:
        self.leaves = asyncio.Event()

    async def receive(self) -> Any:
        await self.leaves.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        raise AssertionError("nothing is sent here")


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


def performance(clock: HandClock, way: Way, *actions: Action, client: Client | None = None) -> Schedule:
    client = client or Client()
    return Schedule(iter(actions), Line(client.receive, client.send, None, way), None, clock)


async def test_a_stream_runs_by_itself(clock: HandClock) -> None:
    way = Way(clock)
    pieces = [action for number in range(1, 4) for action in (Write(b"%d" % number), Wait(1.0))]
    stream = performance(clock, way, *pieces, Write(b"end"))
    last = asyncio.ensure_future(stream.next())
    await asyncio.sleep(0)
    clock.go(9.0)
    assert await last is None
    assert way.went == [(0.0, b"1"), (1.0, b"2"), (2.0, b"3")]
    assert stream.outbox.take() == b"end"
    stream.stop()


async def test_a_timer_that_is_early_is_set_again(clock: HandClock) -> None:
    clock.early, way = 0.004, Way(clock)
    stream = performance(clock, way, Wait(1.0), Write(b"1"), Wait(1.0))
    last = asyncio.ensure_future(stream.next())
    await asyncio.sleep(0)
    clock.go(9.0)
    assert await last is None
    assert way.went == [(1.0, b"1")]
    stream.stop()


@pytest.mark.parametrize("open", [True, False])
async def test_a_wait_behind_what_the_short_way_does_not_take(clock: HandClock, open: bool) -> None:
    stream = performance(clock, Way(clock, open=open), *([HEAD] if open else []), Write(b"1"), Wait(1.0), Write(b"2"))
    assert isinstance(await stream.next(), Flush)
    stream.outbox.head = None
    assert stream.outbox.take() == b"1"
    last = asyncio.ensure_future(stream.next())
    await asyncio.sleep(0)
    assert not last.done()
    clock.go(1.0)
    assert await last is None
    stream.stop()


async def test_who_has_left_is_not_waited_for(clock: HandClock) -> None:
    client = Client()
    stream = performance(clock, Way(clock), Wait(1.0), Write(b"1"), client=client)
    last = asyncio.ensure_future(stream.next())
    await asyncio.sleep(0)
    client.leaves.set()
    assert isinstance(await last, Departed)
    assert isinstance(await stream.next(), Departed)
    stream.stop()


async def test_a_script_that_fails_while_nobody_looks_fails_where_somebody_does(clock: HandClock) -> None:
    def actions() -> Iterator[Action]:
        yield Wait(1.0)
        raise ValueError("planted")

    stream = Schedule(actions(), Line(Client().receive, Client().send), None, clock)
    last = asyncio.ensure_future(stream.next())
    await asyncio.sleep(0)
    clock.go(1.0)
    with pytest.raises(ValueError, match="planted"):
        await last
    stream.stop()


async def test_nobody_wakes_who_was_stopped(clock: HandClock) -> None:
    way = Way(clock)
    stream = performance(clock, way, Wait(1.0), Write(b"1"), Wait(1.0))
    last = asyncio.ensure_future(stream.next())
    await asyncio.sleep(0)
    last.cancel()
    stream.wake()
    stream.stop()
    clock.go(9.0)
    assert (way.went, clock.alarms) == ([], [])
