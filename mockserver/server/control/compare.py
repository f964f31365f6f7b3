"""Two calls compared: their heads, requests and answers as JSON, place by place."""

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import islice

from starlette.responses import Response

from mockserver.core.exchange import Exchange
from mockserver.core.json import Json
from mockserver.core.text import shared_ends
from mockserver.engine.offload import on_thread
from mockserver.server.control.detail import answer, bodies
from mockserver.server.control.requests import ControlRequest, RefusedError, json_response, kept
from mockserver.server.masking import masked, of_row

MOST = 500  # differences of each part
_LONGEST, _BEFORE = 2_000, 100  # characters of a value, and of those before a difference far behind
_ABSENT = object()
_HEAD = (
    *("namespace", "method", "path", "dialect", "operation", "model"),
    *("source", "bent_by", "status", "faults", "ended"),
)


async def compare(asked: ControlRequest) -> Response:
    numbers = asked.table("calls").get("calls")
    if not isinstance(numbers, list) or len(numbers) != 2 or not all(type(each) is int for each in numbers):
        raise RefusedError(400, 'the body must be {"calls": [7, 9]}, with the numbers of two calls')
    rows = [kept(asked, number) for number in numbers]
    asked.rows.of(sorted({row.namespace for row in rows}))
    return json_response(await on_thread(partial(_compared, rows, asked)))


def _compared(rows: list[Exchange], asked: ControlRequest) -> Json:
    one, other = (_parts(row, asked) for row in rows)
    found: dict[str, Json] = {part: list(islice(_differences(one[part], other[part], ""), MOST)) for part in one}
    times = ((name, [each[name] for each in map(asked.rows.summary, rows)]) for name in ("first_byte_ms", "elapsed_ms"))
    return {**found, "times": dict(times)}


def _parts(row: Exchange, asked: ControlRequest) -> dict[str, Json]:
    summary, sent = asked.rows.summary(row), bodies(row)
    request, reply = sent["request"], sent["reply"]
    head = {name: summary.get(name) for name in _HEAD}
    head |= {f"header {name}": value for name, value in request["headers"].items()}
    said = answer(row)
    said = {"body": reply["body"]} if not said["choices"] and "error" not in said and "body" in reply else said
    parts = {"head": head, "request": request["body"], "answer": said}
    known: dict[str, Json] = masked(parts, of_row(row))
    return known


def _differences(one: Json, other: Json, where: str) -> Iterator[dict[str, Json]]:
    if type(one) is type(other) and one == other:
        return
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for name in dict.fromkeys((*one, *other)):
            yield from _differences(one.get(name, _ABSENT), other.get(name, _ABSENT), f"{where}.{name}".lstrip("."))
    elif isinstance(one, list) and isinstance(other, list):
        for at in range(max(len(one), len(other))):
            mine, theirs = (each[at] if at < len(each) else _ABSENT for each in (one, other))
            yield from _differences(mine, theirs, f"{where}[{at}]")
    elif isinstance(one, str) and isinstance(other, str):
        yield {"where": where, **_texts(one, other)}
    else:
        sides = {"one": one, "other": other}
        yield {"where": where, **{name: _short(value) for name, value in sides.items() if value is not _ABSENT}}


def _short(value: Json) -> Json:
    return f"{value[:_LONGEST]}…" if isinstance(value, str) and len(value) > _LONGEST else value


def _texts(one: str, other: str) -> dict[str, Json]:
    """Two texts, cut around what differs, and which of their characters that are."""
    front, back = shared_ends(one, other)
    start = max(0, front - _BEFORE) if max(len(one), len(other)) > _LONGEST else 0
    sides = {"one": one, "other": other}
    spans = {name: {"at": front - start, "size": len(text) - back - front} for name, text in sides.items()}
    found: dict[str, Json] = {name: _short(text[start:]) for name, text in sides.items()}
    return {**found, "spans": spans} if front + back else found
