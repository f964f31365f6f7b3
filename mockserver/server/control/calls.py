"""The calls of the journal: listed by filters, one in full with those that belong to it, two compared, forgotten."""

import re
from asyncio import sleep
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from math import inf
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from starlette.responses import Response

from mockserver.config.source import suggest
from mockserver.core.json import Json
from mockserver.core.json_diff import ABSENT, JsonDifference, find_differences
from mockserver.core.row import Row
from mockserver.core.state import StateLostError
from mockserver.core.text import count_shared_ends
from mockserver.engine.offload import on_thread
from mockserver.server.control.detail import parse_call, show_answer, show_bodies, show_detail
from mockserver.server.control.fleet import View, ask_all
from mockserver.server.control.media import describe_media
from mockserver.server.control.requests import (
    ControlRequest,
    RefusedError,
    make_json_response,
    make_list_response,
    parse_number,
)
from mockserver.server.control.rows import Digest, Rows, encode, make_digest
from mockserver.server.explain import is_unmatched
from mockserver.server.masking import find_known_secrets, find_row_secrets, mask_texts

if TYPE_CHECKING:
    from mockserver.server.fleet import RedisFleet


async def list_calls(request: ControlRequest) -> Response:
    """List calls, newest last; those that service rules answered only if asked for."""
    known = (*FILTERS, "service", "since", "before", "namespace", "limit", "bodies", "contains", "compact", "digest")
    unknown = next((name for name in request.query if name not in known), None)
    if unknown is not None:
        raise RefusedError(400, f'unknown filter "{unknown[:60]}"{suggest(unknown, known)}')
    filters = [(FILTERS[name], FILTERS[name].wanted(request, name)) for name in request.query if name in FILTERS]
    rows = _select_between(request.rows.select(request.namespaces), request)
    limit = request.read_number("limit")
    if not request.read_switch("service"):
        rows = [row for row in rows if not row.is_service]
    if filters:
        rows = [row for row in rows if all(each.fits(row, value) for each, value in filters)]
    rows = await _select_containing(request, rows, limit)
    latest = rows if limit is None else rows[max(0, len(rows) - limit) :]
    if request.read_switch("bodies"):
        return make_list_response("calls", _add_bodies(latest, request.rows))
    found = b",".join([each async for each in _encode_rows(latest, request)])
    content = b'{"calls":[' + found + b"]}"
    if not request.read_switch("compact"):
        content = await on_thread(msgspec.json.format, content, indent=2)
    return Response(content + b"\n", media_type="application/json")


async def list_fleet_calls(view: View, request: ControlRequest, fleet: "RedisFleet") -> Response:
    """List the calls of all servers, by time."""
    since = request.read_number("since")
    with suppress(StateLostError):  # then this server answers alone
        request = request if since is None else replace(request, since_at=await fleet.find_time(since))
    return await ask_all(join_lists)(view, request, fleet)


def join_lists(answers: Sequence[Any], request: ControlRequest) -> dict[str, Json]:
    """Join the calls that several servers list, by time."""
    calls = sorted((call for answer in answers for call in answer["calls"]), key=itemgetter("at", "call"))
    limit = request.read_number("limit")
    return {**answers[0], "calls": calls if limit is None else calls[max(0, len(calls) - limit) :]}


def _select_between(rows: list[Row], request: ControlRequest) -> list[Row]:
    since = request.read_number("since")
    before = request.read_number("before")
    by = attrgetter("seq")
    if since is not None and request.group is not None:  # it is a call of another server
        since_at = -inf if request.since_at is None else request.since_at
        since = max((row.seq for row in request.live.journal if row.at <= since_at), default=0)
    end = None if before is None else bisect_left(rows, before, key=by)
    return rows[0 if since is None else bisect_right(rows, since, key=by) : end]


async def _select_containing(request: ControlRequest, rows: list[Row], limit: int | None) -> list[Row]:
    """Return the calls in which a text was said or answered, the newest ones until there are enough."""
    wanted = request.query.get("contains", "").lower()
    found = list[Row]()
    if not wanted:
        return rows
    known = find_known_secrets()
    for end in range(len(rows), 0, -_TURN):
        if limit is not None and len(found) >= limit:
            break
        turn = rows[max(0, end - _TURN) : end]
        digests = await find_digests(turn, request, known)
        found += [row for row, digest in zip(reversed(turn), reversed(digests), strict=True) if digest.has(wanted)]
        await sleep(0)
    return found[:limit][::-1]


async def _encode_rows(rows: Sequence[Row], request: ControlRequest) -> AsyncIterator[bytes]:
    known = find_known_secrets()
    compact = request.read_switch("compact")
    with_digests = request.read_switch("digest")
    for start in range(0, len(rows), _TURN):
        await sleep(0)
        turn = rows[start : start + _TURN]
        digests = await find_digests(turn, request, known) if with_digests else ()
        for at, row in enumerate(turn):
            listed = request.rows.encode_call(row, known)
            shown = listed.compact if compact else listed.whole
            yield shown[:-1] + b"," + encode(digests[at].short)[1:] if with_digests else shown


async def find_digests(rows: Sequence[Row], request: ControlRequest, known: tuple[str, ...]) -> list[Digest]:
    """Return the digests of calls, made on a thread the first time; `known` are the environment's credentials."""
    listed = [request.rows.encode_call(row, known) for row in rows]  # those of closed calls are kept
    new = [(row, each) for row, each in zip(rows, listed, strict=True) if each.digest is None]

    def make_digests() -> None:
        for row, each in new:
            each.digest = make_digest(row, parse_call(row, request.live), find_row_secrets(row, known))

    if new:
        await on_thread(make_digests)
    return [each.digest for each in listed if each.digest is not None]


async def _add_bodies(rows: Sequence[Row], known: Rows) -> AsyncIterator[Json]:
    for at, row in enumerate(rows):
        yield await on_thread(_add_body, row, known)
        if not at % _TURN:
            await sleep(0)


def _add_body(row: Row, known: Rows) -> Json:
    return mask_texts({**known.summarize(row), **show_bodies(row)}, find_row_secrets(row))


async def show_call(request: ControlRequest) -> Response:
    """Return one call in full, from any namespace."""
    row = request.find_call()
    rows = request.rows.select((row.namespace,))
    whole = {
        **request.rows.summarize(row),
        **await show_detail(row, request.rows.find_attempt(row).number, request.live),
        "chain": {"conversation": await _find_conversation(row, rows, request), "tries": request.rows.find_tries(row)},
        **await on_thread(show_bodies, row),
        **await on_thread(describe_media, row),
    }
    return await on_thread(lambda: make_json_response(mask_texts(whole, find_row_secrets(row))))


async def _find_conversation(row: Row, rows: Sequence[Row], request: ControlRequest) -> list[int]:
    """Return the calls that begin as this one does, and those that continue them by the id of an answer."""
    known = find_known_secrets()
    found = {row.seq}
    (mine,) = await find_digests([row], request, known)
    if mine.conversation is not None:
        alike = (other for other in rows if (other.dialect, other.operation) == (row.dialect, row.operation))
        near = sorted(alike, key=lambda other: abs(other.seq - row.seq))[:_MAX_COMPARED]
        for start in range(0, len(near), _TURN):
            turn = near[start : start + _TURN]
            digests = await find_digests(turn, request, known)
            found.update(
                [
                    each.seq
                    for each, digest in zip(turn, digests, strict=True)
                    if digest.conversation == mine.conversation
                ]
            )
    return sorted(await on_thread(_follow_links, found, rows))


def _follow_links(found: Collection[int], rows: Sequence[Row]) -> set[int]:
    """Return the calls that continue others by `previous_response_id`, or are continued, over any number of steps."""
    named = [(row.seq, found_id[1]) for row in rows if (found_id := _PREVIOUS.search(row.body)) is not None]
    if not named:
        return set(found)
    heads = ((row.seq, _ID.search(b"".join([data for _, data in row.sent[:3]]))) for row in rows)
    answers = {id[1]: seq for seq, id in heads if id is not None}
    neighbours = defaultdict[int, set[int]](set)
    for seq, id in named:
        if id in answers:
            neighbours[seq].add(answers[id])
            neighbours[answers[id]].add(seq)
    linked = set(found)
    ahead = list(found)
    while ahead:
        new = neighbours[ahead.pop()] - linked
        linked |= new
        ahead += new
    return linked


_PREVIOUS = re.compile(rb'"previous_response_id"\s*:\s*"([\w-]{8,200})"')
_ID = re.compile(rb'"id"\s*:\s*"([\w-]{8,200})"')
_MAX_COMPARED = 300  # calls: the nearest ones


async def forget_calls(request: ControlRequest) -> Response:
    """Delete the calls; keep rules and counters."""
    return make_json_response({"forgotten": sum(map(request.live.journal.forget_calls, request.namespaces))})


def join_forgotten(answers: Sequence[Any], _: ControlRequest) -> dict[str, Json]:
    """Add up how many calls several servers have forgotten."""
    return {"forgotten": sum(answer["forgotten"] for answer in answers)}


class _Filter(Struct, frozen=True):
    """A filter of a list: how its word in the query is read, and which rows fit."""

    fits: Callable[[Row, Json], bool]
    wanted: Callable[[ControlRequest, str], Json] = lambda request, name: request.query[name]


def _read_numbers(request: ControlRequest, name: str) -> frozenset[int]:
    found = frozenset(parse_number(word, f"each of ?{name}=") for word in request.query[name].split(",") if word)
    if len(found) > MAX_NUMBERS:
        raise RefusedError(400, f"?{name}= takes at most {MAX_NUMBERS} numbers of calls")
    return found


def _is_of_rule(row: Row, wanted: str) -> bool:
    """Return whether a rule answered or changed a call: by its name, its place, or both."""
    sources = (*row.source.split(", "), *row.modified_by)
    rules = (each.removeprefix("rule ") for each in sources if each.startswith("rule "))
    return any(wanted in (each, each.partition(" ")[0], each.partition(" ")[2]) for each in rules)


FILTERS: Mapping[str, _Filter] = {
    "model": _Filter(lambda row, model: row.model == model),
    "operation": _Filter(lambda row, operation: row.operation == operation),
    "dialect": _Filter(lambda row, dialect: row.dialect == dialect),
    "source": _Filter(lambda row, source: source in (row.source, row.source.partition(" ")[0])),
    "rule": _Filter(_is_of_rule),
    "status": _Filter(lambda row, status: row.status == status, ControlRequest.read_number),
    "ended": _Filter(lambda row, ended: (row.ended or "open") == ended),
    "numbers": _Filter(lambda row, numbers: row.seq in numbers, _read_numbers),
    "unmatched": _Filter(lambda row, unmatched: is_unmatched(row) == unmatched, ControlRequest.read_switch),
    "defect": _Filter(lambda row, defect: bool(row.defect) == defect, ControlRequest.read_switch),
}
MAX_NUMBERS = 100
_TURN = 20  # calls that are rendered before other requests have their turn


async def compare_calls(request: ControlRequest) -> Response:
    """Return what differs between two calls, place by place."""
    numbers = request.read_table("calls").get("calls")
    if not isinstance(numbers, list) or len(numbers) != 2 or not all(type(each) is int for each in numbers):
        raise RefusedError(400, 'the body must be {"calls": [7, 9]}, with the numbers of two calls')
    rows = [request.find_call(number) for number in numbers]
    request.rows.select(sorted({row.namespace for row in rows}))
    return make_json_response(await on_thread(_compare, rows, request))


def _compare(rows: list[Row], request: ControlRequest) -> Json:
    one, other = (_read_parts(row, request) for row in rows)
    found: dict[str, Json] = {
        part: [_show_difference(each) for each in islice(find_differences(one[part], other[part]), MAX_DIFFERENCES)]
        for part in one
    }
    heads = [request.rows.summarize(row) for row in rows]
    return {**found, "times": {name: [head[name] for head in heads] for name in ("first_byte_ms", "elapsed_ms")}}


def _read_parts(row: Row, request: ControlRequest) -> dict[str, Json]:
    summary = request.rows.summarize(row)
    sent = show_bodies(row)
    answer = show_answer(row)
    head = {name: summary.get(name) for name in _HEAD}
    head |= {f"header {name}": value for name, value in sent["request"]["headers"].items()}
    if not answer["choices"] and "error" not in answer and "body" in sent["reply"]:
        answer = {"body": sent["reply"]["body"]}
    parts: dict[str, Json] = mask_texts(
        {"head": head, "request": sent["request"]["body"], "answer": answer}, find_row_secrets(row)
    )
    return parts


def _show_difference(found: JsonDifference) -> dict[str, Json]:
    if isinstance(found.one, str) and isinstance(found.other, str):
        return {"where": found.where, **_cut_texts(found.one, found.other)}
    sides = {"one": found.one, "other": found.other}
    return {"where": found.where, **{name: _shorten(value) for name, value in sides.items() if value is not ABSENT}}


def _shorten(value: Json) -> Json:
    return f"{value[:_MAX_VALUE]}…" if isinstance(value, str) and len(value) > _MAX_VALUE else value


def _cut_texts(one: str, other: str) -> dict[str, Json]:
    """Return two texts, cut around what differs, and which of their characters that are."""
    front, back = count_shared_ends(one, other)
    start = max(0, front - _BEFORE) if max(len(one), len(other)) > _MAX_VALUE else 0
    sides = {"one": one, "other": other}
    spans = {name: {"at": front - start, "size": len(text) - back - front} for name, text in sides.items()}
    found: dict[str, Json] = {name: _shorten(text[start:]) for name, text in sides.items()}
    return {**found, "spans": spans} if front + back else found


MAX_DIFFERENCES = 500  # of each part
_MAX_VALUE = 2_000  # characters of a value
_BEFORE = 100  # characters before a difference far behind
# fmt: off
_HEAD = (
    "namespace", "method", "path", "dialect", "operation", "model", "source", "modified_by", "status", "faults",
    "ended",
)
# fmt: on
