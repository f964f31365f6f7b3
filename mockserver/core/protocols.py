"""Protocols of what is kept between requests: stores, shelves, buckets and cassettes."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar

from msgspec import Struct

from mockserver.core.call import Call
from mockserver.core.episode import Recorded
from mockserver.core.plan import Failure, Forward

Value = TypeVar("Value")


class Store(Protocol):
    """Counters and values under keys, separate for each namespace; in memory or shared."""

    async def get(self, namespace: str, key: str) -> str | None:
        """Return the value, or None."""

    async def set(self, namespace: str, key: str, value: str) -> None:
        """Keep a value."""

    async def incr(self, namespace: str, key: str) -> int:
        """Add one to a counter that starts at 0, and return the new value."""

    async def entries(self, namespace: str) -> Mapping[str, str]:
        """Return all keys of a namespace and their values."""

    async def clear(self, namespace: str) -> None:
        """Forget all of a namespace."""


class Shelf(Protocol[Value]):
    """Bounded storage for each namespace: the oldest values are evicted first."""

    async def get(self, namespace: str, key: str) -> Value | None:
        """Return the value, or None."""

    def put(self, namespace: str, key: str, value: Value, *, size: int) -> None:
        """Keep a value of about so many bytes as the newest; a value larger than the bound is not kept."""

    async def change(self, namespace: str, key: str, value: Value, *, size: int) -> None:
        """Replace a kept value; do nothing if there is none."""

    async def values(self, namespace: str) -> tuple[Value, ...]:
        """Return all values of a namespace, oldest first."""

    async def clear(self, namespace: str) -> None:
        """Forget all of a namespace."""


class Draw(NamedTuple):
    """An amount drawn from a bucket that refills in `window` seconds; amounts are in seconds of refilling.

    `needed` must be there for anything to be drawn; `taken` is then taken, which may leave a debt, or is given back
    where it is less than nothing.
    """

    bucket: str
    window: float
    needed: float
    taken: float


class Buckets(Protocol):
    """Buckets that start full and refill continuously, separate for each namespace; in memory or shared."""

    async def draw(self, namespace: str, draws: tuple[Draw, ...]) -> tuple[bool, Sequence[float]]:
        """Draw all or nothing, atomically. Return whether it was drawn, and each bucket's seconds until it is full."""

    async def clear(self, namespace: str) -> None:
        """Forget a namespace: its buckets are full again."""


class Lookup(Struct, frozen=True):
    """What a cassette has for a call, and its source; `cacheable`: an equal call will get the same."""

    outcome: Recorded | Forward | Failure
    source: str
    cacheable: bool = False


class CassettePlayer(Protocol):
    """Looks calls up in cassettes."""

    async def play(self, call: Call, store: Store, cassette: str | None = None) -> Lookup | None:
        """Return a recorded answer, a Forward to the provider, or a Failure that names the nearest episode.

        Looks in the loaded cassette unless `cassette` names one; None if there is none. `store` counts repeats.
        """
