"""What differs between two calls, place by place: in their heads, requests and answers."""

from itertools import islice

from starlette.responses import Response

from mockserver.core.exchange import Exchange
from mockserver.core.json import Json
from mockserver.core.json_diff import ABSENT, JsonDifference, find_differences
from mockserver.core.text import count_shared_ends
from mockserver.engine.offload import on_thread
from mockserver.server.control.detail import show_answer, show_bodies
from mockserver.server.control.requests import ControlRequest, RefusedError, json_response
from mockserver.server.masking import find_row_secrets, mask_texts


async def compare_calls(request: ControlRequest) -> Response:
    """Return what differs between two calls, place by place."""
    numbers = request.table("calls").get("calls")
    if not isinstance(numbers, list) or len(numbers) != 2 or not all(type(each) is int for each in numbers):
        raise RefusedError(400, 'the body must be {"calls": [7, 9]}, with the numbers of two calls')
    rows = [request.find_call(number) for number in numbers]
    request.rows.select(sorted({row.namespace for row in rows}))
    return json_response(await on_thread(_compare, rows, request))


def _compare(rows: list[Exchange], request: ControlRequest) -> Json:
    one, other = (_read_parts(row, request) for row in rows)
    found: dict[str, Json] = {
        part: [_show_difference(each) for each in islice(find_differences(one[part], other[part]), MOST_DIFFERENCES)]
        for part in one
    }
    heads = [request.rows.summarize(row) for row in rows]
    return {**found, "times": {name: [head[name] for head in heads] for name in ("first_byte_ms", "elapsed_ms")}}


def _read_parts(row: Exchange, request: ControlRequest) -> dict[str, Json]:
    summary, sent, said = request.rows.summarize(row), show_bodies(row), show_answer(row)
    head = {name: summary.get(name) for name in _HEAD}
    head |= {f"header {name}": value for name, value in sent["request"]["headers"].items()}
    if not said["choices"] and "error" not in said and "body" in sent["reply"]:
        said = {"body": sent["reply"]["body"]}
    parts: dict[str, Json] = mask_texts(
        {"head": head, "request": sent["request"]["body"], "answer": said}, find_row_secrets(row)
    )
    return parts


def _show_difference(found: JsonDifference) -> dict[str, Json]:
    if isinstance(found.one, str) and isinstance(found.other, str):
        return {"where": found.where, **_cut_texts(found.one, found.other)}
    sides = {"one": found.one, "other": found.other}
    return {"where": found.where, **{name: _shorten(value) for name, value in sides.items() if value is not ABSENT}}


def _shorten(value: Json) -> Json:
    return f"{value[:_LONGEST]}…" if isinstance(value, str) and len(value) > _LONGEST else value


def _cut_texts(one: str, other: str) -> dict[str, Json]:
    """Two texts, cut around what differs, and which of their characters that are."""
    front, back = count_shared_ends(one, other)
    start = max(0, front - _BEFORE) if max(len(one), len(other)) > _LONGEST else 0
    sides = {"one": one, "other": other}
    spans = {name: {"at": front - start, "size": len(text) - back - front} for name, text in sides.items()}
    found: dict[str, Json] = {name: _shorten(text[start:]) for name, text in sides.items()}
    return {**found, "spans": spans} if front + back else found


MOST_DIFFERENCES = 500  # of each part
_LONGEST, _BEFORE = 2_000, 100  # characters of a value, and of those before a difference far behind
# fmt: off
_HEAD = (
    "namespace", "method", "path", "dialect", "operation", "model", "source", "bent_by", "status", "faults", "ended",
)
# fmt: on
