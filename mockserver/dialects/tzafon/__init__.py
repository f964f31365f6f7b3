"""Tzafon (Lightcone): Responses with computer use, as vLLM serves them (`wire/tzafon-responses.md`)."""

from collections.abc import Mapping
from dataclasses import replace

from mockserver.core.call import Call
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.plan import Answer, Failure, Success
from mockserver.dialects import FEATURES, Dialect, Operation
from mockserver.dialects._responses.request import error_event, responses_reply
from mockserver.dialects._shared.errors import (
    INVALID_REQUEST,
    OPENAI_MESSAGES,
    PLAIN_PERMISSION_MESSAGES,
    ErrorRow,
    ErrorTable,
    error_rows,
    reason_phrase,
    retry_after,
)
from mockserver.dialects._shared.parse import bearer, read_object
from mockserver.dialects._shared.reply import (
    chat_renderer,
    json_reply,
    merge_headers,
    model_object,
    model_operations,
    request_id_header,
    with_headers,
)
from mockserver.dialects._shared.unsupported_features import PLAIN_UNSUPPORTED_MESSAGES
from mockserver.dialects._stored import StoredResponses
from mockserver.dialects.tzafon.request import CONTEXT, NAME, parse_chat, parse_response, refuse, vllm_live_only
from mockserver.wire.chat import ChatLayout
from mockserver.wire.responses import ResponseLayout

MODELS = ("tzafon.northstar-cua-fast", "tzafon.sm-1")


def _parse_responses(http: HttpRequest, strict: bool) -> Call:
    body = read_object(http)
    return _checked(parse_response(http, body), strict)


def _parse_chat(http: HttpRequest, strict: bool) -> Call:
    body = read_object(http)
    return _checked(parse_chat(http, body), strict)


def _checked(call: Call, strict: bool) -> Call:
    for complaint in vllm_live_only(call.raw) if strict else ():
        raise refuse(complaint)
    return call


def _render_responses(call: Call, outcome: Success) -> Reply:
    assert isinstance(outcome, Answer)  # noqa: S101  # the engine answers an operation in its own kind
    return with_headers(responses_reply(call, outcome, RESPONSE_LAYOUT), request_id_header(call.http, call))


def _model(name: str, created: int) -> dict[str, Json]:
    return {**model_object(name, created), "root": name, "parent": None, "max_model_len": CONTEXT, "permission": []}


def _fail(http: HttpRequest, failure: Failure, call: Call | None) -> Reply:
    resolved = ERRORS.resolve(failure, http, call)
    code = resolved.status if resolved.code is None else resolved.code
    error: Json = {"message": resolved.message, "type": resolved.kind, "param": resolved.param, "code": code}
    if resolved.status == 401 and failure.message is None:
        error = "Unauthorized"  # by the server in front of the model, which has its own body
    own = (*request_id_header(http, call), *retry_after(failure))
    return json_reply(resolved.status, {"error": error}, merge_headers(own, failure.headers))


RESPONSE_LAYOUT = ResponseLayout(
    response=(
        *("id", "created_at", "model", "object", "output", "status", "error", "tools", "usage"),
        *("incomplete_details", "instructions", "metadata", "parallel_tool_calls", "temperature", "tool_choice"),
        *("top_p", "background", "max_output_tokens", "max_tool_calls", "previous_response_id", "prompt"),
        *("reasoning", "service_tier", "text", "top_logprobs", "truncation", "user"),
    ),
    queued=False,
    raw_reasoning=True,
    unset={
        "model": MODELS[0],
        "tools": [],
        "instructions": None,
        "metadata": None,
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "top_p": 1.0,
        "background": False,
        "max_output_tokens": CONTEXT,
        "max_tool_calls": None,
        "previous_response_id": None,
        "prompt": None,
        "reasoning": None,
        "service_tier": "auto",
        "text": None,
        "top_logprobs": None,
        "truncation": "disabled",
        "user": None,
    },
)
CHAT_LAYOUT = ChatLayout(
    completion=("id", "object", "created", "model", "choices", "system_fingerprint", "usage"),
    message=("role", "content", "reasoning_content", "refusal", "annotations", "tool_calls"),
    optional=frozenset({"annotations", "reasoning_content"}),
)

_BAD_REQUEST = ErrorRow(400, "BadRequestError")
ROWS = error_rows(
    lambda status: _BAD_REQUEST if status == 400 else ErrorRow(status, reason_phrase(status)),
    bad_json=ErrorRow(400, "Bad Request"),
    context_length=replace(_BAD_REQUEST, param="input_tokens"),
    not_cancellable=ErrorRow(400, INVALID_REQUEST, param="response_id"),
    unsupported=replace(_BAD_REQUEST, code=400),
    unsupported_media_type=ErrorRow(400, "Bad Request"),
    model_not_found=ErrorRow(404, "NotFoundError", param="model"),
    unknown_model=ErrorRow(404, "NotFoundError", param="model"),
    not_found=ErrorRow(404, INVALID_REQUEST, param="response_id"),
    previous_not_found=ErrorRow(404, INVALID_REQUEST, param="response_id"),
    unmatched=ErrorRow(404, "NotFoundError"),
    server_error=ErrorRow(500, "InternalServerError"),
)
MESSAGES: Mapping[str, str] = {
    **OPENAI_MESSAGES,
    **PLAIN_PERMISSION_MESSAGES,
    "model_not_found": "The model `{model}` does not exist.",
    "unknown_model": "The model `{model}` does not exist.",
    "not_found": "Response with id '{id}' not found.",
    "previous_not_found": "Response with id '{id}' not found.",
    "not_cancellable": "Cannot cancel a synchronous response.",
}
UNSUPPORTED: Mapping[str, str] = {**PLAIN_UNSUPPORTED_MESSAGES, "vision": "{model} is not a multimodal model"}
ERRORS = ErrorTable(ROWS, MESSAGES, bearer, UNSUPPORTED)

STORED = StoredResponses(
    NAME, refuse, RESPONSE_LAYOUT, lambda call: request_id_header(call.http, call), _parse_responses, final=True
)
DIALECT = Dialect(
    name=NAME,
    mounts=("/tzafon/v1",),
    operations=(
        Operation("responses", "POST", "/responses", _parse_responses, _render_responses, error=error_event),
        Operation(
            "chat", "POST", "/chat/completions", _parse_chat, chat_renderer(CHAT_LAYOUT, request_id_header, MODELS[0])
        ),
        *STORED.operations(),
        *model_operations(NAME, request_id_header, _model),
    ),
    credential=bearer,
    fail=_fail,
    models=MODELS,
    features=frozenset(FEATURES) - {"filter_annotations", "embedding", "moderation"},
    variables={
        "LIGHTCONE_BASE_URL": "{address}/tzafon",
        "TZAFON_API_KEY": "{key}",
    },
)
