"""Errors as `google.rpc.Status`, and what all replies of Google's servers share: headers, and the form of JSON."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from mockserver.core.call import Call
from mockserver.core.frames import Frame
from mockserver.core.http import HeaderLines, Headers, HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.plan import Failure
from mockserver.dialects._errors import (
    OPENAI_MESSAGES,
    ErrorBody,
    ErrorRow,
    ErrorTable,
    fill_messages,
    make_error_rows,
)
from mockserver.dialects._parse import Body, clip, read_bearer
from mockserver.dialects._reply import make_json_reply, merge_headers

Details = list[dict[str, Json]]
TYPES = "type.googleapis.com/google.rpc."
SERVICE = "generativelanguage.googleapis.com"


def is_vertex(http: HttpRequest) -> bool:
    """Return whether a path is one of Vertex AI."""
    path = http.path
    return "/publishers/" in path or "/projects/" in path or "/v1beta1/" in path


_LINES = (
    "vary: Origin, X-Origin, Referer\r\n"
    "server: scaffolding on HTTPServer2\r\n"
    "x-xss-protection: 0\r\n"
    "x-frame-options: SAMEORIGIN\r\n"
    "x-content-type-options: nosniff\r\n"
    "server-timing: gfet4t7; dur=0\r\n"
)
JSON_TYPE = f"content-type: application/json; charset=UTF-8\r\n{_LINES}"
EVENT_TYPE = f"content-type: text/event-stream\r\ncontent-disposition: attachment\r\n{_LINES}"
_TIERED = f"{JSON_TYPE}x-gemini-service-tier: standard\r\n"


def make_pretty_reply(
    http: HttpRequest, body: Body, headers: Headers = (), *, status: int = 200, tokens: int = 0
) -> Reply:
    """Return a JSON body over several lines, unless the query disables it."""
    own = merge_headers(HeaderLines(write_head_lines(http, status)), headers)
    return make_json_reply(status, body, lines="", headers=(*own,), tokens=tokens, indent=find_indent(http))


def make_stream_reply(frames: Iterable[Frame], headers: Headers, *, events: bool = True) -> Reply:
    """Return a stream of server-sent events, or of the elements of an array."""
    return Reply(200, merge_headers(HeaderLines(EVENT_TYPE if events else JSON_TYPE), headers), frames=frames)


def find_indent(http: HttpRequest) -> int | None:
    """Return by how many spaces JSON is indented; None: it is on one line."""
    return None if http.query.get("prettyPrint") == "false" else 2


def write_head_lines(http: HttpRequest, status: int) -> str:
    """Return the header lines of a JSON reply with this status."""
    return JSON_TYPE if is_vertex(http) or status not in (200, 429) else _TIERED


def render_with(body: Callable[[Call, Any], Body]) -> Callable[[Call, Any], Reply]:
    """Return the `render` of an operation; the function makes its body from a call and its outcome."""
    return lambda call, outcome: make_pretty_reply(call.http, body(call, outcome))


def read_credential(http: HttpRequest) -> str | None:
    """Return the key of a request, or its bearer token, or the token of a session."""
    key = (http.find_header("x-goog-api-key") or "").strip() or http.query.get("key")
    scheme, _, token = (http.find_header("authorization") or "").partition(" ")
    session = token.strip() if scheme.lower() == "token" else None
    return key or session or read_bearer(http) or http.query.get("access_token") or None


def make_error_body(http: HttpRequest, failure: Failure, call: Call | None) -> ErrorBody:
    """Return the status and body of an error in Google's words."""
    variant = _find_variant(http, failure, call)
    facts = _list_facts(http, failure, call)
    waits = failure.message is None and failure.retry_after is not None and variant in _QUOTAS
    if failure.message is None and variant in VARIANTS:
        message = VARIANTS[variant].format_map({key: clip(str(fact)) for key, fact in facts.items()})
        failure = failure.replace(message=message)
    if limit := _TOO_LARGE.match(failure.message or ""):
        failure = failure.replace(message=f"Request payload size exceeds the limit: {limit[1]} bytes.")
    if variant in _VARIANT_STATUSES:
        failure = failure.replace(status=failure.status or _VARIANT_STATUSES[variant])
    known = {key: fact for key, fact in facts.items() if key != "schema"}  # its message has OpenAI's words
    resolved = ERRORS.resolve(failure.replace(details=known), http, call)
    message = f"{resolved.message}\nPlease retry in {failure.retry_after:g}s." if waits else resolved.message
    usual = "INTERNAL" if resolved.status >= 500 else "INVALID_ARGUMENT"
    error: dict[str, Json] = {
        "code": resolved.code if isinstance(resolved.code, int) else resolved.status,
        "message": message,
        "status": failure.kind or _STATUSES.get(resolved.status, usual),
    }
    if details := _list_details(variant, failure, message=message, facts=facts):
        error["details"] = details
    return ErrorBody(resolved.status, {"error": error})


def _find_variant(http: HttpRequest, failure: Failure, call: Call | None) -> str:
    """Return the key of VARIANTS that fits a failure, else its reason."""
    reason = failure.reason
    vertex = "/publishers/" in http.path
    if failure.status == 499:
        return "cancelled"
    if reason == "invalid_key" and failure.status == 401:
        return "bad_token"
    if reason == "invalid_key" and read_bearer(http) and read_credential(http) == read_bearer(http):
        return "bad_token"
    if reason == "unknown_model" and call is not None and (vertex or call.operation == "model"):
        return "no_publisher_model" if vertex else "no_model"
    if reason == "not_found" and call is not None and call.operation in _OBJECTS:
        return _OBJECTS[call.operation]
    if reason in _QUOTAS and vertex:
        return "vertex_quota"
    if reason == "unsupported":
        return str(failure.details.get("feature", reason))
    return reason


def _list_facts(http: HttpRequest, failure: Failure, call: Call | None) -> Body:
    details = {"kind": "requests", "window": "minute", "most": 20, **failure.details}
    kind = "tokens" if details["kind"] == "tokens" else "requests"
    window = details["window"]
    return {
        "model": call.model if call is not None else "",
        "id": call.id.removeprefix("files/") if call is not None else "",
        "verb": http.path.rpartition(":")[2].replace("streamG", "g").replace("batchEmbedContents", "embedContent")
        if ":" in http.path
        else "generateContent",
        "parent": http.path_params.get("parent", "models"),
        "version": http.path_params.get("version", "v1beta"),
        "metric": f"{SERVICE}/generate_content_free_tier_{_METRICS[kind]}",
        "quota": _QUOTA_IDS[kind].format("Day" if window == "day" else "Minute"),
        **details,
    }


def _list_details(variant: str, failure: Failure, message: str, facts: Body) -> Details:
    stated = list(_show_stated(failure, message))
    usual = _list_usual_details(variant, failure, message=message, facts=facts)
    kinds = {each["@type"] for each in stated}
    return [*(each for each in usual if each["@type"] not in kinds), *stated, *_list_retry_info(failure)]


def _list_usual_details(variant: str, failure: Failure, message: str, facts: Body) -> Details:
    match variant:
        case "bad_json":
            return [{"@type": f"{TYPES}BadRequest", "fieldViolations": [{"description": message}]}]
        case "invalid_key":
            localized = {"@type": f"{TYPES}LocalizedMessage", "locale": "en-US", "message": message}
            return [_make_error_info("API_KEY_INVALID", service=SERVICE), localized]
        case "bad_token":
            method = f"google.ai.generativelanguage.{facts['version']}.GenerativeService.GenerateContent"
            return [_make_error_info("ACCESS_TOKEN_TYPE_UNSUPPORTED", service=SERVICE, method=method)]
        case "rate_limit" | "over_limit" | "quota":
            return [_HELP, _make_quota_failure(facts)]
    return failure.details.get("google") or []


def _show_stated(failure: Failure, message: str) -> Iterator[dict[str, Json]]:
    """Yield the details for a code and a parameter that a rule states."""
    if isinstance(failure.code, str):
        yield _make_error_info(failure.code, service=SERVICE)
    if failure.param is not None:
        yield {"@type": f"{TYPES}BadRequest", "fieldViolations": [{"field": failure.param, "description": message}]}


def _make_error_info(reason: str, **metadata: Json) -> dict[str, Json]:
    return {"@type": f"{TYPES}ErrorInfo", "reason": reason, "domain": "googleapis.com", "metadata": metadata}


def _make_quota_failure(facts: Body) -> dict[str, Json]:
    violation = {
        "quotaMetric": facts["metric"],
        "quotaId": facts["quota"],
        "quotaDimensions": {"location": "global", "model": facts["model"]},
        "quotaValue": str(facts["most"]),
    }
    return {"@type": f"{TYPES}QuotaFailure", "violations": [violation]}


def _list_retry_info(failure: Failure) -> Details:
    if failure.retry_after is None:
        return []
    seconds = f"{failure.retry_after:.9f}".rstrip("0").rstrip(".")
    return [{"@type": f"{TYPES}RetryInfo", "retryDelay": f"{seconds}s"}]


_HELP = {
    "@type": f"{TYPES}Help",
    "links": [
        {
            "description": "Learn more about Gemini API quotas",
            "url": "https://ai.google.dev/gemini-api/docs/rate-limits",
        }
    ],
}
_TOO_LARGE = re.compile("The request body is larger than ([0-9]+) bytes")  # the words of this server
_VARIANT_STATUSES = {"bad_token": 401, "no_cache": 403, "no_file": 403}
# The variants of "not found", by the operations that look something up.
_OBJECTS = {
    **dict.fromkeys(("cached_content", "update_cached_content", "delete_cached_content"), "no_cache"),
    **dict.fromkeys(("file", "delete_file"), "no_file"),
}
_QUOTAS = ("rate_limit", "over_limit", "quota")
# The metric and the quota of requests and of tokens; {} is the window.
_METRICS = {"requests": "requests", "tokens": "input_token_count"}
_QUOTA_IDS = {
    "requests": "GenerateRequestsPer{}PerProjectPerModel-FreeTier",
    "tokens": "GenerateContentInputTokensPerModelPer{}-FreeTier",
}
_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    405: "UNIMPLEMENTED",
    408: "DEADLINE_EXCEEDED",
    409: "ABORTED",
    412: "FAILED_PRECONDITION",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    502: "UNAVAILABLE",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}

_FORBIDDEN = "The caller does not have permission"
_QUOTA = (
    "You exceeded your current quota, please check your plan and billing details. For more information on this error, "
    "head to: https://ai.google.dev/gemini-api/docs/rate-limits. To monitor your current usage, head to: "
    "https://ai.dev/usage?tab=rate-limit. \n* Quota exceeded for metric: {metric}, limit: {most}, model: {model}"
)
_NO_CACHE = "CachedContent not found (or permission denied)"
MESSAGES: Mapping[str, str] = {
    "bad_json": "Invalid JSON payload received. Unexpected end of string. Expected a value.",
    "bad_parameter": "Request contains an invalid argument.",
    "content_filter": "The prompt was blocked.",
    "context_length": "The input token count ({tokens}) exceeds the maximum number of tokens allowed ({limit}).",
    "invalid_key": "API key not valid. Please pass a valid API key.",
    "missing_key": (
        "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other "
        "form of API consumer identity to call this API."
    ),
    "billing": "This API method requires billing to be enabled.",
    "forbidden": _FORBIDDEN,
    "key_not_allowed": _FORBIDDEN,
    "model_not_allowed": _FORBIDDEN,
    "model_not_found": (
        "models/{model} is not found for API version {version}, or is not supported for {verb}. Call ListModels to see "
        "the list of available models and their supported methods."
    ),
    "not_found": "Requested entity was not found.",
    "previous_not_found": _NO_CACHE,
    "route_not_found": "Requested entity was not found.",
    "method_not_allowed": "Method {method} is not supported for {path}.",
    "timeout": "Deadline expired before operation could complete.",
    "conflict": "The operation was aborted.",
    "too_large": "Request payload size exceeds the limit: 20971520 bytes.",
    "unprocessable": "Request contains an invalid argument.",
    **dict.fromkeys(_QUOTAS, _QUOTA),
    "server_error": (
        "An internal error has occurred. Please retry or report in "
        "https://developers.generativeai.google/guide/troubleshooting"
    ),
    "bad_gateway": "The service is currently unavailable.",
    "overloaded": "The model is overloaded. Please try again later.",
    "gateway_timeout": "Deadline expired before operation could complete.",
}
# Google's words in place of a message above, for a variant of the reason or for a feature that a model lacks.
VARIANTS: Mapping[str, str] = {
    "bad_token": (
        "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid "
        "authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project."
    ),
    "cancelled": "The operation was cancelled.",
    "no_cache": _NO_CACHE,
    "no_file": "You do not have permission to access the File {id} or it may not exist.",
    "no_model": "Model is not found: models/{model} for api version {version}",
    "no_publisher_model": (
        "Publisher Model `{parent}/{model}` was not found or your project does not have access to it. "
        "Please ensure you are using a valid model version. For more information, see: "
        "https://cloud.google.com/vertex-ai/generative-ai/docs/learn/model-versions"
    ),
    "vertex_quota": (
        "Resource exhausted. Please try again later. Please refer to "
        "https://cloud.google.com/vertex-ai/generative-ai/docs/error-code-429 for more details."
    ),
    "tools": "Function calling is not enabled for models/{model}",
    "vision": "Image input modality is not enabled for models/{model}",
    "json_schema": "JSON mode is not enabled for models/{model}",
    "reasoning": "Thinking is not enabled for models/{model}",
}
ROWS = make_error_rows(
    lambda status: ErrorRow(status=status),
    invalid_key=ErrorRow(status=400),
    missing_key=ErrorRow(status=403),
    timeout=ErrorRow(status=504),
    previous_not_found=ErrorRow(status=403),
    unsupported_media_type=ErrorRow(status=400),
)
ERRORS = ErrorTable(rows=ROWS, messages=fill_messages(MESSAGES, OPENAI_MESSAGES), read_credential=read_credential)
