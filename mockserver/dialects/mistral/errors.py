"""Errors of Mistral: refusals of the service, of its schema and of the gateway, and the headers of replies."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from mockserver.core.call import Call
from mockserver.core.http import HeaderLines, HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.plan import Failure
from mockserver.core.rates import Standings
from mockserver.dialects._errors import (
    INVALID_REQUEST,
    ErrorRow,
    make_error_rows,
    make_plain_errors,
    write_retry_lines,
)
from mockserver.dialects._fastapi import describe_unreadable
from mockserver.dialects._parse import Complaint, read_bearer
from mockserver.dialects._reply import make_json_reply, make_request_hex, make_request_uuid


def write_header_lines(http: HttpRequest, call: Call | None) -> str:
    """Return the header lines of a reply."""
    return (
        f"mistral-correlation-id: {make_request_uuid(http, call)}\r\n"
        f"x-kong-request-id: {make_request_hex(http, call)}\r\n"
        "access-control-allow-origin: *\r\n"
    )


def write_rate_limits(standings: Standings) -> HeaderLines:
    """Return limit and remaining amount of requests and tokens in a minute, if they are limited."""
    kinds = (("req", standings.requests), ("tokens", standings.tokens))
    lines = [
        f"x-ratelimit-limit-{kind}-minute: {one.limit}\r\nx-ratelimit-remaining-{kind}-minute: {one.left}\r\n"
        for kind, one in kinds
        if one is not None
    ]
    return HeaderLines("".join(lines))


def fail(http: HttpRequest, failure: Failure, call: Call | None) -> Reply:
    """Return an error in the shape of the part of the service that refuses the request."""
    if (detail := describe_unreadable(http, failure)) is not None:
        failure = failure.replace(reason="unprocessable", message=detail["msg"], details={"detail": [detail]})
    resolved = ERRORS.resolve(failure, http, call)
    lines = write_header_lines(http, call) + write_retry_lines(failure)
    stated = failure.kind is not None or failure.code is not None or failure.param is not None
    if resolved.status == 401 and failure.message is None:
        body: dict[str, Json] = {"detail": "Unauthorized"}
    elif "detail" in failure.details:
        body = {key: failure.details[key] for key in ("detail", "description", "errors") if key in failure.details}
    elif failure.reason in ("route_not_found", "method_not_allowed") and not stated:
        body = {"message": resolved.message, "request_id": make_request_hex(http, call)}
    else:
        body = {
            "object": "error",
            "message": resolved.message,
            "type": resolved.kind,
            "param": resolved.param,
            "code": None if resolved.code is None else str(resolved.code),
            "raw_status_code": resolved.status,
        }
    return make_json_reply(resolved.status, body, lines=lines, headers=failure.headers)


def refuse(complaint: Complaint, part: str = "body") -> Failure:
    """Return the failure of a mistake in a part of a request: of the schema, with its place, or of the service."""
    if complaint.message is not None:
        return Failure("bad_parameter", complaint.message)
    return _refuse_listed((complaint,), part)


def refuse_unknown_fields(complaints: Iterable[Complaint]) -> None:
    """Raise the failure that lists all unknown fields, if there are some."""
    if found := tuple(complaints):
        raise _refuse_listed(found)


def _refuse_listed(complaints: Sequence[Complaint], part: str = "body") -> Failure:
    told: list[Json] = []
    for each in complaints:
        why = _word_complaint(each)
        loc: list[Json] = [part, *(each.loc or each.path)]
        told.append({"type": why.kind, "loc": loc, "msg": why.message, "input": each.got})
    first = complaints[0]
    return Failure("unprocessable", f"{first.where}: {_word_complaint(first).message}", details={"detail": told})


class _PydanticError(NamedTuple):
    kind: str
    message: str


def _word_complaint(complaint: Complaint) -> _PydanticError:
    """Return a complaint in Pydantic's words."""
    bound = complaint.bound
    match complaint.kind:
        case "missing":
            return _PydanticError("missing", "Field required")
        case "unknown":
            return _PydanticError("extra_forbidden", "Extra inputs are not permitted")
        case "value":
            *others, last = [f"'{value}'" for value in complaint.expected] or ["another value"]
            allowed = f"{', '.join(others)} or {last}" if others else last
            return _PydanticError("literal_error", f"Input should be {allowed}")
        case "below":
            return _PydanticError("greater_than_equal", f"Input should be greater than or equal to {bound:g}")
        case "above":
            return _PydanticError("less_than_equal", f"Input should be less than or equal to {bound:g}")
        case "short":
            return _PydanticError("too_short", f"Input should have at least {bound} items after validation")
        case "long":
            return _PydanticError("too_long", f"Input should have at most {bound} items after validation")
        case "pattern":
            return _PydanticError("string_pattern_mismatch", f"String should match pattern '{bound}'")
    name, words = _TYPES.get(complaint.expected[0], _TYPES["a string"])
    return _PydanticError(name, f"Input should be a valid {words}")


_TYPES = {
    "a string": ("string_type", "string"),
    "an integer": ("int_type", "integer"),
    "a decimal": ("float_type", "number"),
    "a boolean": ("bool_type", "boolean"),
    "an array": ("list_type", "list"),
    "an object": ("dict_type", "dictionary"),
}

ORDER = "invalid_request_message_order"
CALLS = "invalid_function_call"
_RATE_LIMIT = ErrorRow(status=429, kind="rate_limited", code="1300")
_MODEL = ErrorRow(status=400, kind="invalid_model", code="1500")
ROWS = make_error_rows(
    lambda status: ErrorRow(status=status, kind=INVALID_REQUEST if status < 500 else "internal_server_error"),
    context_length=ErrorRow(status=400, kind=INVALID_REQUEST, code="3051"),
    model_not_found=_MODEL,
    unknown_model=_MODEL,
    rate_limit=_RATE_LIMIT,
    over_limit=_RATE_LIMIT,
    quota=_RATE_LIMIT,
    overloaded=ErrorRow(status=503, kind="service_tier_capacity_exceeded", code="3505"),
    server_error=ErrorRow(status=500, kind="internal_server_error", code="1000"),
)
MESSAGES: Mapping[str, str] = {
    "bad_parameter": "Invalid request.",
    "content_filter": "The request was rejected by a guardrail.",
    "context_length": (
        "Prompt contains {tokens} tokens and 0 draft tokens, too large for model with {limit} maximum context length"
    ),
    "invalid_key": "Unauthorized",
    "billing": "You have to activate payments on your account to use this service.",
    "forbidden": "Forbidden",
    "model_not_found": "Invalid model: {model}",
    "route_not_found": "no Route matched with those values",
    "method_not_allowed": "Method Not Allowed",
    "rate_limit": "Rate limit exceeded",
    "quota": "Rate limit exceeded",
    "overloaded": "Service tier capacity exceeded for this model.",
    "server_error": "Service unavailable.",
}
ERRORS = make_plain_errors(ROWS, MESSAGES, read_credential=read_bearer)
