"""What one process remembers."""

from mockserver.state.in_memory import MemoryStore


async def test_values_and_counters_belong_to_a_namespace() -> None:
    store = MemoryStore()
    assert await store.get("a", "state") is None
    await store.set("a", "state", "paid")
    assert [await store.incr("a", "n"), await store.incr("a", "n"), await store.incr("b", "n")] == [1, 2, 1]
    assert (await store.get("a", "state"), await store.get("b", "state")) == ("paid", None)


async def test_clear_forgets_one_namespace() -> None:
    store = MemoryStore()
    await store.incr("a", "n")
    await store.incr("b", "n")
    await store.clear("a")
    assert (await store.incr("a", "n"), await store.incr("b", "n")) == (1, 2)


async def test_of_too_many_namespaces_the_longest_idle_goes() -> None:
    store = MemoryStore(max_namespaces=2)
    await store.incr("a", "n")
    await store.incr("b", "n")
    await store.incr("a", "n")
    await store.incr("c", "n")
    assert (await store.incr("a", "n"), await store.incr("b", "n")) == (3, 1)


async def test_who_only_looks_makes_nobody_go() -> None:
    store = MemoryStore(max_namespaces=1)
    await store.incr("a", "n")
    assert await store.get("b", "n") is None
    assert await store.get("a", "n") == "1"


async def test_of_too_many_keys_the_longest_untouched_goes() -> None:
    store = MemoryStore(max_keys=2)
    for key in ("x", "y", "x", "z"):
        await store.incr("a", key)
    assert (await store.get("a", "x"), await store.get("a", "y"), await store.get("a", "z")) == ("2", None, "1")


async def test_the_entries_of_a_namespace_are_listed() -> None:
    store = MemoryStore()
    await store.incr("a", "n")
    await store.set("a", "state", "paid")
    assert (await store.entries("a"), await store.entries("b")) == ({"n": "1", "state": "paid"}, {})
