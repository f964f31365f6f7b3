"""The journal: the latest calls of each namespace, numbered in order of arrival, in bounded memory.

A row keeps references only; what they mean is worked out when somebody looks. Rows that have ended are counted and
weighed some at a time, as that takes less, but always before somebody looks.
"""

from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, groupby
from operator import attrgetter
from threading import RLock

from mockserver.core.http import HttpRequest
from mockserver.core.plan import Cause
from mockserver.core.row import BARE, MAX_KEPT, UNWEIGHED, Row
from mockserver.core.seed import monotonic
from mockserver.state.in_memory import MAX_NAMESPACES
from mockserver.state.tally import Tally

MAX_CALLS = 1000
MAX_BYTES = 50_000_000
PAGES_IN_FULL = 4  # all namespaces together may take as much as these when full
BATCH = 50  # calls that have ended and are counted together, if nobody looks before


def _do_nothing(row: Row) -> None:
    """Do nothing about a closed row."""


class Journal:
    """Opens a row when a request arrives and closes it when the answer was sent.

    A namespace keeps `count` rows and `size` bytes, the oldest go first. All together have room for a few namespaces in
    full, and there are at most `max_namespaces`: the longest idle give way. `on_close` gets each closed row: a log
    line, for one; `on_remark` those with remarks or a defect. `keeps_calls`: what was asked is kept as it was read, at
    many times the room of its body.

    One thread opens and closes rows; any may look.
    """

    def __init__(
        self,
        *,
        count: int = MAX_CALLS,
        size: int = MAX_BYTES,
        max_namespaces: int = MAX_NAMESPACES,
        on_close: Callable[[Row], None] | None = None,
    ) -> None:
        self.count = count
        self.room = size
        self.on_close = on_close
        self.on_remark: Callable[[Row], None] = _do_nothing
        self.keeps_calls = False
        self._max_namespaces = max_namespaces
        self.weight = 0  # of the rows, as far as it is counted
        self._pages: OrderedDict[str, JournalPage] = OrderedDict()
        self._base = 0  # the number before that of the first row
        self._last = 0  # that of the latest row
        self._step = 1  # to that of the next
        self._ended: list[Row] = []  # rows that are not counted yet
        self._counted = 0  # how many are
        self._tally = Tally()
        self.lock = RLock()  # held by whoever counts or drops rows

    def open(
        self, request: HttpRequest, dialect: str, *, operation: str = "", query: bytes = b"", weight: int = 0
    ) -> Row:
        """Return the row of a request, or of what is there of it.

        `query` is that part of its URL as it was sent, and `weight` the bytes of its headers.
        """
        self._last = number = self._last + self._step
        namespace = request.namespace
        page = self._pages.get(namespace) or self._add_page(namespace)
        self._pages.move_to_end(namespace)
        body = request.body
        kept = body[:MAX_KEPT]
        row = Row(  # on the path of every request: names take longer
            number,
            request.method,
            request.path,
            dialect,
            namespace,
            page,
            query=query,
            headers=request.headers,
            operation=operation,
            body=kept,
            received=len(body),
            unweighed=weight + len(kept),
        )
        page.rows.append(row)
        if row.unweighed > UNWEIGHED:
            page.weigh(row)
        if len(page.rows) > self.count:
            page.drop(page.rows.popleft())
        return row

    def close(self, row: Row, ended: str) -> None:
        """End a row, which is counted later."""
        row.ended = ended
        row.elapsed = monotonic() - row.began
        row.unweighed += BARE + len(row.path) + len(row.query) + len(row.model)
        self._ended.append(row)
        if len(self._ended) >= BATCH:
            self.settle()
        if self.on_close is not None:
            self.on_close(row)
        plan = row.plan
        if plan.remarks or plan.history_remarks or (type(plan.outcome) is Cause and plan.outcome.defect):
            self.on_remark(row)
        if not self.keeps_calls:
            row.call = None

    def settle(self) -> None:
        """Count and weigh the rows that have ended since; the oldest go if all are too large."""
        with self.lock:
            rows = self._ended[:]
            del self._ended[: len(rows)]
            self._counted += len(rows)
            self._tally.add(rows)
            for page, own in groupby(rows, key=attrgetter("page")):
                page.add(list(own))

    def make_room(self, page: "JournalPage") -> None:
        """Drop the oldest rows of a namespace that is too large, and of the longest idle if all together are."""
        most = self.room * PAGES_IN_FULL
        if page.weight <= self.room and self.weight <= most:
            return
        self.settle()
        while page.rows and page.weight > self.room:
            page.drop(page.rows.popleft())
        for idle in self._list_pages():
            while idle.rows and self.weight > most:
                idle.drop(idle.rows.popleft())

    def number_from(self, first: int, step: int) -> None:
        """Number the rows to come `first` + `step` and so on, unless they are numbered in these steps already."""
        if (self._step, self._last % step) != (step, first % step) or self._last < first:
            self._base = first - self._count_opened() * step
            self._last = first
            self._step = step

    @property
    def last(self) -> int:
        """The number of the newest call."""
        return self._last

    @property
    def open_calls(self) -> int:
        """How many calls are being answered, including calls that have been dropped."""
        with self.lock:
            return self._count_opened() - self._counted - len(self._ended)

    def _count_opened(self) -> int:
        return (self._last - self._base) // self._step

    @property
    def tally(self) -> Tally:
        """The sums of all calls that have ended since the start."""
        self.settle()
        return self._tally

    @property
    def held(self) -> int:
        """Approximate bytes of the rows."""
        self.settle()
        return self.weight

    def find_first(self, namespace: str) -> int | None:
        """Return the number of the oldest call that is kept."""
        rows = self.list_rows(namespace)
        return rows[0].seq if rows else None

    def list_rows(self, namespace: str) -> tuple[Row, ...]:
        """Return the calls of a namespace that are kept, oldest first."""
        self.settle()
        page = self._pages.get(namespace)
        return () if page is None else tuple(page.rows)

    def count_hits(self, namespace: str) -> Counter[str]:
        """Return how often each rule and each episode answered."""
        self.settle()
        page = self._pages.get(namespace)
        hits = {} if page is None else page.hits
        return Counter({source: count for source, count in hits.items() if source.startswith(_COUNTED)})

    def forget_hits(self, namespace: str, source: str) -> None:
        self.settle()
        page = self._pages.get(namespace)
        if page is not None:
            page.hits.pop(source, None)

    def find(self, number: int) -> Row | None:
        """Return the row of a number in any namespace; None if it is not kept."""
        self.settle()
        return next((row for row in self if row.seq == number), None)

    def forget_namespace(self, namespace: str) -> None:
        """Forget the calls of a namespace, and how often its rules answered."""
        self.forget_calls(namespace)
        self._pages.pop(namespace, None)

    def forget_calls(self, namespace: str) -> int:
        """Forget the calls of a namespace, and return how many there were."""
        rows = self.list_rows(namespace)
        for row in rows:
            self.forget(row)
        return len(rows)

    def forget(self, row: Row) -> None:
        """Forget a row, as if the request had not come."""
        page = self._pages.get(row.namespace)
        if page is not None and row in page.rows:
            page.rows.remove(row)
            page.drop(row)

    def _list_pages(self) -> list["JournalPage"]:
        """Return the places of all namespaces, the longest idle first; another thread may add some meanwhile."""
        return list(self._pages.values())

    def _add_page(self, namespace: str) -> "JournalPage":
        """Return the place of the rows of a namespace that is new."""
        page = self._pages[namespace] = JournalPage(self)
        if len(self._pages) > self._max_namespaces:  # the longest idle goes, but never the default
            self.forget_namespace(next(name for name in self._pages if name not in (namespace, "default")))
        return page

    def __iter__(self) -> Iterator[Row]:
        self.settle()
        rows = chain.from_iterable([tuple(page.rows) for page in self._list_pages()])
        return iter(sorted(rows, key=attrgetter("seq")))

    def __len__(self) -> int:
        self.settle()
        return sum([len(page.rows) for page in self._list_pages()])


_COUNTED = ("rule ", "cassette ")  # how the sources begin whose answers are counted


class JournalPage:
    """One namespace: its latest rows, how many bytes of them are counted, and how often each rule answered."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.rows: deque[Row] = deque()
        self.weight = 0
        self.hits = Counter[str]()  # by source, of all; those of rules and episodes are shown

    def add(self, rows: Sequence[Row]) -> None:
        """Count the bytes of rows that have ended, and the hits of their rules and episodes."""
        self.hits.update(map(attrgetter("plan.source"), rows))
        self.hits.update(chain.from_iterable(map(attrgetter("plan.modified_by"), rows)))
        self.hits.update(filter(None, map(attrgetter("recorded"), rows)))
        self._count_bytes(list(filter(attrgetter("kept"), rows)))

    def weigh(self, row: Row) -> None:
        """Count the kept bytes of an open row that are not counted yet; it may have to go, as others may."""
        with self._journal.lock:
            self._count_bytes((row,))

    def _count_bytes(self, rows: Sequence[Row]) -> None:
        size = sum(map(attrgetter("unweighed"), rows))
        for row in rows:
            row.weight += row.unweighed
            row.unweighed = 0
        self.weight += size
        self._journal.weight += size
        self._journal.make_room(self)

    def drop(self, row: Row) -> None:
        """Count a row no more that has left; one that is open keeps no more, too."""
        with self._journal.lock:
            row.kept = False  # first, as what is not counted of it must drive no other row out
            self.weight -= row.weight
            self._journal.weight -= row.weight
        if not row.ended:
            row.drop_contents()
        elif row.unweighed:
            self._journal.settle()  # or it would go on taking memory
