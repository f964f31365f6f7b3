"""Anthropic's errors, and the headers of its replies (https://platform.claude.com/docs/en/api/errors)."""

from collections.abc import Mapping
from math import ceil

from pydantic_core import to_json

from mockserver.core.call import Call
from mockserver.core.frames import Frame
from mockserver.core.http import HeaderLines, HttpRequest, Reply
from mockserver.core.json import compact
from mockserver.core.plan import Failure
from mockserver.core.rates import Standing, Standings
from mockserver.core.seed import Seed, wall
from mockserver.dialects._errors import (
    INVALID_REQUEST,
    ErrorBody,
    ErrorRow,
    make_bare_row,
    make_error_rows,
    make_plain_errors,
)
from mockserver.dialects._parse import read_bearer
from mockserver.dialects._reply import make_request_hex
from mockserver.wire.parts import write_moment


def read_credential(http: HttpRequest) -> str | None:
    """Return the key of a request, or its bearer token."""
    return http.find_header("x-api-key") or read_bearer(http)


def write_request_id(http: HttpRequest, call: Call | None) -> str:
    """Return the header line with the id of a request."""
    return f"request-id: {make_request_id(http, call)}\r\n"


def make_request_id(http: HttpRequest, call: Call | None) -> str:
    """Return the id of a request, which follows from its contents."""
    return _draw_request_id(make_request_hex(http, call))


_draw_request_id = Seed().make_drawer("req_01", "base58", 22, "request")


def refuse(message: str) -> Failure:
    """Return the Failure of a request that Anthropic refuses in these words."""
    return Failure("bad_parameter", message)


def make_error_body(http: HttpRequest, failure: Failure, call: Call | None) -> ErrorBody:
    """Return the status and body of an error in Anthropic's words."""
    if failure.status == 529 and failure.reason == "server_error":
        failure = failure.replace(reason="overloaded")
    if failure.reason == "too_large" and call is None:  # the server's own words, which name its limit
        failure = failure.replace(message=None)
    if (place := _word_schema_failure(failure, call)) is not None:
        failure = failure.replace(message=place, param="")
    resolved = ERRORS.resolve(failure, http, call)
    kind = failure.kind or _TYPES.get(resolved.status) or (INVALID_REQUEST if resolved.status < 500 else "api_error")
    message = resolved.message.replace(*_JSON_WORDING)
    if failure.reason == "invalid_key" and failure.message is None and http.find_header("x-api-key") is None:
        message = "Invalid bearer token"
    details = {} if resolved.code is None else {"details": {"error_code": resolved.code}}
    error = {"type": kind, "message": message, **details}
    return ErrorBody(resolved.status, {"type": "error", "error": error, "request_id": make_request_id(http, call)})


def _word_schema_failure(failure: Failure, call: Call | None) -> str | None:
    """Return what is wrong with a schema, and where."""
    schema = failure.details.get("schema")
    if call is None or schema is None:
        return None
    written = compact(schema)  # as JSON: to Python, 1 and true are equal
    named = (
        f"tools.{at}.custom.input_schema" for at, tool in enumerate(call.tools) if compact(tool.parameters) == written
    )
    return f"{next(named, 'output_config.format.schema')}: {failure.details.get('why')}"


def make_error_event(failed: Reply, last: bytes) -> Frame:
    """Return the event with which a stream fails."""
    data = failed.body
    if not data.startswith(b'{"type":"error"'):  # a refusal as a message, which cannot follow one that has begun
        request = next(value for name, value in failed.headers if name == "request-id")
        error = {"type": INVALID_REQUEST, "message": _BLOCKED}
        data = to_json({"type": "error", "error": error, "request_id": request})
    return Frame(data, "error", part="finish")


def write_rate_limits(standings: Standings) -> HeaderLines:
    """Return limit, remaining amount and reset of requests, and of tokens under each of Anthropic's names."""
    lines = "" if standings.requests is None else _write_three("requests", standings.requests, standings.requests.left)
    tokens = standings.tokens
    if tokens is not None:
        left = _round_left(tokens)
        lines += "".join([_write_three(f"{kind}tokens", tokens, left) for kind in ("", "input-", "output-")])
    return HeaderLines(lines)


def _write_three(name: str, standing: Standing, left: int) -> str:
    return (
        f"anthropic-ratelimit-{name}-limit: {standing.limit}\r\n"
        f"anthropic-ratelimit-{name}-remaining: {left}\r\n"
        f"anthropic-ratelimit-{name}-reset: {write_moment(ceil(wall() + standing.reset))}\r\n"
    )


def _round_left(tokens: Standing) -> int:
    """Return the remaining amount, rounded to thousands unless the limit is lower."""
    return tokens.left if tokens.limit < _ROUND else min((tokens.left + _ROUND // 2) // _ROUND * _ROUND, tokens.limit)


_ROUND = 1000
_BLOCKED = "Output blocked by content filtering policy"
_JSON_WORDING = ("We could not parse the JSON body of your request:", "The request body is not valid JSON:")
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
ROWS = make_error_rows(
    make_bare_row,
    previous_not_found=ErrorRow(status=404, code="thread_not_found"),
    quota=ErrorRow(status=400),
    timeout=ErrorRow(status=504),
    overloaded=ErrorRow(status=529),
)
_RATE = (
    "This request would exceed your organization's rate limit of {most} {kind} per {window} (org: mockserver, model: "
    "{model}). For details, refer to: https://docs.claude.com/en/api/rate-limits. You can see the response headers for "
    "current usage. Please reduce the prompt length or the maximum tokens requested, or try again later. You may also "
    "contact sales at https://www.anthropic.com/contact-sales to discuss your options for a rate limit increase."
)
_TIMEOUT = "The request timed out."
MESSAGES: Mapping[str, str] = {
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
    "model_not_found": "model: {model}",
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
ERRORS = make_plain_errors(ROWS, MESSAGES, read_credential=read_credential, unsupported=UNSUPPORTED)
