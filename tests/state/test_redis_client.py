"""The client to Redis: what it sends together, and what it says when Redis fails."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from threading import Thread
from time import sleep

import pytest
import redis

from mockserver.core.rates import Bucket, Limits, Rate
from mockserver.core.state import Precondition, StateLostError
from mockserver.state.redis.client import MAX_BATCH, RedisClient, open_client, read_address
from mockserver.state.redis.stores import Codec, RedisCounters, RedisLimitStore, RedisValueStore
from tests.kit.processes import wait_until_true
from tests.kit.shared import RedisServer, connect_client, find_free_ports, sentinel


@pytest.fixture
async def client(shared: RedisServer) -> AsyncIterator[RedisClient]:
    client = connect_client(shared)
    yield client
    await client.close()


async def test_commands_of_one_turn_leave_together(client: RedisClient) -> None:
    replies = await asyncio.gather(*[client.send("INCR", "x") for _ in range(2 * MAX_BATCH + 1)])
    assert replies == [*range(1, 2 * MAX_BATCH + 2)]
    assert client.trips == 3


async def test_a_request_that_is_gone_takes_no_reply_of_others(client: RedisClient) -> None:
    one, other = client.send("INCR", "x"), client.send("INCR", "x")
    one.cancel()
    assert await other == 2


async def test_a_script_that_redis_forgot_runs_once(client: RedisClient, shared: RedisServer) -> None:
    counters = RedisCounters(client)
    assert await counters.count("a", "x") == 1
    shared.command("SCRIPT", "FLUSH")
    counts = await asyncio.gather(*[counters.count("a", "x") for _ in range(5)], counters.count("a", "y"))
    assert counts == [2, 3, 4, 5, 6, 1]
    assert not client.lost


async def test_of_counts_the_latest_are_kept_and_all_keys_expire(client: RedisClient, shared: RedisServer) -> None:
    counters = RedisCounters(client, recent=50)
    for number in range(120):
        await counters.count("a", str(number))
    await counters.open("a", (Precondition("x", 3, "start", "on"),), None)
    entries = await counters.list_entries("a")
    assert {str(number) for number in range(70, 120)} <= set(entries)
    assert len(entries) <= 102
    keys: list[bytes] = shared.command("KEYS", "mockserver:?:*")  # type: ignore[assignment]
    assert sorted(keys) == [b"mockserver:c:a", b"mockserver:m:a", b"mockserver:n:a"]
    assert all(0 < int(shared.command("TTL", key.decode())) <= 86_400 for key in keys)


async def test_prefixes_are_apart(client: RedisClient, shared: RedisServer) -> None:
    other = connect_client(shared, "team")
    assert [await RedisCounters(each).count("a", "x") for each in (client, other, client)] == [1, 1, 2]
    await other.close()


class Heard:
    """What followers of a client are told."""

    def __init__(self, client: RedisClient) -> None:
        self.events = list[str]()
        client.on_start_over.append(lambda: self.events.append("anew"))


async def fails(counters: RedisCounters, times: int = 3) -> None:
    for _ in range(times):
        with pytest.raises(StateLostError):
            await counters.count("a", "x")


async def test_an_outage_is_told_once_and_so_is_its_end(
    start_redis: Callable[..., RedisServer], caplog: pytest.LogCaptureFixture
) -> None:
    server = start_redis()
    client = connect_client(server)
    heard, counters = Heard(client), RedisCounters(client)
    assert await counters.count("a", "x") == 1
    server.kill()
    with caplog.at_level(logging.WARNING, "mockserver"):
        await fails(counters)
        assert client.lost
        server.start()
        assert await counters.count("a", "x") == 1
    assert [record.message.partition(":")[0] for record in caplog.records] == [
        "state lost",
        "state back, but Redis had lost it",
    ]
    assert heard.events == ["anew"]
    await client.close()


async def test_a_redis_that_was_restarted_with_its_data_goes_on(start_redis: Callable[..., RedisServer]) -> None:
    server = start_redis("--appendonly", "yes", "--appendfsync", "always")
    client = connect_client(server)
    heard, counters = Heard(client), RedisCounters(client)
    assert await counters.count("a", "x") == 1
    server.kill()
    await fails(counters, 1)
    server.start()
    assert await counters.count("a", "x") == 2
    assert (heard.events, client.lost) == ([], False)
    await client.close()


async def test_a_slow_redis_may_have_counted(client: RedisClient, shared: RedisServer) -> None:
    heard, counters = Heard(client), RedisCounters(client)
    assert await counters.count("a", "x") == 1
    shared.command("CLIENT", "PAUSE", "1400")
    await fails(counters, 1)
    assert await counters.count("a", "x") in (2, 3)
    assert (heard.events, client.lost) == ([], False)


async def test_all_that_wait_for_a_slow_redis_fail_with_the_first(client: RedisClient, shared: RedisServer) -> None:
    counters = RedisCounters(client)
    assert await counters.count("a", "x") == 1
    before = client.trips
    shared.command("CLIENT", "PAUSE", "2500")
    counted = [counters.count("a", "x") for _ in range(3 * MAX_BATCH)]
    assert {type(each) for each in await asyncio.gather(*counted, return_exceptions=True)} == {StateLostError}
    assert client.trips == before + 1


async def test_a_connection_that_was_cut_is_made_again(client: RedisClient, shared: RedisServer) -> None:
    counters = RedisCounters(client)
    assert await counters.count("a", "x") == 1
    shared.command("CLIENT", "KILL", "TYPE", "normal")
    await fails(counters, 1)
    assert await counters.count("a", "x") == 2


async def test_replies_that_belong_to_other_commands_count_nothing(client: RedisClient) -> None:
    counters = RedisCounters(client)
    assert await counters.count("a", "x") == 1
    await client._connection.send_command("INCR", "stray")  # as if something between them had sent a reply too many
    await fails(counters, 1)
    assert await counters.count("a", "x") == 3  # the one that failed was counted, as its message says it may be


async def test_the_keys_of_another_program_name_the_way_out(client: RedisClient, shared: RedisServer) -> None:
    shared.command("SET", client.make_key("m", "a"), "not ours")
    with pytest.raises(StateLostError, match="another program has written: give this server its own keys"):
        await RedisCounters(client).count("a", "x")


async def test_a_full_redis(client: RedisClient, shared: RedisServer, caplog: pytest.LogCaptureFixture) -> None:
    counters = RedisCounters(client)
    assert await counters.count("a", "x") == 1
    shared.command("CONFIG", "SET", "maxmemory", "1mb")
    try:
        with caplog.at_level(logging.WARNING, "mockserver"):
            await fails(counters)
            assert await counters.list_entries("a") == {"x": "1"}
            await fails(counters)
    finally:
        shared.command("CONFIG", "SET", "maxmemory", "256mb")
    (message,) = [record.message for record in caplog.records if "state lost" in record.message]
    assert "used memory > 'maxmemory'; requests that count" in message
    assert await counters.count("a", "x") == 2


DRAW = (Bucket("requests", Rate("requests", "minute", 60), 60.0).draw(1),)
WRITES: dict[str, Callable[[RedisClient], Awaitable[object]]] = {
    "times": lambda client: RedisCounters(client).open("a", (Precondition("x", 5),), None),
    "a rule of another state": lambda client: RedisCounters(client).open("a", (Precondition("y", 1, "on"),), None),
    "the next state": lambda client: RedisCounters(client).open("a", (Precondition("", None, "start", "start"),), None),
    "attempts": lambda client: RedisCounters(client).count("a", "x"),
    "the state": lambda client: RedisCounters(client).set_state("a", "start"),
    "a kept answer": lambda client: store(client).put("a", "one", "text", size=1),
    "limits": lambda client: RedisLimitStore(client).enter("a", DRAW, Limits()),
    "tokens": lambda client: RedisLimitStore(client).take("a", DRAW),
    "a slot": lambda client: RedisLimitStore(client).enter("a", DRAW, Limits(concurrent=5)),
}


def store(client: RedisClient) -> RedisValueStore[str]:
    return RedisValueStore(client, Codec(str.encode, bytes.decode), count=9, size=99)


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
    wait_until_true(lambda: server.command("INFO", "persistence")["rdb_last_bgsave_status"] == "err")  # type: ignore[index]
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
    client: RedisClient,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What was there before does not matter: nothing is counted half, and nothing passes for counted."""
    write = WRITES[name]
    await write(client)
    kept = stored(shared)
    with refusing(shared):
        for _ in range(3):
            with pytest.raises(StateLostError):
                await write(client)
        assert client.lost
    assert stored(shared) == kept
    await write(client)
    assert [record.message.partition(":")[0] for record in caplog.records][:1] == ["state lost"]


async def test_a_redis_that_became_a_replica(start_redis: Callable[..., RedisServer]) -> None:
    server = start_redis()
    client = connect_client(server)
    counters = RedisCounters(client)
    assert await counters.count("a", "x") == 1
    server.command("REPLICAOF", "127.0.0.1", "1")
    await fails(counters, 2)
    server.command("REPLICAOF", "NO", "ONE")
    assert await counters.count("a", "x") == 2
    await client.close()


async def test_a_state_that_another_release_took_over_stays_lost(client: RedisClient, shared: RedisServer) -> None:
    counters = RedisCounters(client)
    await counters.count("a", "x")
    shared.command("SET", "mockserver:schema", "2")
    shared.command("CLIENT", "KILL", "TYPE", "normal")
    await fails(counters)
    shared.command("SET", "mockserver:schema", "1")
    assert await counters.count("a", "x") == 2


async def test_what_cannot_be_sent_leaves_nobody_waiting(client: RedisClient) -> None:
    with pytest.raises(StateLostError):
        await client.send("SET", "x", object())  # type: ignore[arg-type]
    assert await client.send("GET", "x") is None


async def test_a_primary_that_sentinel_names(start_redis: Callable[..., RedisServer], tmp_path: Path) -> None:
    port, other = find_free_ports(2)
    start_redis("--port", str(port))
    with sentinel(tmp_path, other, port) as ask:
        wait_until_true(lambda: ask("PING"))
        client = open_client(read_address(f"sentinel://127.0.0.1:{other}/main/0"))
        assert [await RedisCounters(client).count("a", "x") for _ in range(2)] == [1, 2]
        await client.close()
