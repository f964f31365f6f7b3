"""Azure OpenAI: OpenAI's operations under deployments, with filter results and the gateway's errors."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache, partial

from msgspec.structs import replace

from mockserver.core.call import Call
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.plan import Failure
from mockserver.core.validation import Validation
from mockserver.dialects import OWN_FEATURES, Dialect, Operation
from mockserver.dialects._errors import (
    INPUT_TOO_LONG,
    INVALID_REQUEST,
    OPENAI_MESSAGES,
    ErrorRow,
    ErrorTable,
    ProviderError,
    fill_messages,
    make_error_rows,
    write_retry_lines,
)
from mockserver.dialects._openai_api.api import MISSING, OpenAIApi
from mockserver.dialects._openai_api.audio import AudioApi
from mockserver.dialects._openai_api.chat import find_live_chat_mistakes
from mockserver.dialects._openai_api.completions import TEXT_LAYOUT as OPENAI_STYLE
from mockserver.dialects._openai_api.images import ImagesApi
from mockserver.dialects._openai_api.objects import make_object_operations
from mockserver.dialects._openai_api.objects.references import refer_to_kept
from mockserver.dialects._openai_api.objects.resource import ObjectsApi
from mockserver.dialects._openai_api.realtime.connections import make_connection_operations
from mockserver.dialects._openai_api.realtime.turns import RealtimeApi
from mockserver.dialects._parse import Body, Complaint, Parse, clip, complain, find_unknown_keys, read_bearer
from mockserver.dialects._reply import (
    make_json_reply,
    make_model_operations,
    make_request_uuid,
    write_remaining_limits,
)
from mockserver.wire.chat import ChatLayout, ChatRenderer, make_prompt_filter
from mockserver.wire.text import TextLayout, TextRenderer

NAME = "azure_openai"
REQUESTS_LEFT = 999
TOKENS_PER_MINUTE = 1_000_000


def read_credential(http: HttpRequest) -> str | None:
    """Return the key of a request: that in `api-key`, or a bearer token."""
    return (http.find_header("api-key") or "").strip() or read_bearer(http)


def _read_deployment(http: HttpRequest) -> Body:
    return {"model": http.path_params["deployment"]} if "deployment" in http.path_params else {}


def _unify(http: HttpRequest, body: Body) -> Body:
    return {**body, **_read_deployment(http)}


def _find_unrecognized(body: Body, known: frozenset[str]) -> Iterator[Complaint]:
    if names := find_unknown_keys(body, known):
        arguments = "argument" if len(names) == 1 else "arguments"
        yield complain(f"Unrecognized request {arguments} supplied: {clip(', '.join(names))}")


def _refuse_model(call: Call) -> Failure | None:
    """Return the failure of a call whose deployment is named like a model that is not for its endpoint."""
    if (call.operation == "embeddings") == (_EMBEDDER.match(call.model) is not None) or not _NAMED.match(call.model):
        return None
    operation = {"chat": "chatCompletion", "completions": "completion"}.get(call.operation, call.operation)
    message = _NOT_SUPPORTED.format(operation=operation, model=clip(call.model))
    return Failure("forbidden", message, status=400, code="OperationNotSupported")


_EMBEDDER = re.compile("text-embedding-")
_NAMED = re.compile(r"text-embedding-|gpt-(?:3\.?5|[45])|o\d")  # other names are those of the user's own
_NOT_SUPPORTED = (
    "The {operation} operation does not work with the specified model, {model}. Please choose different model and try "
    "again. You can learn more about which models can be used with each operation here: "
    "https://go.microsoft.com/fwlink/?linkid=2197993."
)


def _fail(http: HttpRequest, failure: Failure, call: Call | None) -> Reply:
    resolved = ERRORS.resolve(failure, http, call)
    lines = _write_lines(http, call) + write_retry_lines(failure, in_ms=True)
    return make_json_reply(
        resolved.status, {"error": _render_error(resolved, failure)}, lines=lines, headers=failure.headers
    )


def _render_error(resolved: ProviderError, failure: Failure) -> Mapping[str, Json]:
    four = {"message": resolved.message, "type": resolved.kind, "param": resolved.param, "code": resolved.code}
    if failure.reason == "content_filter":
        seen = make_prompt_filter(failure.details.get("safety", ()))["content_filter_results"]
        inner = {"code": "ResponsibleAIPolicyViolation", "content_filter_result": seen}
        return {**four, "status": resolved.status, "innererror": inner}
    if resolved.kind is None:
        return {"code": str(resolved.code), "message": resolved.message}
    return four


def _write_lines(http: HttpRequest, call: Call | None) -> str:
    name = make_request_uuid(http, call)
    return f"apim-request-id: {name}\r\nx-request-id: {name}\r\nx-ms-region: Mock Server\r\n"


@lru_cache(maxsize=4096)
def _write_rate_limit_lines(tokens: int) -> str:
    return (
        f"x-ratelimit-remaining-requests: {REQUESTS_LEFT}\r\n"
        f"x-ratelimit-remaining-tokens: {max(TOKENS_PER_MINUTE - tokens, 0)}\r\n"
    )


def _mount(base: str, operations: Iterable[Operation]) -> Iterator[Operation]:
    return (replace(operation, path=base + operation.path, unify=_unify) for operation in operations)


def _require_versions(operations: Iterable[Operation]) -> Iterator[Operation]:
    return (
        replace(one, parse=_require_version(one.parse), query={"api-version": _USUAL_VERSION}) for one in operations
    )


def _require_version(parse: Parse) -> Parse:
    def parse_versioned(http: HttpRequest, validation: Validation) -> Call:
        if not _VERSION.fullmatch(http.query.get("api-version", "")):
            meant = f"{http.method} {http.path}?api-version={_USUAL_VERSION}"
            raise Failure("route_not_found", details={"hint": f"Did you mean {meant}?"})
        return parse(http, validation)

    return parse_versioned


_USUAL_VERSION = "2024-10-21"
_VERSION = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(-preview)?")

# Every object is in alphabetical order.
_KEYS = ("choices", "created", "id", "model", "object", "prompt_filter_results", "system_fingerprint", "usage")
CHAT_LAYOUT = ChatLayout(
    completion=_KEYS,
    choice=("content_filter_results", "finish_reason", "index", "logprobs", "message"),
    message=("annotations", "audio", "content", "refusal", "role", "tool_calls"),
    chunk=_KEYS,
    chunk_choice=("content_filter_results", "delta", "finish_reason", "index", "logprobs"),
    usage=("completion_tokens", "completion_tokens_details", "prompt_tokens", "prompt_tokens_details", "total_tokens"),
    system_fingerprint=True,
    opening={"role": "assistant", "content": "", "refusal": None},
    prompt_filter_first=True,
)

TEXT_LAYOUT = TextLayout(
    completion=("choices", "created", "id", "model", "object", "prompt_filter_results", "usage"),
    choice=("content_filter_results", "finish_reason", "index", "logprobs", "text"),
    usage=("completion_tokens", "prompt_tokens", "total_tokens"),
    finishes=OPENAI_STYLE.finishes,
    prompt_filter_first=True,
)

_BAD_REQUEST = ErrorRow(status=400, kind=INVALID_REQUEST)
# The gateway's errors have no type.
ROWS = make_error_rows(
    lambda status: ErrorRow(status=status, kind=None, code=str(status)),
    bad_json=_BAD_REQUEST,
    bad_parameter=_BAD_REQUEST,
    content_filter=ErrorRow(status=400, kind=None, code="content_filter", param="prompt"),
    context_length=ErrorRow(status=400, kind=INVALID_REQUEST, code="context_length_exceeded", param="messages"),
    unsupported=_BAD_REQUEST,
    not_cancellable=_BAD_REQUEST,
    model_not_found=ErrorRow(status=404, kind=None, code="DeploymentNotFound"),
    not_found=ErrorRow(status=404, kind=INVALID_REQUEST),
    previous_not_found=ErrorRow(
        status=400, kind=INVALID_REQUEST, code="previous_response_not_found", param="previous_response_id"
    ),
    unmatched=ErrorRow(status=404, kind=INVALID_REQUEST),
    timeout=ErrorRow(status=408, kind=None, code="Timeout"),
    unprocessable=ErrorRow(status=422, kind=INVALID_REQUEST, code="unprocessable"),
    quota=ErrorRow(status=429, kind="insufficient_quota", code="insufficient_quota"),
    server_error=ErrorRow(status=500, kind="server_error"),
    overloaded=ErrorRow(status=503, kind=None, code="ServiceUnavailable"),
    gateway_timeout=ErrorRow(status=504, kind=None, code="Timeout"),
)
_NOT_ALLOWED = "Principal does not have access to API/Operation."
MESSAGES: Mapping[str, str] = {
    **INPUT_TOO_LONG,
    "content_filter": (
        "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please "
        "modify your prompt and retry. To learn more about our content filtering policies please read our "
        "documentation: https://go.microsoft.com/fwlink/?linkid=2198766"
    ),
    "invalid_key": (
        "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an "
        "active subscription and use a correct regional API endpoint for your resource."
    ),
    "missing_key": (
        "Unauthorized. Access token is missing, invalid, audience is incorrect (https://cognitiveservices.azure.com), "
        "or have expired."
    ),
    "forbidden": "Access denied due to Virtual Network/Firewall rules.",
    "key_not_allowed": _NOT_ALLOWED,
    "model_not_allowed": _NOT_ALLOWED,
    "model_not_found": (
        "The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, "
        "please wait a moment and try again."
    ),
    "route_not_found": "Resource not found",
    "timeout": "The operation was timeout.",
    "rate_limit": (
        "Requests to {model} have exceeded the call rate limit of your current OpenAI S0 pricing tier. Please retry "
        "after {seconds} seconds. Please go here: https://aka.ms/oai/quotaincrease if you would like to further "
        "increase the default rate limit."
    ),
    "over_limit": (
        "This request has {asked} tokens, more than the {most} of the limit on {rate} of your current OpenAI S0 "
        "pricing tier. Please go here: https://aka.ms/oai/quotaincrease if you would like to further increase the "
        "default rate limit."
    ),
    "gateway_timeout": "The operation was timeout.",
}
ERRORS = ErrorTable(rows=ROWS, messages=fill_messages(MESSAGES, OPENAI_MESSAGES), read_credential=read_credential)

OBJECTS = ObjectsApi(NAME, lines=_write_lines, fail=_fail)
API = OpenAIApi(
    dialect=NAME,
    chat=ChatRenderer(CHAT_LAYOUT),
    text=TextRenderer(TEXT_LAYOUT),
    read_url_fields=_read_deployment,
    lines=_write_lines,
    rate_limits=_write_rate_limit_lines,
    refer=partial(refer_to_kept, api=OBJECTS),
    find_live_mistakes=partial(find_live_chat_mistakes, find_unknown=_find_unrecognized),
    refuse_model=_refuse_model,
)
_DEPLOYMENT_OPERATIONS = (
    *API.make_inference_operations(),
    *ImagesApi(NAME, _write_lines, _read_deployment).make_operations(),
    *AudioApi(NAME, _write_lines, _read_deployment).make_operations(),
)
_ANSWERING = (*_DEPLOYMENT_OPERATIONS, API.make_responses_operation())
_RESOURCE_OPERATIONS = (
    API.make_responses_operation(),
    RealtimeApi(NAME, _write_lines).make_turn_operation(),
    *make_connection_operations(OBJECTS),
    *API.make_stored_operations(),
    *make_object_operations(replace(OBJECTS, operations=_ANSWERING)),
    *make_model_operations(NAME, _write_lines),
)

_BASES = ("/openai/v1", "/openai/deployments/*", "/openai")
DIALECT = Dialect(
    name=NAME,
    operations=(
        *_mount("/openai/v1", (*_DEPLOYMENT_OPERATIONS, *_RESOURCE_OPERATIONS)),
        *_require_versions(_mount("/openai/deployments/{deployment}", _DEPLOYMENT_OPERATIONS)),
        *_require_versions(_mount("/openai", _RESOURCE_OPERATIONS)),
        # Where the class AzureOpenAI goes when its base URL ends in /openai/v1.
        *_mount("/openai/v1/deployments/{deployment}", _DEPLOYMENT_OPERATIONS),
    ),
    read_credential=read_credential,
    fail=_fail,
    rate_limit_headers=write_remaining_limits,
    models=("gpt-5", "gpt-5-mini", "gpt-4.1", "gpt-4o", "gpt-4o-mini"),
    own_features=frozenset(OWN_FEATURES) - {"finish_error"},
    missing={base + path: then for base in _BASES for path, then in MISSING.items()},
)
