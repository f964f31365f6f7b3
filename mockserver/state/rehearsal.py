"""Stores to try something on: they show what is remembered, but what is put into them stays apart and is lost."""

from collections.abc import Mapping
from typing import Generic

from mockserver.core.store import Shelf, Store, Value


class RehearsedStore:
    """Values and counters over those of another store, which never changes."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._own: dict[tuple[str, str], str] = {}

    async def get(self, namespace: str, key: str) -> str | None:
        """The value, or None."""
        own = self._own.get((namespace, key))
        return await self._store.get(namespace, key) if own is None else own

    async def set(self, namespace: str, key: str, value: str) -> None:
        """Keep a value, here only."""
        self._own[namespace, key] = value

    async def incr(self, namespace: str, key: str) -> int:
        """Add one to a counter, here only; the new value."""
        value = int(await self.get(namespace, key) or 0) + 1
        self._own[namespace, key] = str(value)
        return value

    async def entries(self, namespace: str) -> Mapping[str, str]:
        """All keys of a namespace and their values."""
        own = {key: value for (space, key), value in self._own.items() if space == namespace}
        return {**await self._store.entries(namespace), **own}

    async def clear(self, namespace: str) -> None:
        """Forget what is kept here."""
        self._own = {(space, key): value for (space, key), value in self._own.items() if space != namespace}


class RehearsedShelf(Generic[Value]):
    """Values over those of another shelf, which never changes."""

    def __init__(self, shelf: Shelf[Value]) -> None:
        self._shelf = shelf
        self._own: dict[tuple[str, str], Value] = {}

    async def get(self, namespace: str, key: str) -> Value | None:
        """The value, or None."""
        own = self._own.get((namespace, key))
        return await self._shelf.get(namespace, key) if own is None else own

    async def put(self, namespace: str, key: str, value: Value, *, size: int) -> None:
        """Keep a value, here only."""
        self._own[namespace, key] = value

    async def change(self, namespace: str, key: str, value: Value, *, size: int) -> None:
        """Put another value in the place of one that is kept, here only."""
        if await self.get(namespace, key) is not None:
            self._own[namespace, key] = value

    async def values(self, namespace: str) -> tuple[Value, ...]:
        """All that the other shelf keeps of a namespace."""
        return await self._shelf.values(namespace)

    async def clear(self, namespace: str) -> None:
        """Forget what is kept here."""
        self._own = {(space, key): value for (space, key), value in self._own.items() if space != namespace}
