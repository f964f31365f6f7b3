"""The journal as JSON, two calls compared, and explanations: why a request is answered as it is."""

import re
from asyncio import sleep
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from itertools import islice
from operator import attrgetter

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from starlette.responses import Response

from mockserver.config.errors import ConfigError
from mockserver.config.source import did_you_mean
from mockserver.core.exchange import Exchange
from mockserver.core.json import Json
from mockserver.core.json_diff import ABSENT, Difference, find_differences
from mockserver.core.text import shared_ends
from mockserver.engine.offload import on_thread
from mockserver.server.control.detail import answer, bodies, call_of, detail, engine_of, reached_by
from mockserver.server.control.requests import ControlRequest, RefusedError, json_response, kept, list_response, number
from mockserver.server.control.rows import Digest, Rows, digest, encode
from mockserver.server.explain import (
    Explanation,
    Reached,
    as_json,
    explain_call,
    is_unmatched,
    reach,
    request_file,
    usual_path,
)
from mockserver.server.masking import known_secrets, masked, of_request, of_row


async def listed(asked: ControlRequest) -> Response:
    """List calls, newest last."""
    known = (*FILTERS, "since", "before", "namespace", "limit", "bodies", "contains", "compact", "digest")
    unknown = next((name for name in asked.query if name not in known), None)
    if unknown is not None:
        raise RefusedError(400, f'unknown filter "{unknown[:60]}"{did_you_mean(unknown, known)}')
    filters = [(FILTERS[name], FILTERS[name].wanted(name, asked)) for name in asked.query if name in FILTERS]
    rows, limit = _between(asked.rows.of(asked.namespaces), asked), asked.number("limit")
    if filters:
        rows = [row for row in rows if all(each.fits(row, value) for each, value in filters)]
    rows = await _containing(asked, rows, limit)
    latest = rows if limit is None else rows[max(0, len(rows) - limit) :]
    if asked.switch("bodies"):
        return list_response("calls", _with_bodies(latest, asked.rows))
    found = b",".join([each async for each in _as_bytes(latest, asked)])
    content = b'{"calls":[' + found + b"]}"
    if not asked.switch("compact"):
        content = await on_thread(msgspec.json.format, content, indent=2)
    return Response(content + b"\n", media_type="application/json")


def _between(rows: list[Exchange], asked: ControlRequest) -> list[Exchange]:
    since, before, by = asked.number("since"), asked.number("before"), attrgetter("seq")
    end = None if before is None else bisect_left(rows, before, key=by)
    return rows[0 if since is None else bisect_right(rows, since, key=by) : end]


async def _containing(asked: ControlRequest, rows: list[Exchange], limit: int | None) -> list[Exchange]:
    """The calls in which a text was said or answered, the newest ones until there are enough."""
    wanted, found = asked.query.get("contains", "").lower(), list[Exchange]()
    if not wanted:
        return rows
    known = known_secrets()
    for row in reversed(rows):
        if len(found) == limit:
            break
        if (await digest_of(row, asked, known)).has(wanted):
            found.append(row)
    return found[::-1]


async def _as_bytes(rows: Sequence[Exchange], asked: ControlRequest) -> AsyncIterator[bytes]:
    known, compact, digests = known_secrets(), asked.switch("compact"), asked.switch("digest")
    for at, row in enumerate(rows):
        if not at % _TURN:
            await sleep(0)
        listed = asked.rows.listed(row, known)
        shown = listed.compact if compact else listed.whole
        if digests:
            shown = shown[:-1] + b"," + encode((await digest_of(row, asked, known)).short)[1:]
        yield shown


async def digest_of(row: Exchange, asked: ControlRequest, known: tuple[str, ...]) -> Digest:
    """What a call says in short, worked out on a thread the first time; `known` are the environment's credentials."""
    listed = asked.rows.listed(row, known)  # which is kept if the call is closed
    if listed.digest is None:
        listed.digest = await on_thread(lambda: digest(row, call_of(row, asked.live), of_row(row, known)))
    return listed.digest


async def _with_bodies(rows: Sequence[Exchange], known: Rows) -> AsyncIterator[Json]:
    for at, row in enumerate(rows):
        yield await on_thread(_with_body, row, known)
        if not at % _TURN:
            await sleep(0)


def _with_body(row: Exchange, known: Rows) -> Json:
    return masked({**known.summary(row), **bodies(row)}, of_row(row))


async def one(asked: ControlRequest) -> Response:
    """Return one call in full, from any namespace."""
    row = kept(asked)
    rows = asked.rows.of((row.namespace,))
    whole = {
        **asked.rows.summary(row),
        **await detail(row, asked.rows.attempt(row)[0], asked.live),
        "chain": {"conversation": await _conversation(row, rows, asked), "tries": asked.rows.tries(row)},
        **await on_thread(bodies, row),
    }
    return await on_thread(lambda: json_response(masked(whole, of_row(row))))


async def _conversation(row: Exchange, rows: Sequence[Exchange], asked: ControlRequest) -> list[int]:
    """The calls that begin as this one does, and those that continue them by the id of an answer."""
    known, found = known_secrets(), {row.seq}
    mine = await digest_of(row, asked, known)
    if mine.conversation is not None:
        near = (other for other in rows if (other.dialect, other.operation) == (row.dialect, row.operation))
        for other in sorted(near, key=lambda other: abs(other.seq - row.seq))[:_MOST_COMPARED]:
            if (await digest_of(other, asked, known)).conversation == mine.conversation:
                found.add(other.seq)
    return sorted(await on_thread(_linked, found, rows))


def _linked(found: Collection[int], rows: Sequence[Exchange]) -> set[int]:
    """The calls that continue others by `previous_response_id`, or are continued, over any number of steps."""
    named = [(row.seq, said[1]) for row in rows if (said := _PREVIOUS.search(row.body)) is not None]
    if not named:
        return set(found)
    heads = ((row.seq, _ID.search(b"".join([data for _, data in row.sent[:3]]))) for row in rows)
    answers = {id[1]: seq for seq, id in heads if id is not None}
    neighbours = defaultdict[int, set[int]](set)
    for seq, id in named:
        if id in answers:
            neighbours[seq].add(answers[id])
            neighbours[answers[id]].add(seq)
    linked, ahead = set(found), list(found)
    while ahead:
        new = neighbours[ahead.pop()] - linked
        linked |= new
        ahead += new
    return linked


_PREVIOUS = re.compile(rb'"previous_response_id"\s*:\s*"([\w-]{8,200})"')
_ID = re.compile(rb'"id"\s*:\s*"([\w-]{8,200})"')
_MOST_COMPARED = 300  # calls: the nearest ones


async def forget(asked: ControlRequest) -> Response:
    """Delete the calls; keep rules and counters."""
    return json_response({"forgotten": sum(map(asked.live.journal.forget_calls, asked.namespaces))})


class _Filter(Struct, frozen=True):
    """What a query can ask for: how the word is read, and which rows fit."""

    fits: Callable[[Exchange, Json], bool]
    wanted: Callable[[str, ControlRequest], Json] = lambda name, asked: asked.query[name]


def _number(name: str, asked: ControlRequest) -> int:
    return asked.number(name) or 0


def _numbers(name: str, asked: ControlRequest) -> frozenset[int]:
    found = frozenset(number(word, f"each of ?{name}=") for word in asked.query[name].split(",") if word)
    if len(found) > MOST_NUMBERS:
        raise RefusedError(400, f"?{name}= takes at most {MOST_NUMBERS} numbers of calls")
    return found


def _is_of_rule(row: Exchange, wanted: str) -> bool:
    """Whether a rule answered or changed a call: by its name, its place, or both."""
    said = (each.removeprefix("rule ") for each in (*row.source.split(", "), *row.modified_by) if each[:5] == "rule ")
    return any(wanted in (each, each.partition(" ")[0], each.partition(" ")[2]) for each in said)


FILTERS: Mapping[str, _Filter] = {
    "model": _Filter(lambda row, model: row.model == model),
    "operation": _Filter(lambda row, operation: row.operation == operation),
    "dialect": _Filter(lambda row, dialect: row.dialect == dialect),
    "source": _Filter(lambda row, source: source in (row.source, row.source.partition(" ")[0])),
    "rule": _Filter(_is_of_rule),
    "status": _Filter(lambda row, status: row.status == status, _number),
    "ended": _Filter(lambda row, ended: (row.ended or "open") == ended),
    "numbers": _Filter(lambda row, numbers: row.seq in numbers, _numbers),
    "unmatched": _Filter(lambda row, unmatched: is_unmatched(row) == unmatched, lambda name, asked: asked.switch(name)),
}
MOST_NUMBERS = 100
_TURN = 20  # calls that are rendered before other requests have their turn


async def explain(asked: ControlRequest) -> Response:
    """Return which rule would answer, and why."""
    content = asked.content()
    limit = content.pop("limit", None) if isinstance(content, dict) and "call" in content else None
    if limit is not None and (type(limit) is not int or limit < 1):
        raise RefusedError(400, '"limit" must be a number of rules, at least 1')
    reached, before = reached_in(content, asked)
    secrets = await on_thread(of_request, reached.http)
    try:
        call = await on_thread(reached.call, asked.live.settings)
    except ConfigError as error:
        raise RefusedError(400, secrets.text(str(error.mistakes[0]))) from error
    engine = engine_of(call.http.namespace, asked.live)
    explanation = await explain_call(engine, call, limit)
    return json_response(masked({**before, **_explanation_json(explanation)}, secrets))


def reached_in(content: Json, asked: ControlRequest) -> tuple[Reached, dict[str, Json]]:
    """What a call of the journal or a described request reaches, and what was said of the call. Raises RefusedError."""
    if isinstance(content, dict) and "call" in content:
        return _again(content["call"], asked)
    dialect, namespace = asked.live.settings.dialect, asked.one_namespace
    stubs = engine_of(namespace, asked.live).stubs
    try:
        if isinstance(content, dict) and "dialect" in content and ("body" in content or "path" in content):
            content = dict(content)
            dialect = str(content.pop("dialect"))
            usual_path(dialect)  # refuses an unknown one
        described = replace(request_file(content, "the body", dialect), namespace=namespace)
        return reach(described, asked.live.settings.dialect, stubs=stubs), {}
    except ConfigError as error:
        raise RefusedError(400, str(error.mistakes[0])) from error


def _again(number: Json, asked: ControlRequest) -> tuple[Reached, dict[str, Json]]:
    if not isinstance(number, int) or isinstance(number, bool):
        raise RefusedError(400, 'the body must be {"call": 7}, with the number of a call in the journal')
    row = kept(asked, number)
    reached = reached_by(row, asked.live)
    if reached is None:
        whole = row.received <= len(row.body)
        why = "no operation is at its path" if whole else f"its body is not kept whole ({row.received} bytes)"
        raise RefusedError(400, f"call {number} cannot be explained: {why}")
    return reached, {"call": number, "answered_then": row.source}


def _explanation_json(explanation: Explanation) -> dict[str, Json]:
    prompts = [{"prompt": prompt, "rules": list(map(as_json, held))} for prompt, held in explanation.prompts]
    return {
        "answered_by": explanation.source,
        **({"why": explanation.why} if explanation.why else {}),
        **({"bent_by": list(explanation.modified_by)} if explanation.modified_by else {}),
        **({"faults": [fault.name for fault in explanation.faults]} if explanation.faults else {}),
        **({"prompts": prompts} if len(prompts) > 1 else {"rules": prompts[0]["rules"]}),
        "text": explanation.text,
    }


async def compare(asked: ControlRequest) -> Response:
    """Return what differs between two calls, place by place."""
    numbers = asked.table("calls").get("calls")
    if not isinstance(numbers, list) or len(numbers) != 2 or not all(type(each) is int for each in numbers):
        raise RefusedError(400, 'the body must be {"calls": [7, 9]}, with the numbers of two calls')
    rows = [kept(asked, number) for number in numbers]
    asked.rows.of(sorted({row.namespace for row in rows}))
    return json_response(await on_thread(_compared, rows, asked))


def _compared(rows: list[Exchange], asked: ControlRequest) -> Json:
    one, other = (_parts(row, asked) for row in rows)
    found: dict[str, Json] = {
        part: [_shown(each) for each in islice(find_differences(one[part], other[part]), MOST_DIFFERENCES)]
        for part in one
    }
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


def _shown(found: Difference) -> dict[str, Json]:
    if isinstance(found.one, str) and isinstance(found.other, str):
        return {"where": found.where, **_texts(found.one, found.other)}
    sides = {"one": found.one, "other": found.other}
    return {"where": found.where, **{name: _short(value) for name, value in sides.items() if value is not ABSENT}}


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


MOST_DIFFERENCES = 500  # of each part
_LONGEST, _BEFORE = 2_000, 100  # characters of a value, and of those before a difference far behind
_HEAD = (
    *("namespace", "method", "path", "dialect", "operation", "model"),
    *("source", "bent_by", "status", "faults", "ended"),
)
