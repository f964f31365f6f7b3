"""What one process remembers between requests: counters, limits and kept values, within bounds of count and bytes."""

from asyncio import Future, get_running_loop
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any, Generic, NamedTuple

from mockserver.core.rates import Admission, Draw, Limits, Waits
from mockserver.core.seed import monotonic
from mockserver.core.state import START, STATE, Precondition, Value, VersionedValue

MAX_NAMESPACES = 1000
MAX_KEYS = 10_000  # for each namespace


class MemoryCounters:
    """Counters and states of each namespace; the longest idle namespaces and keys are evicted."""

    def __init__(self, *, max_namespaces: int = MAX_NAMESPACES, max_keys: int = MAX_KEYS) -> None:
        self._spaces: OrderedDict[str, OrderedDict[str, str]] = OrderedDict()
        self._max_namespaces = max_namespaces
        self._max_keys = max_keys

    async def open(self, namespace: str, preconditions: Sequence[Precondition], found: str | None) -> int | None:
        space = self._find_space(namespace)
        for index, (counter, times, state, becomes) in enumerate(preconditions):
            if state is not None and (found or space.get(STATE, START)) != state:
                continue
            if times is not None and self._count_up(space, counter) > times:
                continue
            if becomes is not None:
                self._keep(space, STATE, becomes)
            return index
        return None

    async def count(self, namespace: str, name: str) -> int:
        return self._count_up(self._find_space(namespace), name)

    async def list_entries(self, namespace: str) -> Mapping[str, str]:
        return dict(self._spaces.get(namespace, {}))

    async def set_state(self, namespace: str, state: str) -> None:
        self._keep(self._find_space(namespace), STATE, state)

    async def forget(self, namespace: str, names: Sequence[str]) -> None:
        if namespace in self._spaces:
            for name in names:
                self._spaces[namespace].pop(name, None)

    async def clear(self, namespace: str) -> None:
        self._spaces.pop(namespace, None)

    def fill(self, namespace: str, entries: Mapping[str, str]) -> "MemoryCounters":
        self._find_space(namespace).update(entries)
        return self

    def _count_up(self, space: OrderedDict[str, str], name: str) -> int:
        value = int(space.get(name, "0")) + 1
        self._keep(space, name, str(value))
        return value

    def _find_space(self, namespace: str) -> OrderedDict[str, str]:
        space = self._spaces.get(namespace)
        if space is None:
            space = self._spaces[namespace] = OrderedDict()
            if len(self._spaces) > self._max_namespaces:
                self._spaces.popitem(last=False)
        elif len(self._spaces) > 1:
            self._spaces.move_to_end(namespace)
        return space

    def _keep(self, space: OrderedDict[str, str], key: str, value: str) -> None:
        space[key] = value
        space.move_to_end(key)
        if len(space) > self._max_keys:
            space.popitem(last=False)


MAX_BUCKETS = 10_000  # for each namespace
_HAIR = 1e-6  # seconds of tolerance: a request exactly on time is not too early


class MemoryLimitStore:
    """Buckets and slots of each namespace; if there are too many buckets, full ones and then the oldest are dropped."""

    def __init__(
        self,
        now: Callable[[], float] = monotonic,
        *,
        max_namespaces: int = MAX_NAMESPACES,
        max_buckets: int = MAX_BUCKETS,
    ) -> None:
        self._now = now
        self._spaces: dict[str, dict[str, float]] = {}
        self._max_namespaces = max_namespaces
        self._max_buckets = max_buckets
        self._active: dict[str, int] = {}
        self._queues: dict[str, dict[str, Future[None]]] = {}  # in order of arrival
        self._places = 0

    async def enter(self, namespace: str, draws: Sequence[Draw], limits: Limits) -> Admission:
        if limits.concurrent is None:
            drawn, waits = self._draw(namespace, draws, debt=False)
            return Admission("entered" if drawn else "empty", waits)
        queue = self._queues.get(namespace, _NOBODY)
        active = self._active.get(namespace, 0)
        free = active < limits.concurrent and not queue
        if not free and len(queue) >= limits.queue:
            return Admission("no_room")
        drawn, waits = self._draw(namespace, draws, debt=False)
        if not drawn:
            return Admission("empty", waits)
        self._places += 1
        place = str(self._places)
        if free:
            self._active[namespace] = active + 1
            return Admission("entered", waits, place)
        self._queues.setdefault(namespace, {})[place] = get_running_loop().create_future()
        return Admission("queued", waits, place)

    async def wait(self, namespace: str, place: str, limits: Limits) -> None:
        slot = self._queues.get(namespace, _NOBODY).get(place)
        if slot is not None:
            await slot

    async def take(self, namespace: str, draws: Sequence[Draw]) -> Waits:
        return self._draw(namespace, draws, debt=True)[1]

    def leave(self, namespace: str, place: str, limits: Limits) -> None:
        """Give a place back; the requests that have waited longest get the slots that are free now."""
        most = inf if limits.concurrent is None else limits.concurrent
        queue = self._queues.get(namespace, {})
        active = self._active.get(namespace, 0)
        if queue.pop(place, None) is None:
            active -= 1
        while queue and active < most:
            slot = queue.pop(next(iter(queue)))
            if not slot.done():  # else its request was cancelled, and has not left yet
                slot.set_result(None)
            active += 1
        if not queue:
            self._queues.pop(namespace, None)
        if active:
            self._active[namespace] = active
        else:
            self._active.pop(namespace, None)

    async def clear(self, namespace: str) -> None:
        self._spaces.pop(namespace, None)

    def _draw(self, namespace: str, draws: Sequence[Draw], *, debt: bool) -> tuple[bool, Waits]:
        """Draw all or nothing; `debt`: more than is there. Return whether it was drawn, and how full buckets are."""
        now = self._now()
        space = self._spaces.get(namespace)
        if space is None:
            space = self._open_space(namespace)
        waits: dict[str, float] = {}
        drawn: dict[str, float] = {}
        for draw in draws:
            bucket = draw.bucket
            name = bucket.name
            wait = space.get(name, now) - now
            if wait < 0.0:
                wait = 0.0
            wait += draw.seconds
            if wait > bucket.seconds + _HAIR and not debt:
                return False, {each.bucket.name: max(space.get(each.bucket.name, now) - now, 0.0) for each in draws}
            if wait < 0.0:  # more is given back than is missing
                wait = 0.0
            waits[name] = wait
            drawn[name] = now + wait
        space.update(drawn)
        if len(space) > self._max_buckets:
            self._tidy(space, now)
        return True, waits

    def _open_space(self, namespace: str) -> dict[str, float]:
        if len(self._spaces) >= self._max_namespaces:
            del self._spaces[next(iter(self._spaces))]
        return self._spaces.setdefault(namespace, {})

    def _tidy(self, space: dict[str, float], now: float) -> None:
        """Drop full buckets and a tenth of the others, so that this happens rarely."""
        for bucket in [bucket for bucket, full in space.items() if full <= now]:
            del space[bucket]
        for bucket in list(space)[: max(0, len(space) - self._max_buckets * 9 // 10)]:
            del space[bucket]


_NOBODY: Mapping[str, Future[None]] = {}

NAMESPACES_IN_FULL = 10  # all namespaces together may take as much as these when full


class _Entry(NamedTuple, Generic[Value]):
    """A value with its version, about how many bytes it takes in memory, and how many on disk."""

    value: Value
    version: int
    size: int
    on_disk: int


class _Space(Generic[Value]):
    """The values of one namespace, oldest first, and what they take together."""

    def __init__(self) -> None:
        self.entries: OrderedDict[str, _Entry[Value]] = OrderedDict()
        self.size = self.on_disk = self.versions = 0

    def add(self, key: str, value: Value, size: int, on_disk: int) -> None:
        """Add a value, or replace one, which stays where it is in the order."""
        before = self.entries.get(key, _NO_ENTRY)
        self.size += size - before.size
        self.on_disk += on_disk - before.on_disk
        self.versions += 1
        self.entries[key] = _Entry(value, self.versions, size=size, on_disk=on_disk)

    def drop(self, key: str) -> None:
        entry = self.entries.pop(key)
        self.size -= entry.size
        self.on_disk -= entry.on_disk


_NO_ENTRY: _Entry[Any] = _Entry(None, 0, size=0, on_disk=0)


class MemoryValueStore(Generic[Value]):
    """Values of each namespace; the oldest values and the longest idle namespaces are evicted.

    All together, what `measure` finds on disk of the values takes at most `disk` bytes: the oldest files of the
    namespace that needs more go first.
    """

    def __init__(
        self,
        *,
        count: int,
        size: int,
        disk: int = 0,
        measure: Callable[[Value], int] = lambda value: 0,
        max_namespaces: int = MAX_NAMESPACES,
    ) -> None:
        self._spaces: OrderedDict[str, _Space[Value]] = OrderedDict()
        self.most = count
        self._size = size
        self._max_namespaces = max_namespaces
        self._disk = disk
        self._measure = measure
        self._whole = self._on_disk = 0  # bytes of all namespaces

    @property
    def bounds_files(self) -> str:
        return "stored_files"

    async def get(self, namespace: str, key: str) -> VersionedValue[Value] | None:
        entry = self._find_space(namespace).entries.get(key) if namespace in self._spaces else None
        return None if entry is None else VersionedValue(entry.value, entry.version)

    def put(self, namespace: str, key: str, value: Value, *, size: int) -> None:
        space = self._find_space(namespace)
        on_disk = self._measure(value)
        before = space.size, space.on_disk
        if key in space.entries:  # the newest is the last
            space.drop(key)
        if size <= self._size and on_disk <= self._disk:
            space.add(key, value, size=size, on_disk=on_disk)
        self._keep_within(space, *before)

    async def change(self, namespace: str, key: str, value: VersionedValue[Value], *, size: int) -> bool:
        found = await self.get(namespace, key)
        if found is None or found.version != value.version:
            return False
        space = self._find_space(namespace)
        before = space.size, space.on_disk
        space.add(key, value.value, size=size, on_disk=self._measure(value.value))
        self._keep_within(space, *before)
        return True

    async def list_values(self, namespace: str) -> tuple[Value, ...]:
        if namespace not in self._spaces:
            return ()
        return tuple([entry.value for entry in self._find_space(namespace).entries.values()])

    async def count(self, namespace: str) -> int:
        return len(self._spaces[namespace].entries) if namespace in self._spaces else 0

    async def clear(self, namespace: str) -> None:
        if namespace in self._spaces:
            self._forget(namespace)

    def _keep_within(self, space: _Space[Value], size: int, on_disk: int) -> None:
        """Evict what is too much after a change of a namespace, which had `size` bytes, and `on_disk` beside them."""
        while len(space.entries) > self.most or space.size > self._size:
            space.drop(next(iter(space.entries)))
        self._whole += space.size - size
        self._on_disk += space.on_disk - on_disk
        while self._whole > self._size * NAMESPACES_IN_FULL:
            self._forget(next(iter(self._spaces)))
        if self._on_disk > self._disk:
            self._drop_oldest_files(space)

    def _drop_oldest_files(self, space: _Space[Value]) -> None:
        """Evict files of a namespace but the newest, then those of the longest idle ones."""
        others = [each for each in self._spaces.values() if each is not space]
        for each in (space, *others):
            files = [key for key, entry in each.entries.items() if entry.on_disk]
            for key in files[:-1] if each is space else files:
                if self._on_disk <= self._disk:
                    return
                entry = each.entries[key]
                each.drop(key)
                self._whole -= entry.size
                self._on_disk -= entry.on_disk

    def _find_space(self, namespace: str) -> _Space[Value]:
        space = self._spaces.get(namespace)
        if space is None:
            space = self._spaces[namespace] = _Space()
            if len(self._spaces) > self._max_namespaces:
                self._forget(next(iter(self._spaces)))
        elif len(self._spaces) > 1:
            self._spaces.move_to_end(namespace)
        return space

    def _forget(self, namespace: str) -> None:
        space = self._spaces.pop(namespace)
        self._whole -= space.size
        self._on_disk -= space.on_disk
