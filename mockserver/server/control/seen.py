"""A row of the journal as JSON: what came, what was made of it, and what left when. All of it is worked out here."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from mockserver.cassettes.masking import Secrets
from mockserver.core.call import Call, Json
from mockserver.core.exchange import Exchange
from mockserver.core.frames import frames
from mockserver.core.json_text import parsed
from mockserver.core.plan import Failure
from mockserver.dialects import discover
from mockserver.engine.apart import LARGE, aside
from mockserver.engine.draws import RETRIES, attempt_told
from mockserver.engine.nearest import nearest
from mockserver.engine.rules import Rule, answering
from mockserver.server.control.masked import of_row, plain, request_of
from mockserver.server.described import Reached
from mockserver.server.explained import finding_as_json, whole
from mockserver.server.live import Live
from mockserver.server.routes import find, meant, places
from mockserver.server.snapshot import query_from

_SAID = 1_000  # characters of a message that a summary shows
_RETRIES = RETRIES.encode()


def summary(row: Exchange, attempt: int) -> dict[str, Json]:
    """A call in a few lines, without bodies."""
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
        **({"bent_by": list(row.bent_by)} if row.bent_by else {}),
        **({"through": list(row.through)} if row.through else {}),
        "status": row.status or None,
        "faults": list(row.faults),
        **({"recorded": row.recorded} if row.recorded else {}),
        **({"unrecorded": row.unrecorded} if row.unrecorded else {}),
        "ended": row.ending,
        "first_byte_ms": _ms(row.first) if row.size else None,
        "elapsed_ms": _ms(row.elapsed) if row.ended else None,
        "usage": _usage(row),
    }


def attempts(rows: Sequence[Exchange]) -> dict[int, int]:
    """Which try each call is: from the client's retry header, else how often the same has come in what is kept."""
    seen: dict[tuple[Json, ...], int] = {}
    found = {}
    for row in rows:
        same = (row.namespace, row.method, row.path, row.query, row.body)
        seen[same] = seen.get(same, 0) + 1
        found[row.seq] = _told(row) or seen[same]
    return found


def bodies(row: Exchange) -> dict[str, Json]:
    """What came and what left, but for credentials in their own places, and such as an answer tells in pieces."""
    secrets = of_row(row)
    return {"request": _request(row, secrets), "reply": _reply(row, secrets)}


async def detail(row: Exchange, attempt: int, live: Live) -> dict[str, Json]:
    """What the call meant, and why it was answered so."""
    reached = reached_by(row, live)
    large = row.received > LARGE
    call = None
    if reached is not None:
        read = partial(_call, reached, live)
        call = await aside(read) if large else read()
    if call is not None:
        call = replace(await whole(live.engine, call), attempt=attempt)
    tell = partial(_why, row, call)
    why = await aside(tell) if large else tell()
    return {"asked": None if call is None else _asked(call), **why}


def reached_by(row: Exchange, live: Live) -> Reached | None:
    """The operation that a row's request reached, and that request; None where it reached none or is not kept whole."""
    found = find(row.path, places(discover(), live.settings.dialect))
    if found is None or row.received > len(row.body):
        return None
    place, params = found
    operation = meant(row.method, place.operations)
    if operation is None:
        return None
    return Reached(place, operation, replace(plain(request_of(row)), path_params=params))


def _call(reached: Reached, live: Live) -> Call | None:
    try:
        return reached.operation.parse(reached.http, live.settings.strict)
    except Failure:
        return None


def _told(row: Exchange) -> int | None:
    return attempt_told(next((value.decode("latin-1") for name, value in row.headers if name == _RETRIES), None))


def _asked(call: Call) -> dict[str, Json]:
    """The call in short: what was said, and which tools there are."""
    return {
        "messages": [
            {
                "role": message.role,
                "text": _cut(message.text),
                **({"tool_calls": [used.name for used in message.tool_calls]} if message.tool_calls else {}),
            }
            for message in call.messages
        ],
        **({"prompts": [_cut(prompt.text) for prompt in call.prompts]} if call.prompts else {}),
        "tools": [tool.name for tool in call.tools],
        "stream": call.stream,
        "fingerprint": call.fingerprint,
    }


def _why(row: Exchange, call: Call | None) -> dict[str, Json]:
    """Of a rule that answered, what it found; where none did, the nearest ones."""
    if call is None or row.source == "invalid":
        return {}
    tried = [rule for rule in row.rules if isinstance(rule, Rule)]
    answered = next((rule for rule in tried if rule.source == row.source), None)
    if answered is not None:
        return {"findings": list(map(finding_as_json, answered.when.findings(call)))}
    near = nearest(answering(tried), call)
    return {
        "nearest": [
            {"name": rule.name, "where": rule.where, "findings": list(map(finding_as_json, rule.findings))}
            for rule in near
        ]
    }


def _request(row: Exchange, secrets: Secrets) -> dict[str, Json]:
    headers = secrets.headers(tuple(row.headers))
    return {
        "method": row.method,
        "path": row.path,
        "query": query_from(secrets.query(row.query)),
        "headers": _headers((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers),
        "body": _body(secrets.body(plain(request_of(row)).body)),
        **_cut_off(len(row.body), row.received),
    }


def _reply(row: Exchange, secrets: Secrets) -> dict[str, Json]:
    kept = sum(len(data) for _, data in row.sent)
    head = {"status": row.status or None, "headers": _headers(row.reply_headers)}
    if not row.streams:
        (text,) = secrets.told((b"".join(data for _, data in row.sent).decode("utf-8", "replace"),))
        return {**head, "body": parsed(text, text or None), **_cut_off(kept, row.size)}
    left = frames(row.sent)
    sent = [
        {
            "at_ms": _ms(frame.at - row.began),
            **({"event": frame.event} if frame.event else {}),
            "data": parsed(text, text),
            **({} if frame.whole else {"whole": False}),
        }
        for frame, text in zip(left, secrets.told([frame.text for frame in left]), strict=True)
    ]
    return {**head, "frames": sent, **_cut_off(kept, row.size)}


def _headers(pairs: Iterable[tuple[str, str]]) -> Mapping[str, str]:
    """By name; values of one name in one text."""
    found: dict[str, str] = {}
    for name, value in pairs:
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found


def _body(body: bytes) -> Json:
    """JSON where it is some, else text."""
    text = body.decode("utf-8", "replace")
    return parsed(text, text or None)


def _cut_off(kept: int, whole: int) -> dict[str, Json]:
    return {"cut_off": f"after {kept} of {whole} bytes"} if kept < whole else {}


def _cut(text: str) -> str:
    return text if len(text) <= _SAID else f"{text[:_SAID]}…"


def _usage(row: Exchange) -> Json:
    used = row.usage
    return None if used is None else {"prompt_tokens": used.prompt, "completion_tokens": used.completion}


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 3)
