"""Compiles errors and raw replies: a status, a short name, a table, a filter that trips on the prompt, raw bytes."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from mockserver.config.source import did_you_mean
from mockserver.core.http import Frame, Headers
from mockserver.core.json import Json
from mockserver.core.plan import (
    DETECTIONS_OF_COMPLETION,
    DETECTIONS_OF_PROMPT,
    HARMS,
    REASONS,
    Broken,
    Failure,
    Raw,
    Safety,
    Verdict,
    reason_of,
)
from mockserver.core.text import shown
from mockserver.rules.schema import AnnotateSpec, ErrorSpec, FailedSpec, FilterSpec, HarmsSpec, RawSpec, ThenSpec
from mockserver.rules.templates import CompileContext, Compiled, constant, json_bytes

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_BROKEN = re.compile(r"[\x00-\x1f\x7f]")
# They frame the answer or control the connection, so a rule that sets them could break the next answer.
_OWN = frozenset(
    (
        *("connection", "content-length", "keep-alive", "proxy-connection"),
        *("te", "trailer", "transfer-encoding", "upgrade"),
    )
)


def compile_headers(table: Mapping[str, str | int] | None, context: CompileContext) -> Headers:
    """Compile the headers of a table, names in lower case; invalid ones are reported to `context`."""
    for name, value in (table or {}).items():
        for complaint in filter(None, (_name(name), _value(str(value)))):
            context.at(name).refuse(complaint)
        context.at(name).refuse_template(str(value))
    return tuple((name.lower(), str(value)) for name, value in (table or {}).items())


def _name(name: str) -> str | None:
    if not _TOKEN.fullmatch(name):
        return f"{shown(name)} is not a valid header name: use only letters, digits and !#$%&'*+.^_`|~-"
    if name.lower() in _OWN:
        return f'the server writes "{name.lower()}" itself; leave it out'
    return None


def _value(value: str) -> str | None:
    if _BROKEN.search(value):
        return f"{shown(value)} is not a valid header value: it must be one line without control characters"
    if not value.isascii() or value != value.strip():
        return f"{shown(value)} is not a valid header value: use ASCII without leading or trailing spaces"
    return None


_OF: Mapping[str, tuple[str, ...]] = {
    "prompt": (*HARMS, *DETECTIONS_OF_PROMPT),
    "completion": (*HARMS, *DETECTIONS_OF_COMPLETION),
}


def verdicts(annotate: AnnotateSpec | None, trip: FilterSpec | None, on: str) -> Safety:
    """Return the filter verdicts for the prompt or the completion (`on`): a trip first, then annotations."""
    tripped = (_tripped(trip),) if trip is not None and trip.on == on else ()
    harms: HarmsSpec | None = None if annotate is None else getattr(annotate, on)
    noted = () if harms is None else _noted(harms)
    return (*tripped, *(verdict for verdict in noted if all(verdict.category != t.category for t in tripped)))


def check_filter(trip: FilterSpec, context: CompileContext) -> None:
    """Report an impossible trip."""
    if trip.category not in _OF[trip.on]:
        other = "completion" if trip.on == "prompt" else "prompt"
        context.at("category").refuse(f'"{trip.category}" applies to the {other} only; write on: {other}')
    if trip.severity is not None and trip.category not in HARMS:
        context.at("severity").refuse_key(f'"{trip.category}" is detected or not; it has no severity')
    if trip.after_tokens is not None and trip.on == "prompt":
        context.at("after_tokens").refuse_key(
            '"after_tokens" counts the completion\'s tokens; with on: prompt there is none'
        )


def _tripped(trip: FilterSpec) -> Verdict:
    if trip.category in HARMS:
        return Verdict(trip.category, trip.severity or "high", filtered=True)
    return Verdict(trip.category, filtered=True, detected=True)


def _noted(harms: HarmsSpec) -> Safety:
    said = harms.model_dump(exclude_none=True)
    return tuple(
        Verdict(category, severity) if category in HARMS else Verdict(category, detected=severity)
        for category, severity in said.items()
    )


def compile_error(then: ThenSpec, context: CompileContext) -> Compiled[Failure]:
    """Compile `error` and the keys that go with it."""
    error, here = then.error, context.at("error")
    table = error if isinstance(error, ErrorSpec) else ErrorSpec()
    failure = _free(table, here) if isinstance(error, ErrorSpec) else _short(error, here)
    headers = compile_headers(then.headers, context.at("headers"))
    if then.retry_after is not None and table.retry_after is not None:
        context.at("retry_after").refuse_key('"retry_after" is already inside "error"; keep one')
    retry_after = then.retry_after if table.retry_after is None else table.retry_after
    failure = replace(failure, retry_after=retry_after, headers=(*failure.headers, *headers))
    return _fresh(failure, here.at("message").text(table.message) if table.message is not None else None)


def compile_trip(then: ThenSpec, context: CompileContext) -> Compiled[Failure]:
    """Compile a content filter that trips on the prompt."""
    trip = then.content_filter
    assert trip is not None  # noqa: S101  # it decides this kind of answer
    check_filter(trip, context.at("content_filter"))
    safety = verdicts(then.annotate, trip, "prompt")
    headers = compile_headers(then.headers, context.at("headers"))
    return _fresh(Failure("content_filter", details={"safety": safety}, headers=headers), None)


def compile_failed(failed: Literal[True] | FailedSpec | None, context: CompileContext) -> Compiled[Broken | None]:
    """Compile what breaks an answer off after its text."""
    if failed is None:
        return constant(None)
    if not isinstance(failed, FailedSpec):
        return constant(Broken())
    context.at("code").refuse_template(failed.code or "")
    broken = Broken(code=failed.code or Broken().code, event=failed.event is not None)
    if failed.message is None:
        return constant(broken)
    return context.at("message").text(failed.message).into(lambda message: replace(broken, message=message))


def _fresh(failure: Failure, message: Compiled[str] | None) -> Compiled[Failure]:
    # A new one for every call: an exception collects tracebacks.
    if message is None:
        return Compiled(lambda _: replace(failure))
    make = message.make
    return Compiled(lambda scope: replace(failure, message=make(scope)))


def _short(error: int | str | None, context: CompileContext) -> Failure:
    if isinstance(error, str):
        return Failure(_reason(error, context))
    status = error or 0
    if not 400 <= status <= 599:
        context.refuse(f"{status} is not an error status; write 400 to 599, or a table with a status and a message")
    return Failure(reason_of(status), status=status)


def _free(error: ErrorSpec, context: CompileContext) -> Failure:
    if error.status is None and error.reason is None:
        context.refuse('"error" needs a status, such as {status: 429, message: Slow down}')
    reason = reason_of(error.status or 400) if error.reason is None else _reason(error.reason, context.at("reason"))
    return Failure(
        reason,
        status=error.status,
        code=error.code,
        kind=error.type,
        param=error.param,
        headers=compile_headers(error.headers, context.at("headers")),
    )


def _reason(name: str, context: CompileContext) -> str:
    if name in _WORDS:
        return _WORDS[name]
    hint = did_you_mean(name, _WORDS) or f"; it is one of {', '.join(_WORDS)}"
    number = "; write the number without quotes" if name.isdecimal() else hint
    context.refuse(f'unknown error "{name[:60]}"{number}')
    return "server_error"


_OURS = (
    *("missing_key", "unmatched", "route_not_found", "method_not_allowed", "bad_json"),
    *("not_found", "previous_not_found", "not_cancellable", "unsupported"),
    *("key_not_allowed", "model_not_allowed", "over_limit"),
)
# The short names of errors, and their reasons.
_WORDS: Mapping[str, str] = {name: name for name in REASONS if name not in _OURS}


def compile_raw(raw: RawSpec, context: CompileContext) -> Compiled[Raw]:
    """Compile a raw reply: without templates, and with nothing added but a content type."""
    if raw.frames is not None and "body" in raw.model_fields_set:
        context.at("frames").refuse_key('"body" and "frames" are two bodies; keep one')
    headers = compile_headers(raw.headers, context.at("headers"))
    if all(name != "content-type" for name, _ in headers):
        headers = (*headers, ("content-type", _content_type(raw)))
    return constant(_reply(raw, headers, context))


def _reply(raw: RawSpec, headers: Headers, context: CompileContext) -> Raw:
    if raw.frames is not None:
        frames = tuple(_frame(frame, context.at("frames", at)) for at, frame in enumerate(raw.frames))
        return Raw(raw.status, headers, frames=frames)
    body = _bytes(raw.body, context.at("body")) if "body" in raw.model_fields_set else b""
    return Raw(raw.status, headers, body)


def _frame(value: Json, context: CompileContext) -> Frame | bytes:
    return _bytes(value, context) if isinstance(value, str) else Frame(json_bytes(value, context))


def _content_type(raw: RawSpec) -> str:
    if raw.frames is not None:
        return "text/event-stream"
    return "text/plain; charset=utf-8" if isinstance(raw.body, str | None) else "application/json"


def _bytes(value: Json, context: CompileContext) -> bytes:
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else json_bytes(value, context)
