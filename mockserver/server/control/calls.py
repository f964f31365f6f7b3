"""The journal over HTTP: the latest calls, one of them in full, and a way to forget them."""

from asyncio import sleep
from collections.abc import Callable, Mapping

from starlette.responses import Response

from mockserver.core.call import Json
from mockserver.core.exchange import Exchange
from mockserver.positions import did_you_mean
from mockserver.server.control.asked import Asked, RefusedError, number, told
from mockserver.server.control.masked import masked, of_head, of_row
from mockserver.server.control.seen import attempts, bodies, detail, summary
from mockserver.server.unruled import unruled


async def listed(asked: Asked) -> Response:
    """The calls that fit the filters of the query, the newest last."""
    known = (*FILTERS, *_SWITCHES)
    unknown = next((name for name in asked.query if name not in known), None)
    if unknown is not None:
        raise RefusedError(400, f'unknown filter "{unknown[:60]}"{did_you_mean(unknown, known)}')
    rows = [row for namespace in asked.namespaces for row in asked.live.journal.rows(namespace)]
    rows.sort(key=lambda row: row.seq)
    tries = attempts(rows)
    fitting = [row for row in rows if all(FILTERS[name](row, asked) for name in asked.query if name in FILTERS)]
    limit = asked.number("limit")
    whole, shown = asked.switch("bodies"), list[Json]()
    for row in fitting if limit is None else fitting[max(0, len(fitting) - limit) :]:
        shown.append(_listed(row, tries[row.seq], whole=whole))
        if not len(shown) % _TURN:
            await sleep(0)
    return told({"calls": shown})


async def one(asked: Asked) -> Response:
    """One call with all that is kept of it."""
    row = kept(asked, number(asked.item, "the number of a call"))
    rows = asked.live.journal.rows(row.namespace)
    attempt = attempts([other for other in rows if other.seq <= row.seq])[row.seq]
    whole = {**summary(row, attempt), **await detail(row, attempt, asked.live), **bodies(row)}
    return told(masked(whole, of_row(row)))


def _listed(row: Exchange, attempt: int, *, whole: bool) -> Json:
    if whole:
        return masked({**summary(row, attempt), **bodies(row)}, of_row(row))
    return masked(summary(row, attempt), of_head(row))


async def forget(asked: Asked) -> Response:
    """Forget the calls of a namespace; rules and counters stay."""
    return told({"forgotten": sum(map(asked.live.journal.forget_calls, asked.namespaces))})


def kept(asked: Asked, seq: int) -> Exchange:
    """The row of this number, of whatever namespace unless one is named. Raises RefusedError."""
    row = asked.live.journal.find(seq)
    if row is None or ("namespace" in asked.query and row.namespace not in asked.namespaces):
        last = max((other.seq for other in asked.live.journal), default=None)
        there = "the journal is empty" if last is None else f"the latest is {last}"
        raise RefusedError(404, f"there is no call {seq} in the journal; {there}, and the oldest are forgotten")
    return row


# What a query can ask for.
FILTERS: Mapping[str, Callable[[Exchange, Asked], bool]] = {
    "model": lambda row, asked: row.model == asked.query["model"],
    "operation": lambda row, asked: row.operation == asked.query["operation"],
    "dialect": lambda row, asked: row.dialect == asked.query["dialect"],
    "source": lambda row, asked: asked.query["source"] in (row.source, row.source.partition(" ")[0]),
    "status": lambda row, asked: row.status == asked.number("status"),
    "since": lambda row, asked: row.seq > (asked.number("since") or 0),
    "unmatched": lambda row, asked: unruled(row) == asked.switch("unmatched"),
}
_TURN = 20  # calls that are told before others have their turn
_SWITCHES = ("namespace", "limit", "bodies")
