"""One call in full: request and reply, as bytes and as they were understood, and why it was answered so."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import asdict, replace

from mockserver.cassettes.formats import parse_response
from mockserver.cassettes.parsed_response import ParsedPart
from mockserver.config.errors import ConfigError
from mockserver.core.call import OTHER, Call, Message, Options
from mockserver.core.episode import Recorded
from mockserver.core.frames import Frame, write_event
from mockserver.core.json import Json, drop_empty, try_parse
from mockserver.core.row import Row
from mockserver.core.sent_body import split_frames
from mockserver.core.text import SHOWN, truncate
from mockserver.engine.offload import on_thread
from mockserver.kinds.wire_formats import find_format
from mockserver.reports.diff import find_loosening, find_span, is_secret
from mockserver.reports.suggest import find_change, write_yaml
from mockserver.rules.load import Rule, select_answering
from mockserver.rules.match.conditions import ConditionResult
from mockserver.rules.nearest import NearMiss, explain_closed, find_nearest
from mockserver.server.control.rows import convert_to_milliseconds, read_answer
from mockserver.server.explain import Target, complete_call, find_place, plan_answer, show_finding
from mockserver.server.live import Live
from mockserver.server.masking import decode_request, find_row_secrets, rebuild_request
from mockserver.server.snapshot import parse_query
from mockserver.server.stubs import choose_operation

if TYPE_CHECKING:
    from mockserver.cassettes.redaction.shown_secrets import Secrets

_SAID = 20_001  # characters of a message that are shown
_NEAREST = 3  # rules that are shown of a miss
_LOOKED_AT = 8  # rules that are looked at for one near enough to change


def show_bodies(row: Row) -> dict[str, Json]:
    """Show request and reply without the credentials in their own places, and those that a stream has in pieces."""
    secrets = find_row_secrets(row)
    headers = secrets.mask_headers(tuple(row.headers))
    body = secrets.mask_body(decode_request(rebuild_request(row)).body).decode("utf-8", "replace")
    request = {
        "method": row.method,
        "path": row.path,
        "query": parse_query(secrets.mask_query(row.query)),
        "headers": _merge_headers((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers),
        "body": try_parse(body, body or None),
        **_describe_cut(len(row.body), row.received),
    }
    return {"request": request, "reply": show_reply(row, secrets)}


def find_row_target(row: Row, live: Live) -> Target | None:
    """Return what a row's request reached; None if that has no operation, or the request is not kept whole."""
    place = find_place(row.path, live.routes, stubs=row.operation == OTHER)
    operation = None if place is None else choose_operation(place.endpoint, row.method)
    if place is None or operation is None or row.received > len(row.body):
        return None
    http = replace(decode_request(rebuild_request(row)), path_params=place.params)
    return Target(place.endpoint, operation, http)


def parse_call(row: Row, live: Live) -> Call | None:
    """Return the request of a row, parsed; None if it was refused or is not kept whole."""
    target = find_row_target(row, live)
    try:
        return None if target is None else target.parse_call(live.settings)
    except ConfigError:
        return None


async def show_detail(row: Row, attempt: int, live: Live) -> dict[str, Json]:
    """Return what was asked and answered, and why, as JSON; `attempt` is the number of this try, from 1."""
    call = await on_thread(parse_call, row, live)
    shown: dict[str, Json] = {
        "asked": None,
        "answer": await on_thread(show_answer, row),
        "asked_ms": None if row.asked is None else convert_to_milliseconds(row.asked - row.began),
    }
    if call is None:
        return shown
    engine = live.find_engine(row.namespace)
    entries = await engine.counters.list_entries(row.namespace)
    known = replace(await complete_call(engine, call, entries), attempt=attempt)
    secrets = find_row_secrets(row)
    shown |= {"asked": _show_request(known, secrets), **await on_thread(_explain_answer, row, known, secrets)}
    if row.rules and row.rules is not engine.rules and row.source != "invalid":
        now = (await plan_answer(engine, call, entries)).source
        shown |= {"now": now} if now != row.source else {}
    return shown


def _show_request(call: Call, secrets: "Secrets") -> dict[str, Json]:
    def mask_and_cut(text: str) -> str:  # masked before it is cut, which could halve a key
        return truncate(secrets.mask_text(text), _SAID)

    usual = asdict(Options())
    options = {
        name: value
        for name, value in asdict(call.options).items()
        if value != usual[name] and name not in _UNSENT_OPTIONS
    }
    shown = {
        "messages": [{**_show_message(message), "text": mask_and_cut(message.text)} for message in call.messages],
        "prompts": [mask_and_cut(prompt.text) for prompt in call.prompts],
        "tools": [{"name": t.name, "description": t.description, "parameters": t.parameters} for t in call.tools],
        "stream": call.stream,
        "options": options,
        "fingerprint": call.fingerprint,
    }
    return drop_empty(shown, ("prompts", "options"))


# They tell how a request is read here, not what it asks for.
_UNSENT_OPTIONS = ("bare_functions", "usual_tokens", "strict_schema", "lenient_schema", "overflow")


def _show_message(message: Message) -> dict[str, Json]:
    used = message.tool_calls
    calls = [{"id": each.id, "name": each.name, "arguments": each.arguments} for each in used]
    shown = {
        "role": message.role,
        "text": "",
        "name": message.name,
        "tool_calls": [each.name for each in used],
        "calls": calls,
        **({"tool_call_id": message.tool_call_id} if message.tool_call_id is not None else {}),
        "parts": list(map(_show_part, message.parts)),
        "cut": len(message.text) > _SAID,
    }
    return drop_empty(shown, ("name", "tool_calls", "calls", "parts", "cut"))


def _show_part(part: Mapping[str, Json]) -> dict[str, Json]:
    """Return what kind of part it is, its media type, and about how many bytes it has, if it holds them."""
    texts = dict(_walk_texts(part))
    data = max(texts.values(), key=len, default="")
    url = _DATA_URL.match(data)
    stated = next((texts[name] for name in _MEDIA_TYPES if name in texts), None)
    size = (len(data) - (url.end() if url else 0)) * 3 // 4 if url or _BASE64.fullmatch(data) else None
    return {"kind": str(part.get("type", "part")), "type": url[1] if url else stated, "size": size}


def _walk_texts(value: Json, name: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _walk_texts(inner, str(key))


_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)?[^,]{0,200},")
_BASE64 = re.compile(r"[\w+/-]{64,}={0,2}", re.ASCII)
_MEDIA_TYPES = ("media_type", "mime_type", "mimeType", "format")


def show_answer(row: Row) -> dict[str, Json]:
    """Return the answer as JSON, read from the bytes that were sent."""
    found = read_answer(row)
    choices = [
        drop_empty(
            {
                "parts": [_show_answered_part(part) for part in choice.parts],
                "finish": choice.finish or None,
                "annotations": list(choice.annotations),
                "filters": choice.filters,
            },
            ("annotations", "filters"),
        )
        for choice in found.choices
    ]
    done = found.complete and not found.broken and row.ended == "complete"
    return {
        "choices": choices,
        **({"error": found.error} if found.error is not None else {}),
        **({"prompt_filters": found.prompt_filters} if found.prompt_filters else {}),
        "whole": done and sum(len(data) for _, data in row.sent) == row.size,
    }


def _show_answered_part(part: ParsedPart) -> dict[str, Json]:
    if part.call is not None:
        return {"kind": "call", "call": {"name": part.call.name, "arguments": part.call.text}}
    return {"kind": part.kind, **({"text": part.text} if part.item is None else {"item": part.item})}


def _explain_answer(row: Row, call: Call, secrets: "Secrets") -> dict[str, Json]:
    if row.source == "invalid":
        return {}
    rules = [rule for rule in row.rules if isinstance(rule, Rule)]
    at = next((at for at, rule in enumerate(rules) if rule.source == row.source), len(rules))
    known: dict[str, Json] = {"tried": min(at + 1, len(rules))}
    if before := list(_find_before(rules[:at], call, row)):
        known["before"] = before
    if at < len(rules):
        return {**known, "findings": [_show_finding(each, secrets) for each in rules[at].when.explain(call)]}
    near = [
        (each, _suggest_change(each, call, secrets))
        for each in find_nearest(select_answering(rules, call), call, limit=_LOOKED_AT)
    ]
    near.sort(key=lambda each: not each[1])
    return {**known, "nearest": [_show_near(each, change, secrets) for each, change in near[:_NEAREST]]}


def _show_near(near: NearMiss, change: dict[str, Json], secrets: "Secrets") -> dict[str, Json]:
    rule = near.rule
    named = {"name": rule.name, "where": rule.where, "source": rule.source}
    why = {"why": explain_closed(rule)} if near.held == len(near.results) else {}
    return {**named, **why, **change, "findings": [_show_finding(each, secrets) for each in near.results]}


def _suggest_change(near: NearMiss, call: Call, secrets: "Secrets") -> dict[str, Json]:
    """Return the condition with which a rule would hold that misses by one."""
    change = find_change(near, call, secrets)
    return {} if change is None or change.value is None else {"change": f"{change.field}: {write_yaml(change.value)}"}


def _find_before(rules: Iterable[Rule], call: Call, row: Row) -> Iterator[dict[str, Json]]:
    """Yield the rules that held but did not answer, as they count calls."""
    for rule in rules:
        if rule.counts and rule.source not in row.modified_by and rule.when.holds(call) is not None:
            yield {"name": rule.name, "where": rule.where, "source": rule.source, "why": explain_closed(rule)}


_BEFORE_SPAN = 20  # characters that are shown before what differs


def _show_finding(result: ConditionResult, secrets: "Secrets") -> dict[str, Json]:
    """Show the result of a condition, and which characters of the shown text differ; `from` counts those cut before."""
    found = show_finding(result)
    found |= {"ignoring": list(result.ignoring)} if result.ignoring else {}
    if result.ok or is_secret(result):
        return found
    hints = [f"it would hold with {name}: true" for name in find_loosening(result)]
    hints += [f"the request has {result.elsewhere}"] if result.elsewhere else []
    found |= {"hint": " and ".join(hints)} if hints else {}
    text = result.actual
    span = find_span(result)
    if span is None or not isinstance(text, str) or secrets.mask_text(text) != text:
        return found
    start = max(0, span.start - _BEFORE_SPAN) if len(text) > SHOWN and span.stop > SHOWN else 0
    cut = text[start:]
    found |= {"actual": truncate(cut), "span": {"at": span.start - start, "size": min(len(span), SHOWN)}}
    return found | ({"from": start} if start else {})


def show_reply(row: Row, secrets: "Secrets") -> dict[str, Json]:
    """Return the reply as JSON: status, headers, and the body or each frame of a stream with its times."""
    cut_off = _describe_cut(sum(len(data) for _, data in row.sent), row.written)
    head = {"status": row.status or None, "headers": _merge_headers(row.reply_headers)}
    if not row.streams:
        (text,) = secrets.mask_events((b"".join(data for _, data in row.sent).decode("utf-8", "replace"),))
        return {**head, "body": try_parse(text, text or None), **cut_off}
    left = split_frames(row.sent)
    sent = list[Json]()
    before = row.began
    texts = secrets.mask_events([frame.text for frame in left])
    for frame, text, adds in zip(left, texts, _find_added_texts(row, texts), strict=True):
        event = {"event": frame.event} if frame.event else {}
        broken = {} if frame.whole else {"whole": False}
        times = {
            "at_ms": convert_to_milliseconds(frame.at - row.began),
            "gap_ms": convert_to_milliseconds(frame.at - before),
        }
        sent.append({**times, **event, **({"adds": adds} if adds else {}), "data": try_parse(text, text), **broken})
        before = frame.at
    return {**head, "frames": sent, **cut_off}


def _find_added_texts(row: Row, texts: Sequence[str]) -> list[str]:
    """Return the text that each frame adds to the answer."""
    from mockserver.cassettes.redaction.json_edit import join_deltas

    found = [""] * len(texts)
    form = find_format(row.dialect, row.operation, row.path)
    for joined in join_deltas(texts):
        for piece in joined.pieces:
            if "logprobs" not in piece.path and piece.path:
                found[piece.event] += piece.text
    for at, text in enumerate(texts if form in _ADD_UP else ()):
        if not found[at]:  # a text in one frame only, or a call
            said = parse_response(Recorded(200, frames=((0, write_event(Frame(text.encode()))),)), form).choices
            found[at] = "".join(part.text or (part.call.text if part.call else "") for c in said for part in c.parts)
    return found


_ADD_UP = ("chat", "completions", "contents", "lines")  # formats in which each event holds only what it adds


def _merge_headers(pairs: Iterable[tuple[str, str]]) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for name, value in pairs:
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found


def _describe_cut(kept: int, whole: int) -> dict[str, Json]:
    return {"cut_off": f"after {kept} of {whole} bytes"} if kept < whole else {}
