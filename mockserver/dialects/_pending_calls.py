"""Calls of earlier turns that have no result yet, for providers whose results need not name the id of their call."""

from collections import defaultdict, deque
from collections.abc import Iterable

from mockserver.core.call import ToolCall


class PendingCalls:
    """The calls that have no result yet, in order."""

    def __init__(self) -> None:
        self._open: dict[int, ToolCall] = {}
        self._by_id: dict[str, deque[int]] = defaultdict(deque)
        self._by_name: dict[str, deque[int]] = defaultdict(deque)
        self._made = 0

    def add(self, calls: Iterable[ToolCall]) -> None:
        """Add calls that need a result, after the others."""
        for call in calls:
            self._open[self._made] = call
            self._by_id[call.id].append(self._made)
            self._by_name[call.name].append(self._made)
            self._made += 1

    def take(self, name: str | None, call_id: str | None) -> ToolCall | None:
        """Remove and return the call with this id, or else the first one of this name; without both, the first of all.

        Return None if there is no such call.
        """
        if not call_id and name is None:
            return self._open.pop(next(iter(self._open))) if self._open else None
        found = self._take_first(self._by_id[call_id]) if call_id else None
        return found or (None if name is None else self._take_first(self._by_name[name]))

    def _take_first(self, places: deque[int]) -> ToolCall | None:
        while places:
            if (call := self._open.pop(places.popleft(), None)) is not None:
                return call
        return None
