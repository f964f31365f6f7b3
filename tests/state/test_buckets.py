"""Buckets that refill as a clock says that is set by hand."""

from dataclasses import dataclass

import pytest

from mockserver.core.rates import Bucket, Draw, Limits, Rate
from mockserver.state.in_memory import MemoryLimitStore


@dataclass
class Hand:
    """A clock that stands where it is put."""

    at: float = 1000.0

    def __call__(self) -> float:
        return self.at


THREE = Rate("requests", "minute", 3)


def third(name: str = "a", times: int = 1) -> Draw:
    """One of three in a minute, or more."""
    return Bucket(name, THREE, 60.0).draw(times)


async def draw(store: MemoryLimitStore, namespace: str, draws: tuple[Draw, ...]) -> tuple[bool, list[float]]:
    entry = await store.enter(namespace, draws, Limits())
    return entry.result == "entered", list(entry.waits.values())


async def test_a_bucket_starts_full_and_refills_continuously() -> None:
    clock = Hand()
    buckets = MemoryLimitStore(clock)
    drawn = [await draw(buckets, "n", (third(),)) for _ in range(4)]
    assert drawn == [(True, [20.0]), (True, [40.0]), (True, [60.0]), (False, [60.0])]
    clock.at += 18
    assert await draw(buckets, "n", (third(),)) == (False, [42.0])
    clock.at += 2
    assert await draw(buckets, "n", (third(),)) == (True, [60.0])
    clock.at += 1000
    assert await draw(buckets, "n", (third(),)) == (True, [20.0])


async def test_more_may_be_taken_than_is_there_which_leaves_a_debt() -> None:
    clock = Hand()
    buckets = MemoryLimitStore(clock)
    assert await buckets.take("n", (third(times=4), third("b"))) == {"a": 80.0, "b": 20.0}
    clock.at += 39
    assert (await draw(buckets, "n", (third(),)))[0] is False
    clock.at += 1
    assert await draw(buckets, "n", (third(),)) == (True, [60.0])


async def test_what_is_given_back_is_there_again_and_no_more() -> None:
    buckets = MemoryLimitStore(Hand())
    await draw(buckets, "n", (third(times=2),))
    assert await buckets.take("n", (third(times=-1),)) == {"a": 20.0}
    assert await buckets.take("n", (third(times=-9),)) == {"a": 0.0}
    assert await draw(buckets, "n", (third(),)) == (True, [20.0])


@pytest.mark.parametrize("other", [("n", "b"), ("m", "a")])
async def test_buckets_and_namespaces_are_apart(other: tuple[str, str]) -> None:
    buckets = MemoryLimitStore(Hand())
    for _ in range(3):
        await draw(buckets, "n", (third(),))
    namespace, bucket = other
    assert await draw(buckets, namespace, (third(bucket),)) == (True, [20.0])
    await buckets.clear("n")
    assert await draw(buckets, "n", (third(),)) == (True, [20.0])


async def test_of_too_many_those_go_first_that_are_full() -> None:
    clock = Hand()
    buckets = MemoryLimitStore(clock, max_buckets=10)
    await draw(buckets, "n", (third("empty"),))
    await draw(buckets, "n", (third("empty"), *(Bucket(name, THREE, 1.0).draw(3) for name in ("full", "too"))))
    clock.at += 10
    for number in range(8):
        await draw(buckets, "n", (third(str(number)),))
    assert await draw(buckets, "n", (third("empty"),)) == (True, [50.0])


async def test_of_too_many_that_are_used_the_oldest_go() -> None:
    buckets = MemoryLimitStore(Hand(), max_buckets=10)
    for number in range(100):
        await draw(buckets, "n", (third(str(number)),))
    assert await draw(buckets, "n", (third("99"),)) == (True, [40.0])
    assert await draw(buckets, "n", (third("0"),)) == (True, [20.0])


async def test_namespaces_are_bounded() -> None:
    buckets = MemoryLimitStore(Hand(), max_namespaces=2)
    for name in ("a", "b", "c"):
        await draw(buckets, name, (third(),))
    assert await draw(buckets, "c", (third(),)) == (True, [40.0])
    assert await draw(buckets, "a", (third(),)) == (True, [20.0])
