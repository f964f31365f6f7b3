"""What one process remembers between requests: counters, buckets and kept values, within bounds of count and bytes."""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Generic

from msgspec import Struct, field

from mockserver.core.protocols import Draw, Value
from mockserver.core.seed import monotonic

MAX_NAMESPACES = 1000
MAX_KEYS = 10_000  # for each namespace


class MemoryStore:
    """Values and counters of each namespace; the longest idle namespaces are evicted."""

    def __init__(self, *, max_namespaces: int = MAX_NAMESPACES, max_keys: int = MAX_KEYS) -> None:
        self._spaces: OrderedDict[str, OrderedDict[str, str]] = OrderedDict()
        self._max_namespaces, self._max_keys = max_namespaces, max_keys

    async def get(self, namespace: str, key: str) -> str | None:
        return self._space(namespace).get(key) if namespace in self._spaces else None

    async def set(self, namespace: str, key: str, value: str) -> None:
        self._keep(self._space(namespace), key, value)

    async def incr(self, namespace: str, key: str) -> int:
        space = self._space(namespace)
        value = int(space.get(key, "0")) + 1
        self._keep(space, key, str(value))
        return value

    async def entries(self, namespace: str) -> Mapping[str, str]:
        return dict(self._spaces.get(namespace, {}))

    async def clear(self, namespace: str) -> None:
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


MAX_BUCKETS = 10_000  # for each namespace
_HAIR = 1e-6  # seconds of tolerance: a request exactly on time is not too early


class MemoryBuckets:
    """Buckets of each namespace; if there are too many, full ones and then the oldest are dropped."""

    def __init__(
        self,
        now: Callable[[], float] = monotonic,
        *,
        max_namespaces: int = MAX_NAMESPACES,
        max_buckets: int = MAX_BUCKETS,
    ) -> None:
        self._now = now
        self._spaces: dict[str, dict[str, float]] = {}
        self._max_namespaces, self._max_buckets = max_namespaces, max_buckets

    async def draw(self, namespace: str, draws: tuple[Draw, ...]) -> tuple[bool, list[float]]:
        now, space = self._now(), self._spaces.get(namespace)
        if space is None:
            space = self._opened(namespace)
        soon = now + _HAIR
        waits: list[float] = []  # annotated: `list[float]()` is ten times slower
        drawn: dict[str, float] = {}
        for bucket, window, needed, taken in draws:
            full = space.get(bucket, now)
            if full < now:
                full = now
            if full + needed > soon + window:
                return False, [max(space.get(draw.bucket, now) - now, 0.0) for draw in draws]
            wait = full - now + taken
            waits.append(wait)
            drawn[bucket] = now + wait
        space.update(drawn)
        if len(space) > self._max_buckets:
            self._tidy(space, now)
        return True, waits

    async def clear(self, namespace: str) -> None:
        self._spaces.pop(namespace, None)

    def _opened(self, namespace: str) -> dict[str, float]:
        if len(self._spaces) >= self._max_namespaces:
            del self._spaces[next(iter(self._spaces))]
        return self._spaces.setdefault(namespace, {})

    def _tidy(self, space: dict[str, float], now: float) -> None:
        """Drop full buckets and a tenth of the others, so that this happens rarely."""
        for bucket in [bucket for bucket, full in space.items() if full <= now]:
            del space[bucket]
        for bucket in list(space)[: max(0, len(space) - self._max_buckets * 9 // 10)]:
            del space[bucket]


NAMESPACES_IN_FULL = 10  # all namespaces together may take as much as these when full


class _Space(Struct, Generic[Value]):
    """The values of one namespace, oldest first, each with its size in bytes."""

    entries: OrderedDict[str, tuple[Value, int]] = field(default_factory=OrderedDict)
    size: int = 0

    def put(self, key: str, value: Value, size: int) -> None:
        self.size += size - (self.entries[key][1] if key in self.entries else 0)
        self.entries[key] = (value, size)

    def drop(self, key: str) -> None:
        if key in self.entries:
            self.size -= self.entries.pop(key)[1]


class MemoryShelf(Generic[Value]):
    """Values of each namespace; the oldest values and the longest idle namespaces are evicted."""

    def __init__(self, *, count: int, size: int, max_namespaces: int = MAX_NAMESPACES) -> None:
        self._spaces: OrderedDict[str, _Space[Value]] = OrderedDict()
        self._count, self._size, self._max_namespaces = count, size, max_namespaces
        self._whole = 0  # bytes of all namespaces

    async def get(self, namespace: str, key: str) -> Value | None:
        entry = self._space(namespace).entries.get(key) if namespace in self._spaces else None
        return None if entry is None else entry[0]

    def put(self, namespace: str, key: str, value: Value, *, size: int) -> None:
        space = self._space(namespace)
        self._whole -= space.size
        space.drop(key)
        if size <= self._size:
            space.put(key, value, size)
        self._within_bounds(space)

    async def change(self, namespace: str, key: str, value: Value, *, size: int) -> None:
        if namespace in self._spaces and key in (space := self._space(namespace)).entries:
            self._whole -= space.size
            space.put(key, value, size)
            self._within_bounds(space)

    async def values(self, namespace: str) -> tuple[Value, ...]:
        if namespace not in self._spaces:
            return ()
        return tuple(value for value, _ in self._space(namespace).entries.values())

    async def clear(self, namespace: str) -> None:
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
