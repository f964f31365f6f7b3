"""The journal as JSON, and explanations: why a request is answered as it is, without counting anything."""

from asyncio import sleep
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace
from starlette.responses import Response

from mockserver.config.errors import ConfigError
from mockserver.config.source import did_you_mean
from mockserver.core.call import OTHER, Call
from mockserver.core.exchange import Exchange, frames
from mockserver.core.json import Json, parsed
from mockserver.core.text import truncate
from mockserver.engine.counters import attempts
from mockserver.engine.offload import on_thread
from mockserver.rules.load import Rule, answering
from mockserver.rules.nearest import nearest
from mockserver.server.control.requests import (
    ControlRequest,
    RefusedError,
    json_response,
    list_response,
    number,
)
from mockserver.server.explain import (
    Explanation,
    Reached,
    as_json,
    explain_call,
    finding_as_json,
    is_unmatched,
    place_of,
    reach,
    request_file,
    usual_path,
    whole,
)
from mockserver.server.live import Live
from mockserver.server.masking import masked, of_request, of_row, plain, request_of
from mockserver.server.snapshot import query_from

if TYPE_CHECKING:
    from mockserver.cassettes.redaction.redact import Secrets

_SAID = 1_001  # characters of a message that a summary shows


def summary(row: Exchange, attempt: int) -> dict[str, Json]:
    used = row.usage
    return {
        "call": row.seq,
        "at": datetime.fromtimestamp(row.at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "namespace": row.namespace,
        "method": row.method,
        "path": row.path,
        "dialect": row.dialect,
        "operation": row.operation or None,
        "model": row.model or None,
        "attempt": attempt,
        "source": row.source or None,
        **({"bent_by": list(row.modified_by)} if row.modified_by else {}),
        **({"through": list(row.trace)} if row.trace else {}),
        "status": row.status or None,
        "faults": list(row.faults),
        **({"remarks": list(row.remarks)} if row.remarks else {}),
        **({"recorded": row.recorded} if row.recorded else {}),
        **({"unrecorded": row.unrecorded} if row.unrecorded else {}),
        "ended": row.ending,
        "first_byte_ms": _ms(row.first) if row.size else None,
        "elapsed_ms": _ms(row.elapsed) if row.ended else None,
        "usage": None if used is None else {"prompt_tokens": used.prompt, "completion_tokens": used.completion},
    }


def bodies(row: Exchange) -> dict[str, Json]:
    """Request and reply without the credentials in their own places, and those that a stream has in pieces."""
    secrets = of_row(row)
    headers = secrets.headers(tuple(row.headers))
    body = secrets.body(plain(request_of(row)).body).decode("utf-8", "replace")
    request = {
        "method": row.method,
        "path": row.path,
        "query": query_from(secrets.query(row.query)),
        "headers": _headers((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers),
        "body": parsed(body, body or None),
        **_cut_off(len(row.body), row.received),
    }
    return {"request": request, "reply": _reply(row, secrets)}


def reached_by(row: Exchange, live: Live) -> Reached | None:
    """The operation that a row's request reached, and that request; None if it reached none or is not kept whole."""
    found = place_of(row.method, row.path, live.settings.dialect, stubs=row.operation == OTHER)
    if found is None or found[1] is None or row.received > len(row.body):
        return None
    return Reached(found[0], found[1], replace(plain(request_of(row)), path_params=found[2]))


async def _detail(row: Exchange, attempt: int, live: Live) -> dict[str, Json]:
    reached = reached_by(row, live)
    if reached is None:
        return {"asked": None}
    try:
        call = await on_thread(partial(reached.call, strict=live.settings.strict))
    except ConfigError:
        return {"asked": None}
    call = replace(await whole(live.engine, call, {}), attempt=attempt)
    return {"asked": _asked(call, of_row(row)), **await on_thread(partial(_why, row, call))}


def _asked(call: Call, secrets: "Secrets") -> dict[str, Json]:
    def said(text: str) -> str:  # masked before it is cut, which could halve a key
        return truncate(secrets.text(text), _SAID)

    messages = list[Json]()
    for message in call.messages:
        used = {"tool_calls": [used.name for used in message.tool_calls]} if message.tool_calls else {}
        messages.append({"role": message.role, "text": said(message.text), **used})
    return {
        "messages": messages,
        **({"prompts": [said(prompt.text) for prompt in call.prompts]} if call.prompts else {}),
        "tools": [tool.name for tool in call.tools],
        "stream": call.stream,
        "fingerprint": call.fingerprint,
    }


def _why(row: Exchange, call: Call) -> dict[str, Json]:
    if row.source == "invalid":
        return {}
    tried = [rule for rule in row.rules if isinstance(rule, Rule)]
    answered = next((rule for rule in tried if rule.source == row.source), None)
    if answered is not None:
        return {"findings": list(map(finding_as_json, answered.when.results(call)))}
    return {
        "nearest": [
            {"name": near.rule.name, "where": near.rule.where, "findings": list(map(finding_as_json, near.results))}
            for near in nearest(answering(tried, call), call)
        ]
    }


def _reply(row: Exchange, secrets: "Secrets") -> dict[str, Json]:
    cut_off = _cut_off(sum(len(data) for _, data in row.sent), row.size)
    head = {"status": row.status or None, "headers": _headers(row.reply_headers)}
    if not row.streams:
        (text,) = secrets.joined((b"".join(data for _, data in row.sent).decode("utf-8", "replace"),))
        return {**head, "body": parsed(text, text or None), **cut_off}
    left, sent = frames(row.sent), list[Json]()
    for frame, text in zip(left, secrets.joined([frame.text for frame in left]), strict=True):
        event, broken = {"event": frame.event} if frame.event else {}, {} if frame.whole else {"whole": False}
        sent.append({"at_ms": _ms(frame.at - row.began), **event, "data": parsed(text, text), **broken})
    return {**head, "frames": sent, **cut_off}


def _headers(pairs: Iterable[tuple[str, str]]) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for name, value in pairs:
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found


def _cut_off(kept: int, whole: int) -> dict[str, Json]:
    return {"cut_off": f"after {kept} of {whole} bytes"} if kept < whole else {}


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 3)


async def listed(asked: ControlRequest) -> Response:
    known = (*FILTERS, "namespace", "limit", "bodies")
    unknown = next((name for name in asked.query if name not in known), None)
    if unknown is not None:
        raise RefusedError(400, f'unknown filter "{unknown[:60]}"{did_you_mean(unknown, known)}')
    rows = [row for namespace in asked.namespaces for row in asked.live.journal.rows(namespace)]
    rows.sort(key=lambda row: row.seq)
    tries = attempts(rows)
    fitting = [row for row in rows if all(FILTERS[name](row, asked) for name in asked.query if name in FILTERS)]
    limit = asked.number("limit")
    whole = asked.switch("bodies")
    latest = fitting if limit is None else fitting[max(0, len(fitting) - limit) :]

    async def shown() -> AsyncIterator[Json]:
        for at, row in enumerate(latest):
            work = partial(_shown, row, tries[row.seq], whole=whole)
            yield await on_thread(work) if whole else work()
            if not at % _TURN:
                await sleep(0)

    if whole:
        return list_response("calls", shown())
    return await on_thread(partial(json_response, {"calls": [each async for each in shown()]}))


def _shown(row: Exchange, attempt: int, *, whole: bool) -> Json:
    more = bodies(row) if whole else {}
    return masked({**summary(row, attempt), **more}, of_row(row, body=whole))


async def one(asked: ControlRequest) -> Response:
    row = kept(asked, number(asked.item, "the number of a call"))
    rows = asked.live.journal.rows(row.namespace)
    attempt = attempts([other for other in rows if other.seq <= row.seq])[row.seq]
    whole = {
        **summary(row, attempt),
        **await _detail(row, attempt, asked.live),
        **await on_thread(partial(bodies, row)),
    }
    return await on_thread(lambda: json_response(masked(whole, of_row(row))))


async def forget(asked: ControlRequest) -> Response:
    return json_response({"forgotten": sum(map(asked.live.journal.forget_calls, asked.namespaces))})


def kept(asked: ControlRequest, seq: int) -> Exchange:
    row = asked.live.journal.find(seq)
    if row is None or ("namespace" in asked.query and row.namespace not in asked.namespaces):
        last = max((other.seq for other in asked.live.journal), default=None)
        there = "the journal is empty" if last is None else f"the latest is {last}"
        raise RefusedError(404, f"there is no call {seq} in the journal; {there}, and the oldest are forgotten")
    return row


# What a query can ask for.
FILTERS: Mapping[str, Callable[[Exchange, ControlRequest], bool]] = {
    "model": lambda row, asked: row.model == asked.query["model"],
    "operation": lambda row, asked: row.operation == asked.query["operation"],
    "dialect": lambda row, asked: row.dialect == asked.query["dialect"],
    "source": lambda row, asked: asked.query["source"] in (row.source, row.source.partition(" ")[0]),
    "status": lambda row, asked: row.status == asked.number("status"),
    "since": lambda row, asked: row.seq > (asked.number("since") or 0),
    "unmatched": lambda row, asked: is_unmatched(row) == asked.switch("unmatched"),
}
_TURN = 20  # calls that are rendered before other requests have their turn


async def explain(asked: ControlRequest) -> Response:
    secrets: Secrets | None = None
    try:
        reached, before = _reached(asked.content(), asked)
        secrets = await on_thread(partial(of_request, reached.http))
        call = await on_thread(partial(reached.call, strict=asked.live.settings.strict))
    except ConfigError as error:
        words = str(error.mistakes[0])
        raise RefusedError(400, words if secrets is None else secrets.text(words)) from error
    engine = asked.live.namespaces.get(call.http.namespace).engine(asked.live.engine)
    explanation = await explain_call(engine, call)
    return json_response(masked({**before, **_explanation_json(explanation)}, secrets))


def _reached(content: Json, asked: ControlRequest) -> tuple[Reached, dict[str, Json]]:
    if isinstance(content, dict) and "call" in content:
        return _again(content["call"], asked)
    dialect = asked.live.settings.dialect
    if isinstance(content, dict) and "dialect" in content and ("body" in content or "path" in content):
        content = dict(content)
        dialect = str(content.pop("dialect"))
        usual_path(dialect)  # refuses an unknown one
    put = request_file(content, "the body", dialect)
    put, engine = replace(put, namespace=asked.one_namespace), asked.live.namespaces.get(asked.one_namespace)
    stubs = engine.engine(asked.live.engine).stubs
    return reach(put, asked.live.settings.dialect, stubs=stubs), {}


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
