"""Azure AI Model Inference: flat errors, `api-version`, `extra-parameters` (`wire/azure-inference.md`)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from mockserver.core.call import Call, Json
from mockserver.core.documents import Embeddings, Models
from mockserver.core.http import Headers, HttpRequest, Reply
from mockserver.core.plan import Answer, Failure, Success
from mockserver.dialects import Dialect, Operation
from mockserver.dialects._azure.request import as_text, check_version, parse_chat, parse_embeddings
from mockserver.dialects._documents.embeddings import encoding
from mockserver.dialects._shared.errors import (
    OPENAI_WORDS,
    PLAIN_LIMITS,
    PLAIN_PERMISSIONS,
    Phrasebook,
    Row,
    Said,
    retry_after,
)
from mockserver.dialects._shared.lacks import PLAIN_LACKS
from mockserver.dialects._shared.parse import bearer
from mockserver.dialects._shared.reply import chat_reply, headed, json_reply, merged, request_hex, request_uuid
from mockserver.formats.chat import ChatStyle
from mockserver.formats.embeddings import embeddings

NAME = "azure"
EMBEDDING_MODEL, DIMENSIONS = "Cohere-embed-v3-english", 1024  # what answers where no model is named
MODELS = ("Phi-4", "Llama-3.3-70B-Instruct", "mistral-large-2411")


def credential(http: HttpRequest) -> str | None:
    """The bearer token, or the key in `api-key`; key clients send both."""
    return bearer(http) or (http.header("api-key") or "").strip() or None


def _parse_chat(http: HttpRequest, strict: bool) -> Call:  # the extra-parameters header says how strict it is
    return parse_chat(http, dialect=NAME)


def _render_chat(call: Call, outcome: Success) -> Reply:
    assert isinstance(outcome, Answer)  # noqa: S101  # the engine answers an operation in its own kind
    answer = replace(outcome, model=outcome.model or MODELS[0])
    return headed(chat_reply(call, answer, STYLE), _headers(call.http, call))


def _parse_embeddings(http: HttpRequest, strict: bool) -> Call:
    call = parse_embeddings(http, dialect=NAME)
    return call if call.model or call.dimensions else replace(call, dimensions=DIMENSIONS)


def _render_embeddings(call: Call, outcome: Success) -> Reply:
    assert isinstance(outcome, Embeddings)  # noqa: S101
    named = replace(outcome, model=outcome.model or EMBEDDING_MODEL)
    body = {"id": request_hex(call.http, call), **embeddings(named, encoding(call))}
    return json_reply(200, body, merged(_headers(call.http, call), outcome.headers))


def _parse_info(http: HttpRequest, strict: bool) -> Call:
    check_version(http)
    return Call(NAME, "info", "", http, {})


def _refuse_info(http: HttpRequest, strict: bool) -> Call:
    check_version(http)
    message = "An endpoint that serves several models has no /info: it tells about one model. Ask for /info instead."
    raise Failure("not_found", message)


def _render_info(call: Call, outcome: Success) -> Reply:
    assert isinstance(outcome, Models)  # noqa: S101
    name = outcome.names[0] if outcome.names else MODELS[0]
    body = {"model_name": name, "model_type": "chat_completion", "model_provider_name": "mockserver"}
    return json_reply(200, body, _headers(call.http, call))


def _fail(http: HttpRequest, failure: Failure, call: Call | None) -> Reply:
    if "feature" in failure.details and call is not None:
        failure = PHRASES.lacking(failure, call)
    said = PHRASES.say(failure, http, call)
    # Its client tries again by itself whatever carries retry-after; only a rule may want that.
    again = () if "window" in failure.details else retry_after(failure)
    own = (*_headers(http, call), ("x-ms-error-code", _token(str(said.code))), *again)
    return json_reply(said.status, _body(said, failure, call), merged(own, failure.headers))


def _body(said: Said, failure: Failure, call: Call | None) -> Mapping[str, Json]:
    """Three fields, and more for some statuses (`wire/azure-inference.md`, Errors)."""
    words = {"error": said.kind, "message": said.message}
    match said.status:
        case 401 | 404 | 429:
            return {**words, "status": said.status}
        case 422:
            detail = _detail(failure, said, call)
            return {"code": str(said.code), "detail": detail, **words, "status": said.status}
    return {"code": str(said.code), **words, "param": said.param or "", "status": said.status}


def _detail(failure: Failure, said: Said, call: Call | None) -> Mapping[str, Json]:
    """Where the parameter stands and what it says; a rule that names a parameter gets the request's own value."""
    if "loc" in failure.details:
        loc, value = failure.details["loc"], as_text(failure.details["value"])
    else:
        steps = _steps(said.param)
        loc, value = ("body", *steps), _value(call.raw if call is not None else {}, steps)
    return {"loc": list(loc), "value": value, "input": value}


def _steps(param: str | None) -> Sequence[str]:
    return (param or "").replace("[", ".").replace("]", "").split(".") if param else ()


def _value(body: Json, steps: Sequence[str]) -> str:
    for step in steps:
        if isinstance(body, list) and step.isdecimal() and int(step) < len(body):
            body = body[int(step)]
        elif isinstance(body, dict) and step in body:
            body = body[step]
        else:
            return ""
    return as_text(body) if steps else ""


def _headers(http: HttpRequest, call: Call | None) -> Headers:
    name = request_uuid(http, call)
    own = (("x-ms-request-id", name), ("apim-request-id", name))
    echoed = _token(http.header("x-ms-client-request-id") or "")
    return (*own, ("x-ms-client-request-id", echoed)) if echoed else own


def _token(text: str) -> str:
    """A text as a header may carry it."""
    return "".join(char for char in text if char.isascii() and char.isprintable())


STYLE = ChatStyle(
    completion=("id", "model", "choices", "created", "object", "usage"),
    choice=("index", "finish_reason", "message", "logprobs"),
    message=("role", "content", "reasoning_content", "tool_calls"),
    chunk=("id", "object", "created", "model", "choices", "usage"),
    chunk_choice=("index", "finish_reason", "delta", "logprobs"),
    optional=frozenset({"logprobs"}),
    opening={"role": "assistant", "content": ""},
    opening_of_call={"content": None},
    stream_usage="finish",
)

ROWS: Mapping[str, Row] = {
    "bad_json": Row(400, "Bad Request", "BadRequest"),
    "bad_parameter": Row(400, "Bad Request", "BadRequest"),
    "content_filter": Row(400, "Bad Request", "content_filter", "messages"),
    "context_length": Row(400, "Bad Request", "context_length_exceeded", "messages"),
    "invalid_key": Row(401, "Unauthorized", "Unauthorized"),
    "missing_key": Row(401, "Unauthorized", "Unauthorized"),
    "billing": Row(402, "Payment Required", "PaymentRequired"),
    "forbidden": Row(403, "Forbidden", "Forbidden"),
    "model_not_found": Row(404, "Not Found", "NotFound"),
    "unknown_model": Row(404, "Not Found", "NotFound"),
    "not_found": Row(404, "Not Found", "NotFound"),
    "unmatched": Row(404, "Not Found", "NotFound"),
    "route_not_found": Row(404, "Not Found", "NotFound"),
    "method_not_allowed": Row(405, "Method Not Allowed", "MethodNotAllowed"),
    "timeout": Row(408, "Request Timeout", "RequestTimeout"),
    "conflict": Row(409, "Conflict", "Conflict"),
    "too_large": Row(413, "Request Entity Too Large", "RequestEntityTooLarge"),
    "unsupported_media_type": Row(415, "Unsupported Media Type", "UnsupportedMediaType"),
    "unprocessable": Row(422, "Unprocessable Entity", "parameter_not_supported"),
    "unsupported": Row(422, "Unprocessable Entity", "parameter_not_supported"),
    "rate_limit": Row(429, "Too Many Requests", "TooManyRequests"),
    "quota": Row(429, "Too Many Requests", "TooManyRequests"),
    "server_error": Row(500, "Internal Server Error", "InternalServerError"),
    "bad_gateway": Row(502, "Bad Gateway", "BadGateway"),
    "overloaded": Row(503, "Service Unavailable", "ServiceUnavailable"),
    "gateway_timeout": Row(504, "Gateway Timeout", "GatewayTimeout"),
}
WORDS: Mapping[str, str] = {
    **OPENAI_WORDS,
    **PLAIN_PERMISSIONS,
    **PLAIN_LIMITS,
    "content_filter": "The response was filtered",
    "invalid_key": "Access token is missing or invalid.",
    "missing_key": "Access token is missing or invalid.",
    "model_not_found": "The model `{model}` does not exist or is not served by this endpoint.",
    "unknown_model": "The model `{model}` does not exist or is not served by this endpoint.",
    "route_not_found": "The route is not valid for the deployed model: {method} {path}.",
    "unprocessable": "One of the parameters has an unsupported value",
    "rate_limit": "You have hit your assigned rate limit and your request need to be paced.",
    "quota": "You have hit your assigned quota and your request need to be paced.",
}
LACKED = {key: f"One of the parameters has an unsupported value. {words}" for key, words in PLAIN_LACKS.items()}
PHRASES = Phrasebook(ROWS, WORDS, credential, LACKED)

QUERY = {"api-version": "2024-05-01-preview"}  # what its clients ask for unless told otherwise

DIALECT = Dialect(
    name=NAME,
    mounts=("/azure",),
    operations=(
        Operation("chat", "POST", "/chat/completions", _parse_chat, _render_chat, QUERY),
        Operation("chat", "POST", "/models/chat/completions", _parse_chat, _render_chat, QUERY),
        Operation("embeddings", "POST", "/embeddings", _parse_embeddings, _render_embeddings, QUERY),
        Operation("embeddings", "POST", "/models/embeddings", _parse_embeddings, _render_embeddings, QUERY),
        Operation("info", "GET", "/info", _parse_info, _render_info, query=QUERY),
        Operation("info", "GET", "/models/info", _refuse_info, _render_info, query=QUERY),
    ),
    credential=credential,
    fail=_fail,
    models=MODELS,
    features=frozenset({"content_filter", "embedding"}),
    variables={
        "AZURE_AI_API_BASE": "{address}/azure",
        "AZURE_AI_API_KEY": "{key}",
        "AZURE_INFERENCE_ENDPOINT": "{address}/azure",
        "AZURE_INFERENCE_CREDENTIAL": "{key}",
        "AZURE_AI_CHAT_ENDPOINT": "{address}/azure",
        "AZURE_AI_CHAT_KEY": "{key}",
    },
)
