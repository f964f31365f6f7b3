"""Azure AI Model Inference: flat errors, `api-version`, `extra-parameters`."""

import re
from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import replace
from pydantic_core import to_json

from mockserver.core.call import Call, IdShape
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json, find_in
from mockserver.core.plan import Failure, Models
from mockserver.core.validation import Validation
from mockserver.dialects import Dialect, Operation
from mockserver.dialects._errors import (
    PLAIN_UNSUPPORTED_MESSAGES,
    ErrorRow,
    ProviderError,
    find_reason_phrase,
    make_error_rows,
    make_plain_errors,
    refuse,
    write_retry_lines,
)
from mockserver.dialects._fields import (
    BodyModel,
    Reading,
    fields_of,
    integer,
    label_member,
    list_of,
    literal,
    not_null,
    number,
    optional,
    shape,
    tag_union,
    text_or,
    union,
)
from mockserver.dialects._openai_api.chat import find_unmet_tool_choice, make_chat_call, make_chat_operation
from mockserver.dialects._openai_api.chat_bodies import (
    AudioPart,
    ChatBody,
    FunctionCall,
    FunctionTool,
    FunctionToolCall,
    ImageUrl,
    NamedFunction,
    Penalty,
    ResponseFormat,
    ToolMode,
    make_chat_model,
)
from mockserver.dialects._openai_api.embeddings import (
    MAX_INPUTS,
    Dimensions,
    make_bounded_embedding_call,
    make_embeddings_reply,
)
from mockserver.dialects._parse import (
    Body,
    Complaint,
    clip,
    find_unknown_keys,
    read_bearer,
    read_body,
    read_object,
    read_usual,
    refuse_first,
    split_param,
)
from mockserver.dialects._reply import make_json_reply, make_request_hex, make_request_uuid
from mockserver.kinds.embeddings import Embeddings
from mockserver.wire.chat import ChatLayout

# A text, under `text` or `content`; an image, as a URL or base64 under `content` or in OpenAI's form.
TextPart = shape(type=literal("text"), text=not_null(str), content=not_null(str))
ImagePart = shape(
    type=literal("image", "image_url"),
    content=not_null(str),
    detail=optional(literal("auto", "low", "high")),
    image_url=not_null(ImageUrl),
)
Parts = list_of(tag_union("type", TextPart, ImagePart, AudioPart), 1)
Message = shape(
    role=literal("system", "user", "assistant", "tool", "developer"),
    content=optional(text_or("<an array of objects>", Parts)),
    tool_calls=optional(list_of(FunctionToolCall)),
    tool_call_id=optional(str),
    name=optional(str),
    refusal=optional(str),
    function_call=optional(FunctionCall),
)
# `POST /chat/completions`.
AzureChatBody = shape(
    messages=list_of(Message, 1),
    model=optional(str),
    frequency_penalty=optional(Penalty),
    presence_penalty=optional(Penalty),
    max_tokens=optional(integer(0)),
    response_format=optional(ResponseFormat),
    seed=optional(int),
    stop=optional(text_or("<an array of strings>", list_of(str))),
    stream=optional(bool),
    temperature=optional(number(0)),
    top_p=optional(number(0, 1)),
    tools=optional(list_of(FunctionTool)),
    tool_choice=optional(union(ToolMode, label_member("<an object>", NamedFunction))),
)
# Fields of OpenAI's chat that are not the API's own: the `extra-parameters` header decides about them.
PassedThrough = shape(
    **fields_of(
        ChatBody,
        "n", "stream_options", "logprobs", "top_logprobs", "parallel_tool_calls",
        "functions", "function_call", "reasoning_effort", "verbosity",
    ),
    max_completion_tokens=optional(integer(0)),
)  # fmt: skip
AZURE_CHAT = make_chat_model(shape(**AzureChatBody["fields"], **PassedThrough["fields"]))
# The service takes two of those all the same, although its reference lacks them.
_CHAT_FIELDS = frozenset(AzureChatBody["fields"]) | {"stream_options", "reasoning_effort"}

# `POST /embeddings`.
AzureEmbeddingBody = shape(
    input=list_of(str, 1, MAX_INPUTS),
    model=optional(str),
    encoding_format=optional(literal("base64", "binary", "float", "int8", "ubinary", "uint8")),
    dimensions=Dimensions,
    input_type=optional(literal("text", "query", "document")),
)
# If nothing is checked, a single text is read, too.
AZURE_EMBEDDING = BodyModel(
    AzureEmbeddingBody, lenient={"input": lambda given: [given] if isinstance(given, str) else given}
)


NAME = "azure"
EMBEDDING_MODEL = "Cohere-embed-v3-english"  # the model if none is named
DIMENSIONS = 1024
MODELS = ("Phi-4", "Llama-3.3-70B-Instruct", "mistral-large-2411")
_IDS = IdShape("", 32, "hex")
_VERSION = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(-preview)?")


def check_version(http: HttpRequest) -> None:
    """Raise Failure unless the query has a version of the API."""
    version = http.query.get("api-version")
    if not version:
        message = "The api-version query parameter (?api-version=) is required for all requests."
        raise Failure("bad_parameter", message, code="MissingApiVersionParameter", param="api-version")
    if not _VERSION.fullmatch(version):
        message = (
            f"The api-version '{clip(version)}' is invalid. The format is YYYY-MM-DD, optionally followed by -preview."
        )
        raise Failure("bad_parameter", message, code="InvalidApiVersionParameter", param="api-version")


def _parse_chat(http: HttpRequest, validation: Validation) -> Call:
    check_version(http)
    body, chat = _read(AZURE_CHAT, http, known=_CHAT_FIELDS, validation=validation)
    if validation is not Validation.OFF:
        refuse_first((*find_unmet_tool_choice(chat), *_find_wrong_contents(chat["messages"])), refuse_as_azure)
    return replace(make_chat_call(http, body, chat, dialect=NAME), ids=_IDS)


def _parse_embeddings(http: HttpRequest, validation: Validation) -> Call:
    check_version(http)
    body, parsed = _read(AZURE_EMBEDDING, http, known=AZURE_EMBEDDING.fields, validation=validation)
    if not parsed.get("model") and not parsed.get("dimensions"):
        parsed = {**parsed, "dimensions": DIMENSIONS}
    return make_bounded_embedding_call(http, body, parsed, dialect=NAME, refuse=refuse_as_azure)


def _read(model: BodyModel, http: HttpRequest, *, known: frozenset[str], validation: Validation) -> Reading:
    """Return the body of a request; fields other than the `known` ones are extra parameters."""
    if validation is Validation.PUBLISHED and b"extra-parameters" not in http.header_values:
        usual = read_usual(model.typed, http)
        if usual is not None and known.issuperset(usual):
            return Reading(usual, usual)
    return read_body(model, read_passing_extras(http, known, validation), refuse=refuse_as_azure, validation=validation)


def refuse_as_azure(complaint: Complaint) -> Failure:
    """Return a 422 for a parameter that the API knows but the model does not support, and a 400 for any other."""
    failure = refuse(complaint)
    if not _is_unsupported(complaint):
        return Failure("bad_parameter", failure.message, param=failure.param)
    loc = ("body", *(clip(str(step)) for step in complaint.path))
    value = "" if complaint.kind == "missing" else show_value(complaint.got)
    message = f"One of the parameters has an unsupported value. {failure.message}"
    return Failure("unprocessable", message, param=failure.param, details={"loc": loc, "value": value})


def show_value(value: Json) -> str:
    """Return a value of a request as an error quotes it: a text as it is, and any other value as JSON."""
    return clip(value if isinstance(value, str) else to_json(value).decode(), 1000)


def _is_unsupported(complaint: Complaint) -> bool:
    """Return whether the model does not support a role, a part or a parameter."""
    field = complaint.path[0]
    return complaint.kind == "value" if field == "messages" else field in _MODEL_FIELDS


def read_passing_extras(http: HttpRequest, known: frozenset[str], validation: Validation) -> Body:
    """Return the body of a request, without unknown parameters if its header `extra-parameters` has them dropped.

    Raises Failure if the header allows none.
    """
    body = read_object(http)
    mode = http.find_header("extra-parameters")
    extras = find_unknown_keys(body, known)
    match (mode or "error").strip().lower():
        case "pass-through":
            return body
        case "drop" | "ignore":
            return {key: value for key, value in body.items() if key in known}
        case "error":
            if not extras or validation is Validation.OFF:
                return body
            shown = clip(str([clip(extra) for extra in extras]), 300)
            message = (
                f"Extra parameters {shown} are not allowed when extra-parameters is not set or set to be 'error'. "
                "Set extra-parameters to 'pass-through' to pass to the model."
            )
            raise Failure("bad_parameter", message, param=clip(extras[0]))
    message = (
        f"The extra-parameters header is '{clip(mode or '')}'; it may be 'error', 'pass-through', 'drop' or 'ignore'."
    )
    raise Failure("bad_parameter", message, param="extra-parameters")


def _find_wrong_contents(messages: Iterable[Body]) -> Iterator[Complaint]:
    for at, message in enumerate(messages):
        content = message.get("content")
        if type(content) is str:
            continue
        if content is None and message["role"] != "assistant":
            path = ("messages", at, "content")
            expected = ("a string", "an array of objects")
            yield Complaint("type", path, expected=expected) if "content" in message else Complaint("missing", path)
        for index, part in enumerate(content if isinstance(content, list) else ()):
            own = "text" if part["type"] == "text" else "image_url"
            if part["type"] != "input_audio" and own not in part and "content" not in part:
                yield Complaint("missing", ("messages", at, "content", index, own))


_MODEL_FIELDS = {
    *PassedThrough["fields"],
    "frequency_penalty", "presence_penalty", "max_tokens", "response_format", "temperature", "top_p",
    "tools", "tool_choice", "dimensions", "encoding_format", "input_type",
}  # fmt: skip


def read_credential(http: HttpRequest) -> str | None:
    """Return the key of a request: a bearer token, or that in `api-key`."""
    return read_bearer(http) or (http.find_header("api-key") or "").strip() or None


def _render_embeddings(call: Call, outcome: Embeddings) -> Reply:
    named = replace(outcome, model=outcome.model or EMBEDDING_MODEL)
    encoding = call.raw.get("encoding_format")
    lines = _write_lines(call.http, call)
    return make_embeddings_reply(named, encoding, lines=lines, identity=make_request_hex(call.http, call))


def _parse_info(http: HttpRequest, validation: Validation) -> Call:
    check_version(http)
    return Call(NAME, "info", model="", http=http, meaning={})


def _refuse_info(http: HttpRequest, validation: Validation) -> Call:
    check_version(http)
    message = "An endpoint that serves several models has no /info: it tells about one model. Ask for /info instead."
    raise Failure("not_found", message)


def _render_info(call: Call, outcome: Models) -> Reply:
    name = outcome.names[0] if outcome.names else MODELS[0]
    body = {"model_name": name, "model_type": "chat_completion", "model_provider_name": "mockserver"}
    return make_json_reply(200, body, lines=_write_lines(call.http, call))


def _fail(http: HttpRequest, failure: Failure, call: Call | None) -> Reply:
    if "feature" in failure.details and call is not None:
        failure = ERRORS.word_unsupported(failure, call)
    resolved = ERRORS.resolve(failure, http, call)
    if failure.reason == "unmatched" and failure.status is not None:  # the setting `unmatched` states it
        row = _make_row(failure.status)
        resolved = replace(resolved, kind=failure.kind or row.kind, code=failure.code or row.code)
    # Its client retries every answer with retry-after, which only a rule may want.
    again = "" if "window" in failure.details else write_retry_lines(failure)
    lines = f"{_write_lines(http, call)}x-ms-error-code: {_write_token(str(resolved.code))}\r\n{again}"
    return make_json_reply(
        resolved.status, _render_error(resolved, failure, call), lines=lines, headers=failure.headers
    )


def _render_error(resolved: ProviderError, failure: Failure, call: Call | None) -> Mapping[str, Json]:
    error = {"error": resolved.kind, "message": resolved.message}
    match resolved.status:
        case 401 | 404 | 429:
            return {**error, "status": resolved.status}
        case 422:
            detail = _find_detail(failure, resolved, call)
            return {"code": str(resolved.code), "detail": detail, **error, "status": resolved.status}
    return {"code": str(resolved.code), **error, "param": resolved.param or "", "status": resolved.status}


def _make_row(status: int) -> ErrorRow:
    return ErrorRow(status=status, kind=find_reason_phrase(status), code=find_reason_phrase(status).replace(" ", ""))


def _find_detail(failure: Failure, resolved: ProviderError, call: Call | None) -> Mapping[str, Json]:
    """Return the place and value of the parameter that a failure is about, which may be a rule's."""
    if "loc" in failure.details:
        loc = failure.details["loc"]
        value = show_value(failure.details["value"])
    else:
        steps = split_param(resolved.param)
        found = find_in(call.raw, *steps) if call is not None and steps else None
        loc = ("body", *map(str, steps))
        value = "" if found is None else show_value(found)
    return {"loc": list(loc), "value": value, "input": value}


def _write_lines(http: HttpRequest, call: Call | None) -> str:
    name = make_request_uuid(http, call)
    own = f"x-ms-request-id: {name}\r\napim-request-id: {name}\r\n"
    echoed = _write_token(http.find_header("x-ms-client-request-id") or "")
    return f"{own}x-ms-client-request-id: {echoed}\r\n" if echoed else own


def _write_token(text: str) -> str:
    return "".join(char for char in text if char.isascii() and char.isprintable())


CHAT_LAYOUT = ChatLayout(
    completion=("id", "model", "choices", "created", "object", "system_fingerprint", "usage"),
    choice=("index", "finish_reason", "message", "logprobs"),
    message=("role", "content", "reasoning_content", "tool_calls"),
    chunk_choice=("index", "finish_reason", "delta", "logprobs"),
    optional=frozenset({"logprobs", "system_fingerprint"}),
    stream_usage="finish",
)

_BAD_REQUEST = ErrorRow(status=400, kind="Bad Request", code="BadRequest")
_NOT_SUPPORTED = ErrorRow(status=422, kind="Unprocessable Entity", code="parameter_not_supported")
ROWS = make_error_rows(
    _make_row,
    content_filter=replace(_BAD_REQUEST, code="content_filter", param="messages"),
    context_length=replace(_BAD_REQUEST, code="context_length_exceeded", param="messages"),
    unprocessable=_NOT_SUPPORTED,
    unsupported=_NOT_SUPPORTED,
)
MESSAGES: Mapping[str, str] = {
    "content_filter": "The response was filtered",
    "invalid_key": "Access token is missing or invalid.",
    "model_not_found": "The model `{model}` does not exist or is not served by this endpoint.",
    "route_not_found": "The route is not valid for the deployed model: {method} {path}.",
    "unprocessable": "One of the parameters has an unsupported value",
    "rate_limit": "You have hit your assigned rate limit and your request need to be paced.",
    "quota": "You have hit your assigned quota and your request need to be paced.",
}
UNSUPPORTED = {
    key: f"One of the parameters has an unsupported value. {words}" for key, words in PLAIN_UNSUPPORTED_MESSAGES.items()
}
ERRORS = make_plain_errors(ROWS, MESSAGES, read_credential=read_credential, unsupported=UNSUPPORTED)

QUERY = {"api-version": "2024-05-01-preview"}  # the default of its clients
_CHAT = replace(make_chat_operation(_parse_chat, CHAT_LAYOUT, lines=_write_lines, model=MODELS[0]), query=QUERY)

_EMBEDDINGS = Operation(
    "embeddings", "POST", "/embeddings", parse=_parse_embeddings, render=_render_embeddings, query=QUERY
)

DIALECT = Dialect(
    name=NAME,
    operations=(
        _CHAT,
        replace(_CHAT, path="/models/chat/completions"),
        _EMBEDDINGS,
        replace(_EMBEDDINGS, path="/models/embeddings"),
        Operation("info", "GET", "/info", parse=_parse_info, render=_render_info, query=QUERY),
        Operation("info", "GET", "/models/info", parse=_refuse_info, render=_render_info, query=QUERY),
    ),
    read_credential=read_credential,
    fail=_fail,
    models=MODELS,
    own_features=frozenset({"content_filter", "call_pieces"}),
    missing=dict.fromkeys(("/images/embeddings", "/models/images/embeddings"), "{json: {data: []}}"),
)
