"""Skytells: OpenAI's chat with content-filter results on prompt, choice and every chunk."""

from collections.abc import Mapping

from msgspec.structs import replace

from mockserver.core.call import Call
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.plan import REASONS, Failure
from mockserver.dialects import Dialect
from mockserver.dialects._errors import (
    INVALID_REQUEST,
    ErrorRow,
    find_reason_phrase,
    make_gateway_rows,
    make_plain_errors,
    refuse_without_code,
    write_retry_lines,
)
from mockserver.dialects._openai_api.chat import ChatParser, make_chat_operation
from mockserver.dialects._parse import Body, read_bearer
from mockserver.dialects._reply import make_json_reply, make_model_operations, make_request_hex, write_request_id
from mockserver.wire.chat import ChatLayout, make_prompt_filter

NAME = "skytells"


def read_credential(http: HttpRequest) -> str | None:
    """Return the key of a request: that in `x-api-key`, or a bearer token."""
    return (http.find_header("x-api-key") or "").strip() or read_bearer(http)


def _read_query(http: HttpRequest) -> Body:
    return {"stream": True} if http.query.get("stream", "").lower() == "true" else {}


def _fail(http: HttpRequest, failure: Failure, call: Call | None) -> Reply:
    resolved = ERRORS.resolve(failure, http, call)
    error = {
        "message": resolved.message,
        "type": resolved.kind,
        "code": resolved.code,
        "error_id": _ERROR_IDS.get(failure.reason, "INTERNAL_ERROR" if resolved.status >= 500 else "INVALID_REQUEST"),
        "status": resolved.status,
        "param": resolved.param,
        "request_id": f"req_{make_request_hex(http, call)}",
        "details": _find_details(failure, resolved.status),
    }
    lines = write_request_id(http, call) + write_retry_lines(failure)
    return make_json_reply(resolved.status, {"error": error}, lines=lines, headers=failure.headers)


def _find_details(failure: Failure, status: int) -> Mapping[str, Json]:
    details: dict[str, Json] = {"category": _CATEGORIES.get(status, "server" if status >= 500 else "request")}
    if failure.reason == "content_filter":
        details = {
            "category": "content_filter",
            "prompt_filter_results": [make_prompt_filter(failure.details.get("safety", ()))],
        }
    return details


CHAT_LAYOUT = ChatLayout(
    completion=("id", "object", "created", "model", "system_fingerprint", "choices", "prompt_filter_results", "usage"),
    choice=("index", "message", "finish_reason", "logprobs", "content_filter_results"),
    message=("role", "content", "refusal", "annotations", "tool_calls"),
    chunk=("id", "object", "created", "model", "system_fingerprint", "choices", "prompt_filter_results", "usage"),
    chunk_choice=("index", "delta", "finish_reason", "logprobs", "content_filter_results"),
    usage=("prompt_tokens", "completion_tokens", "total_tokens", "completion_tokens_details", "prompt_tokens_details"),
    not_streamed=frozenset({"logprobs", "annotations"}),
    opening=None,
    opening_of_call={},
    stream_usage="null",
)

ROWS = make_gateway_rows(
    content_filter=ErrorRow(status=400, kind=INVALID_REQUEST, code="content_filter", param="messages"),
    context_length=ErrorRow(status=400, kind=INVALID_REQUEST, code="context_length_exceeded", param="messages"),
    billing=ErrorRow(status=402, kind=INVALID_REQUEST, code="payment_required"),
    forbidden=ErrorRow(status=403, kind="permission_error", code="forbidden"),
    model_not_found=ErrorRow(status=404, kind=INVALID_REQUEST, code="model_not_found", param="model"),
    unknown_model=ErrorRow(status=404, kind=INVALID_REQUEST, code="model_not_found", param="model"),
    quota=ErrorRow(status=429, kind="rate_limit_error", code="insufficient_quota"),
    server_error=ErrorRow(status=500, kind="server_error", code="internal_error"),
)
# The rest are reason phrases.
_IDS_BY_STATUS = {400: "INVALID_REQUEST", 413: "REQUEST_TOO_LARGE", 429: "RATE_LIMIT_EXCEEDED", 500: "INTERNAL_ERROR"}
_ERROR_IDS: Mapping[str, str] = {
    **{
        reason: _IDS_BY_STATUS.get(status) or find_reason_phrase(status).upper().replace(" ", "_")
        for reason, status in REASONS.items()
    },
    "bad_parameter": "INVALID_PARAMETER",
    "content_filter": "CONTENT_FILTERED",
    "context_length": "CONTEXT_LENGTH_EXCEEDED",
    "unsupported": "INVALID_PARAMETER",
    "model_not_found": "MODEL_NOT_FOUND",
    "unknown_model": "MODEL_NOT_FOUND",
}
_CATEGORIES: Mapping[int, str] = {401: "authentication", 403: "permission", 429: "rate_limit"}
MESSAGES: Mapping[str, str] = {
    "invalid_key": "Incorrect API key provided: {key}.",
    "missing_key": "You didn't provide an API key. Send it in an x-api-key header.",
    "content_filter": "The prompt was filtered: it triggered the content policy.",
    "rate_limit": "Rate limit reached for {model}. Please try again in {wait}.",
    "quota": "You exceeded your current quota, please check your plan and billing details.",
}
ERRORS = make_plain_errors(ROWS, MESSAGES, read_credential=read_credential)
CHATS = ChatParser(NAME, refuse_without_code, read_url_fields=_read_query)

DIALECT = Dialect(
    name=NAME,
    operations=(
        # Unknown fields are ignored, whatever the mode.
        replace(
            make_chat_operation(CHATS.parse, CHAT_LAYOUT, write_request_id),
            unify=lambda http, body: {**body, **_read_query(http)},
        ),
        *make_model_operations(NAME, write_request_id),
    ),
    read_credential=read_credential,
    fail=_fail,
    models=("deepbrain-router", "gpt-4o", "gpt-4o-mini"),
    own_features=frozenset({"content_filter", "filter_annotations", "refusal", "annotations", "call_pieces"}),
    missing=dict.fromkeys(("/responses", "/embeddings", "/predictions"), "{json: {}}"),
)
