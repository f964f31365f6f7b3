"""The feed: server-sent events that say what has changed. While it is open it looks into the journal every 100 ms.

The path of a request is unaware of feeds. Nothing is queued: a slow reader gets the state as of its next read.
"""

from asyncio import create_task, wait
from bisect import bisect_right
from collections.abc import Iterator
from operator import attrgetter

from msgspec import Struct
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from mockserver import __version__
from mockserver.config.errors import Mistake
from mockserver.core.frames import Frame, write_comment, write_event
from mockserver.core.json import Json
from mockserver.core.row import Row
from mockserver.core.seed import monotonic
from mockserver.delivery.connection import WIRE, Wire, wait_until_left
from mockserver.server.control.requests import ControlCache, ControlRequest, RefusedError
from mockserver.server.control.rows import Rows, encode
from mockserver.server.masking import find_known_secrets

LOOK = 0.1  # seconds between looks
QUIET = 15.0  # seconds until a comment keeps the connection open
MAX_FEEDS = 16
MAX_ROWS = 20
MAX_CHANGED = 10  # of the rows of a look: calls that were open before


async def open_feed(request: ControlRequest) -> Response:
    """Send server-sent events about new, open and deleted calls, rules and reloads."""
    since = request.read_number("since") or 0
    if request.cache.open_feeds >= MAX_FEEDS:
        raise RefusedError(429, f"{MAX_FEEDS} feeds are open already; close one of the pages")
    return FeedResponse(Feed(request, since), request.cache)


class FeedResponse(Response):
    """Sends the events of a feed until the client leaves or the server stops."""

    media_type = "text/event-stream"

    def __init__(self, feed: "Feed", cache: ControlCache) -> None:
        super().__init__(headers={"x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._feed = feed
        self._cache = cache

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        wire: Wire | None = scope.get("extensions", {}).get(WIRE)
        gone = create_task(wait_until_left(receive))
        self._cache.open_feeds += 1
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            sent = monotonic()
            while not (scope.get("method") == "HEAD" or gone.done() or _is_over(wire)):
                events = b"".join(self._feed.look())
                if not events and monotonic() - sent > QUIET:
                    events = write_comment("nothing new")
                if events:
                    await send({"type": "http.response.body", "body": events, "more_body": True})
                    sent = monotonic()
                await wait((gone,), timeout=LOOK)
            await send({"type": "http.response.body", "body": b""})
        finally:
            self._cache.open_feeds -= 1
            gone.cancel()


def _is_over(wire: Wire | None) -> bool:
    """Return whether the server stops, or the client has closed its side, which it does only when it leaves."""
    return wire is not None and (wire.stopping or wire.half_closed)


class Feed:
    """The events of a feed: what has changed since it looked last. `since` is the last call that is known, or 0."""

    def __init__(self, request: ControlRequest, since: int) -> None:
        self._request = request
        self._since = since
        self._rows: Rows | None = None
        self._last = 0  # the number of the newest call that was shown
        self._open: dict[int, _ShownCall] = {}
        self._first: dict[str, int] = {}  # the oldest call of each namespace, or 0
        self._rules: tuple[object, ...] = ()
        self._problem: tuple[Mistake, ...] = ()

    def look(self) -> Iterator[bytes]:
        """Yield the events for what has changed since the last look."""
        rows = self._request.rows
        if rows is not self._rows:  # this is the first look, or the server has begun anew
            yield self._write_hello(rows)
        yield from self._write_gone()
        yield from self._write_calls(rows)
        yield from self._write_changes()

    def _write_hello(self, rows: Rows) -> bytes:
        last = rows.journal.last
        since = self._since if self._rows is None and 0 < self._since <= last else last
        self._rows = rows
        self._last = since
        kept = [row for row in rows.select(self._request.namespaces) if row.seq <= since]
        self._open = {row.seq: _show_call(row) for row in kept if not row.ended}
        self._first = {} if since == last else dict.fromkeys(self._request.namespaces, 1)
        self._rules = self._list_all_rules()
        self._problem = self._request.live.reloading.problem
        content = {"boot": rows.boot, "version": __version__, "since": since, "last": last, "rules": self._count()}
        return _write_event("hello", {**content, "first": kept[0].seq if kept else None, "open": list(self._open)})

    def _write_gone(self) -> Iterator[bytes]:
        """Yield which calls are no longer kept: those before the oldest one of their namespace."""
        journal = self._request.live.journal
        before = self._first
        self._first = {name: journal.find_first(name) or 0 for name in self._request.namespaces}
        for name, first in before.items():
            now = self._first.get(name) or journal.last + 1
            if first and now > first:
                yield _write_event("gone", {"namespace": name, "before": now})

    def _write_calls(self, rows: Rows) -> Iterator[bytes]:
        changed = [shown.row for shown in self._open.values() if shown.row.ended or shown.has_changed]
        changed = sorted(changed, key=lambda row: not row.ended)[:MAX_CHANGED]
        fresh = list[Row]()
        last = rows.journal.last
        if last > self._last:
            every = rows.select(self._request.namespaces)
            fresh = every[bisect_right(every, self._last, key=attrgetter("seq")) :]
            self._last = fresh[-1].seq if fresh else last  # another thread may open a call meanwhile
        for row in (*changed, *fresh):
            self._open.pop(row.seq, None)
            if row.kept and not row.ended:  # last, so that with many open calls each has its turn
                self._open[row.seq] = _show_call(row)
        if changed or fresh:
            room = MAX_ROWS - len(changed)
            known = find_known_secrets()
            later = fresh[: max(0, len(fresh) - room)]
            listed = b",".join([rows.encode_call(row, known).compact for row in (*changed, *fresh[len(later) :])])
            more = b',"more":%b' % encode([later[0].seq, later[-1].seq]) if later else b""
            yield write_event(Frame(b'{"rows":[%b]%b}' % (listed, more), "calls"))

    def _write_changes(self) -> Iterator[bytes]:
        rules = self._list_all_rules()
        live = self._request.live
        if len(rules) != len(self._rules) or any(one is not other for one, other in zip(rules, self._rules)):  # noqa: B905
            self._rules = rules
            yield _write_event("rules", {"count": self._count()})
        if live.reloading.problem is not self._problem:
            self._problem = live.reloading.problem
            yield _write_event("problem", show_problem(live.reloading.problem))

    def _count(self) -> int:
        live = self._request.live
        return len(live.engine.rules) + sum(len(live.namespaces.get(name).rules) for name in self._request.namespaces)

    def _list_all_rules(self) -> tuple[object, ...]:
        live = self._request.live
        added = (live.namespaces.get(name).rules for name in self._request.namespaces)
        return live.engine, *filter(None, added)


class _ShownCall(Struct, frozen=True):
    """A call that was open when it was shown, and the size and the status that it had then."""

    row: Row
    written: int
    status: int

    @property
    def has_changed(self) -> bool:
        """Whether it has another size or status now."""
        return self.written != self.row.written or self.status != self.row.status


def _show_call(row: Row) -> _ShownCall:
    return _ShownCall(row, row.written, row.status)


def _write_event(name: str, content: Json) -> bytes:
    return write_event(Frame(encode(content), name))


def show_problem(mistakes: tuple[Mistake, ...]) -> Json:
    """Return the mistakes of the last reload, as JSON; null if there are none."""
    return {"mistakes": [show_mistake(mistake) for mistake in mistakes]} if mistakes else None


def show_mistake(mistake: Mistake) -> dict[str, Json]:
    """Return a mistake as JSON, with its place in a file if it has one."""
    place = mistake.place
    where = {} if place is None or not place.line else {"file": place.file, "line": place.line, "column": place.column}
    return {"message": mistake.message, "text": str(mistake), **where}
