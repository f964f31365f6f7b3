"""What is remembered between requests, behind three small protocols."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

from mockserver.core.call import Call
from mockserver.core.episode import Recorded
from mockserver.core.plan import Failure, Forward

Value = TypeVar("Value")


class Store(Protocol):
    """Counters and values under keys, each namespace on its own; in memory or shared."""

    async def get(self, namespace: str, key: str) -> str | None:
        """The value, or None."""

    async def set(self, namespace: str, key: str, value: str) -> None:
        """Keep a value."""

    async def incr(self, namespace: str, key: str) -> int:
        """Add one to a counter that starts at 0; the new value."""

    async def entries(self, namespace: str) -> Mapping[str, str]:
        """All keys of a namespace and their values."""

    async def clear(self, namespace: str) -> None:
        """Forget all of a namespace."""


class Shelf(Protocol[Value]):
    """Room for so many values and so many bytes in each namespace: of too many the oldest go first."""

    async def get(self, namespace: str, key: str) -> Value | None:
        """The value, or None."""

    async def put(self, namespace: str, key: str, value: Value, *, size: int) -> None:
        """Keep a value of about so many bytes, as the newest; nothing, where it is larger than all the room."""

    async def change(self, namespace: str, key: str, value: Value, *, size: int) -> None:
        """Put another value in the place of one that is kept; nothing, where there is none."""

    async def values(self, namespace: str) -> tuple[Value, ...]:
        """All that is kept of a namespace, the oldest first."""

    async def clear(self, namespace: str) -> None:
        """Forget all of a namespace."""


class Draw(NamedTuple):
    """What is drawn from a bucket that an empty one refills in `window` seconds; amounts are the seconds they take.

    `needed` must be there for anything to be drawn; `taken` is then taken, which may leave a debt, or is given back
    where it is less than nothing.
    """

    bucket: str
    window: float
    needed: float
    taken: float


class Buckets(Protocol):
    """Buckets that start full and refill continuously, each namespace on its own; in memory or shared."""

    async def draw(self, namespace: str, draws: tuple[Draw, ...]) -> tuple[bool, Sequence[float]]:
        """Draw all of them or nothing, as one step that nobody comes between.

        Whether they were drawn, and for each bucket the seconds until it is full.
        """

    async def clear(self, namespace: str) -> None:
        """Forget all of a namespace: its buckets are full."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """What a call gets of a cassette, and where that comes from; `cacheable`: it will get the same again."""

    outcome: Recorded | Forward | Failure
    source: str
    cacheable: bool = False


class CassettePlayer(Protocol):
    """Cassettes to look calls up in."""

    async def play(self, call: Call, store: Store, cassette: str | None = None) -> Lookup | None:
        """What a call gets: Recorded, or Forward where it is to be asked upstream, or the Failure that says what was

        nearest. Without a name, from the cassette that is loaded; None: there is none. `store` counts repeats.
        """
