"""Errors that a rule answers with: a status, a short name, a free table, or a filter that trips on the prompt."""

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
from mockserver.rules.answer.context import Site, json_bytes
from mockserver.rules.nearest import shown
from mockserver.rules.schema import AnnotateSpec, ErrorSpec, FailedSpec, FilterSpec, HarmsSpec, RawSpec, ThenSpec
from mockserver.rules.templates import Recipe, fixed

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_BROKEN = re.compile(r"[\x00-\x1f\x7f]")
# They frame the answer or rule the connection, so that a word of a rule could break either for the next answer.
_OWN = frozenset(
    (
        *("connection", "content-length", "keep-alive", "proxy-connection"),
        *("te", "trailer", "transfer-encoding", "upgrade"),
    )
)


def compile_headers(table: Mapping[str, str | int] | None, site: Site) -> Headers:
    """The headers of a table, names in lower case; what cannot be one is told to `site`."""
    for name, value in (table or {}).items():
        for complaint in filter(None, (_name(name), _value(str(value)))):
            site.at(name).refuse(complaint)
        site.at(name).refuse_template(str(value))
    return tuple((name.lower(), str(value)) for name, value in (table or {}).items())


def _name(name: str) -> str | None:
    if not _TOKEN.fullmatch(name):
        return f"{shown(name)} cannot be the name of a header: only letters, digits and !#$%&'*+.^_`|~- may stand in it"
    if name.lower() in _OWN:
        return f'the server writes "{name.lower()}" itself; leave it out'
    return None


def _value(value: str) -> str | None:
    if _BROKEN.search(value):
        return f"{shown(value)} cannot be the value of a header: it must be one line without control characters"
    if not value.isascii() or value != value.strip():
        return f"{shown(value)} cannot be the value of a header: only ASCII, without spaces at its ends"
    return None


_OF: Mapping[str, tuple[str, ...]] = {
    "prompt": (*HARMS, *DETECTIONS_OF_PROMPT),
    "completion": (*HARMS, *DETECTIONS_OF_COMPLETION),
}


def verdicts(annotate: AnnotateSpec | None, trip: FilterSpec | None, on: str) -> Safety:
    """What filters say of the prompt or of the completion (`on`): a trip first, then what is only annotated."""
    tripped = (_tripped(trip),) if trip is not None and trip.on == on else ()
    harms: HarmsSpec | None = None if annotate is None else getattr(annotate, on)
    noted = () if harms is None else _noted(harms)
    return (*tripped, *(verdict for verdict in noted if all(verdict.category != t.category for t in tripped)))


def check_filter(trip: FilterSpec, site: Site) -> None:
    """Tell `site` of a trip that cannot be."""
    if trip.category not in _OF[trip.on]:
        other = "completion" if trip.on == "prompt" else "prompt"
        site.at("category").refuse(f'"{trip.category}" is found in the {other} only; write on: {other}')
    if trip.severity is not None and trip.category not in HARMS:
        site.at("severity").refuse_key(f'"{trip.category}" is found or not; it has no severity')
    if trip.after_tokens is not None and trip.on == "prompt":
        site.at("after_tokens").refuse_key(
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


def compile_error(then: ThenSpec, site: Site) -> Recipe[Failure]:
    """The failure that `error` states, with what stands beside it."""
    error, here = then.error, site.at("error")
    table = error if isinstance(error, ErrorSpec) else ErrorSpec()
    failure = _free(table, here) if isinstance(error, ErrorSpec) else _short(error, here)
    headers = compile_headers(then.headers, site.at("headers"))
    if then.retry_after is not None and table.retry_after is not None:
        site.at("retry_after").refuse_key('"retry_after" stands inside "error" already; keep one')
    retry_after = then.retry_after if table.retry_after is None else table.retry_after
    failure = replace(failure, retry_after=retry_after, headers=(*failure.headers, *headers))
    return _fresh(failure, here.at("message").text(table.message) if table.message is not None else None)


def compile_trip(then: ThenSpec, site: Site) -> Recipe[Failure]:
    """The failure of a content filter that trips on the prompt."""
    trip = then.content_filter
    assert trip is not None  # noqa: S101  # this kind of answer is chosen by it
    check_filter(trip, site.at("content_filter"))
    safety = verdicts(then.annotate, trip, "prompt")
    headers = compile_headers(then.headers, site.at("headers"))
    return _fresh(Failure("content_filter", details={"safety": safety}, headers=headers), None)


def compile_failed(failed: Literal[True] | FailedSpec | None, site: Site) -> Recipe[Broken | None]:
    """What breaks an answer off, after what it says."""
    if failed is None:
        return fixed(None)
    if not isinstance(failed, FailedSpec):
        return fixed(Broken())
    site.at("code").refuse_template(failed.code or "")
    broken = Broken(code=failed.code or Broken().code, event=failed.event is not None)
    if failed.message is None:
        return fixed(broken)
    return site.at("message").text(failed.message).into(lambda message: replace(broken, message=message))


def _fresh(failure: Failure, message: Recipe[str] | None) -> Recipe[Failure]:
    # A new one for every call: an exception collects the tracebacks of its travels.
    if message is None:
        return Recipe(lambda _: replace(failure))
    make = message.make
    return Recipe(lambda moment: replace(failure, message=make(moment)))


def _short(error: int | str | None, site: Site) -> Failure:
    if isinstance(error, str):
        return Failure(_reason(error, site))
    status = error or 0
    if not 400 <= status <= 599:
        site.refuse(f"{status} is the status of no error; write 400 to 599, or a table with a status and a message")
    return Failure(reason_of(status), status=status)


def _free(error: ErrorSpec, site: Site) -> Failure:
    if error.status is None and error.reason is None:
        site.refuse('"error" needs a status, such as {status: 429, message: Slow down}')
    reason = reason_of(error.status or 400) if error.reason is None else _reason(error.reason, site.at("reason"))
    return Failure(
        reason,
        status=error.status,
        code=error.code,
        kind=error.type,
        param=error.param,
        headers=compile_headers(error.headers, site.at("headers")),
    )


def _reason(name: str, site: Site) -> str:
    if name in _WORDS:
        return _WORDS[name]
    hint = did_you_mean(name, _WORDS) or f"; it is one of {', '.join(_WORDS)}"
    number = "; write the number without quotes" if name.isdecimal() else hint
    site.refuse(f'unknown error "{name[:60]}"{number}')
    return "server_error"


_OURS = (
    *("missing_key", "unmatched", "route_not_found", "method_not_allowed", "bad_json"),
    *("not_found", "previous_not_found", "not_cancellable", "unsupported"),
    *("key_not_allowed", "model_not_allowed", "over_limit"),
)
# The short names of errors, and the reasons that they stand for.
_WORDS: Mapping[str, str] = {name: name for name in REASONS if name not in _OURS}


def compile_raw(raw: RawSpec, site: Site) -> Recipe[Raw]:
    """The reply that `raw` states: nothing in it is a template, and nothing is added but a content type."""
    if raw.frames is not None and "body" in raw.model_fields_set:
        site.at("frames").refuse_key('"body" and "frames" are two bodies; keep one')
    headers = compile_headers(raw.headers, site.at("headers"))
    if all(name != "content-type" for name, _ in headers):
        headers = (*headers, ("content-type", _content_type(raw)))
    return fixed(_reply(raw, headers, site))


def _reply(raw: RawSpec, headers: Headers, site: Site) -> Raw:
    if raw.frames is not None:
        frames = tuple(_frame(frame, site.at("frames", at)) for at, frame in enumerate(raw.frames))
        return Raw(raw.status, headers, frames=frames)
    body = _bytes(raw.body, site.at("body")) if "body" in raw.model_fields_set else b""
    return Raw(raw.status, headers, body)


def _frame(value: Json, site: Site) -> Frame | bytes:
    """Text is sent as it is; any other value is the JSON of an event."""
    return _bytes(value, site) if isinstance(value, str) else Frame(json_bytes(value, site))


def _content_type(raw: RawSpec) -> str:
    if raw.frames is not None:
        return "text/event-stream"
    return "text/plain; charset=utf-8" if isinstance(raw.body, str | None) else "application/json"


def _bytes(value: Json, site: Site) -> bytes:
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else json_bytes(value, site)
