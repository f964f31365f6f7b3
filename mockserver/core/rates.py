"""Rate and concurrency limits, what is left of them, and what counts it."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Literal, Protocol

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


class Standing(Struct, frozen=True, gc=False):
    """What is left of one rate, and the seconds until it is full again."""

    limit: int
    left: int
    reset: float


class Standings(Struct, frozen=True, gc=False):
    """What is left of requests and tokens; None: no limit."""

    requests: Standing | None = None
    tokens: Standing | None = None


class Bucket(Struct, frozen=True, gc=False):
    """Where is counted what is drawn of a rate: it starts full, and takes `seconds` to refill."""

    name: str
    rate: Rate
    seconds: float

    def draw(self, amount: int) -> "Draw":
        """Return a draw of so many requests or tokens; less than 0 are given back."""
        return Draw(self, amount, amount * self.seconds / self.rate.limit)

    def find_standing(self, until_full: float) -> Standing:
        """Return what is left, in whole units, `until_full` seconds before everything is refilled."""
        # A hair more, because 3 times a third of a minute is not always a minute.
        limit = self.rate.limit
        left = int(limit - until_full * limit / self.seconds + 1e-6)
        return Standing(limit, left if left > 0 else 0, until_full)


def make_bucket(rate: Rate, name: str) -> Bucket:
    """Return the bucket of a rate; `name` tells those apart who draw from others."""
    return Bucket(f"{rate.kind} {rate.window} {name}", rate, SECONDS[rate.window])


class Draw(Struct, frozen=True, gc=False):
    """An amount that is drawn from a bucket, which takes so many seconds to refill as much."""

    bucket: Bucket
    amount: int
    seconds: float


Waits = Mapping[str, float]  # of each bucket that was drawn from, by name, the seconds until it is full


class Admission(Struct, frozen=True):
    """What a request got: a slot, a place in the queue, or nothing, as there is `no_room` or a bucket is `empty`."""

    result: Literal["entered", "queued", "no_room", "empty"]
    waits: Waits = {}
    place: str | None = None  # to be left; None if nothing limits how many requests run at once


class LimitStore(Protocol):
    """Buckets that start full and refill continuously, and slots with a queue, separate for each namespace.

    A request draws once from each of its buckets.
    """

    async def enter(self, namespace: str, draws: Sequence[Draw], limits: Limits) -> Admission:
        """Draw all and get a slot or a place in the queue, or change nothing: one atomic step."""

    async def wait(self, namespace: str, place: str, limits: Limits) -> None:
        """Return when a place in the queue has become a slot: earlier places first."""

    async def take(self, namespace: str, draws: Sequence[Draw]) -> Waits:
        """Draw in one atomic step, whatever is available, which may leave a debt."""

    def leave(self, namespace: str, place: str, limits: Limits) -> None:
        """Give a slot or a place in the queue back."""

    async def clear(self, namespace: str) -> None:
        """Forget a namespace: its buckets are full again. Slots stay taken."""
