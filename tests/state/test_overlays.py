"""What is tried on a rehearsal shows there and nowhere else."""

from mockserver.state.in_memory import MemoryShelf, MemoryStore, OverlayShelf, OverlayStore


async def test_counters_go_on_from_the_real_ones_and_leave_them() -> None:
    store = MemoryStore()
    await store.set("a", "state", "asked")
    await store.incr("a", "n")
    tried = OverlayStore(store)
    assert [await tried.incr("a", "n"), await tried.incr("a", "n"), await tried.incr("b", "n")] == [2, 3, 1]
    await tried.set("a", "state", "paid")
    assert await tried.entries("a") == {"state": "paid", "n": "3"}
    assert await store.entries("a") == {"state": "asked", "n": "1"}
    assert await store.entries("b") == {}
    await tried.clear("a")
    assert (await tried.get("a", "state"), await tried.get("b", "n")) == ("asked", "1")


async def test_what_is_kept_is_seen_and_stays() -> None:
    shelf = MemoryShelf[str](count=9, size=9)
    await shelf.put("a", "x", "X", size=1)
    tried = OverlayShelf(shelf)
    await tried.put("a", "y", "Y", size=1)
    await tried.change("a", "x", "changed", size=1)
    await tried.change("a", "z", "was never there", size=1)
    assert [await tried.get("a", key) for key in "xyz"] == ["changed", "Y", None]
    assert (await tried.values("a"), await shelf.values("a")) == (("X",), ("X",))
    await tried.clear("a")
    assert await tried.get("a", "x") == "X"
