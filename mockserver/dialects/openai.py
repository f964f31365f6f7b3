"""OpenAI, whose API the others resemble (https://platform.openai.com/docs/api-reference)."""

import re
from collections.abc import Iterable
from functools import lru_cache, partial

from msgspec.structs import replace
from pydantic_core import to_json

from mockserver.core.call import Call
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.lazy import remember
from mockserver.core.plan import Failure, Models
from mockserver.core.validation import Validation
from mockserver.dialects import OWN_FEATURES, Dialect, Operation, accept_any_history, discover
from mockserver.dialects._errors import (
    INPUT_TOO_LONG,
    INVALID_REQUEST,
    OPENAI_MESSAGES,
    ErrorRow,
    ErrorTable,
    ProviderError,
    make_error_rows,
    write_duration,
    write_retry_lines,
)
from mockserver.dialects._openai_api.api import MISSING, OpenAIApi
from mockserver.dialects._openai_api.audio import AudioApi
from mockserver.dialects._openai_api.chat import find_live_chat_mistakes
from mockserver.dialects._openai_api.completions import TEXT_LAYOUT
from mockserver.dialects._openai_api.google import is_openai_at_google, refuse_live_mistakes
from mockserver.dialects._openai_api.images import ImagesApi, word_image_error
from mockserver.dialects._openai_api.moderations import make_moderation_operation
from mockserver.dialects._openai_api.objects import make_object_operations
from mockserver.dialects._openai_api.objects.references import refer_to_kept
from mockserver.dialects._openai_api.objects.resource import ObjectsApi
from mockserver.dialects._openai_api.realtime.connections import make_connection_operations
from mockserver.dialects._openai_api.realtime.turns import RealtimeApi
from mockserver.dialects._parse import Body, Complaint, clip, complain, read_bearer
from mockserver.dialects._reply import (
    make_data_reply,
    make_json_reply,
    make_model_operations,
    make_request_hex,
    write_openai_rate_limits,
)
from mockserver.wire.chat import ChatLayout, ChatRenderer
from mockserver.wire.text import TextRenderer

NAME = "openai"
REQUESTS_PER_MINUTE = 10_000
TOKENS_PER_MINUTE = 2_000_000


def _refuse_model(call: Call) -> Failure | None:
    """Return the failure of a call whose model is not for its endpoint; None if it may be."""
    is_of_chats = _CHAT_MODEL.match(call.model) is not None
    if call.operation == "embeddings":
        return Failure("forbidden", _NO_EMBEDDINGS) if is_of_chats else None
    if _SILENT_MODEL.match(call.model) and not is_openai_at_google(call.http):
        return Failure("forbidden", _NO_TEXTS)
    if call.operation == "completions":
        why = _ONLY_CHATS if is_of_chats else None
    elif _RESPONSES_MODEL.match(call.model):
        why = _ONLY_RESPONSES
    else:
        why = _NO_CHATS if _NO_CHAT_MODEL.match(call.model) else None
    return None if why is None else Failure("bad_parameter", why, status=404, param="model")


_SILENT_MODEL = re.compile(r"text-embedding-|dall-e-")  # which writes nothing
_CHAT_MODEL = re.compile(r"gpt-(3\.5-turbo(?!-instruct)|[45])|chatgpt-|o\d")
_RESPONSES_MODEL = re.compile(r"o[13]-pro|o\d.*-deep-research|codex-mini|gpt-5-pro|gpt-5(\.1)?-codex")
_NO_CHAT_MODEL = re.compile(r"gpt-3\.5-turbo-instruct|(davinci|babbage)-002|gpt-(4o-)?realtime|gpt-5\.[23]-codex")
_NO_EMBEDDINGS = "You are not allowed to generate embeddings from this model"
_NO_TEXTS = "You are not allowed to sample from this model"
_ONLY_RESPONSES = "This model is only supported in v1/responses and not in v1/chat/completions."
_NO_CHATS = (
    "This is not a chat model and thus not supported in the v1/chat/completions endpoint. "
    "Did you mean to use v1/completions?"
)
_ONLY_CHATS = (
    "This is a chat model and not supported in the v1/completions endpoint. Did you mean to use v1/chat/completions?"
)


def _parse_deletion(http: HttpRequest, validation: Validation) -> Call:
    """Return the call; only fine-tuned models can be deleted: `ft:gpt-4o:acme::abc`, formerly `davinci:ft-acme-…`."""
    model = http.path_params["model"]
    if not model.startswith("ft:") and ":ft-" not in model:
        message = f"You are not allowed to delete the model '{clip(model)}': only fine-tuned models can be deleted."
        raise Failure("forbidden", message, param="model")
    return Call(NAME, "delete_model", model=model, http=http, meaning={"model": model})


def _render_deletion(call: Call, _: Models) -> Reply:
    body = {"id": call.model, "object": "model", "deleted": True}
    return make_json_reply(200, body, lines=_write_lines(call.http, call))


def _fail(http: HttpRequest, failure: Failure, call: Call | None) -> Reply:
    if is_openai_at_google(http):
        return discover()["gemini"].fail(http, failure, call)
    resolved = word_image_error(ERRORS.resolve(failure, http, call), failure, call)
    if failure.details.get("kind") == "tokens" and failure.kind is None:
        resolved = replace(resolved, kind="tokens")
    if resolved.code == _NO_MODEL and call is not None and call.operation in ("model", "delete_model"):
        resolved = replace(resolved, param="model")
    lines = _write_lines(http, call) + _write_limit_lines(failure, resolved.status)
    return make_data_reply(resolved.status, _write_error_body(resolved), lines=lines, headers=failure.headers)


@remember(256)
def _write_error_body(error: ProviderError) -> bytes:
    stated = {"message": error.message, "type": error.kind, "param": error.param, "code": error.code}
    return to_json({"error": stated})


def _find_live_mistakes(http: HttpRequest, body: Body) -> Iterable[Complaint]:
    if http.path == _AT_ANTHROPIC:
        return [complain("n: must be exactly 1", "n")] if (body.get("n") or 1) > 1 else ()
    if not is_openai_at_google(http):
        return find_live_chat_mistakes(http, body)
    refuse_live_mistakes(body)
    return ()


# Where Anthropic serves OpenAI's client, which ignores what it does not know:
# https://platform.claude.com/docs/en/api/openai-sdk
_AT_ANTHROPIC = "/anthropic/v1/chat/completions"


def _write_lines(http: HttpRequest, call: Call | None) -> str:
    name = call.fingerprint if call is not None else make_request_hex(http, None)
    return (
        f"x-request-id: req_{name}\r\nopenai-organization: mockserver\r\n"
        f"openai-processing-ms: {_MILLISECONDS[name[:2]]}\r\nopenai-version: 2020-10-01\r\n"
    )


_MILLISECONDS = {f"{byte:02x}": str(20 + byte) for byte in range(256)}  # by the first two digits of a request's name


_LIMITS = f"x-ratelimit-limit-requests: {REQUESTS_PER_MINUTE}\r\nx-ratelimit-limit-tokens: {TOKENS_PER_MINUTE}\r\n"


@lru_cache(maxsize=4096)
def _write_rate_limit_lines(tokens: int) -> str:
    return (
        f"{_LIMITS}x-ratelimit-remaining-requests: {REQUESTS_PER_MINUTE - 1}\r\n"
        f"x-ratelimit-remaining-tokens: {max(TOKENS_PER_MINUTE - tokens, 0)}\r\n"
        f"x-ratelimit-reset-requests: 6ms\r\n"
        f"x-ratelimit-reset-tokens: {write_duration(tokens * 60 / TOKENS_PER_MINUTE)}\r\n"
    )


@lru_cache(maxsize=256)
def _write_used_up_lines(reset: str) -> str:
    return (
        f"{_LIMITS}x-ratelimit-remaining-requests: 0\r\nx-ratelimit-remaining-tokens: 0\r\n"
        f"x-ratelimit-reset-requests: {reset}\r\nx-ratelimit-reset-tokens: {reset}\r\n"
    )


def _write_limit_lines(failure: Failure, status: int) -> str:
    again = write_retry_lines(failure, in_ms=True)
    if status != 429:
        return again
    if "window" in failure.details:  # the failure names the limit that was reached
        return again + _write_rate_limit_lines(0)
    return again + _write_used_up_lines(write_duration(failure.retry_after or 1.0))


CHAT_LAYOUT = ChatLayout(
    completion=("id", "object", "created", "model", "choices", "usage", "service_tier", "system_fingerprint"),
    message=("role", "content", "refusal", "tool_calls", "annotations", "audio"),
    chunk=("id", "object", "created", "model", "service_tier", "system_fingerprint", "choices", "usage"),
    usage=("prompt_tokens", "completion_tokens", "total_tokens", "prompt_tokens_details", "completion_tokens_details"),
    system_fingerprint=True,
    opening={"role": "assistant", "content": "", "refusal": None},
)


_NO_MODEL = "model_not_found"
_RATE_LIMIT = ErrorRow(status=429, kind="requests", code="rate_limit_exceeded")
ROWS = make_error_rows(
    lambda status: ErrorRow(status=status, kind=INVALID_REQUEST if status < 500 else "server_error"),
    content_filter=ErrorRow(status=400, kind=INVALID_REQUEST, code="content_policy_violation"),
    context_length=ErrorRow(status=400, kind=INVALID_REQUEST, code="context_length_exceeded", param="messages"),
    invalid_key=ErrorRow(status=401, kind=INVALID_REQUEST, code="invalid_api_key"),
    billing=ErrorRow(status=402, kind=INVALID_REQUEST, code="billing_not_active"),
    model_not_allowed=ErrorRow(status=403, kind=INVALID_REQUEST, code=_NO_MODEL),
    model_not_found=ErrorRow(status=404, kind=INVALID_REQUEST, code=_NO_MODEL),
    previous_not_found=ErrorRow(
        status=400, kind=INVALID_REQUEST, code="previous_response_not_found", param="previous_response_id"
    ),
    method_not_allowed=ErrorRow(status=405, kind=INVALID_REQUEST, code="method_not_supported"),
    unsupported_media_type=ErrorRow(status=415, kind=INVALID_REQUEST, code="unsupported_media_type"),
    unprocessable=ErrorRow(status=422, kind=INVALID_REQUEST, code="unprocessable"),
    rate_limit=_RATE_LIMIT,
    over_limit=_RATE_LIMIT,
    quota=ErrorRow(status=429, kind="insufficient_quota", code="insufficient_quota"),
)
ERRORS = ErrorTable(rows=ROWS, messages={**OPENAI_MESSAGES, **INPUT_TOO_LONG}, read_credential=read_bearer)

OBJECTS = ObjectsApi(NAME, lines=_write_lines, fail=_fail)
API = OpenAIApi(
    dialect=NAME,
    chat=ChatRenderer(CHAT_LAYOUT),
    text=TextRenderer(TEXT_LAYOUT),
    lines=_write_lines,
    rate_limits=_write_rate_limit_lines,
    find_live_mistakes=_find_live_mistakes,
    refer=partial(refer_to_kept, api=OBJECTS),
    refuse_model=_refuse_model,
)
ANSWERING = (
    *API.make_inference_operations(),
    API.make_responses_operation(),
    make_moderation_operation(NAME, _write_lines),
    *ImagesApi(NAME, _write_lines).make_operations(),
    *AudioApi(NAME, _write_lines).make_operations(),
    RealtimeApi(NAME, _write_lines).make_turn_operation(),
    *make_connection_operations(OBJECTS),
)
DIALECT = Dialect(
    name=NAME,
    unmounted=(replace(ANSWERING[0], path=_AT_ANTHROPIC, history=accept_any_history),),
    operations=(
        *ANSWERING,
        *API.make_stored_operations(),
        *make_object_operations(replace(OBJECTS, operations=ANSWERING)),
        *make_model_operations(NAME, _write_lines),
        Operation("delete_model", "DELETE", "/models/{model:path}", parse=_parse_deletion, render=_render_deletion),
    ),
    read_credential=read_bearer,
    fail=_fail,
    rate_limit_headers=write_openai_rate_limits,
    models=("gpt-5", "gpt-5-mini", "gpt-4.1", "gpt-4o", "gpt-4o-mini"),
    own_features=frozenset(OWN_FEATURES) - {"filter_annotations", "finish_error"},
    missing=MISSING,
)
