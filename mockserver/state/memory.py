"""MemoryStore: what one process remembers, for a bounded number of namespaces."""

from collections import OrderedDict
from collections.abc import Mapping

MAX_NAMESPACES = 1000
MAX_KEYS = 10_000  # for each namespace


class MemoryStore:
    """Values and counters of each namespace; of too many the longest idle are forgotten."""

    def __init__(self, *, max_namespaces: int = MAX_NAMESPACES, max_keys: int = MAX_KEYS) -> None:
        self._spaces: OrderedDict[str, OrderedDict[str, str]] = OrderedDict()
        self._max_namespaces, self._max_keys = max_namespaces, max_keys

    async def get(self, namespace: str, key: str) -> str | None:
        """The value, or None."""
        return self._space(namespace).get(key) if namespace in self._spaces else None

    async def set(self, namespace: str, key: str, value: str) -> None:
        """Keep a value."""
        self._keep(self._space(namespace), key, value)

    async def incr(self, namespace: str, key: str) -> int:
        """Add one to a counter that starts at 0; the new value."""
        space = self._space(namespace)
        value = int(space.get(key, "0")) + 1
        self._keep(space, key, str(value))
        return value

    async def entries(self, namespace: str) -> Mapping[str, str]:
        """All keys of a namespace and their values."""
        return dict(self._spaces.get(namespace, {}))

    async def clear(self, namespace: str) -> None:
        """Forget all of a namespace."""
        self._spaces.pop(namespace, None)

    def _space(self, namespace: str) -> OrderedDict[str, str]:
        space = self._spaces.setdefault(namespace, OrderedDict())
        self._spaces.move_to_end(namespace)
        if len(self._spaces) > self._max_namespaces:
            self._spaces.popitem(last=False)
        return space

    def _keep(self, space: OrderedDict[str, str], key: str, value: str) -> None:
        space[key] = value
        space.move_to_end(key)
        if len(space) > self._max_keys:
            space.popitem(last=False)
