"""Rate and concurrency limits, and what is left of them."""

from itertools import chain
from typing import Literal, NamedTuple

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
        return amount * SECONDS[self.window] / self.limit

    def standing(self, until_full: float) -> "Standing":
        """What is left, in whole units, `until_full` seconds before everything is refilled."""
        # A hair more, because 3 times a third of a minute is not always a minute.
        limit = self.limit
        left = int(limit - until_full * limit / SECONDS[self.window] + 1e-6)
        return Standing(limit, left if left > 0 else 0, until_full)


Rates = tuple[Rate, ...]


def layer_rates(*layers: Rates) -> Rates:
    """The rates in force: later layers win over earlier ones, for each kind and window separately."""
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
