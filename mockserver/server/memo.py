"""Remembers what equal requests got, where nothing was counted: an answer is a function of the request.

Knows no HTTP: keys are whatever the caller makes of a request.
"""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

MAX_ENTRIES = 256
Value = TypeVar("Value")


class Memo(Generic[Value]):
    """The latest values by key; each is good as long as the owner (the engine that made it) is the same."""

    def __init__(self, limit: int = MAX_ENTRIES) -> None:
        self._entries: OrderedDict[Hashable, tuple[object, Value]] = OrderedDict()
        self._limit = limit

    def get(self, key: Hashable, owner: object) -> Value | None:
        """The value that this owner made for the key, or None."""
        entry = self._entries.get(key)
        return entry[1] if entry is not None and entry[0] is owner else None

    def put(self, key: Hashable, owner: object, value: Value) -> None:
        """Keep a value, and of too many forget the oldest."""
        self._entries[key] = (owner, value)
        if len(self._entries) > self._limit:
            self._entries.popitem(last=False)
