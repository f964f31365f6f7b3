"""MemoryShelf: what one process keeps for later, within bounds of count and bytes.

Knows nothing of what lies on it: a value is what it is said to weigh.
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from mockserver.state.memory import MAX_NAMESPACES

NAMESPACES_IN_FULL = 10  # as many bytes as these would have when full, all namespaces have together

Value = TypeVar("Value")


@dataclass(slots=True)
class _Space(Generic[Value]):
    """The values of one namespace, the oldest first, each with its weight in bytes."""

    entries: OrderedDict[str, tuple[Value, int]] = field(default_factory=OrderedDict)
    size: int = 0

    def put(self, key: str, value: Value, size: int) -> None:
        """Keep a value in the place of what has this key, else as the newest."""
        self.size += size - (self.entries[key][1] if key in self.entries else 0)
        self.entries[key] = (value, size)

    def drop(self, key: str) -> None:
        if key in self.entries:
            self.size -= self.entries.pop(key)[1]


class MemoryShelf(Generic[Value]):
    """Values of each namespace; the oldest go first, and of too many namespaces the longest idle."""

    def __init__(self, *, count: int, size: int, max_namespaces: int = MAX_NAMESPACES) -> None:
        self._spaces: OrderedDict[str, _Space[Value]] = OrderedDict()
        self._count, self._size, self._max_namespaces = count, size, max_namespaces
        self._whole = 0  # bytes of all namespaces

    async def get(self, namespace: str, key: str) -> Value | None:
        """The value, or None."""
        entry = self._space(namespace).entries.get(key) if namespace in self._spaces else None
        return None if entry is None else entry[0]

    async def put(self, namespace: str, key: str, value: Value, *, size: int) -> None:
        """Keep a value of about so many bytes, as the newest; nothing, where it is larger than all the room."""
        space = self._space(namespace)
        self._whole -= space.size
        space.drop(key)
        if size <= self._size:
            space.put(key, value, size)
        self._within_bounds(space)

    async def change(self, namespace: str, key: str, value: Value, *, size: int) -> None:
        """Put another value in the place of one that is kept; nothing, where there is none."""
        if namespace in self._spaces and key in (space := self._space(namespace)).entries:
            self._whole -= space.size
            space.put(key, value, size)
            self._within_bounds(space)

    async def values(self, namespace: str) -> tuple[Value, ...]:
        """All that is kept of a namespace, the oldest first."""
        if namespace not in self._spaces:
            return ()
        return tuple(value for value, _ in self._space(namespace).entries.values())

    async def clear(self, namespace: str) -> None:
        """Forget all of a namespace."""
        if namespace in self._spaces:
            self._whole -= self._spaces.pop(namespace).size

    def _within_bounds(self, space: _Space[Value]) -> None:
        while len(space.entries) > self._count or space.size > self._size:
            space.drop(next(iter(space.entries)))
        self._whole += space.size
        while self._whole > self._size * NAMESPACES_IN_FULL:
            self._forget_longest_idle()

    def _space(self, namespace: str) -> _Space[Value]:
        space = self._spaces.get(namespace)
        if space is None:
            space = self._spaces[namespace] = _Space()
        self._spaces.move_to_end(namespace)
        if len(self._spaces) > self._max_namespaces:
            self._forget_longest_idle()
        return space

    def _forget_longest_idle(self) -> None:
        self._whole -= self._spaces.popitem(last=False)[1].size
