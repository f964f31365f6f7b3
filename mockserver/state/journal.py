"""The journal: the latest exchanges of each namespace, numbered in order of arrival, in bounded memory.

While an answer goes out it keeps references only; what they mean is worked out when somebody looks.
"""

from bisect import bisect_right
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import inf

from msgspec import Struct, field

from mockserver.core.exchange import COMPLETE, MOST_KEPT, PIECE, Exchange, size_of
from mockserver.core.plan import Plan, RenderedOutcome
from mockserver.core.seed import monotonic
from mockserver.state.in_memory import MAX_NAMESPACES

Added = tuple[Plan | None, int | None, float, float | None]  # plan, prompt tokens, seconds in all and to the first byte
Way = tuple[str, str, int, str, str]  # dialect, operation, status, source and end of requests that are counted together

# Upper bounds of the histogram buckets, in seconds; one more bucket is unbounded.
BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
MOST_SOURCES = 1000  # sources counted separately
OTHER = "rule (others)"


class Sums(Struct):
    count: int = 0
    elapsed: float = 0.0
    first: float = 0.0
    prompt: int = 0
    completion: int = 0
    durations: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    firsts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))

    def add(self, more: Sequence[Added]) -> None:
        times = [elapsed for _, _, elapsed, _ in more]
        firsts = [first for _, _, _, first in more if first is not None]
        self.count += len(more)
        self.elapsed += sum(times)
        self.first += sum(firsts)
        _distribute(times, self.durations)
        _distribute(firsts, self.firsts)
        asked = written = 0
        for plan, prompt, _, _ in more:
            outcome = None if plan is None else plan.outcome
            usage = outcome.usage if isinstance(outcome, RenderedOutcome) else None
            if usage is not None:
                asked += usage.prompt if prompt is None else prompt
                written += usage.completion
        self.prompt += asked
        self.completion += written


def _distribute(times: list[float], buckets: list[int]) -> None:
    """Add times to the buckets of a histogram."""
    times.sort()
    before = 0
    for at, bound in enumerate((*BOUNDS, inf)):
        upto = bisect_right(times, bound)
        buckets[at] += upto - before
        before = upto


MAX_ADDED = 1000  # exchanges


class Tally:
    """Tallies of all requests since the start, summed when somebody reads. `open`: exchanges in progress."""

    def __init__(self) -> None:
        self.open = 0
        self._ways: dict[Way, Sums] = {}
        self._faults: Counter[str] = Counter()
        self._sources: set[str] = set()
        self._added: list[tuple[Way, Added]] = []

    def add(self, exchange: Exchange) -> None:
        plan, first = exchange.plan, exchange.first if exchange.size else None
        source = "" if plan is None else plan.source
        way = exchange.dialect, exchange.operation, exchange.status, source, exchange.ended
        self._added.append((way, (plan, exchange.prompt_tokens, exchange.elapsed, first)))
        if len(self._added) >= MAX_ADDED:
            self._sum()

    @property
    def ways(self) -> Mapping[Way, Sums]:
        self._sum()
        return self._ways

    @property
    def faults(self) -> Counter[str]:
        self._sum()
        return self._faults

    def _sum(self) -> None:
        added, self._added = self._added, []
        by_way = defaultdict[Way, list[Added]](list)
        for way, each in added:
            by_way[way].append(each)
        for (dialect, operation, status, source, ended), more in by_way.items():
            sums = self._ways.get((dialect, operation, status, source, ended))
            if sums is None:
                sums = self._ways.setdefault((dialect, operation, status, self._known(source), ended), Sums())
            sums.add(more)
            self._faults.update([fault.name for plan, _, _, _ in more if plan is not None for fault in plan.faults])

    def _known(self, source: str) -> str:
        """Return the source without the episode's number; beyond the maximum, a single source for all others."""
        if source[:9] == "cassette ":
            return source.partition("#")[0]
        if source not in self._sources and len(self._sources) >= MOST_SOURCES:
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
    log line, for one. `keeps_calls`: what was asked is kept as it was read, at many times the room of its body.
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
        self._last, self._step = 0, 1  # the number of the latest row, and to the next
        self.count, self.room, self._max_namespaces = count, size, max_namespaces
        self.size = 0  # approximate bytes of all rows
        self.on_close, self.keeps_calls = on_close, False
        self.tally = Tally()

    def open(self, method: str, path: str, dialect: str, namespace: str) -> Exchange:
        """Return a new row."""
        exchange = Exchange(0, method, path, dialect, namespace)
        self.enter(exchange)
        return exchange

    def enter(self, exchange: Exchange) -> None:
        """Number a row and add it."""
        self.number(exchange)
        self.tally.open += 1
        self._add(exchange)

    def number(self, exchange: Exchange) -> None:
        exchange.seq = self._last = self._last + self._step

    def record(self, exchange: Exchange, body: bytes) -> None:
        """Add a new, numbered row as complete, its body sent at once: as `enter` and `close` do, but in fewer steps."""
        page, now, plan, size = self._add(exchange), monotonic(), exchange.plan, len(body)
        if size > MOST_KEPT or plan is None or not exchange.kept:
            self.tally.open += 1
            exchange.note(body)
            self.close(exchange, COMPLETE)
            return
        exchange.sent, exchange.size, exchange.ended = [(now, body)], size, COMPLETE
        exchange.first = exchange.elapsed = now - exchange.began
        self.tally.add(exchange)
        page.hits[plan.source] = page.hits.get(plan.source, 0) + 1
        if plan.modified_by:
            page.hits.update(plan.modified_by)
        exchange.unweighed += size + PIECE + _size_without_bodies(exchange)
        page.weigh(exchange)
        if self.on_close is not None:
            self.on_close(exchange)

    def _add(self, exchange: Exchange) -> "NamespaceRows":
        namespace = exchange.namespace
        page = self._pages.get(namespace)
        if page is None:
            page = self._new_page(namespace)
        elif len(self._pages) > 1:
            self._pages.move_to_end(namespace)
        exchange.book = page
        rows = page.rows
        rows.append(exchange)
        if len(rows) > self.count:
            page.drop()
        return page

    def number_from(self, first: int, step: int) -> None:
        """Number the rows to come `first` + `step` and so on, unless they are numbered in these steps already."""
        if (self._step, self._last % step) != (step, first % step) or self._last < first:
            self._last, self._step = first, step

    def close(self, exchange: Exchange, ended: str) -> None:
        exchange.ended = ended
        exchange.elapsed = monotonic() - exchange.began
        self.tally.open -= 1
        self.tally.add(exchange)
        book = exchange.book
        if book is not None:
            book.close(exchange)
        if self.on_close is not None:
            self.on_close(exchange)
        if not self.keeps_calls:
            exchange.call = None

    @property
    def last(self) -> int:
        """The number of the newest call."""
        return self._last

    def first(self, namespace: str) -> int | None:
        """The number of the oldest call that is kept."""
        page = self._pages.get(namespace)
        return page.rows[0].seq if page is not None and page.rows else None

    def rows(self, namespace: str) -> tuple[Exchange, ...]:
        page = self._pages.get(namespace)
        return () if page is None else tuple(page.rows)

    def hits(self, namespace: str) -> Counter[str]:
        page = self._pages.get(namespace)
        if page is None:
            return Counter()
        for source in [source for source in page.hits if not source.startswith(_COUNTED)]:
            del page.hits[source]
        return page.hits

    def find(self, number: int) -> Exchange | None:
        return next((row for page in self._pages.values() for row in page.rows if row.seq == number), None)

    def clear(self, namespace: str) -> None:
        self.forget_calls(namespace)
        self._pages.pop(namespace, None)

    def forget_calls(self, namespace: str) -> int:
        rows = self.rows(namespace)
        for _ in rows:
            self._pages[namespace].drop()
        return len(rows)

    def forget(self, exchange: Exchange) -> None:
        page = self._pages.get(exchange.namespace)
        if page is not None and exchange in page.rows:
            page.drop(exchange)

    def make_room(self) -> None:
        for page in self._pages.values():
            while page.rows and self.size > self.room * PAGES_IN_FULL:
                page.drop()

    def _new_page(self, namespace: str) -> "NamespaceRows":
        """Add an empty page; evict the longest idle one if there are too many, but never the default."""
        page = self._pages[namespace] = NamespaceRows(self)
        if len(self._pages) > self._max_namespaces:
            self.clear(next(name for name in self._pages if name not in (namespace, "default")))
        return page

    def __iter__(self) -> Iterator[Exchange]:
        return iter(sorted((row for page in self._pages.values() for row in page.rows), key=lambda row: row.seq))

    def __len__(self) -> int:
        return sum(len(page.rows) for page in self._pages.values())


def _size_without_bodies(exchange: Exchange) -> int:
    headers = exchange.headers_size
    size = BARE + (size_of(exchange.headers) if headers is None else headers)
    return size + len(exchange.path) + len(exchange.query) + len(exchange.model)


_COUNTED = ("rule ", "cassette ")  # how the sources begin whose answers are counted


class NamespaceRows:
    """One namespace: its latest rows, their bytes, and how often each rule answered."""

    __slots__ = ("_journal", "hits", "rows", "size")

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.rows: deque[Exchange] = deque()
        self.size = 0
        self.hits: Counter[str] = Counter()

    def weigh(self, exchange: Exchange) -> None:
        """Count what an exchange keeps; evict the oldest rows if that is too much."""
        journal, more = self._journal, exchange.unweighed
        exchange.unweighed = 0
        exchange.weight += more
        self.size += more
        journal.size += more
        while self.size > journal.room:
            self.drop()
        if journal.size > journal.room * PAGES_IN_FULL:
            journal.make_room()

    def close(self, exchange: Exchange) -> None:
        """Count what a finished exchange keeps, and the hits of its rule or episode."""
        plan = exchange.plan
        if plan is not None:
            hits, source = self.hits, plan.source
            hits[source] = hits.get(source, 0) + 1  # of all sources: those that do not count go when somebody reads
            if plan.modified_by:
                hits.update(plan.modified_by)
        if exchange.recorded:
            self.hits[exchange.recorded] += 1
        if exchange.kept:
            exchange.unweighed += _size_without_bodies(exchange)
            self.weigh(exchange)

    def drop(self, row: Exchange | None = None) -> None:
        """Forget a row, by default the oldest."""
        if row is None:
            row = self.rows.popleft()
        else:
            self.rows.remove(row)
        self.size -= row.weight
        self._journal.size -= row.weight
        if not row.ended:
            row.let_go()
