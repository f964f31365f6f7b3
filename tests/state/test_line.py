"""The line to Redis: what it sends together, and what it says when Redis fails."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from threading import Thread
from time import sleep

import pytest
import redis

from mockserver.core.protocols import Draw, Precondition, StateLostError
from mockserver.core.rates import Limits
from mockserver.state.redis.line import MAX_BATCH, RedisLine
from mockserver.state.redis.opening import address, open_line
from mockserver.state.redis.stores import RedisCounters, RedisLimitStore, RedisShelf
from tests.kit.processes import until
from tests.kit.shared import RedisServer, free_ports, line_to, sentinel


@pytest.fixture
async def line(shared: RedisServer) -> AsyncIterator[RedisLine]:
    line = line_to(shared)
    yield line
    await line.close()


async def test_commands_of_one_turn_leave_together(line: RedisLine) -> None:
    replies = await asyncio.gather(*[line.send("INCR", "x") for _ in range(2 * MAX_BATCH + 1)])
    assert replies == [*range(1, 2 * MAX_BATCH + 2)]
    assert line.trips == 3


async def test_a_request_that_is_gone_takes_no_reply_of_others(line: RedisLine) -> None:
    one, other = line.send("INCR", "x"), line.send("INCR", "x")
    one.cancel()
    assert await other == 2


async def test_a_script_that_redis_forgot_runs_once(line: RedisLine, shared: RedisServer) -> None:
    counters = RedisCounters(line)
    assert await counters.count("a", "x") == 1
    shared.command("SCRIPT", "FLUSH")
    counts = await asyncio.gather(*[counters.count("a", "x") for _ in range(5)], counters.count("a", "y"))
    assert counts == [2, 3, 4, 5, 6, 1]
    assert not line.lost


async def test_of_counts_the_latest_are_kept_and_all_keys_expire(line: RedisLine, shared: RedisServer) -> None:
    counters = RedisCounters(line, recent=50)
    for number in range(120):
        await counters.count("a", str(number))
    await counters.open("a", (Precondition("x", 3, "start", "on"),), None)
    entries = await counters.entries("a")
    assert {str(number) for number in range(70, 120)} <= set(entries)
    assert len(entries) <= 102
    keys: list[bytes] = shared.command("KEYS", "mockserver:?:*")  # type: ignore[assignment]
    assert sorted(keys) == [b"mockserver:c:a", b"mockserver:m:a", b"mockserver:n:a"]
    assert all(0 < int(shared.command("TTL", key.decode())) <= 86_400 for key in keys)


async def test_prefixes_are_apart(line: RedisLine, shared: RedisServer) -> None:
    other = line_to(shared, "team")
    assert [await RedisCounters(each).count("a", "x") for each in (line, other, line)] == [1, 1, 2]
    await other.close()


class Heard:
    """What followers of a line are told."""

    def __init__(self, line: RedisLine) -> None:
        self.events = list[str]()
        line.on_anew.append(lambda: self.events.append("anew"))


async def fails(counters: RedisCounters, times: int = 3) -> None:
    for _ in range(times):
        with pytest.raises(StateLostError):
            await counters.count("a", "x")


async def test_an_outage_is_told_once_and_so_is_its_end(
    start_redis: Callable[..., RedisServer], caplog: pytest.LogCaptureFixture
) -> None:
    server = start_redis()
    line = line_to(server)
    heard, counters = Heard(line), RedisCounters(line)
    assert await counters.count("a", "x") == 1
    server.kill()
    with caplog.at_level(logging.WARNING, "mockserver"):
        await fails(counters)
        assert line.lost
        server.start()
        assert await counters.count("a", "x") == 1
    assert [record.message.partition(":")[0] for record in caplog.records] == [
        "state lost",
        "state back, but Redis had lost it",
    ]
    assert heard.events == ["anew"]
    await line.close()


async def test_a_redis_that_was_restarted_with_its_data_goes_on(start_redis: Callable[..., RedisServer]) -> None:
    server = start_redis("--appendonly", "yes", "--appendfsync", "always")
    line = line_to(server)
    heard, counters = Heard(line), RedisCounters(line)
    assert await counters.count("a", "x") == 1
    server.kill()
    await fails(counters, 1)
    server.start()
    assert await counters.count("a", "x") == 2
    assert (heard.events, line.lost) == ([], False)
    await line.close()


async def test_a_slow_redis_may_have_counted(line: RedisLine, shared: RedisServer) -> None:
    heard, counters = Heard(line), RedisCounters(line)
    assert await counters.count("a", "x") == 1
    shared.command("CLIENT", "PAUSE", "1400")
    await fails(counters, 1)
    assert await counters.count("a", "x") in (2, 3)
    assert (heard.events, line.lost) == ([], False)


async def test_all_that_wait_for_a_slow_redis_fail_with_the_first(line: RedisLine, shared: RedisServer) -> None:
    counters = RedisCounters(line)
    assert await counters.count("a", "x") == 1
    before = line.trips
    shared.command("CLIENT", "PAUSE", "2500")
    counted = [counters.count("a", "x") for _ in range(3 * MAX_BATCH)]
    assert {type(each) for each in await asyncio.gather(*counted, return_exceptions=True)} == {StateLostError}
    assert line.trips == before + 1


async def test_a_connection_that_was_cut_is_made_again(line: RedisLine, shared: RedisServer) -> None:
    counters = RedisCounters(line)
    assert await counters.count("a", "x") == 1
    shared.command("CLIENT", "KILL", "TYPE", "normal")
    await fails(counters, 1)
    assert await counters.count("a", "x") == 2


async def test_a_full_redis(line: RedisLine, shared: RedisServer, caplog: pytest.LogCaptureFixture) -> None:
    counters = RedisCounters(line)
    assert await counters.count("a", "x") == 1
    shared.command("CONFIG", "SET", "maxmemory", "1mb")
    try:
        with caplog.at_level(logging.WARNING, "mockserver"):
            await fails(counters)
            assert await counters.entries("a") == {"x": "1"}
            await fails(counters)
    finally:
        shared.command("CONFIG", "SET", "maxmemory", "256mb")
    (message,) = [record.message for record in caplog.records if "state lost" in record.message]
    assert "used memory > 'maxmemory'; what counts" in message
    assert await counters.count("a", "x") == 2


DRAW = (Draw("requests", 60.0, 1.0, 1.0),)
WRITES: dict[str, Callable[[RedisLine], Awaitable[object]]] = {
    "times": lambda line: RedisCounters(line).open("a", (Precondition("x", 5),), None),
    "a rule of another state": lambda line: RedisCounters(line).open("a", (Precondition("y", 1, "on"),), None),
    "the next state": lambda line: RedisCounters(line).open("a", (Precondition("", None, "start", "start"),), None),
    "attempts": lambda line: RedisCounters(line).count("a", "x"),
    "the state": lambda line: RedisCounters(line).set_state("a", "start"),
    "a kept answer": lambda line: shelf(line).put("a", "one", "text", size=1),
    "limits": lambda line: RedisLimitStore(line).enter("a", DRAW, Limits()),
    "tokens": lambda line: RedisLimitStore(line).take("a", DRAW),
    "a slot": lambda line: RedisLimitStore(line).enter("a", DRAW, Limits(concurrent=5)),
}


def shelf(line: RedisLine) -> RedisShelf[str]:
    return RedisShelf(line, (str.encode, bytes.decode), count=9, size=99)


def stored(server: RedisServer) -> dict[bytes, bytes]:
    """All that is kept, but for when it ends."""
    keys: list[bytes] = server.command("KEYS", "*")  # type: ignore[assignment]
    return {key: server.command("DUMP", key.decode()) for key in keys}


@contextmanager
def full(server: RedisServer) -> Iterator[None]:
    server.command("CONFIG", "SET", "maxmemory", "1mb")
    try:
        yield
    finally:
        server.command("CONFIG", "SET", "maxmemory", "256mb")


@contextmanager
def replica(server: RedisServer) -> Iterator[None]:
    server.command("REPLICAOF", "127.0.0.1", "1")
    try:
        yield
    finally:
        server.command("REPLICAOF", "NO", "ONE")


@contextmanager
def without_replicas(server: RedisServer) -> Iterator[None]:
    server.command("CONFIG", "SET", "min-replicas-to-write", "1")
    try:
        yield
    finally:
        server.command("CONFIG", "SET", "min-replicas-to-write", "0")


@contextmanager
def without_disk(server: RedisServer) -> Iterator[None]:
    """It could not save itself: there is a folder where its file should be."""
    server.command("CONFIG", "SET", "save", "3600 1000000")
    (server.socket.parent / "dump.rdb").mkdir(exist_ok=True)
    server.command("BGSAVE")
    until(lambda: server.command("INFO", "persistence")["rdb_last_bgsave_status"] == "err")  # type: ignore[index]
    try:
        yield
    finally:
        server.command("CONFIG", "SET", "save", "")


@contextmanager
def busy(server: RedisServer) -> Iterator[None]:
    """A script of somebody else does not end."""
    server.command("CONFIG", "SET", "busy-reply-threshold", "10")

    def run() -> None:
        with suppress(redis.RedisError):  # it is killed
            server.command("EVAL", "while true do end", "0")

    script = Thread(target=run)
    script.start()
    sleep(0.2)
    try:
        yield
    finally:
        server.command("SCRIPT", "KILL")
        script.join()


@pytest.mark.parametrize("refusing", [full, replica, without_replicas, without_disk, busy])
@pytest.mark.parametrize("name", WRITES)
async def test_a_redis_that_does_not_write(
    name: str,
    refusing: Callable[[RedisServer], AbstractContextManager[None]],
    shared: RedisServer,
    line: RedisLine,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What was there before does not matter: nothing is counted half, and nothing passes for counted."""
    write = WRITES[name]
    await write(line)
    kept = stored(shared)
    with refusing(shared):
        for _ in range(3):
            with pytest.raises(StateLostError):
                await write(line)
        assert line.lost
    assert stored(shared) == kept
    await write(line)
    assert [record.message.partition(":")[0] for record in caplog.records][:1] == ["state lost"]


async def test_a_redis_that_became_a_replica(start_redis: Callable[..., RedisServer]) -> None:
    server = start_redis()
    line = line_to(server)
    counters = RedisCounters(line)
    assert await counters.count("a", "x") == 1
    server.command("REPLICAOF", "127.0.0.1", "1")
    await fails(counters, 2)
    server.command("REPLICAOF", "NO", "ONE")
    assert await counters.count("a", "x") == 2
    await line.close()


async def test_a_state_that_another_release_took_over_stays_lost(line: RedisLine, shared: RedisServer) -> None:
    counters = RedisCounters(line)
    await counters.count("a", "x")
    shared.command("SET", "mockserver:schema", "2")
    shared.command("CLIENT", "KILL", "TYPE", "normal")
    await fails(counters)
    shared.command("SET", "mockserver:schema", "1")
    assert await counters.count("a", "x") == 2


async def test_what_cannot_be_sent_leaves_nobody_waiting(line: RedisLine) -> None:
    with pytest.raises(StateLostError):
        await line.send("SET", "x", object())  # type: ignore[arg-type]
    assert await line.send("GET", "x") is None


async def test_a_primary_that_sentinel_names(start_redis: Callable[..., RedisServer], tmp_path: Path) -> None:
    port, other = free_ports(2)
    start_redis("--port", str(port))
    with sentinel(tmp_path, other, port) as ask:
        until(lambda: ask("PING"))
        line = open_line(address(f"sentinel://127.0.0.1:{other}/main/0"))
        assert [await RedisCounters(line).count("a", "x") for _ in range(2)] == [1, 2]
        await line.close()
