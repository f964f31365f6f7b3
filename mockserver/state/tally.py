"""Tallies of what was served, cheap to keep: one row for each way a request can go, summed up when somebody looks."""

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from mockserver.core.exchange import Exchange

# Upper bounds of the buckets of durations, in seconds; one more is without bound.
BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
MOST_SOURCES = 1000  # rules that are told apart
OTHER = "rule (others)"


class Way(NamedTuple):
    """What is alike in many requests: who spoke, what was asked, what came of it."""

    dialect: str
    operation: str
    status: int
    source: str
    ended: str


@dataclass(slots=True)
class Sums:
    """How many went this way, how long they took until the first byte and in all, and their tokens."""

    count: int = 0
    elapsed: float = 0.0
    first: float = 0.0
    prompt: int = 0
    completion: int = 0
    durations: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    firsts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))

    def add(self, exchange: Exchange) -> None:
        """One more."""
        self.count += 1
        self.elapsed += exchange.elapsed
        self.durations[bisect_left(BOUNDS, exchange.elapsed)] += 1
        if exchange.size:
            self.first += exchange.first
            self.firsts[bisect_left(BOUNDS, exchange.first)] += 1
        if exchange.usage is not None:
            self.prompt += exchange.usage.prompt
            self.completion += exchange.usage.completion


class Tally:
    """All that was served since the start. `open`: exchanges that have begun and not ended."""

    def __init__(self) -> None:
        self.open = 0
        self._ways: dict[tuple[str, str, int, str, str], Sums] = {}
        self.faults: Counter[str] = Counter()
        self._sources: set[str] = set()

    def add(self, exchange: Exchange) -> None:
        """An exchange is over."""
        self.open -= 1
        key = (exchange.dialect, exchange.operation, exchange.status, exchange.source, exchange.ended)
        sums = self._ways.get(key)  # a bare tuple is found as the Way that it equals, and made much faster
        if sums is None:
            way = Way(*key)._replace(source=self._known(exchange.source))
            sums = self._ways.setdefault(way, Sums())
        sums.add(exchange)
        if exchange.faults:
            self.faults.update(exchange.faults)

    @property
    def ways(self) -> dict[Way, Sums]:
        """Every way that a request has gone, and its sums."""
        return {Way(*key): sums for key, sums in self._ways.items()}

    def _known(self, source: str) -> str:
        """The source, without the number of an episode; of too many, as rules come and go, one that stands for many."""
        if source[:9] == "cassette ":
            return source.partition("#")[0]
        if source not in self._sources and len(self._sources) >= MOST_SOURCES:
            return OTHER
        self._sources.add(source)
        return source
