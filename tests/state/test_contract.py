"""What counters, value stores and limits promise, in memory and in Redis."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from hashlib import sha1
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mockserver.core.rates import Bucket, Draw, Limits, LimitStore, Rate
from mockserver.core.state import Counters, Precondition, ValueStore, VersionedValue
from mockserver.state.in_memory import MemoryCounters, MemoryLimitStore, MemoryValueStore
from mockserver.state.redis import stores
from mockserver.state.redis.client import Script
from mockserver.state.redis.stores import RedisCounters, RedisLimitStore, RedisValueStore
from tests.kit.shared import RedisServer, connect_client

TEXTS = stores.Codec(str.encode, bytes.decode)


class Memory:
    def counters(self) -> Counters:
        return MemoryCounters()

    def values(self, *, count: int = 9, size: int = 99) -> ValueStore[str]:
        return MemoryValueStore(count=count, size=size)

    def store(self) -> LimitStore:
        return MemoryLimitStore()

    async def close(self) -> None:
        """Nothing is open."""


class Shared:
    def __init__(self, server: RedisServer) -> None:
        self.client = connect_client(server)

    def counters(self) -> Counters:
        return RedisCounters(self.client)

    def values(self, *, count: int = 9, size: int = 99) -> ValueStore[str]:
        return RedisValueStore(self.client, TEXTS, count=count, size=size)

    def store(self) -> LimitStore:
        return RedisLimitStore(self.client)

    async def close(self) -> None:
        await self.client.close()


Made = Memory | Shared


@pytest.fixture(params=["memory", "redis"])
async def made(request: pytest.FixtureRequest, shared: RedisServer) -> AsyncIterator[Made]:
    stores = Memory() if request.param == "memory" else Shared(shared)
    yield stores
    await stores.close()


async def kept(values: ValueStore[str], key: str, value: str, size: int = 1) -> None:
    """`key` may have its namespace in front, as in `a:x`."""
    if (done := values.put(key.rpartition(":")[0] or "a", key[-1:], value, size=size)) is not None:
        await done


# --- counters


async def test_counters_and_the_state_belong_to_a_namespace(made: Made) -> None:
    counters = made.counters()
    assert await counters.list_entries("a") == {}
    await counters.set_state("a", "paid\ud800")
    assert [await counters.count("a", "ö\n"), await counters.count("a", "ö\n")] == [1, 2]
    assert await counters.count("b", "ö\n") == 1
    assert (await counters.list_entries("a"), await counters.list_entries("b")) == (
        {"state": "paid\ud800", "ö\n": "2"},
        {"ö\n": "1"},
    )
    await counters.clear("a")
    assert (await counters.list_entries("a"), await counters.list_entries("b")) == ({}, {"ö\n": "1"})


async def test_a_gate_opens_so_many_times(made: Made) -> None:
    counters = made.counters()
    gates = (Precondition("x", 2), Precondition("y", 1))
    assert [await counters.open("a", gates, None) for _ in range(4)] == [0, 0, 1, None]
    assert await counters.list_entries("a") == {"x": "4", "y": "2"}
    await counters.forget("a", ["x", "never there"])
    assert await counters.open("a", gates, None) == 0
    assert await counters.list_entries("a") == {"x": "1", "y": "2"}


async def test_a_gate_opens_in_its_state_and_may_change_it(made: Made) -> None:
    counters = made.counters()
    asks, answers = Precondition("x", None, "start", "asked"), Precondition("y", 1, "asked", "")
    empty = Precondition("z", 1, "", None)
    assert [await counters.open("a", (answers, asks, empty), None) for _ in range(4)] == [1, 0, 2, None]
    assert await counters.list_entries("a") == {"state": "", "y": "1", "z": "2"}


async def test_a_request_may_go_by_the_state_that_it_found(made: Made) -> None:
    counters = made.counters()
    await counters.set_state("a", "b")
    assert await counters.open("a", (Precondition("x", None, "b", None),), "start") is None
    assert await counters.open("a", (Precondition("x", None, "start", "c"),), "start") == 0
    assert await counters.list_entries("a") == {"state": "c"}


# --- value stores


async def test_values_have_versions(made: Made) -> None:
    values = made.values()
    assert (await values.get("a", "x"), await values.list_values("a"), await values.count("a")) == (None, (), 0)
    await kept(values, "x", "1 ö")
    found = await values.get("a", "x")
    assert found is not None
    assert found[0] == "1 ö"
    assert await values.change("a", "x", VersionedValue("2", found.version), size=1)
    assert not await values.change("a", "x", VersionedValue("3", found.version), size=1)
    assert not await values.change("b", "x", VersionedValue("3", found.version), size=1)
    assert (await values.list_values("a"), await values.count("a")) == (("2",), 1)
    await values.clear("a")
    assert (await values.get("a", "x"), await values.count("a")) == (None, 0)


async def test_the_oldest_values_go_where_there_are_too_many_or_too_much(made: Made) -> None:
    values = made.values(count=3, size=9)
    for key in "wxyz":
        await kept(values, key, key)
    assert await values.list_values("a") == ("x", "y", "z")
    await kept(values, "y", "Y", size=7)
    assert await values.list_values("a") == ("x", "z", "Y")
    await kept(values, "v", "too large", size=10)
    assert await values.list_values("a") == ("x", "z", "Y")
    await kept(values, "v", "v", size=2)
    assert await values.list_values("a") == ("Y", "v")


async def test_of_many_changes_at_once_one_wins(made: Made) -> None:
    values = made.values()
    await kept(values, "x", "0")
    found = await values.get("a", "x")
    assert found is not None
    won = await asyncio.gather(
        *[values.change("a", "x", VersionedValue(str(n), found.version), size=1) for n in range(20)]
    )
    assert sum(won) == 1


# --- limits

ONE, TWO = Limits(concurrent=1), Limits(concurrent=1, queue=2)


def seconds(name: str, amount: float) -> Draw:
    """What a bucket of a minute refills in so many seconds."""
    return Draw(Bucket(name, Rate("tokens", "minute", 1_000), 60.0), 1, amount)


async def test_without_limits_nobody_gets_a_place(made: Made) -> None:
    entry = await made.store().enter("a", (), Limits())
    assert (entry.result, entry.waits, entry.place) == ("entered", {}, None)


async def test_slots_are_taken_and_given_back(made: Made) -> None:
    store = made.store()
    first, second, other = [await store.enter(name, (), ONE) for name in "aab"]
    assert [first.result, second.result, other.result] == ["entered", "no_room", "entered"]
    assert first.place is not None
    store.leave("a", first.place, ONE)
    assert (await store.enter("a", (), ONE)).result == "entered"


async def test_those_that_wait_get_slots_in_order_of_arrival(made: Made) -> None:
    store, order = made.store(), list[int]()
    entries = [await store.enter("a", (), TWO) for _ in range(4)]
    assert [entry.result for entry in entries] == ["entered", "queued", "queued", "no_room"]

    async def work(at: int) -> None:
        place = entries[at].place
        assert place is not None
        await store.wait("a", place, TWO)
        order.append(at)
        store.leave("a", place, TWO)

    waiting = [asyncio.create_task(work(at)) for at in (2, 1)]
    await asyncio.sleep(0.05)
    assert order == []
    store.leave("a", entries[0].place or "", TWO)
    await asyncio.wait_for(asyncio.gather(*waiting), 5)
    assert order == [1, 2]
    assert (await store.enter("a", (), ONE)).result == "entered"


async def test_who_leaves_the_queue_is_passed_over(made: Made) -> None:
    store = made.store()
    first, second, third = [await store.enter("a", (), TWO) for _ in range(3)]
    store.leave("a", second.place or "", TWO)
    store.leave("a", first.place or "", TWO)
    await asyncio.wait_for(store.wait("a", third.place or "", TWO), 5)
    assert (await store.enter("a", (), ONE)).result == "no_room"


async def test_limits_that_are_lifted_let_all_in(made: Made) -> None:
    store = made.store()
    entries = [await store.enter("a", (), TWO) for _ in range(3)]
    store.leave("a", entries[0].place or "", Limits())
    for entry in entries[1:]:
        await asyncio.wait_for(store.wait("a", entry.place or "", Limits()), 5)


async def test_a_slot_that_ended_in_a_pause_of_its_server_is_taken_again(shared: RedisServer) -> None:
    client = connect_client(shared)
    paused, other, slots = RedisLimitStore(client), RedisLimitStore(client), "mockserver:w:a"
    first, waiting = [await paused.enter("a", (), TWO) for _ in range(2)]
    await client.send("ZREM", slots, first.place or "")  # as others do after two seconds
    second = await other.enter("a", (), ONE)
    assert (waiting.result, second.result) == ("queued", "no_room")
    await other.wait("a", waiting.place or "", ONE)
    await asyncio.sleep(0.7)
    assert await client.send("ZCARD", slots) == 2
    other.leave("a", waiting.place or "", ONE)
    assert (await other.enter("a", (), ONE)).result == "no_room"
    paused.leave("a", first.place or "", ONE)
    assert (await other.enter("a", (), ONE)).result == "entered"
    await client.close()


async def test_a_refusal_for_an_empty_bucket_takes_no_slot(made: Made) -> None:
    store, greedy = made.store(), seconds("x", 61.0)
    entry = await store.enter("a", (greedy, seconds("y", 1.0)), ONE)
    assert (entry.result, entry.waits, entry.place) == ("empty", {"x": 0.0, "y": 0.0}, None)
    assert (await store.enter("a", (), ONE)).result == "entered"
    assert (await store.enter("a", (seconds("y", 1.0),), ONE)).result == "no_room"
    assert await store.take("a", (seconds("y", 0.0),)) == {"y": 0.0}


async def test_what_is_taken_is_taken_whatever_is_there(made: Made) -> None:
    store = made.store()
    taken = await store.take("a", (seconds("x", 90.0), seconds("y", -5.0)))
    assert taken == pytest.approx({"x": 90.0, "y": 0.0}, abs=0.1)
    assert (await store.enter("a", (seconds("x", 1.0),), Limits())).result == "empty"
    await store.clear("a")
    assert (await store.enter("a", (seconds("x", 1.0),), Limits())).result == "entered"


# --- whatever happens, both do the same

NAMES = st.sampled_from(["x", "y", "z"])
STATES = st.one_of(st.none(), st.sampled_from(["start", "a", "b"]))
GATES = st.lists(st.builds(Precondition, NAMES, st.one_of(st.none(), st.integers(1, 3)), STATES, STATES), max_size=4)
COUNTED = st.lists(
    st.one_of(
        st.tuples(st.just("open"), GATES, STATES),
        st.tuples(st.just("count"), NAMES.map(str.upper)),
        st.tuples(st.just("set_state"), st.sampled_from("ab")),
        st.tuples(st.just("forget"), st.lists(NAMES)),
        st.tuples(st.just("clear")),
    ),
    max_size=20,
)
SHELVED = st.lists(
    st.tuples(st.sampled_from(["put", "change", "stale"]), NAMES, st.text(max_size=5), st.integers(0, 12)), max_size=20
)
AMOUNTS = st.sampled_from([0.0, 1.0, 20.0, 59.0, 60.0, 61.0]) | st.floats(0, 70)
DRAWN = st.lists(
    st.tuples(st.dictionaries(NAMES, AMOUNTS), st.floats(0, 50), st.sampled_from([None, 1, -1])), max_size=15
)
_namespaces = count()


def agree(server: RedisServer, work: Callable[[Made, str], Awaitable[Any]]) -> None:
    namespace = f"n{next(_namespaces)}"

    async def both() -> tuple[Any, Any]:
        there = Shared(server)
        try:
            return await work(Memory(), namespace), await work(there, namespace)
        finally:
            await there.close()

    in_memory, in_redis = asyncio.run(both())
    assert in_redis == in_memory


@given(COUNTED)
@settings(max_examples=150)
def test_counters_agree(running_redis: RedisServer, steps: list[Any]) -> None:
    async def work(made: Made, namespace: str) -> Any:
        counters, found = made.counters(), list[Any]()
        for name, *words in steps:
            found.append(await getattr(counters, name)(namespace, *words))
        return found, await counters.list_entries(namespace)

    agree(running_redis, work)


@given(SHELVED)
@settings(max_examples=150)
def test_value_stores_agree(running_redis: RedisServer, steps: list[Any]) -> None:
    async def work(made: Made, namespace: str) -> Any:
        values, found = made.values(count=2, size=10), list[Any]()
        for name, key, value, stated in steps:
            size = max(stated, len(value.encode()))  # which Redis counts at least
            if name == "put":
                await kept(values, f"{namespace}:{key}", value, size)
            else:
                there = await values.get(namespace, key)
                version = -1 if there is None else there[1] - (name == "stale")
                found.append(
                    (there and there[0], await values.change(namespace, key, VersionedValue(value, version), size=size))
                )
        return found, await values.list_values(namespace), await values.count(namespace)

    agree(running_redis, work)


@pytest.fixture
def hand_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """The store of Redis goes by the time in the key `now`."""
    text = stores._LIMITS.text.replace("redis.call('TIME')", "{redis.call('GET', 'now'), 0}")
    assert text != stores._LIMITS.text
    monkeypatch.setattr(stores, "_LIMITS", Script(text, sha1(text.encode()).hexdigest()))


@pytest.mark.usefixtures("hand_clock")
@given(DRAWN)
@settings(max_examples=150)
def test_buckets_agree(running_redis: RedisServer, steps: list[Any]) -> None:
    namespace = f"n{next(_namespaces)}"

    async def work() -> None:
        client, now = connect_client(running_redis), 1_700_000_000.0
        shared, own = RedisLimitStore(client), MemoryLimitStore(lambda: now)
        for amounts, later, sign in steps:
            now += later
            await client.send("SET", "now", repr(now))
            draws = [seconds(name, amount * (sign or 1)) for name, amount in amounts.items()]
            if sign is not None:
                taken = await shared.take(namespace, draws)
                assert taken == pytest.approx(await own.take(namespace, draws), abs=1e-6)
            else:
                one, other = [await each.enter(namespace, draws, Limits()) for each in (shared, own)]
                assert one.result == other.result
                assert one.waits == pytest.approx(other.waits, abs=1e-6)
        await client.close()

    asyncio.run(work())
