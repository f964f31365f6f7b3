"""What one process keeps for later, and what it lets go."""

from mockserver.core.state import VersionedValue
from mockserver.state.in_memory import NAMESPACES_IN_FULL, MemoryValueStore


async def filled(
    store: MemoryValueStore[str], *keys: str, size: int = 1, namespace: str = "a"
) -> MemoryValueStore[str]:
    for key in keys:
        store.put(namespace, key, key.upper(), size=size)
    return store


async def test_who_only_looks_makes_nobody_go() -> None:
    store = await filled(MemoryValueStore[str](count=9, size=9, max_namespaces=1), "x")
    assert not await store.change("b", "x", VersionedValue("was never there", 1), size=1)
    assert (await store.get("b", "x"), await store.list_values("b"), await store.list_values("a")) == (None, (), ("X",))


async def test_a_value_that_is_put_again_is_the_newest_and_counts_once() -> None:
    store = await filled(MemoryValueStore[str](count=2, size=9), "x", "y", "x", "z", size=4)
    assert await store.list_values("a") == ("X", "Z")


async def test_a_value_that_is_changed_keeps_its_place() -> None:
    store = await filled(MemoryValueStore[str](count=9, size=9), "x", "y", size=4)
    assert await store.change("a", "x", VersionedValue("changed", 1), size=3)
    assert not await store.change("a", "x", VersionedValue("too late", 1), size=3)
    assert not await store.change("a", "z", VersionedValue("was never there", 1), size=1)
    assert await store.list_values("a") == ("changed", "Y")
    await filled(store, "z", size=2)
    assert await store.list_values("a") == ("changed", "Y", "Z")
    await filled(store, "last")
    assert await store.list_values("a") == ("Y", "Z", "LAST")


async def test_what_is_larger_than_the_room_is_not_kept_and_pushes_nothing_out() -> None:
    store = await filled(MemoryValueStore[str](count=9, size=9), "x", "y")
    store.put("a", "y", "too large", size=10)
    assert await store.list_values("a") == ("X",)


async def test_a_store_without_room_keeps_nothing() -> None:
    assert await (await filled(MemoryValueStore[str](count=0, size=9), "x")).list_values("a") == ()


async def test_of_too_many_namespaces_the_longest_idle_goes() -> None:
    store = MemoryValueStore[str](count=9, size=9, max_namespaces=2)
    for namespace in ("a", "b", "a", "c"):
        await filled(store, "x", namespace=namespace)
    assert (await store.list_values("a"), await store.list_values("b")) == (("X",), ())


async def test_full_namespaces_push_out_the_longest_idle_ones() -> None:
    store = MemoryValueStore[str](count=9, size=9)
    names = [str(number) for number in range(NAMESPACES_IN_FULL + 1)]
    for namespace in names:
        await filled(store, "x", size=9, namespace=namespace)
    assert [namespace for namespace in names if await store.get(namespace, "x") is None] == ["0"]


async def test_the_room_of_a_namespace_that_was_forgotten_is_free_again() -> None:
    store = MemoryValueStore[str](count=9, size=9)
    for _ in range(3):
        for number in range(NAMESPACES_IN_FULL):
            await store.clear(str(number))
            await filled(store, "x", size=9, namespace=str(number))
    assert await store.list_values("0") == ("X",)
