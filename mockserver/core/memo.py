"""What was found before, by what it was found for: within so many bytes."""

from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Memo(dict[K, V]):
    """Values by key. Before they would take more than `most` bytes, all of them are forgotten.

    Threads may share one: at worst they find the same value twice.
    """

    def __init__(self, most: int) -> None:
        self._most = self._left = most

    def keep(self, key: K, value: V, size: int) -> V:
        """Return a value, and keep it unless it is large; `size`: the bytes of it and its key."""
        size += _ENTRY
        if size > self._most // _FEWEST:
            return value
        if size > self._left:
            self.clear()
            self._left = self._most
        self._left -= size
        self[key] = value
        return value


_ENTRY = 100  # bytes that the dict takes for an entry, about
_FEWEST = 8  # values have room
