import asyncio
from contextlib import aclosing

import pytest

from app import BrokenOffError, answer

pytestmark = pytest.mark.anyio  # comes with the client; pytest-asyncio does as well


@pytest.fixture
def anyio_backend():
    return "asyncio"


async def shown(pieces):
    """What a user has seen when the answer ends or breaks off, and whether it broke off."""
    seen = []
    try:
        async for piece in pieces:
            seen.append(piece)
    except BrokenOffError:
        return seen, True
    return seen, False


async def test_the_pieces_come_as_they_are_sent(mockserver):
    mockserver.on().stream(["Once ", "upon ", "a time."])

    assert await shown(answer("A story!")) == (["Once ", "upon ", "a time."], False)
    assert mockserver.calls[0].ended == "complete"


@pytest.mark.parametrize("fault", ["cut", "reset", "stall"])
async def test_an_answer_that_breaks_off_is_told(mockserver, fault):
    mockserver.on().reply("One two three four.", chunks="word", faults=[{fault: {"after_tokens": 2}}])

    seen, broken = await shown(answer("Count!", patience=0.5))

    assert "".join(seen) == "One two"
    assert broken


async def test_a_user_who_has_read_enough_ends_the_call(mockserver):
    mockserver.on().reply("One two three four.", chunks="word", faults=[{"stall": {"after_tokens": 2}}])

    async with aclosing(answer("Count!")) as pieces:
        assert await anext(pieces) == "One"

    assert mockserver.calls[0].ended.startswith("client left")


async def test_a_task_that_is_cancelled_ends_the_call(mockserver):
    mockserver.on().reply("One two three four.", chunks="word", faults=[{"stall": {"after_tokens": 2}}])
    came = asyncio.Event()

    async def read():
        async for _ in answer("Count!"):
            came.set()

    task = asyncio.create_task(read())
    await came.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert mockserver.calls[0].ended.startswith("client left")
