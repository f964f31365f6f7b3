"""Crazyrouter: OpenAI's chat at its smallest, plus what the models behind the gateway add (`wire/crazyrouter.md`)."""

from collections.abc import Mapping

from mockserver.core.call import Call
from mockserver.core.http import Headers, HttpRequest, Reply
from mockserver.core.plan import Answer, Failure, Success
from mockserver.dialects import Dialect, Operation
from mockserver.dialects._chat.request import parse_chat
from mockserver.dialects._shared.errors import OPENAI_WORDS, PLAIN_PERMISSIONS, Phrasebook, Row, retry_after
from mockserver.dialects._shared.lacks import PLAIN_LACKS
from mockserver.dialects._shared.parse import Complaint, bearer, read_object
from mockserver.dialects._shared.reply import chat_reply, headed, json_reply, merged, model_operations, request_hex
from mockserver.dialects._shared.words import refuse_without_code
from mockserver.wire.chat import ChatStyle

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
    return headed(chat_reply(call, outcome, STYLE), _headers(call.http, call))


def _fail(http: HttpRequest, failure: Failure, call: Call | None) -> Reply:
    said = PHRASES.say(failure, http, call)
    body = {"error": {"message": said.message, "type": said.kind, "code": said.code}}
    own = (*_headers(http, call), *retry_after(failure))
    return json_reply(said.status, body, merged(own, failure.headers))


def _headers(http: HttpRequest, call: Call | None) -> Headers:
    return (("x-request-id", f"req_{request_hex(http, call)}"),)


STYLE = ChatStyle(
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
ROWS: Mapping[str, Row] = {
    "bad_json": Row(400, _REQUEST, "invalid_request"),
    "bad_parameter": Row(400, _REQUEST, "invalid_parameter"),
    "content_filter": Row(400, _REQUEST, "content_filter"),
    "context_length": Row(400, _REQUEST, "context_length_exceeded"),
    "invalid_key": Row(401, "authentication_error", "invalid_api_key"),
    "missing_key": Row(401, "authentication_error", "invalid_api_key"),
    "billing": Row(402, "insufficient_quota", "insufficient_quota"),
    "forbidden": Row(403, "insufficient_quota", "insufficient_quota"),
    "model_not_found": Row(503, "server_error", "model_not_found"),
    "unknown_model": Row(404, _REQUEST, "model_not_found"),
    "not_found": Row(404, _REQUEST, "not_found"),
    "unmatched": Row(404, _REQUEST, "not_found"),
    "route_not_found": Row(404, _REQUEST, "not_found"),
    "method_not_allowed": Row(405, _REQUEST, "method_not_supported"),
    "timeout": Row(408, _REQUEST, "timeout"),
    "conflict": Row(409, _REQUEST, "conflict"),
    "too_large": Row(413, _REQUEST, "request_too_large"),
    "unsupported_media_type": Row(415, _REQUEST, "unsupported_media_type"),
    "unprocessable": Row(422, _REQUEST, "unprocessable"),
    "rate_limit": Row(429, "rate_limit_error", "rate_limit_exceeded"),
    "quota": Row(403, "insufficient_quota", "insufficient_quota"),
    "server_error": Row(500, "server_error", "get_channel_failed"),
    "bad_gateway": Row(502, "server_error", "bad_gateway"),
    "overloaded": Row(503, "server_error", "service_unavailable"),
    "gateway_timeout": Row(504, "server_error", "gateway_timeout"),
}
WORDS: Mapping[str, str] = {
    **OPENAI_WORDS,
    **PLAIN_PERMISSIONS,
    "model_not_found": "The model `{model}` does not exist or you do not have access to it: no channel serves it now.",
}
PHRASES = Phrasebook(ROWS, WORDS, bearer, PLAIN_LACKS)

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
