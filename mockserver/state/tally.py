"""What a server has answered since the start, summed up: how many calls of each kind, how long they took, tokens."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import partial
from itertools import chain
from operator import attrgetter

from msgspec import Struct, field

from mockserver.core.plan import Usage
from mockserver.core.row import Row

Way = tuple[str, str, int, str, str]  # dialect, operation, status, source and end of calls that are counted together

# Upper bounds of the histogram buckets, in seconds; one more bucket is unbounded.
BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
MAX_SOURCES = 1000  # sources counted separately
OTHER = "rule (others)"


class Histogram(Struct):
    """The sum of times, in seconds, and how many there are in each bucket."""

    seconds: float = 0.0
    buckets: Counter[int] = field(default_factory=Counter)  # by the place of their upper bound in BOUNDS

    def add(self, times: Sequence[float]) -> None:
        self.seconds += sum(times)
        self.buckets.update(map(partial(bisect_left, BOUNDS), times))


class Sums(Struct):
    """Sums of calls that are counted together. Times are those until the whole answer, or its first byte, had left."""

    elapsed: Histogram = field(default_factory=Histogram)
    first: Histogram = field(default_factory=Histogram)
    prompt: int = 0
    completion: int = 0

    @property
    def count(self) -> int:
        """How many calls there were."""
        return self.elapsed.buckets.total()

    def add(self, rows: Sequence[Row]) -> None:
        """Add calls, without a step of Python for each, as there are thousands a second."""
        self.elapsed.add(list(map(attrgetter("elapsed"), rows)))
        self.first.add(list(filter(None, map(attrgetter("first"), rows))))
        used = [outcome for outcome in map(attrgetter("plan.outcome"), rows) if type(outcome) is Usage]
        self.prompt += sum(map(attrgetter("prompt"), used))
        self.completion += sum(map(attrgetter("completion"), used))


class Tally:
    """Sums of all calls since the start."""

    def __init__(self) -> None:
        self.ways: dict[Way, Sums] = {}
        self.faults: Counter[str] = Counter()
        self._sources: set[str] = set()

    def add(self, rows: Sequence[Row]) -> None:
        """Count calls that have ended."""
        alike: defaultdict[Way, list[Row]] = defaultdict(list)
        for way, row in zip(map(_find_way, rows), rows, strict=True):
            alike[way].append(row)
        together: defaultdict[Way, list[Row]] = defaultdict(list)
        for (dialect, operation, status, source, ended), found in alike.items():
            together[dialect, operation, status, self._find_counted(source), ended] += found
        for way, found in together.items():
            self.ways.setdefault(way, Sums()).add(found)
        self.faults.update(fault.name for fault in chain.from_iterable(map(attrgetter("plan.faults"), rows)))

    def _find_counted(self, source: str) -> str:
        """Return the source under which calls are counted: a cassette as a whole, and all sources beyond the most."""
        if source.startswith("cassette "):
            source = source.partition("#")[0]  # without the number of the episode
        if source not in self._sources and len(self._sources) >= MAX_SOURCES:
            return OTHER
        self._sources.add(source)
        return source


_find_way = attrgetter("dialect", "operation", "status", "plan.source", "ended")
