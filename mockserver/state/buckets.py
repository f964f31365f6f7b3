"""MemoryBuckets: token buckets of one process, each kept as the moment at which it will be full.

Knows no rate: an amount is the seconds in which it comes back.
"""

from collections.abc import Callable

from mockserver.core.seed import monotonic
from mockserver.core.store import Draw
from mockserver.state.memory import MAX_NAMESPACES

MAX_BUCKETS = 10_000  # for each namespace
_HAIR = 1e-6  # seconds: whoever comes at the very moment is not too early


class MemoryBuckets:
    """Buckets of each namespace; of too many the oldest are taken for full again, those first that are."""

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
        """Draw all of them or nothing; whether they were drawn, and the seconds until each bucket is full."""
        now, space = self._now(), self._spaces.get(namespace)
        if space is None:
            space = self._opened(namespace)
        soon = now + _HAIR
        waits: list[float] = []  # spelled so, as `list[float]()` takes ten times as long
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
        """Forget all of a namespace: its buckets are full."""
        self._spaces.pop(namespace, None)

    def _opened(self, namespace: str) -> dict[str, float]:
        """Room for another namespace, in place of the oldest where there are too many."""
        if len(self._spaces) >= self._max_namespaces:
            del self._spaces[next(iter(self._spaces))]
        return self._spaces.setdefault(namespace, {})

    def _tidy(self, space: dict[str, float], now: float) -> None:
        """Make room: what is full needs none, and of the others a tenth goes, so that this is done seldom."""
        for bucket in [bucket for bucket, full in space.items() if full <= now]:
            del space[bucket]
        for bucket in list(space)[: max(0, len(space) - self._max_buckets * 9 // 10)]:
            del space[bucket]
