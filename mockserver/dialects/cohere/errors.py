"""Cohere's errors (https://docs.cohere.com/reference/errors): an id and a message, and the headers of all replies."""

from collections.abc import Mapping

from pydantic_core import from_json

from mockserver.core.call import Call
from mockserver.core.frames import Frame
from mockserver.core.http import HeaderLines, HttpRequest, Reply
from mockserver.core.plan import Failure
from mockserver.core.rates import Standings
from mockserver.dialects._errors import (
    UNSUPPORTED_MESSAGES,
    ErrorRow,
    make_bare_row,
    make_error_rows,
    make_plain_errors,
    write_retry_lines,
)
from mockserver.dialects._parse import (
    Complaint,
    Refuse,
    clip,
    join_words,
    name_json_type,
    read_bearer,
    reword_unreadable,
)
from mockserver.dialects._reply import make_json_reply, make_request_hex, make_request_uuid
from mockserver.wire.cohere import break_off
from mockserver.wire.cohere_v1 import break_off_line

EMPTY_MESSAGE = "message must be at least 1 token long or tool results must be specified."


def make_refuse(page: str) -> Refuse:
    """Return the function that words complaints for an endpoint; `page` is its page of Cohere's reference."""

    def refuse(complaint: Complaint) -> Failure:
        reason = "unprocessable" if complaint.kind == "unknown" else "bad_parameter"
        return Failure(reason, message=_word_complaint(complaint, page), param=complaint.where or None)

    return refuse


def _word_complaint(complaint: Complaint, page: str) -> str:
    where = complaint.where
    bound = complaint.bound
    if complaint.message is not None:
        return f"invalid request: {complaint.message}"
    match complaint.kind:
        case "missing":
            return f"invalid request: {where} is required."
        case "unknown":
            usage = f"For proper usage, please refer to https://docs.cohere.com/{page.partition('/')[2]}"
            return f"unknown field: parameter '{clip(str(complaint.path[-1]))}' is not a valid field. {usage}"
        case "type":
            got = _GOT.get(name_json_type(complaint.got), "null")
            wanted = " or ".join([_WANTED.get(each, each) for each in complaint.expected])
            usage = f"For proper usage, please refer to https://docs.cohere.com/{page}"
            return f"invalid type: parameter '{where}' is of type {got} but should be of type {wanted}. {usage}"
        case "value":
            allowed = join_words([f"'{value}'" for value in complaint.expected], "or")
            return f"invalid request: {where} must be {allowed}, not '{clip(str(complaint.got))}'."
        case "below" | "above" as side:
            return f"invalid request: {where} must be {'at least' if side == 'below' else 'at most'} {bound:g}."
        case "short":
            return f"invalid request: {where} must not be empty."
        case "long":
            count = len(complaint.got)
            return f"invalid request: total number of {where} must be at most {bound} - received {count}."
    return f"invalid request: {where} has an invalid format."


_GOT = {
    "a string": "string",
    "a boolean": "bool",
    "an integer": "number",
    "a decimal": "number",
    "an array": "array",
    "an object": "object",
}
_WANTED = {
    "a string": "string",
    "a boolean": "bool",
    "an integer": "int",
    "a decimal": "float",
    "an array": "[]Object",
    "an object": "Object",
}


def write_header_lines(http: HttpRequest, call: Call | None) -> str:
    """Return the header lines of all replies."""
    return f"x-debug-trace-id: {make_request_hex(http, call)}\r\n"


def fail(http: HttpRequest, failure: Failure, call: Call | None) -> Reply:
    failure = reword_unreadable(
        failure, "invalid json syntax: ", "invalid request: the content type must be application/json."
    )
    resolved = ERRORS.resolve(failure, http, call)
    stated = {"type": failure.kind, "code": failure.code}  # not Cohere's; a rule may state them
    body = {"id": make_request_uuid(http, call), "message": resolved.message}
    body |= {key: str(value) for key, value in stated.items() if value is not None}
    lines = write_header_lines(http, call) + write_retry_lines(failure, in_ms=True)
    return make_json_reply(resolved.status, body, lines=lines, headers=failure.headers)


def make_error_event(failed: Reply, last: bytes) -> Frame:
    """Return the event that ends a stream of v2 which fails."""
    return break_off(str(from_json(failed.body)["message"]))


def make_old_error_event(failed: Reply, last: bytes) -> Frame:
    """Return the line that ends a stream of v1 which fails."""
    return break_off_line(str(from_json(failed.body)["message"]))


def write_rate_limits(standings: Standings) -> HeaderLines:
    """Return the headers of trial keys: the limit of calls, and how many are left."""
    calls = standings.requests
    if calls is None:
        return HeaderLines()
    return HeaderLines(
        f"x-trial-endpoint-call-limit: {calls.limit}\r\nx-trial-endpoint-call-remaining: {calls.left}\r\n"
    )


BLOCKED = 498  # a prompt or an answer that is blocked
_RATE = (
    "You are using a Trial key, which is limited to {most} API calls / {window}. You can continue to use the Trial key "
    "for free or upgrade to a Production key with higher rate limits at 'https://dashboard.cohere.com/api-keys'."
)
MESSAGES: Mapping[str, str] = {
    "bad_json": "invalid json syntax: the body is not valid JSON.",
    "bad_parameter": "invalid request: a parameter has a value that is not supported.",
    "content_filter": "The request was blocked by our safety system.",
    "context_length": (
        "too many tokens: total number of tokens in the prompt cannot exceed {limit} - received {tokens}. "
        "Try using a shorter prompt."
    ),
    "completion_too_long": (
        "too many tokens: size limit exceeded by {tokens} tokens of prompt and max_tokens; the limit is {limit}. "
        "Try using shorter or fewer inputs, or setting a smaller max_tokens."
    ),
    "unsupported": "invalid request: this is not supported with this model.",
    "invalid_key": "invalid api token",
    "missing_key": "no api key supplied",
    "billing": "Please add or update your payment method at https://dashboard.cohere.com/billing.",
    "forbidden": "Your API key does not have permission to use this resource.",
    "model_not_found": (
        "model '{model}' not found, make sure the correct model ID was used and that you have access to the model."
    ),
    "not_found": "not found",
    "route_not_found": "endpoint {method} {path} not found",
    "rate_limit": _RATE,
    "quota": (
        "You are using a Trial key, which is limited to 1000 API calls / month. You can upgrade to a Production key at "
        "'https://dashboard.cohere.com/api-keys'."
    ),
    "server_error": "internal server error, this has been reported to our developers.",
    "overloaded": "The service is temporarily unavailable, please try again.",
}
UNSUPPORTED: Mapping[str, str] = {
    **UNSUPPORTED_MESSAGES,
    "parameter": "invalid request: {param} is not supported by the provided model.",
    "value": "invalid request: {param} is not supported by the provided model.",
    "max_tokens": "invalid request: {param} is not supported by the provided model.",
    "vision": "invalid request: images are not supported by the provided model.",
    "json_schema": "invalid request: response_format is not supported by the provided model.",
    "max_output_tokens": "invalid request: max_tokens must be at most {limit}, not {asked}.",
}
ERRORS = make_plain_errors(
    make_error_rows(make_bare_row, content_filter=ErrorRow(status=BLOCKED)),
    MESSAGES,
    read_credential=read_bearer,
    unsupported=UNSUPPORTED,
)
