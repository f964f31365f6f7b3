"""How much a client may ask for in a time, how it stands with that, and how many requests may be at work at once.

Knows neither who counts nor how a provider tells of it.
"""

from dataclasses import dataclass
from itertools import chain
from typing import Literal, NamedTuple

Kind = Literal["requests", "tokens"]
Window = Literal["minute", "day"]
SECONDS: dict[Window, float] = {"minute": 60.0, "day": 86_400.0}

UNLIMITED = 0


@dataclass(frozen=True, slots=True)
class Rate:
    """So many requests or tokens in a window, which refills continuously; UNLIMITED lifts what is said elsewhere."""

    kind: Kind
    window: Window
    limit: int

    @property
    def seconds(self) -> float:
        """How long it takes to refill from empty to full."""
        return SECONDS[self.window]

    def refill(self, amount: int) -> float:
        """The seconds in which so much comes back."""
        return amount * SECONDS[self.window] / self.limit

    def standing(self, until_full: float) -> "Standing":
        """How one stands with it whose seconds until all is there again are these: whole ones are left, or none."""
        # A hair more, because 3 times a third of a minute is not always a minute.
        limit = self.limit
        left = int(limit - until_full * limit / SECONDS[self.window] + 1e-6)
        return Standing(limit, left if left > 0 else 0, until_full)


Rates = tuple[Rate, ...]


def layered(*layers: Rates) -> Rates:
    """What holds where several places state rates: the later win over the earlier, each kind and window by itself."""
    stated = {(rate.kind, rate.window): rate for rate in chain(*layers)}
    return tuple(rate for rate in stated.values() if rate.limit != UNLIMITED)


@dataclass(frozen=True, slots=True)
class Limits:
    """Rates for every key and model, and how many requests a namespace has at work while how many wait.

    `concurrent`: None is any number. `patience`: the seconds that a request waits; None is as long as its client.
    """

    rates: Rates = ()
    concurrent: int | None = None
    queue: int = 0
    patience: float | None = None


class Standing(NamedTuple):
    """How a client stands with one rate: what is left of it, and the seconds until all of it is there again."""

    limit: int
    left: int
    reset: float


class Standings(NamedTuple):
    """How a client stands with requests and tokens; None: they have no limit."""

    requests: Standing | None = None
    tokens: Standing | None = None
