"""Tzafon (Lightcone): Responses with computer use, as vLLM serves them (`wire/tzafon-responses.md`)."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from mockserver.core.call import Call
from mockserver.core.http import Headers, HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.plan import Answer, Failure, Models, Success
from mockserver.dialects import FEATURES, Dialect, Operation
from mockserver.dialects._responses.request import error_event, responses_reply
from mockserver.dialects._shared.errors import OPENAI_WORDS, PLAIN_PERMISSIONS, Phrasebook, Row, retry_after
from mockserver.dialects._shared.lacks import PLAIN_LACKS
from mockserver.dialects._shared.parse import bearer, read_object
from mockserver.dialects._shared.reply import (
    OWNER,
    chat_reply,
    headed,
    json_reply,
    merged,
    model_operations,
    request_hex,
)
from mockserver.dialects._stored import StoredResponses
from mockserver.dialects.tzafon.request import CONTEXT, NAME, parse_chat, parse_response, refuse, vllm_live_only
from mockserver.wire.chat import ChatStyle
from mockserver.wire.responses import ResponseStyle

MODELS = ("tzafon.northstar-cua-fast", "tzafon.sm-1")


def _parse_responses(http: HttpRequest, strict: bool) -> Call:
    body = read_object(http)
    return _checked(parse_response(http, body), strict)


def _parse_chat(http: HttpRequest, strict: bool) -> Call:
    body = read_object(http)
    return _checked(parse_chat(http, body), strict)


def _checked(call: Call, strict: bool) -> Call:
    """The call, unless it is refused for what only the live provider minds."""
    for complaint in vllm_live_only(call.raw) if strict else ():
        raise refuse(complaint)
    return call


def _render_responses(call: Call, outcome: Success) -> Reply:
    assert isinstance(outcome, Answer)  # noqa: S101  # the engine answers an operation in its own kind
    return headed(responses_reply(call, outcome, RESPONSE_STYLE), _headers(call.http, call))


def _render_chat(call: Call, outcome: Success) -> Reply:
    assert isinstance(outcome, Answer)  # noqa: S101
    answer = replace(outcome, model=outcome.model or MODELS[0])
    return headed(chat_reply(call, answer, STYLE), _headers(call.http, call))


def _render_models(call: Call, outcome: Success) -> Reply:
    assert isinstance(outcome, Models)  # noqa: S101
    listed = [_model(name, outcome.created) for name in outcome.names]
    body = listed[0] if call.operation == "model" else {"object": "list", "data": listed}
    return json_reply(200, body, _headers(call.http, call))


def _model(name: str, created: int) -> dict[str, Json]:
    own = {"id": name, "object": "model", "created": created, "owned_by": OWNER}
    return {**own, "root": name, "parent": None, "max_model_len": CONTEXT, "permission": []}


def _fail(http: HttpRequest, failure: Failure, call: Call | None) -> Reply:
    said = PHRASES.say(failure, http, call)
    code = said.status if said.code is None else said.code
    error: Json = {"message": said.message, "type": said.kind, "param": said.param, "code": code}
    if said.status == 401 and failure.message is None:
        error = "Unauthorized"  # by the server in front of the model, which has words of its own
    own = (*_headers(http, call), *retry_after(failure))
    return json_reply(said.status, {"error": error}, merged(own, failure.headers))


def _headers(http: HttpRequest, call: Call | None) -> Headers:
    return (("x-request-id", f"req_{request_hex(http, call)}"),)


def _model_operations() -> Iterator[Operation]:
    """The list of models and one model, in vLLM's shape."""
    return (replace(operation, render=_render_models) for operation in model_operations(NAME, _headers))


RESPONSE_STYLE = ResponseStyle(
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
STYLE = ChatStyle(
    completion=("id", "object", "created", "model", "choices", "system_fingerprint", "usage"),
    choice=("index", "message", "logprobs", "finish_reason"),
    message=("role", "content", "reasoning_content", "refusal", "annotations", "tool_calls"),
    chunk=("id", "object", "created", "model", "choices", "usage"),
    chunk_choice=("index", "delta", "logprobs", "finish_reason"),
    optional=frozenset({"annotations", "reasoning_content"}),
    opening={"role": "assistant", "content": ""},
    opening_of_call={"content": None},
)

_REQUEST = "invalid_request_error"
ROWS: Mapping[str, Row] = {
    "bad_json": Row(400, "Bad Request"),
    "bad_parameter": Row(400, "BadRequestError"),
    "content_filter": Row(400, "BadRequestError"),
    "context_length": Row(400, "BadRequestError", param="input_tokens"),
    "not_cancellable": Row(400, _REQUEST, param="response_id"),
    "unsupported": Row(400, "BadRequestError", 400),
    "unsupported_media_type": Row(400, "Bad Request"),
    "invalid_key": Row(401, "Unauthorized"),
    "missing_key": Row(401, "Unauthorized"),
    "billing": Row(402, "Payment Required"),
    "forbidden": Row(403, "Forbidden"),
    "model_not_found": Row(404, "NotFoundError", param="model"),
    "unknown_model": Row(404, "NotFoundError", param="model"),
    "not_found": Row(404, _REQUEST, param="response_id"),
    "previous_not_found": Row(404, _REQUEST, param="response_id"),
    "unmatched": Row(404, "NotFoundError"),
    "route_not_found": Row(404, "Not Found"),
    "method_not_allowed": Row(405, "Method Not Allowed"),
    "timeout": Row(408, "Request Timeout"),
    "conflict": Row(409, "Conflict"),
    "too_large": Row(413, "Request Entity Too Large"),
    "unprocessable": Row(422, "Unprocessable Entity"),
    "rate_limit": Row(429, "Too Many Requests"),
    "quota": Row(429, "Too Many Requests"),
    "server_error": Row(500, "InternalServerError"),
    "bad_gateway": Row(502, "Bad Gateway"),
    "overloaded": Row(503, "Service Unavailable"),
    "gateway_timeout": Row(504, "Gateway Timeout"),
}
WORDS: Mapping[str, str] = {
    **OPENAI_WORDS,
    **PLAIN_PERMISSIONS,
    "model_not_found": "The model `{model}` does not exist.",
    "unknown_model": "The model `{model}` does not exist.",
    "not_found": "Response with id '{id}' not found.",
    "previous_not_found": "Response with id '{id}' not found.",
    "not_cancellable": "Cannot cancel a synchronous response.",
}
LACKED: Mapping[str, str] = {**PLAIN_LACKS, "vision": "{model} is not a multimodal model"}
PHRASES = Phrasebook(ROWS, WORDS, bearer, LACKED)

STORED = StoredResponses(
    NAME, refuse, RESPONSE_STYLE, lambda call: _headers(call.http, call), _parse_responses, final=True
)
DIALECT = Dialect(
    name=NAME,
    mounts=("/tzafon/v1",),
    operations=(
        Operation("responses", "POST", "/responses", _parse_responses, _render_responses, error=error_event),
        Operation("chat", "POST", "/chat/completions", _parse_chat, _render_chat),
        *STORED.operations(),
        *_model_operations(),
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
