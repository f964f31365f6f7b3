"""What one process keeps for later, and what it lets go."""

from mockserver.state.in_memory import NAMESPACES_IN_FULL, MemoryShelf


async def filled(shelf: MemoryShelf[str], *keys: str, size: int = 1, namespace: str = "a") -> MemoryShelf[str]:
    for key in keys:
        shelf.put(namespace, key, key.upper(), size=size)
    return shelf


async def test_who_only_looks_makes_nobody_go() -> None:
    shelf = await filled(MemoryShelf[str](count=9, size=9, max_namespaces=1), "x")
    assert not await shelf.change("b", "x", ("was never there", 1), size=1)
    assert (await shelf.get("b", "x"), await shelf.values("b"), await shelf.values("a")) == (None, (), ("X",))


async def test_a_value_that_is_put_again_is_the_newest_and_counts_once() -> None:
    shelf = await filled(MemoryShelf[str](count=2, size=9), "x", "y", "x", "z", size=4)
    assert await shelf.values("a") == ("X", "Z")


async def test_a_value_that_is_changed_keeps_its_place() -> None:
    shelf = await filled(MemoryShelf[str](count=9, size=9), "x", "y", size=4)
    assert await shelf.change("a", "x", ("changed", 1), size=3)
    assert not await shelf.change("a", "x", ("too late", 1), size=3)
    assert not await shelf.change("a", "z", ("was never there", 1), size=1)
    assert await shelf.values("a") == ("changed", "Y")
    await filled(shelf, "z", size=2)
    assert await shelf.values("a") == ("changed", "Y", "Z")
    await filled(shelf, "last")
    assert await shelf.values("a") == ("Y", "Z", "LAST")


async def test_what_is_larger_than_the_room_is_not_kept_and_pushes_nothing_out() -> None:
    shelf = await filled(MemoryShelf[str](count=9, size=9), "x", "y")
    shelf.put("a", "y", "too large", size=10)
    assert await shelf.values("a") == ("X",)


async def test_a_shelf_without_room_keeps_nothing() -> None:
    assert await (await filled(MemoryShelf[str](count=0, size=9), "x")).values("a") == ()


async def test_of_too_many_namespaces_the_longest_idle_goes() -> None:
    shelf = MemoryShelf[str](count=9, size=9, max_namespaces=2)
    for namespace in ("a", "b", "a", "c"):
        await filled(shelf, "x", namespace=namespace)
    assert (await shelf.values("a"), await shelf.values("b")) == (("X",), ())


async def test_full_namespaces_push_out_the_longest_idle_ones() -> None:
    shelf = MemoryShelf[str](count=9, size=9)
    names = [str(number) for number in range(NAMESPACES_IN_FULL + 1)]
    for namespace in names:
        await filled(shelf, "x", size=9, namespace=namespace)
    assert [namespace for namespace in names if await shelf.get(namespace, "x") is None] == ["0"]


async def test_the_room_of_a_namespace_that_was_forgotten_is_free_again() -> None:
    shelf = MemoryShelf[str](count=9, size=9)
    for _ in range(3):
        for number in range(NAMESPACES_IN_FULL):
            await shelf.clear(str(number))
            await filled(shelf, "x", size=9, namespace=str(number))
    assert await shelf.values("0") == ("X",)
