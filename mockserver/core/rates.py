"""Rate and concurrency limits, what is left of them, and what counts it."""

from collections.abc import Sequence
from itertools import chain
from typing import Literal, NamedTuple, Protocol

from msgspec import Struct

Kind = Literal["requests", "tokens"]
Window = Literal["minute", "day"]
SECONDS: dict[Window, float] = {"minute": 60.0, "day": 86_400.0}

UNLIMITED = 0


class Rate(Struct, frozen=True):
    """A number of requests or tokens per window, refilled continuously; UNLIMITED lifts an inherited limit."""

    kind: Kind
    window: Window
    limit: int

    @property
    def seconds(self) -> float:
        return SECONDS[self.window]

    def refill(self, amount: int) -> float:
        """Return how many seconds it takes to refill an amount."""
        return amount * SECONDS[self.window] / self.limit

    def compute_standing(self, until_full: float) -> "Standing":
        """Return what is left, in whole units, `until_full` seconds before everything is refilled."""
        # A hair more, because 3 times a third of a minute is not always a minute.
        limit = self.limit
        left = int(limit - until_full * limit / SECONDS[self.window] + 1e-6)
        return Standing(limit, left if left > 0 else 0, until_full)


Rates = tuple[Rate, ...]


def layer_rates(*layers: Rates) -> Rates:
    """Return the rates in force: later layers win over earlier ones, for each kind and window separately."""
    stated = {(rate.kind, rate.window): rate for rate in chain(*layers)}
    return tuple(rate for rate in stated.values() if rate.limit != UNLIMITED)


class Limits(Struct, frozen=True):
    """Rates for every key and model, and the concurrent and waiting requests of a namespace.

    `concurrent`: None is any number. `patience`: the seconds that a request waits; None is as long as its client.
    """

    rates: Rates = ()
    concurrent: int | None = None
    queue: int = 0
    patience: float | None = None


class Standing(NamedTuple):
    """What is left of one rate, and the seconds until it is full again."""

    limit: int
    left: int
    reset: float


class Standings(NamedTuple):
    """What is left of requests and tokens; None: no limit."""

    requests: Standing | None = None
    tokens: Standing | None = None


class Draw(NamedTuple):
    """An amount drawn from a bucket that refills in `window` seconds; amounts are in seconds of refilling.

    `needed` must be there for anything to be drawn; `taken` is then taken, which may leave a debt, or is given back
    where it is less than nothing.
    """

    bucket: str
    window: float
    needed: float
    taken: float


class Admission(NamedTuple):
    """What a request got: a slot, a place in the queue, or nothing, as there is `no_room` or a bucket is `empty`."""

    result: Literal["entered", "queued", "no_room", "empty"]
    waits: Sequence[float] = ()  # of each bucket that was asked for, the seconds until it is full
    place: str | None = None  # to be left; None if nothing limits how many requests run at once


class LimitStore(Protocol):
    """Buckets that start full and refill continuously, and slots with a queue, separate for each namespace."""

    async def enter(self, namespace: str, draws: Sequence[Draw], limits: Limits) -> Admission:
        """Draw all and get a slot or a place in the queue, or change nothing: one atomic step."""

    async def wait(self, namespace: str, place: str, limits: Limits) -> None:
        """Return when a place in the queue has become a slot: earlier places first."""

    async def take(self, namespace: str, draws: Sequence[Draw]) -> Sequence[float]:
        """Draw in one atomic step, whatever is available; return each bucket's seconds until it is full."""

    def leave(self, namespace: str, place: str, limits: Limits) -> None:
        """Give a slot or a place in the queue back."""

    async def clear(self, namespace: str) -> None:
        """Forget a namespace: its buckets are full again. Slots stay taken."""
