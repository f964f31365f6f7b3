"""The driver on an ASGI connection of the test's own."""

import asyncio
from typing import Any

from mockserver.core.action import Head, Wait, Write
from mockserver.delivery.drive import CLIENT_LEFT, COMPLETE, MOUTHFUL, drive

HEAD = Head(200, (("a", "b"),))
START = {"type": "http.response.start", "status": 200, "headers": [(b"a", b"b")]}


def body(content: bytes, *, more: bool = False) -> dict[str, Any]:
    return {"type": "http.response.body", "body": content, "more_body": more}


class Connection:
    """Notes what is sent, and when; the client leaves when told to."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []
        self.times: list[float] = []
        self.left = asyncio.Event()

    async def send(self, message: Any) -> None:
        self.sent.append(message)
        self.times.append(asyncio.get_running_loop().time())

    async def receive(self) -> Any:
        await self.left.wait()
        return {"type": "http.disconnect"}


async def test_what_stands_together_leaves_together() -> None:
    connection = Connection()
    ended = await drive([HEAD, Write(b"1"), Write(b"2"), Write(b"3")], connection.receive, connection.send)
    assert (ended, connection.sent) == (COMPLETE, [START, body(b"123")])


async def test_a_huge_body_is_handed_over_in_pieces() -> None:
    connection = Connection()
    huge = bytes(2 * MOUTHFUL + 5)
    await drive([HEAD, Write(huge)], connection.receive, connection.send)
    assert [len(message["body"]) for message in connection.sent[1:]] == [MOUTHFUL, MOUTHFUL, 5]
    assert [message["more_body"] for message in connection.sent[1:]] == [True, True, False]


async def test_a_wait_sends_what_came_before_it() -> None:
    connection = Connection()
    ended = await drive([HEAD, Wait(0.01), Write(b"1"), Wait(0.01), Write(b"2")], connection.receive, connection.send)
    assert (ended, connection.sent) == (COMPLETE, [START, body(b"1", more=True), body(b"2")])


async def test_a_wait_before_the_head_sends_nothing_early() -> None:
    connection = Connection()
    began = asyncio.get_running_loop().time()
    await drive([Wait(0.05), HEAD, Write(b"1")], connection.receive, connection.send)
    assert connection.sent == [START, body(b"1")]
    assert connection.times[0] - began >= 0.05


async def test_waits_run_on_an_absolute_schedule() -> None:
    connection = Connection()
    began = asyncio.get_running_loop().time()
    actions = [HEAD, *[action for _ in range(20) for action in (Wait(0.005), Write(b"x"))]]
    await drive(actions, connection.receive, connection.send)
    for number, time in enumerate(connection.times[1:], start=1):
        assert time - began >= 0.005 * number - 0.001


async def test_a_client_that_leaves_ends_the_script_at_once() -> None:
    connection = Connection()
    asyncio.get_running_loop().call_later(0.02, connection.left.set)
    async with asyncio.timeout(5):
        ended = await drive([HEAD, Write(b"1"), Wait(3600), Write(b"2")], connection.receive, connection.send)
    assert (ended, connection.sent) == (CLIENT_LEFT, [START, body(b"1", more=True)])


async def test_nothing_is_left_running() -> None:
    connection = Connection()
    await drive([HEAD, Wait(0.01), Write(b"1")], connection.receive, connection.send)
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_an_empty_body_is_still_ended() -> None:
    connection = Connection()
    await drive([HEAD], connection.receive, connection.send)
    assert connection.sent == [START, body(b"")]


async def test_what_is_written_without_a_wait_does_not_pile_up() -> None:
    connection, half = Connection(), bytes(MOUTHFUL // 2 + 1)
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(others())
    ended = await drive([HEAD, *[Write(half)] * 8], connection.receive, connection.send)
    task.cancel()
    sizes = [len(message["body"]) for message in connection.sent[1:]]
    assert (ended, sum(sizes), max(sizes) <= MOUTHFUL) == (COMPLETE, 8 * len(half), True)
    assert [message["more_body"] for message in connection.sent[1:]] == [True] * (len(sizes) - 1) + [False]
    assert turns > 3
