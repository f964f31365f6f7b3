"""Replies of the Messages API: messages, token counts, models in pages, errors, and the headers of each."""

from collections.abc import Mapping, Sequence
from math import ceil

from pydantic_core import to_json

from mockserver.core.call import Call
from mockserver.core.http import Frame, Headers, HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.plan import Answer, Choice, Failure, Models, Stored, Usage
from mockserver.core.rates import Standing, Standings
from mockserver.core.seed import Seed, wall
from mockserver.dialects._errors import (
    INVALID_REQUEST,
    PLAIN_PERMISSION_MESSAGES,
    ErrorRow,
    ErrorTable,
    error_rows,
    retry_lines,
)
from mockserver.dialects._parse import Body, bearer
from mockserver.dialects._reply import EVENT_TYPE, answer_reply, json_reply, moment, request_hex
from mockserver.dialects.anthropic.models import refuse
from mockserver.dialects.anthropic.replay import defer_prefix
from mockserver.wire.anthropic import MessageOptions, MessageRenderer, compact_answer


def credential(http: HttpRequest) -> str | None:
    return http.header("x-api-key") or bearer(http)


def request_id_line(http: HttpRequest, call: Call | None) -> str:
    return f"request-id: {request_id(http, call)}\r\n"


def request_id(http: HttpRequest, call: Call | None) -> str:
    return _request_id(request_hex(http, call))


_request_id = Seed().drawer("req_01", "base58", 22, "request")


def render_message(call: Call, outcome: Answer) -> Reply:
    shown, options = prepare_message(call, outcome)
    own = request_id_line(call.http, call)
    return answer_reply(shown, _MESSAGES, options, own, stream=call.stream, stream_lines=EVENT_TYPE)


def prepare_message(call: Call, answer: Answer) -> tuple[Answer, MessageOptions]:
    """Return what a message shows of an answer, and what its request wants."""
    options = message_options(call)
    return (answer, options) if call.raw.get("compaction") is None else compact_answer(answer, options)


def message_options(call: Call) -> MessageOptions:
    raw, prefix = call.raw, defer_prefix(call)
    if _SHOWN.isdisjoint(raw):
        return MessageOptions(prefix=prefix)
    shown = (raw.get("thinking") or {}).get("display") != "omitted"
    usage = {key: raw[key] for key in ("inference_geo", "speed") if raw.get(key) is not None}
    extra: dict[str, Json] = {}
    if raw.get("diagnostics") is not None:
        extra["diagnostics"] = {"cache_miss_reason": None}
    if raw.get("container") is not None:
        extra["container"] = _render_container(raw["container"], call)
    if raw.get("context_management") is not None:
        extra["context_management"] = {"applied_edits": []}
    kinds = [str(tool.get("type")) for tool in raw.get("tools", ())]
    toolset = next((name for name in ("computer", "browser") for kind in kinds if f"{name}_toolset" in kind), "")
    if not toolset:
        return MessageOptions(shown, usage, extra, prefix=prefix)
    names = frozenset(str(tool.get("name")) for tool in raw["tools"])
    return MessageOptions(shown, usage, extra, toolset, names, prefix)


# Fields that an answer depends on.
_SHOWN = frozenset(("thinking", "inference_geo", "speed", "diagnostics", "container", "context_management", "tools"))


def _render_container(stated: Json, call: Call) -> Body:
    table: Body = {"id": stated} if isinstance(stated, str) else stated
    made = f"container_01{Seed().base58(22, 'container', call.fingerprint)}"
    skills = [{"version": "latest", **skill} for skill in table.get("skills") or ()] or None
    return {"id": table.get("id") or made, "expires_at": "2027-01-01T00:00:00Z", "skills": skills}


def render_count(call: Call, stored: Stored) -> Reply:
    counted = stored.answer.usage.prompt
    managed = {"context_management": {"original_input_tokens": counted}} if call.raw.get("context_management") else {}
    return json_reply(200, {"input_tokens": counted, **managed}, request_id_line(call.http, call))


def page(entries: Sequence[Body], http: HttpRequest) -> dict[str, Json]:
    """Return the part of a list that a query asks for: `limit` entries after, or before, one of them."""
    limit = integer_in("limit", http.query.get("limit", "20"), 1, _LARGEST_PAGE)
    names = [entry["id"] for entry in entries]
    start, end = 0, len(entries)
    if (after := http.query.get("after_id")) is not None:
        start = names.index(after) + 1 if after in names else end
    if (before := http.query.get("before_id")) is not None:
        end = names.index(before) if before in names else 0
        start = max(start, end - limit)
    shown = entries[start:end][:limit]
    more = start > 0 if before is not None else start + limit < end
    first, last = (shown[0]["id"], shown[-1]["id"]) if shown else (None, None)
    return {"data": list(shown), "has_more": more, "first_id": first, "last_id": last}


def integer_in(name: str, text: str, least: int, most: int) -> int:
    try:
        number = int(text)
    except ValueError:
        raise refuse(f"{name}: Input should be a valid integer, unable to parse string as an integer") from None
    if not least <= number <= most:
        side = f"greater than or equal to {least}" if number < least else f"less than or equal to {most}"
        raise refuse(f"{name}: Input should be {side}")
    return number


def render_models(call: Call, outcome: Models) -> Reply:
    wanted = call.http.query.get("lifecycle[]", "active").split(",")
    if not _LIFECYCLES.issuperset(wanted):
        raise refuse("lifecycle: Input should be 'active', 'deprecated' or 'retired'")
    known = zip(outcome.names, outcome.limits, strict=True) if call.operation == "model" or "active" in wanted else ()
    listed = [_render_model(name, outcome.created, *limits) for name, limits in known]
    body = listed[0] if call.operation == "model" else page(listed, call.http)
    return json_reply(200, body, request_id_line(call.http, call))


def _render_model(name: str, created: int, window: int | None, output: int | None) -> dict[str, Json]:
    words = name.split("-")
    named = [*(word.capitalize() for word in words if not word.isdigit()), ".".join(filter(str.isdigit, words))]
    return {
        "type": "model",
        "id": name,
        "display_name": " ".join(filter(None, named)),
        "created_at": moment(created),
        "lifecycle": "active",
        "line": next((line for line in ("haiku", "sonnet", "opus", "fable", "mythos") if line in words), None),
        "max_input_tokens": window or 200_000,
        "max_tokens": output or 64_000,
        "capabilities": None,
        "deprecated_at": None,
        "retires_at": None,
    }


def fail(http: HttpRequest, failure: Failure, call: Call | None) -> Reply:
    if call is not None and (answer := refusal_of(failure, call)):
        return render_message(call, answer)
    body, status = error_body(http, failure, call)
    again = "x-should-retry: true\r\n" if status == 429 else ""
    own = request_id_line(http, call) + retry_lines(failure) + again
    return json_reply(status, body, own, failure.headers)


def refusal_of(failure: Failure, call: Call) -> Answer | None:
    """Return the answer to a filtered prompt: no error, but a message that ends before it begins."""
    if failure.reason != "content_filter" or failure.status is not None or call.operation != "chat":
        return None
    named = call.ids.prefix + Seed().base58(call.ids.length, "refusal", call.fingerprint)
    choice = Choice((), "content_filter", safety=failure.details.get("safety", ()))
    return Answer(
        named, 0, model=call.model, choices=(choice,), usage=Usage(call.prompt_tokens), headers=failure.headers
    )


def error_body(http: HttpRequest, failure: Failure, call: Call | None) -> tuple[dict[str, Json], int]:
    if failure.status == 529 and failure.reason == "server_error":
        failure = failure.changed(reason="overloaded")
    if failure.reason == "too_large" and call is None:  # the server's own words, which name its limit
        failure = failure.changed(message=None)
    if (place := _word_schema_failure(failure, call)) is not None:
        failure = failure.changed(message=place, param="")
    resolved = ERRORS.resolve(failure, http, call)
    kind = failure.kind or _TYPES.get(resolved.status) or (INVALID_REQUEST if resolved.status < 500 else "api_error")
    message = resolved.message.replace(*_OF_JSON)
    if failure.reason == "invalid_key" and failure.message is None and http.header("x-api-key") is None:
        message = "Invalid bearer token"
    details = {} if resolved.code is None else {"details": {"error_code": resolved.code}}
    error = {"type": kind, "message": message, **details}
    return {"type": "error", "error": error, "request_id": request_id(http, call)}, resolved.status


def _word_schema_failure(failure: Failure, call: Call | None) -> str | None:
    """Return what is wrong with a schema, and where."""
    schema = failure.details.get("schema")
    if call is None or schema is None:
        return None
    named = (f"tools.{at}.custom.input_schema" for at, tool in enumerate(call.tools) if tool.parameters is schema)
    return f"{next(named, 'output_config.format.schema')}: {failure.details.get('why')}"


def error_event(failed: Reply, frames: int) -> Frame:
    data = failed.body
    if not data.startswith(b'{"type":"error"'):  # a refusal, which is none once the message has begun
        request = next(value for name, value in failed.headers if name == "request-id")
        error = {"type": INVALID_REQUEST, "message": _BLOCKED}
        data = to_json({"type": "error", "error": error, "request_id": request})
    return Frame(data, "error", part="finish")


def rate_limit_headers(standings: Standings) -> Headers:
    """Return limit, remaining amount and reset of requests, and of tokens under each of Anthropic's names."""
    named = (("requests", standings.requests), *((f"{kind}tokens", standings.tokens) for kind in ("", *_KINDS)))
    return tuple(
        (f"anthropic-ratelimit-{name}-{key}", value)
        for name, standing in named
        if standing is not None
        for key, value in (
            ("limit", str(standing.limit)),
            ("remaining", str(standing.left if name == "requests" else _round_left(standing))),
            ("reset", moment(ceil(wall() + standing.reset))),
        )
    )


def _round_left(tokens: Standing) -> int:
    """Return the remaining amount, rounded to thousands unless the limit is lower."""
    return tokens.left if tokens.limit < _ROUND else min((tokens.left + _ROUND // 2) // _ROUND * _ROUND, tokens.limit)


_MESSAGES = MessageRenderer()
_KINDS, _ROUND = ("input-", "output-"), 1000
_LIFECYCLES = frozenset(("active", "deprecated", "retired"))
_LARGEST_PAGE = 1000
_BLOCKED = "Output blocked by content filtering policy"
_OF_JSON = ("We could not parse the JSON body of your request:", "The request body is not valid JSON:")
_TYPES: Mapping[int, str] = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_OWN = {"quota": ErrorRow(400), "timeout": ErrorRow(504), "overloaded": ErrorRow(529)}
ROWS = error_rows(ErrorRow, previous_not_found=ErrorRow(404, code="thread_not_found"), **_OWN)
_RATE = (
    "This request would exceed your organization's rate limit of {most} {kind} per {window} (org: mockserver, model: "
    "{model}). For details, refer to: https://docs.claude.com/en/api/rate-limits. You can see the response headers for "
    "current usage. Please reduce the prompt length or the maximum tokens requested, or try again later. You may also "
    "contact sales at https://www.anthropic.com/contact-sales to discuss your options for a rate limit increase."
)
_NO_MODEL, _TIMEOUT = "model: {model}", "The request timed out."
MESSAGES: Mapping[str, str] = {
    **PLAIN_PERMISSION_MESSAGES,
    "bad_json": "The request body is not valid JSON.",
    "bad_parameter": "Invalid request.",
    "content_filter": _BLOCKED,
    "context_length": "prompt is too long: {tokens} tokens > {limit} maximum",
    "completion_too_long": (
        "input length and `max_tokens` exceed context limit: {prompt} + {completion} > {limit}, "
        "decrease input length or `max_tokens` and try again"
    ),
    "unsupported": "This is not supported with this model.",
    "invalid_key": "invalid x-api-key",
    "missing_key": "x-api-key header is required",
    "billing": "There is an issue with your organization's billing.",
    "forbidden": "Your API key does not have permission to use the specified resource.",
    "model_not_found": _NO_MODEL,
    "unknown_model": _NO_MODEL,
    "not_found": "Not found",
    "previous_not_found": "Thread not found.",
    "not_cancellable": "The batch has ended.",
    "unmatched": "No rule answers this request.",
    "route_not_found": "Not found",
    "method_not_allowed": "Method Not Allowed",
    "timeout": _TIMEOUT,
    "conflict": "The resource was changed by another request.",
    "too_large": "Request exceeds the maximum allowed number of bytes.",
    "unsupported_media_type": "The content type must be application/json.",
    "unprocessable": "The request was well-formed, but could not be processed.",
    "rate_limit": _RATE,
    "over_limit": _RATE,
    "quota": (
        "Your credit balance is too low to access the Anthropic API. "
        "Please go to Plans & Billing to upgrade or purchase credits."
    ),
    "server_error": "Internal server error",
    "bad_gateway": "Bad gateway",
    "overloaded": "Overloaded",
    "gateway_timeout": _TIMEOUT,
}
UNSUPPORTED: Mapping[str, str] = {
    "parameter": "`{param}` is not supported for this model.",
    "value": "`{param}` is deprecated for this model.",
    "max_tokens": "`{param}` is not supported for this model.",
    "vision": "This model does not support image input.",
    "json_schema": "output_config.format: This model does not support structured outputs.",
    "max_output_tokens": (
        "max_tokens: {asked} > {limit}, which is the maximum allowed number of output tokens for {model}"
    ),
}
ERRORS = ErrorTable(ROWS, MESSAGES, credential=credential, unsupported=UNSUPPORTED)
