"""Crazyrouter: OpenAI's chat at its smallest, plus what the models behind the gateway add (`wire/crazyrouter.md`)."""

from collections.abc import Mapping

from mockserver.core.call import Call
from mockserver.core.http import Headers, HttpRequest, Reply
from mockserver.core.plan import Answer, Failure, Success
from mockserver.dialects import Dialect, Operation
from mockserver.dialects._chat.request import parse_chat
from mockserver.dialects._shared.error_messages import refuse_without_code
from mockserver.dialects._shared.errors import (
    OPENAI_MESSAGES,
    PLAIN_PERMISSION_MESSAGES,
    ErrorRow,
    ErrorTable,
    retry_after,
)
from mockserver.dialects._shared.parse import Complaint, bearer, read_object
from mockserver.dialects._shared.reply import (
    chat_reply,
    json_reply,
    merge_headers,
    model_operations,
    request_hex,
    with_headers,
)
from mockserver.dialects._shared.unsupported_features import PLAIN_UNSUPPORTED_MESSAGES
from mockserver.wire.chat import ChatLayout

NAME = "crazyrouter"


def _parse_chat(http: HttpRequest, strict: bool) -> Call:  # unknown fields go upstream, strict or not
    return parse_chat(http, read_object(http), dialect=NAME, refuse=_refuse)


def _refuse(complaint: Complaint) -> Failure:
    """The words for a bad parameter. They name it, as the envelope has no place for its name."""
    failure = refuse_without_code(complaint)
    if failure.message is None or complaint.where in failure.message:
        return failure
    return Failure("bad_parameter", f"{failure.message} (parameter: '{complaint.where}')")


def _render_chat(call: Call, outcome: Success) -> Reply:
    assert isinstance(outcome, Answer)  # noqa: S101  # the engine answers an operation in its own kind
    return with_headers(chat_reply(call, outcome, CHAT_LAYOUT), _headers(call.http, call))


def _fail(http: HttpRequest, failure: Failure, call: Call | None) -> Reply:
    said = ERRORS.say(failure, http, call)
    body = {"error": {"message": said.message, "type": said.kind, "code": said.code}}
    own = (*_headers(http, call), *retry_after(failure))
    return json_reply(said.status, body, merge_headers(own, failure.headers))


def _headers(http: HttpRequest, call: Call | None) -> Headers:
    return (("x-request-id", f"req_{request_hex(http, call)}"),)


CHAT_LAYOUT = ChatLayout(
    completion=("id", "object", "created", "model", "choices", "usage", "system_fingerprint"),
    choice=("index", "message", "logprobs", "finish_reason"),
    message=("role", "content", "reasoning_content", "refusal", "annotations", "tool_calls"),
    chunk=("id", "object", "created", "model", "choices", "usage"),
    chunk_choice=("index", "delta", "logprobs", "finish_reason"),
    optional=frozenset({"logprobs", "refusal", "annotations"}),
    system_fingerprint=True,
    opening={"role": "assistant", "content": ""},
    opening_of_call={"content": None},
)

_REQUEST = "invalid_request_error"
ROWS: Mapping[str, ErrorRow] = {
    "bad_json": ErrorRow(400, _REQUEST, "invalid_request"),
    "bad_parameter": ErrorRow(400, _REQUEST, "invalid_parameter"),
    "content_filter": ErrorRow(400, _REQUEST, "content_filter"),
    "context_length": ErrorRow(400, _REQUEST, "context_length_exceeded"),
    "invalid_key": ErrorRow(401, "authentication_error", "invalid_api_key"),
    "missing_key": ErrorRow(401, "authentication_error", "invalid_api_key"),
    "billing": ErrorRow(402, "insufficient_quota", "insufficient_quota"),
    "forbidden": ErrorRow(403, "insufficient_quota", "insufficient_quota"),
    "model_not_found": ErrorRow(503, "server_error", "model_not_found"),
    "unknown_model": ErrorRow(404, _REQUEST, "model_not_found"),
    "not_found": ErrorRow(404, _REQUEST, "not_found"),
    "unmatched": ErrorRow(404, _REQUEST, "not_found"),
    "route_not_found": ErrorRow(404, _REQUEST, "not_found"),
    "method_not_allowed": ErrorRow(405, _REQUEST, "method_not_supported"),
    "timeout": ErrorRow(408, _REQUEST, "timeout"),
    "conflict": ErrorRow(409, _REQUEST, "conflict"),
    "too_large": ErrorRow(413, _REQUEST, "request_too_large"),
    "unsupported_media_type": ErrorRow(415, _REQUEST, "unsupported_media_type"),
    "unprocessable": ErrorRow(422, _REQUEST, "unprocessable"),
    "rate_limit": ErrorRow(429, "rate_limit_error", "rate_limit_exceeded"),
    "quota": ErrorRow(403, "insufficient_quota", "insufficient_quota"),
    "server_error": ErrorRow(500, "server_error", "get_channel_failed"),
    "bad_gateway": ErrorRow(502, "server_error", "bad_gateway"),
    "overloaded": ErrorRow(503, "server_error", "service_unavailable"),
    "gateway_timeout": ErrorRow(504, "server_error", "gateway_timeout"),
}
MESSAGES: Mapping[str, str] = {
    **OPENAI_MESSAGES,
    **PLAIN_PERMISSION_MESSAGES,
    "model_not_found": "The model `{model}` does not exist or you do not have access to it: no channel serves it now.",
}
ERRORS = ErrorTable(ROWS, MESSAGES, bearer, PLAIN_UNSUPPORTED_MESSAGES)

DIALECT = Dialect(
    name=NAME,
    mounts=("/crazyrouter/v1",),
    operations=(
        Operation("chat", "POST", "/chat/completions", _parse_chat, _render_chat),
        *model_operations(NAME, _headers),
    ),
    credential=bearer,
    fail=_fail,
    models=("gpt-4o", "gpt-4o-mini", "claude-sonnet-4", "gemini-2.5-pro", "deepseek-r1"),
    features=frozenset({"content_filter", "refusal", "annotations", "custom_tools"}),
)
