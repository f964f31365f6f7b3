"""What one process remembers."""

from mockserver.state.in_memory import MemoryCounters


async def test_of_too_many_namespaces_the_longest_idle_goes() -> None:
    store = MemoryCounters(max_namespaces=2)
    await store.count("a", "n")
    await store.count("b", "n")
    await store.count("a", "n")
    await store.count("c", "n")
    assert (await store.count("a", "n"), await store.count("b", "n")) == (3, 1)


async def test_who_only_looks_makes_nobody_go() -> None:
    store = MemoryCounters(max_namespaces=1)
    await store.count("a", "n")
    assert await store.list_entries("b") == {}
    assert await store.list_entries("a") == {"n": "1"}


async def test_of_too_many_keys_the_longest_untouched_goes() -> None:
    store = MemoryCounters(max_keys=2)
    for key in ("x", "y", "x", "z"):
        await store.count("a", key)
    assert await store.list_entries("a") == {"x": "2", "z": "1"}
