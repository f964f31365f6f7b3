"""The errors of the hosts: statuses, words and bodies, and how an error ends a stream that has begun."""

from collections.abc import Callable, Mapping

from msgspec import Struct, field
from msgspec.structs import replace
from pydantic_core import from_json, to_json

from mockserver.core.frames import Frame
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json, compact
from mockserver.core.lazy import lazy_property
from mockserver.core.plan import Failure
from mockserver.dialects import read_event, render_error_frame
from mockserver.dialects._errors import (
    INVALID_REQUEST,
    PLAIN_UNSUPPORTED_MESSAGES,
    ErrorRow,
    ErrorTable,
    Messages,
    ProviderError,
    Rows,
    find_reason_phrase,
    make_bare_row,
    make_error_rows,
    make_gateway_rows,
    make_plain_errors,
    refuse_without_code,
)
from mockserver.dialects._fastapi import describe_unreadable
from mockserver.dialects._parse import Complaint, clip, name_json_type, read_bearer, reword_unreadable

Render = Callable[[ProviderError, Failure, str], Mapping[str, Json]]


def _reword_plainly(http: HttpRequest, failure: Failure) -> Failure:
    return reword_unreadable(failure, "Invalid JSON: ", "The content type must be application/json.")


class ErrorStyle(Struct, frozen=True, kw_only=True, dict=True):
    """How a host words and renders errors.

    `render(error, failure, request_id)` returns the body of a reply. `word(complaint)` returns the message about a
    field; None means OpenAI's. `names_field`: its place is always the `param` of the error.
    `end_stream(failed, last)` returns a failed reply as a frame after one with these bytes. `reword(http, failure)`
    returns the failure to read a body in the host's words. `unsupported` has the messages about what a model lacks.
    Errors with the codes in `late` come after the model has begun: of a stream, they are an event.
    """

    rows: Rows
    messages: Messages
    render: Render
    word: Callable[[Complaint], str] | None = None
    names_field: bool = True
    late: frozenset[str] = frozenset()
    end_stream: Callable[[Reply, bytes], Frame] = render_error_frame
    reword: Callable[[HttpRequest, Failure], Failure] = _reword_plainly
    unsupported: Messages = field(default_factory=lambda: PLAIN_UNSUPPORTED_MESSAGES)

    @lazy_property
    def table(self) -> ErrorTable:
        """The rows and messages as a table of errors."""
        return make_plain_errors(self.rows, self.messages, read_credential=read_bearer, unsupported=self.unsupported)

    def refuse(self, complaint: Complaint) -> Failure:
        """Return the failure for a bad parameter, or for a JSON Schema that the host does not take."""
        failure = refuse_without_code(complaint)
        if complaint.kind == "schema":
            return failure.replace(reason="unprocessable")
        if not self.names_field and complaint.kind != "lacks":
            failure = failure.replace(param=None)
        return failure if self.word is None else failure.replace(message=self.word(complaint))

    def replace_statuses(self, statuses: Mapping[str, int]) -> "ErrorStyle":
        """Return the style with other statuses for some reasons."""
        changed = {reason: replace(self.rows[reason], status=status) for reason, status in statuses.items()}
        return replace(self, rows={**self.rows, **changed})


def _make_row_finder(usual: ErrorRow, server: ErrorRow, **others: ErrorRow) -> Callable[[int], ErrorRow]:
    """Return a function that returns the row of a status: `others` by names like `s401`, else `usual` or, from 500 on,
    `server`.
    """

    def find(status: int) -> ErrorRow:
        row = others.get(f"s{status}") or (usual if status < 500 else server)
        return replace(row, status=status)

    return find


def _nest_error(error: ProviderError, failure: Failure, request_id: str) -> Mapping[str, Json]:
    return {"error": _show_error(error)}


def _show_error(error: ProviderError) -> dict[str, Json]:
    return {"message": error.message, "type": error.kind, "param": error.param, "code": error.code}


_INVALID = ErrorRow(status=400, kind=INVALID_REQUEST)
_SERVER = ErrorRow(status=500, kind="server_error")

# -- DeepSeek (https://api-docs.deepseek.com/quick_start/error_codes)

_DEEPSEEK_BAD = ErrorRow(status=400, kind=INVALID_REQUEST, code=INVALID_REQUEST)
_DEEPSEEK_POOR = ErrorRow(status=402, kind="unknown_error", code=INVALID_REQUEST)


def _word_as_serde(complaint: Complaint) -> str:
    """Return the message of a server in Rust, as DeepSeek and xAI have."""
    at = f"{complaint.where}: " if complaint.where else ""
    match complaint.kind:
        case "missing":
            *path, name = complaint.path
            within = replace(complaint, path=tuple(path)).where
            why = f"{f'{within}: ' if within else ''}missing field `{name}`"
        case "type":
            why = f"{at}invalid type: {_name_type(complaint.got)}, expected {' or '.join(complaint.expected)}"
        case "value" if complaint.message is None:
            allowed = ", ".join(f"`{value}`" for value in complaint.expected)
            some = "one of " if len(complaint.expected) > 1 else ""
            why = f"{at}unknown variant `{clip(str(complaint.got))}`, expected {some}{allowed}"
        case _:
            return refuse_without_code(complaint).message or ""
    return f"Failed to deserialize the JSON body into the target type: {why}"


def _reword_as_axum(http: HttpRequest, failure: Failure) -> Failure:
    return reword_unreadable(
        failure,
        bad_json="Failed to parse the request body as JSON: ",
        other_media="Expected request with `Content-Type: application/json`",
    )


def _name_type(value: Json) -> str:
    match value:
        case bool():
            return f"boolean `{str(value).lower()}`"
        case int():
            return f"integer `{clip(str(value))}`"
        case float():
            return f"floating point `{clip(str(value))}`"
        case str():
            return f'string "{clip(value)}"'
        case None:
            return "null"
    return "sequence" if isinstance(value, list) else "map"


def _word_as_deepseek(complaint: Complaint) -> str:
    """Return the message about a field; of a part of a message, the place is that of the message."""
    match complaint.path:
        case ("messages",) if complaint.kind == "short":
            return "Empty input messages"
        case ("messages", int(), "content", *_) as path if complaint.kind != "missing":
            return _word_as_serde(replace(complaint, path=path[:2]))
    return _word_as_serde(complaint)


DEEPSEEK = ErrorStyle(
    rows=make_error_rows(
        _make_row_finder(
            _DEEPSEEK_BAD,
            ErrorRow(status=500, kind="server_error", code="server_error"),
            s401=ErrorRow(status=401, kind="authentication_error", code=INVALID_REQUEST),
            s402=_DEEPSEEK_POOR,
            s429=ErrorRow(status=429, kind="rate_limit_error", code="rate_limit_error"),
        ),
        model_not_found=_DEEPSEEK_BAD,
        quota=_DEEPSEEK_POOR,
    ),
    messages={
        "invalid_key": "Authentication Fails, Your api key: {key} is invalid",
        "missing_key": "Authentication Fails (auth header format should be Bearer sk-...)",
        "billing": "Insufficient Balance",
        "quota": "Insufficient Balance",
        "model_not_found": (
            "The supported API model names are deepseek-v4-pro or deepseek-v4-flash, but you passed {model}."
        ),
        "rate_limit": "You are sending requests too quickly. Please pace your requests reasonably.",
        "content_filter": "Content Exists Risk",
        "overloaded": "Service is too busy. We advise users to temporarily switch to alternative LLM API providers.",
        "context_length": (
            "This model's maximum context length is {limit} tokens. However, you requested {tokens} tokens. "
            "Please reduce the length of the messages or completion."
        ),
    },
    render=_nest_error,
    word=_word_as_deepseek,
    names_field=False,
    reword=_reword_as_axum,
)

# -- OpenRouter (https://openrouter.ai/docs/api/reference/errors-and-debugging)

_OPENROUTER_POOR = ErrorRow(status=402)
_OPENROUTER_CHUNK: Mapping[str, Json] = {  # what its client requires of every chunk, should none have come before
    "id": "gen-1700000000",
    "object": "chat.completion.chunk",
    "created": 1_700_000_000,
    "model": "unknown",
    "provider": "Mockserver",
}


def _number_code(error: ProviderError, failure: Failure, request_id: str) -> Mapping[str, Json]:
    code = error.code if isinstance(error.code, int) else error.status
    body: dict[str, Json] = {"message": error.message, "code": code}
    if failure.reason == "content_filter":
        body["metadata"] = {"reasons": ["flagged"], "flagged_input": "", "provider_name": "Mockserver"}
    elif error.status in (429, 502, 503):
        body["metadata"] = {"provider_name": "Mockserver", "raw": error.message}
    elif error.status == 402:
        body["metadata"] = {"provider_name": None}
    elif isinstance(error.code, str):
        body["metadata"] = {"error_type": error.code}
    return {"error": body, **({} if error.status in _WITHOUT_USER else {"user_id": "user_mockserver"})}


_WITHOUT_USER = (401, 404)


def _end_openrouter(failed: Reply, last: bytes) -> Frame:
    """Return a chunk of the answer that breaks off, with the error beside a choice that ends with `error`."""
    before = read_event(last)
    named = {key: before.get(key, otherwise) for key, otherwise in _OPENROUTER_CHUNK.items()}
    choice = {"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": "error"}
    return Frame(to_json({**named, "error": from_json(failed.body)["error"], "choices": [choice]}), part="finish")


OPENROUTER = ErrorStyle(
    rows=make_error_rows(
        make_bare_row,
        content_filter=ErrorRow(status=403),
        model_not_found=ErrorRow(status=400),
        quota=_OPENROUTER_POOR,
        billing=_OPENROUTER_POOR,
        unsupported=ErrorRow(status=404, code=404),
    ),
    unsupported={
        **PLAIN_UNSUPPORTED_MESSAGES,
        "parameter": (
            "No endpoints found that support tool use. To learn more about provider routing, visit: "
            "https://openrouter.ai/docs/guides/routing/provider-selection"
        ),
        "vision": "No endpoints found that support image input",
    },
    messages={
        "invalid_key": "User not found.",
        "missing_key": "Missing Authentication header",
        "billing": "Insufficient credits. Add more using https://openrouter.ai/settings/credits",
        "quota": "Insufficient credits. Add more using https://openrouter.ai/settings/credits",
        "model_not_found": "{model} is not a valid model ID",
        "rate_limit": "Rate limit exceeded: please try again in {wait}.",
        "content_filter": "Your chosen model requires moderation and your input was flagged.",
        "bad_gateway": "Provider returned error",
        "overloaded": "No instances available",
        "server_error": "Internal Server Error",
    },
    render=_number_code,
    end_stream=_end_openrouter,
)

# -- xAI (https://docs.x.ai/docs/key-information/debugging): `code` has the words of a status of gRPC

_XAI_BAD = ErrorRow(status=400, code="Client specified an invalid argument")


def _flatten_code(error: ProviderError, failure: Failure, request_id: str) -> Mapping[str, Json]:
    return {"code": error.code, "error": error.message}


XAI = ErrorStyle(
    rows=make_error_rows(
        _make_row_finder(
            _XAI_BAD,
            ErrorRow(status=500, code="Internal error"),
            s401=ErrorRow(status=401, code="The request does not have valid authentication credentials"),
            s402=ErrorRow(status=402, code="Some resource has been exhausted"),
            s403=ErrorRow(status=403, code="The caller does not have permission to execute the specified operation"),
            s404=ErrorRow(status=404, code="Some requested entity was not found"),
            s429=ErrorRow(status=429, code="Some resource has been exhausted"),
            s503=ErrorRow(status=503, code="The service is currently unavailable"),
            s504=ErrorRow(status=504, code="Timeout expired before operation could complete"),
        ),
        invalid_key=_XAI_BAD,
    ),
    messages={
        "invalid_key": ("Incorrect API key provided: {key}. You can obtain an API key from https://console.x.ai."),
        "missing_key": "No API key provided. You can obtain an API key from https://console.x.ai.",
        "model_not_found": "The model {model} does not exist or your team does not have access to it.",
        "rate_limit": "Too many requests for {model}. Please try again in {wait}.",
        "quota": "Your team has used all available credits. To continue, purchase more credits.",
        "billing": "Your team has used all available credits. To continue, purchase more credits.",
    },
    render=_flatten_code,
    word=_word_as_serde,
    reword=_reword_as_axum,
)

# -- Groq (https://console.groq.com/docs/errors)


def _drop_absent(error: ProviderError, failure: Failure, request_id: str) -> Mapping[str, Json]:
    stated: dict[str, Json] = {"message": error.message, "type": error.kind}
    if error.param is not None:
        stated["param"] = error.param
    if error.code is not None:
        stated["code"] = error.code
    if error.code in _GROQ_FAILURES:
        failed = failure.details.get("data", "")
        stated["failed_generation"] = failed if isinstance(failed, str) else compact(failed)
    return {"error": stated}


_GROQ_FAILURES = frozenset({"tool_use_failed", "json_validate_failed"})  # what the model wrote could not be read


def _end_groq(failed: Reply, last: bytes) -> Frame:
    """Return an event `error`, after which there is no `[DONE]`."""
    error = from_json(failed.body)["error"]
    return Frame(to_json({"error": {**error, "status_code": failed.status}}), event="error", part="finish")


def _word_as_groq(complaint: Complaint) -> str:
    """Return the message of a server that names the message around a wrong field, and its role."""
    why = _word_field_as_groq(complaint)
    match complaint.loc:
        case ("messages", int(at), "role"):
            return f"'messages.{at}' : discriminator property 'role' has invalid value"
        case ("messages", int(at), str(role), _, *_):
            return f"'messages.{at}' : for 'role:{role}' the following must be satisfied[({why})]"
    return why


def _word_field_as_groq(complaint: Complaint) -> str:
    where = ".".join(map(str, complaint.path))
    match complaint.kind:
        case "missing":
            *path, name = map(str, complaint.path)
            within = f"'{clip('.'.join(path))}' : " if path else ""
            return f"{within}property '{name}' is missing"
        case "unknown":
            *path, name = map(str, complaint.path)
            within = f"'{'.'.join(path)}' : " if path else ""
            return f"{within}property '{clip(name)}' is unsupported"
        case "type":
            return f"'{clip(where)}' : value must be {' or '.join(complaint.expected)}"
        case "value" if complaint.message is None:
            allowed = ",".join(f"'{each}'" for each in complaint.expected)
            return f"'{clip(where)}' : value is not one of the allowed values [{allowed}]"
        case "below" | "above":
            least = "at least" if complaint.kind == "below" else "at most"
            return f"'{clip(where)}' : number must be {least} {complaint.bound}"
        case "short":
            return f"'{clip(where)}' : minimum number of items is {complaint.bound}"
    return refuse_without_code(complaint).message or ""


_GROQ_SERVER = ErrorRow(status=500, kind="internal_server_error", code="internal_server_error")
GROQ = ErrorStyle(
    rows=make_error_rows(
        _make_row_finder(
            _INVALID, _GROQ_SERVER, s413=ErrorRow(status=413, kind=INVALID_REQUEST, code="request_too_large")
        ),
        invalid_key=ErrorRow(status=401, kind=INVALID_REQUEST, code="invalid_api_key"),
        missing_key=ErrorRow(status=401, kind=INVALID_REQUEST, code="invalid_api_key"),
        model_not_found=ErrorRow(status=404, kind=INVALID_REQUEST, code="model_not_found"),
        context_length=ErrorRow(status=400, kind=INVALID_REQUEST, code="context_length_exceeded"),
        rate_limit=ErrorRow(status=429, kind="requests", code="rate_limit_exceeded"),
        over_limit=ErrorRow(status=413, kind="tokens", code="rate_limit_exceeded"),
        quota=ErrorRow(status=429, kind="tokens", code="rate_limit_exceeded"),
        route_not_found=ErrorRow(status=404, kind=INVALID_REQUEST, code="unknown_url"),
        overloaded=ErrorRow(status=503, kind="internal_server_error", code="service_unavailable"),
    ),
    messages={
        "invalid_key": "Invalid API Key",
        "model_not_found": "The model `{model}` does not exist or you do not have access to it.",
        "context_length": "Please reduce the length of the messages or completion.",
        "rate_limit": (
            "Rate limit reached for model `{model}` in organization `org_mockserver` service tier `on_demand` on "
            "{rate}: Limit {most}, Used {used}, Requested {asked}. Please try again in {wait}. "
            "Need more tokens? Visit https://console.groq.com/docs/rate-limits"
        ),
        "over_limit": (
            "Request too large for model `{model}` in organization `org_mockserver` service tier `on_demand` on "
            "{rate}: Limit {most}, Requested {asked}, please reduce your message size and try again."
        ),
        "route_not_found": "Unknown request URL: {method} {path}. Please check the URL for typos",
        "server_error": "Internal Server Error",
        "overloaded": "Service Unavailable",
    },
    render=_drop_absent,
    word=_word_as_groq,
    names_field=False,
    late=_GROQ_FAILURES,
    end_stream=_end_groq,
)

# -- Together (https://docs.together.ai/docs/error-codes)


def _name_request(error: ProviderError, failure: Failure, request_id: str) -> Mapping[str, Json]:
    return {"id": request_id, "error": _show_error(error)}


TOGETHER = ErrorStyle(
    rows=make_error_rows(
        _make_row_finder(_INVALID, _SERVER, s402=ErrorRow(status=402, kind="credit_limit", code="credit_limit")),
        invalid_key=ErrorRow(status=401, kind=INVALID_REQUEST, code="invalid_api_key"),
        missing_key=ErrorRow(status=401, kind=INVALID_REQUEST, code="missing_api_key"),
        model_not_found=ErrorRow(status=404, kind=INVALID_REQUEST, code="model_not_available"),
        rate_limit=ErrorRow(status=429, kind="rate_limit", code="rate_limit"),
        over_limit=ErrorRow(status=429, kind="rate_limit", code="rate_limit"),
        quota=ErrorRow(status=402, kind="credit_limit", code="credit_limit"),
        overloaded=ErrorRow(status=503, kind="server_error", code="service_unavailable"),
    ),
    messages={
        "invalid_key": (
            "Invalid API key provided. You can find your API key at https://api.together.ai/settings/api-keys."
        ),
        "missing_key": "Missing API key. You can find your API key at https://api.together.ai/settings/api-keys.",
        "model_not_found": (
            "Unable to access model {model}. Please visit https://api.together.ai/models to view the list of "
            "supported models."
        ),
        "rate_limit": "You have reached the rate limit specific to this model {model}. Please try again in {wait}.",
        "quota": "Credit limit exceeded, please navigate to https://api.together.ai/settings/billing to upgrade.",
        "overloaded": "The server is overloaded or not ready yet.",
    },
    render=_name_request,
)

# -- Cerebras (https://inference-docs.cerebras.ai/support/error)


def _flatten_error(error: ProviderError, failure: Failure, request_id: str) -> Mapping[str, Json]:
    return _show_error(error)


def _end_cerebras(failed: Reply, last: bytes) -> Frame:
    """Return a chunk with the error in a table of its own, unlike the body of a reply."""
    return Frame(to_json({"error": from_json(failed.body), "status_code": failed.status}), part="finish")


def _word_as_cerebras(complaint: Complaint) -> str:
    match complaint.kind:
        case "missing":
            return f"{'.'.join(map(str, complaint.path))}: Field required"
        case "unknown":
            place = ".".join(map(str, complaint.loc or complaint.path))
            return f"{place}: property '{place}' is unsupported"
        case "type":
            wanted = f"Input should be {' or '.join(complaint.expected)}, not {name_json_type(complaint.got)}"
            return f"{'.'.join(map(str, complaint.path))}: {wanted}"
    return refuse_without_code(complaint).message or ""


_CEREBRAS_FAST = ErrorRow(status=429, kind="too_many_requests_error", code="request_quota_exceeded", param="quota")
CEREBRAS = ErrorStyle(
    rows=make_error_rows(
        _make_row_finder(
            ErrorRow(status=400, kind=INVALID_REQUEST, code="wrong_api_format", param="validation_error"),
            ErrorRow(status=500, kind="server_error", code="server_error"),
            s402=ErrorRow(status=402, kind="payment_required_error", code="payment_required", param="quota"),
            s404=ErrorRow(status=404, kind="not_found_error", code="not_found"),
        ),
        invalid_key=ErrorRow(status=401, kind=INVALID_REQUEST, code="wrong_api_key", param="api_key"),
        missing_key=ErrorRow(status=401, kind=INVALID_REQUEST, code="wrong_api_key", param="api_key"),
        model_not_found=ErrorRow(status=404, kind="not_found_error", code="model_not_found", param="model"),
        context_length=ErrorRow(status=400, kind=INVALID_REQUEST, code="context_length_exceeded", param="messages"),
        rate_limit=_CEREBRAS_FAST,
        over_limit=replace(_CEREBRAS_FAST, code="token_quota_exceeded"),
        quota=replace(_CEREBRAS_FAST, code="token_quota_exceeded"),
        overloaded=ErrorRow(status=503, kind="server_error", code="service_unavailable"),
    ),
    messages={
        "invalid_key": "Wrong API Key",
        "model_not_found": "Model {model} does not exist or you do not have access to it.",
        "rate_limit": "Requests per minute limit exceeded - too many requests sent.",
        "over_limit": "Tokens per minute limit exceeded - too many tokens processed.",
        "quota": "Tokens per day limit exceeded - too many tokens processed.",
        "overloaded": "We're experiencing high traffic right now! Please try again soon.",
    },
    render=_flatten_error,
    word=_word_as_cerebras,
    names_field=False,
    end_stream=_end_cerebras,
)

# -- Perplexity


def _number_status(error: ProviderError, failure: Failure, request_id: str) -> Mapping[str, Json]:
    code = error.status if error.code is None else error.code
    return {"error": {"message": error.message, "type": error.kind, "code": code}}


PERPLEXITY = ErrorStyle(
    rows=make_error_rows(
        _make_row_finder(
            ErrorRow(status=400, kind="bad_request"),
            ErrorRow(status=500, kind="internal_error"),
            s401=ErrorRow(status=401, kind="unauthorized"),
            s404=ErrorRow(status=404, kind="not_found"),
            s429=ErrorRow(status=429, kind="rate_limit_exceeded"),
        ),
        model_not_found=ErrorRow(status=400, kind="invalid_model"),
        bad_parameter=ErrorRow(status=400, kind="invalid_parameter"),
        quota=ErrorRow(status=401, kind="insufficient_quota"),
        invalid_key=ErrorRow(status=401, kind="invalid_api_key"),
        missing_key=ErrorRow(status=401, kind="invalid_api_key"),
    ),
    messages={
        "invalid_key": "Invalid API key provided. You can find your API key at https://www.perplexity.ai/settings/api.",
        "model_not_found": (
            "Invalid model '{model}'. Permitted models can be found in the documentation at "
            "https://docs.perplexity.ai/getting-started/models."
        ),
        "rate_limit": "Request rate limit exceeded, please try again later.",
    },
    render=_number_status,
    end_stream=lambda failed, last: Frame(failed.body, event="error", part="finish"),  # its client sees no other
)

# -- vLLM (https://docs.vllm.ai)


def _number_fourth(error: ProviderError, failure: Failure, request_id: str) -> Mapping[str, Json]:
    if error.status == 401 and failure.message is None:
        return {"error": "Unauthorized"}
    return {"error": {**_show_error(error), "code": error.status if error.code is None else error.code}}


def _reword_as_fastapi(http: HttpRequest, failure: Failure) -> Failure:
    detail = describe_unreadable(http, failure)
    if detail is None:
        return failure
    return failure.replace(reason="bad_json", message=f"1 validation error:\n  {detail}", kind="Bad Request")


VLLM = ErrorStyle(
    rows=make_error_rows(
        lambda status: ErrorRow(status=status, kind="BadRequestError" if status == 400 else find_reason_phrase(status)),
        model_not_found=ErrorRow(status=404, kind="NotFoundError", param="model"),
        context_length=ErrorRow(status=400, kind="BadRequestError", param="input_tokens"),
        unmatched=ErrorRow(status=404, kind="NotFoundError"),
        not_found=ErrorRow(status=404, kind="NotFoundError"),
        server_error=ErrorRow(status=500, kind="InternalServerError"),
    ),
    messages={
        "model_not_found": "The model `{model}` does not exist.",
    },
    render=_number_fourth,
    reword=_reword_as_fastapi,
)

# -- LM Studio (https://lmstudio.ai/docs)


def _show_message_only(error: ProviderError, failure: Failure, request_id: str) -> Mapping[str, Json]:
    return {"error": error.message}


LMSTUDIO = ErrorStyle(
    rows=make_error_rows(
        make_bare_row,
        model_not_found=ErrorRow(status=400),
        route_not_found=ErrorRow(status=200),
        method_not_allowed=ErrorRow(status=200),
    ),
    messages={
        "model_not_found": 'Failed to load model "{model}". Error: Model not found.',
        "route_not_found": "Unexpected endpoint or method. ({method} {path})",
        "method_not_allowed": "Unexpected endpoint or method. ({method} {path})",
    },
    render=_show_message_only,
)

_POOR = ErrorRow(status=402, kind="insufficient_quota", code="insufficient_quota")
COMPATIBLE = ErrorStyle(
    rows=make_gateway_rows(
        content_filter=ErrorRow(status=400, kind=INVALID_REQUEST, code="content_filter"),
        context_length=ErrorRow(status=400, kind=INVALID_REQUEST, code="context_length_exceeded", param="messages"),
        billing=_POOR,
        forbidden=ErrorRow(status=403, kind="permission_error", code="forbidden"),
        model_not_found=ErrorRow(status=404, kind=INVALID_REQUEST, code="model_not_found", param="model"),
        unknown_model=ErrorRow(status=404, kind=INVALID_REQUEST, code="model_not_found", param="model"),
        quota=ErrorRow(status=429, kind="insufficient_quota", code="insufficient_quota"),
        server_error=ErrorRow(status=500, kind="server_error", code="internal_error"),
    ),
    messages={},
    render=_nest_error,
    reword=lambda http, failure: failure,
)
STYLES: Mapping[str, ErrorStyle] = {
    "compatible": COMPATIBLE,
    "cerebras": CEREBRAS,
    "deepseek": DEEPSEEK,
    "groq": GROQ,
    "lmstudio": LMSTUDIO,
    "openrouter": OPENROUTER,
    "perplexity": PERPLEXITY,
    "together": TOGETHER,
    "vllm": VLLM,
    "xai": XAI,
}
