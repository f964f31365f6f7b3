"""The journal: the latest exchanges of each namespace, numbered in order of arrival, in bounded memory.

While an answer goes out it keeps references only; what they mean is worked out when somebody looks.
"""

from bisect import bisect_left
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from mockserver.core.exchange import Exchange
from mockserver.core.plan import Usage
from mockserver.core.seed import monotonic, wall
from mockserver.state.in_memory import MAX_NAMESPACES

Way = tuple[str, str, int, str, str]  # dialect, operation, status, source and end of requests that are counted together

# Upper bounds of the histogram buckets, in seconds; one more bucket is unbounded.
BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
MAX_SOURCES = 1000  # sources counted separately
OTHER = "rule (others)"


@dataclass(slots=True)  # not a Struct, whose fields are slower to change
class Sums:
    """Sums of requests that are counted together; `durations` and `firsts` count them by the buckets of histograms."""

    elapsed: float = 0.0
    first: float = 0.0
    prompt: int = 0
    completion: int = 0
    durations: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    firsts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))

    @property
    def count(self) -> int:
        """Return how many requests there were."""
        return sum(self.durations)


class Tally:
    """Tallies of all requests since the start. `open`: exchanges in progress."""

    def __init__(self) -> None:
        self.open = 0
        self.ways: dict[Way, Sums] = {}
        self.faults: Counter[str] = Counter()
        self._sources: set[str] = set()

    def add(self, row: Exchange) -> None:
        """Count a finished request."""
        plan = row.plan
        elapsed = row.elapsed
        sums = self.ways.get((row.dialect, row.operation, row.status, "" if plan is None else plan.source, row.ended))
        if sums is None:
            sums = self._find_sums(row)
        sums.elapsed += elapsed
        sums.durations[bisect_left(BOUNDS, elapsed)] += 1
        if row.size:
            sums.first += row.first
            sums.firsts[bisect_left(BOUNDS, row.first)] += 1
        if plan is None:
            return
        usage = plan.outcome
        if type(usage) is Usage:
            sums.prompt += usage.prompt
            sums.completion += usage.completion
        for fault in plan.faults:
            self.faults[fault.name] += 1

    def _find_sums(self, row: Exchange) -> Sums:
        """Return where a row is counted whose source, as it stands, is not counted yet."""
        source = row.source
        if source.startswith("cassette "):
            source = source.partition("#")[0]  # without the number of the episode
        way = row.dialect, row.operation, row.status, self._limit_sources(source), row.ended
        sums = self.ways.get(way)
        if sums is None:
            sums = self.ways[way] = Sums()
        return sums

    def _limit_sources(self, source: str) -> str:
        """Return the source; beyond the maximum, a single one for all others."""
        if source not in self._sources and len(self._sources) >= MAX_SOURCES:
            return OTHER
        self._sources.add(source)
        return source


MAX_EXCHANGES = 1000
MAX_BYTES = 50_000_000
PAGES_IN_FULL = 4  # all namespaces together may take as much as these when full
BARE = 2_500  # bytes of an exchange without bodies and headers


class Journal:
    """Opens an exchange when a request arrives and closes it when the answer was sent.

    A namespace keeps so many rows of so many bytes, the oldest go first. All together have room for a few namespaces in
    full, and there are only so many of them: the longest idle give way. `on_close` is told of each closed exchange: a
    log line, for one; `on_remark` of those with remarks. `keeps_calls`: what was asked is kept as it was read, at many
    times the room of its body.
    """

    def __init__(
        self,
        *,
        count: int = MAX_EXCHANGES,
        size: int = MAX_BYTES,
        max_namespaces: int = MAX_NAMESPACES,
        on_close: Callable[[Exchange], None] | None = None,
    ) -> None:
        self._pages: OrderedDict[str, NamespaceRows] = OrderedDict()
        self._last = 0  # the number of the latest row
        self._step = 1  # to the number of the next
        self.count = count
        self.room = size
        self._max_namespaces = max_namespaces
        self.held = 0  # approximate bytes of the rows
        self.on_close = on_close
        self.keeps_calls = False
        self.on_remark: Callable[[Exchange], None] | None = None
        self.tally = Tally()

    def open(self, method: str, path: str, dialect: str, namespace: str) -> Exchange:
        """Return a new row."""
        self._last = number = self._last + self._step
        page = self._pages.get(namespace)
        if page is None:
            page = self._add_page(namespace)
        elif len(self._pages) > 1:
            self._pages.move_to_end(namespace)
        exchange = Exchange(
            number, method, path=path, dialect=dialect, namespace=namespace, book=page, at=wall(), began=monotonic()
        )
        self.tally.open += 1
        page.rows.append(exchange)
        if len(page.rows) > self.count:
            page.let_go(page.rows.popleft())
        return exchange

    def number_from(self, first: int, step: int) -> None:
        """Number the rows to come `first` + `step` and so on, unless they are numbered in these steps already."""
        if (self._step, self._last % step) != (step, first % step) or self._last < first:
            self._last = first
            self._step = step

    def close(self, exchange: Exchange, ended: str) -> None:
        exchange.ended = ended
        exchange.elapsed = monotonic() - exchange.began
        self.tally.open -= 1
        self.tally.add(exchange)
        if exchange.book is not None:
            exchange.book.close(exchange)
        if self.on_close is not None:
            self.on_close(exchange)
        plan = exchange.plan
        if self.on_remark is not None and plan is not None and (plan.remarks or plan.history_remarks):
            self.on_remark(exchange)
        if not self.keeps_calls:
            exchange.call = None

    @property
    def last(self) -> int:
        """The number of the newest call."""
        return self._last

    def first(self, namespace: str) -> int | None:
        """Return the number of the oldest call that is kept."""
        page = self._pages.get(namespace)
        return page.rows[0].seq if page is not None and page.rows else None

    def rows(self, namespace: str) -> tuple[Exchange, ...]:
        page = self._pages.get(namespace)
        return () if page is None else tuple(page.rows)

    def hits(self, namespace: str) -> Counter[str]:
        """Return how often each rule and each episode answered."""
        page = self._pages.get(namespace)
        hits = {} if page is None else page.hits
        return Counter({source: count for source, count in hits.items() if source.startswith(_COUNTED)})

    def forget_hits(self, namespace: str, source: str) -> None:
        page = self._pages.get(namespace)
        if page is not None:
            page.hits.pop(source, None)

    def find(self, number: int) -> Exchange | None:
        newest_first = (row for page in self._pages.values() for row in reversed(page.rows))
        return next((row for row in newest_first if row.seq == number), None)

    def clear(self, namespace: str) -> None:
        self.forget_calls(namespace)
        self._pages.pop(namespace, None)

    def forget_calls(self, namespace: str) -> int:
        page = self._pages.get(namespace)
        return 0 if page is None else page.drop(len(page.rows))

    def forget(self, exchange: Exchange) -> None:
        page = self._pages.get(exchange.namespace)
        if page is not None and exchange in page.rows:
            page.forget(exchange)

    def make_room(self) -> None:
        for page in self._pages.values():
            while page.rows and self.held > self.room * PAGES_IN_FULL:
                page.drop()

    def _add_page(self, namespace: str) -> "NamespaceRows":
        """Return the place of the rows of a namespace that is new."""
        page = self._pages[namespace] = NamespaceRows(self)
        if len(self._pages) > self._max_namespaces:  # the longest idle goes, but never the default
            self.clear(next(name for name in self._pages if name not in (namespace, "default")))
        return page

    def __iter__(self) -> Iterator[Exchange]:
        return iter(sorted((row for page in self._pages.values() for row in page.rows), key=lambda row: row.seq))

    def __len__(self) -> int:
        return sum(len(page.rows) for page in self._pages.values())


_COUNTED = ("rule ", "cassette ")  # how the sources begin whose answers are counted


class NamespaceRows:
    """One namespace: its latest rows, their bytes, and how often each rule answered."""

    __slots__ = ("_journal", "hits", "rows", "size")

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.rows: deque[Exchange] = deque()
        self.size = 0
        self.hits: dict[str, int] = {}  # of all sources; those of rules and episodes are shown

    def weigh(self, exchange: Exchange, more: int = 0) -> None:
        """Count what an exchange keeps, and so many more bytes; evict the oldest rows if that is too much."""
        size = exchange.unweighed + more
        exchange.unweighed = 0
        exchange.weight += size
        journal = self._journal
        self.size = total = self.size + size
        journal.held = held = journal.held + size
        if total > journal.room:
            while self.size > journal.room:
                self.drop()
        if held > journal.room * PAGES_IN_FULL:
            journal.make_room()

    def close(self, exchange: Exchange) -> None:
        """Count what a finished exchange keeps, and the hits of its rule or episode."""
        plan = exchange.plan
        hits = self.hits
        if plan is not None:
            hits[plan.source] = hits.get(plan.source, 0) + 1
            for source in plan.modified_by:
                hits[source] = hits.get(source, 0) + 1
        if exchange.recorded:
            hits[exchange.recorded] = hits.get(exchange.recorded, 0) + 1
        if exchange.kept:
            self.weigh(exchange, BARE + len(exchange.path) + len(exchange.query) + len(exchange.model))

    def drop(self, count: int = 1) -> int:
        """Forget so many of the oldest rows, and return how many."""
        for _ in range(count):
            self.let_go(self.rows.popleft())
        return count

    def forget(self, exchange: Exchange) -> None:
        self.rows.remove(exchange)
        self.let_go(exchange)

    def let_go(self, row: Exchange) -> None:
        self.size -= row.weight
        self._journal.held -= row.weight
        if not row.ended:
            row.let_go()
