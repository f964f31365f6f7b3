"""From a Failure to a provider's error: a row of the dialect's table, overridden by the failure's own values.

The messages are OpenAI's, as wrappers and gateways recognise their beginnings; a dialect may override them.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from http import HTTPStatus
from typing import NamedTuple

from msgspec import Struct, field

from mockserver.core.call import OTHER, Call
from mockserver.core.http import HttpRequest
from mockserver.core.json import Json, compact, find_in, find_table
from mockserver.core.lazy import remember
from mockserver.core.plan import REASONS, Failure, find_reason
from mockserver.core.tokens import IMAGES
from mockserver.dialects._parse import Complaint, clip, join_words, name_json_type
from mockserver.kinds import CONVERSATIONS


class ErrorRow(Struct, frozen=True, kw_only=True):
    status: int
    kind: str | None = None
    code: str | int | None = None
    param: str | None = None


class ProviderError(Struct, frozen=True):
    status: int
    message: str
    kind: str | None
    code: str | int | None
    param: str | None


class ErrorBody(NamedTuple):
    """A failure as a dialect sends it: the HTTP status, and the body before it is written."""

    status: int
    body: dict[str, Json]


Rows = Mapping[str, ErrorRow]
Messages = Mapping[str, str]
ReadCredential = Callable[[HttpRequest], str | None]


class ErrorTable(Struct, frozen=True, kw_only=True):
    """A dialect's errors: a row and a message for each reason. `read_credential` returns the key of a request."""

    rows: Rows
    messages: Messages
    read_credential: ReadCredential
    unsupported: Messages = field(default_factory=lambda: UNSUPPORTED_MESSAGES)

    def resolve(self, failure: Failure, http: HttpRequest, call: Call | None) -> ProviderError:
        """Return status, message and codes; the failure's own values take precedence over the table."""
        details = failure.details
        if "feature" in details and failure.message is None and call is not None:
            failure = self.word_unsupported(failure, call)
        reason = failure.reason if failure.reason in REASONS else find_reason(failure.status or 500)
        if reason == "unknown_model" and call is not None and call.operation == OTHER and not call.model:
            reason = "not_found"  # a 404 of a rule, where no model was asked for
        row = self.rows[reason]
        if "schema" in details:
            coded = row.code is None and row.kind == "invalid_request_error"
            failure = word_schema_failure(failure, call, coded=coded)
        return ProviderError(
            status=row.status if failure.status is None else failure.status,
            message=self._find_message(reason, failure, http, call) if failure.message is None else failure.message,
            kind=row.kind if failure.kind is None else failure.kind,
            code=row.code if failure.code is None else failure.code,
            param=_find_param(row, call) if failure.param is None else failure.param,
        )

    def word_unsupported(self, failure: Failure, call: Call) -> Failure:
        """Return the failure with this provider's message for a feature that the model does not support."""
        found = find_unsupported_feature(failure, call)
        value = find_in(call.raw, *found.path)
        supported = join_words([f"'{each}'" for each in failure.details.get("supported", ())], "and")
        facts = {
            "model": call.model,
            "param": found.param or found.path[0],
            "value": value,
            **failure.details,
            "supported": supported,
        }
        message = self.unsupported[found.message].format_map({key: clip(str(fact)) for key, fact in facts.items()})
        code = self.rows[failure.reason].code or found.code
        steps = found.path[:-1] if found.path[-1] == "type" else found.path  # what has the type is refused
        place = {"loc": ("body", *map(str, steps)), "value": value}
        return failure.replace(message=message, param=found.param, code=code, details={**failure.details, **place})

    def _find_message(self, reason: str, failure: Failure, http: HttpRequest, call: Call | None) -> str:
        if "completion" in failure.details:  # the prompt fits, but not the completion after it
            template = self.messages.get("completion_too_long", COMPLETION_TOO_LONG)
        elif reason == "context_length" and call is not None and call.operation == "responses":
            template = self.messages.get("input_too_long", self.messages[reason])
        else:
            template = self.messages[reason]
        if not failure.details and call is not None:
            usual = _write_usual_message(template, clip(call.model), failure.retry_after or 1.0)
            if usual is not None:
                return usual
        facts = _gather_facts(failure, http, call, read_credential=self.read_credential)
        message = template.format_map(_Facts(facts))
        return "".join((message, *_list_hints(message, failure.details)))


@remember(1024)
def _write_usual_message(template: str, model: str, wait: float) -> str | None:
    """Return the message of a failure without details; None if it depends on more than the request's model."""
    try:
        return template.format_map({**_USUAL, "model": model, "wait": write_duration(wait), "seconds": f"{wait:g}"})
    except KeyError:
        return None


class _Facts(dict[str, Json]):
    """The values that messages can contain, by name, which are quoted in part if they are long."""

    def __getitem__(self, name: str) -> str:
        return clip(str(super().__getitem__(name)))


def _gather_facts(
    failure: Failure, http: HttpRequest, call: Call | None, read_credential: ReadCredential
) -> Mapping[str, Json]:
    details = failure.details
    wait = failure.retry_after or 1.0
    reached = {**_REACHED, **details}
    return {
        **_USUAL,
        "model": call.model if call is not None else "",
        "id": call.previous_response_id or call.id if call is not None else "",
        "object": _name_missing_object(call),
        "place": "messages" if call is not None and call.operation == "chat" else "prompt",
        "method": http.method,
        "path": http.path,
        "wait": write_duration(wait),
        "seconds": f"{wait:g}",
        **details,
        "key": mask_key(str(details["key"] if "key" in details else read_credential(http) or "")),
        "rate": _RATES.get((reached["kind"], reached["window"]), _RATES["requests", "minute"]),
    }


def _list_hints(message: str, details: Mapping[str, Json]) -> Iterator[str]:
    """Yield what to add to the message about an unknown path."""
    end = "" if message.endswith(".") else "."
    if "rule" in details:
        yield f"{end} mockserver does not have this endpoint; a rule can answer it: {details['rule']}"
    elif "hint" in details:
        yield f"{end} {details['hint']}"
    if "report" in details:
        yield f"\n{details['report']}"


def _find_param(row: ErrorRow, call: Call | None) -> str | None:
    if call is None or row.param != "messages" or call.operation not in CONVERSATIONS:
        return row.param
    return CONVERSATIONS[call.operation].body_key


def _name_missing_object(call: Call | None) -> str:
    if call is None or not call.id:
        return "The requested object was"
    return f"{'Chat completion' if 'chat' in call.operation else 'Response'} with id '{clip(call.id)}'"


def mask_key(key: str) -> str:
    """Return a key as OpenAI shows it in a 401: `sk-te**********cdef`, never whole."""
    shown = min(4, len(key) // 4)
    head = shown + 1 if len(key) > 16 else shown
    hidden = len(key) - head - shown
    return f"{key[:head]}{'*' * min(hidden, 60)}{key[len(key) - shown :]}"


@lru_cache(maxsize=4096)
def write_duration(seconds: float) -> str:
    """Return seconds as OpenAI writes them: `12ms`, `1s`, `6m0s`, `24h0m0s`."""
    if seconds < 1:
        return f"{seconds * 1000:.0f}ms"
    minutes, rest = divmod(round(seconds, 3), 60)
    if not minutes:
        return f"{rest:g}s"
    hours, minutes = divmod(int(minutes), 60)
    return f"{f'{hours}h' if hours else ''}{minutes}m{rest:.5g}s"


def write_retry_lines(failure: Failure, *, in_ms: bool = False) -> str:
    """Return header lines that say when to retry, if known, in seconds (`in_ms`: in milliseconds, too)."""
    wait = failure.retry_after
    if wait is None:
        return ""
    seconds = f"retry-after: {int(wait) if float(wait).is_integer() else wait}\r\n"
    return f"{seconds}retry-after-ms: {round(wait * 1000)}\r\n" if in_ms else seconds


COMPLETION_TOO_LONG = (
    "This model's maximum context length is {limit} tokens. However, you requested {tokens} tokens "
    "({prompt} in the {place}, {completion} in the completion). Please reduce the length of the {place} or completion."
)
_REACHED: Mapping[str, Json] = {"kind": "requests", "window": "minute", "most": 60, "used": 60, "asked": 1}
_RATES: Mapping[tuple[Json, Json], str] = {
    ("requests", "minute"): "requests per min (RPM)",
    ("requests", "day"): "requests per day (RPD)",
    ("tokens", "minute"): "tokens per min (TPM)",
    ("tokens", "day"): "tokens per day (TPD)",
}
_USUAL: Mapping[str, str] = {
    **{name: str(fact) for name, fact in {"limit": 8192, "tokens": 8193, **_REACHED}.items()},
    "rate": _RATES["requests", "minute"],
}

OPENAI_MESSAGES: Messages = {
    "bad_json": "We could not parse the JSON body of your request. The API expects a JSON payload.",
    "bad_parameter": "Invalid request: a parameter has a value that is not supported.",
    "content_filter": "Your request was rejected as a result of our safety system.",
    "context_length": (
        "This model's maximum context length is {limit} tokens. However, your messages resulted in {tokens} tokens. "
        "Please reduce the length of the messages."
    ),
    "invalid_key": (
        "Incorrect API key provided: {key}. You can find your API key at https://platform.openai.com/account/api-keys."
    ),
    "missing_key": (
        "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth "
        "(i.e. Authorization: Bearer YOUR_KEY). "
        "You can obtain an API key from https://platform.openai.com/account/api-keys."
    ),
    "billing": "Your account is not active, please check your billing details on our website.",
    "forbidden": "Country, region, or territory not supported",
    "key_not_allowed": (
        "You have insufficient permissions for this operation. Missing scopes: model.request. Check that you have the "
        "correct role in your organization (Reader, Writer, Owner) and project (Member, Owner), and if you're using a "
        "restricted API key, that it has the necessary scopes."
    ),
    "model_not_allowed": "Project `proj_mockserver` does not have access to model `{model}`",
    "model_not_found": "The model `{model}` does not exist or you do not have access to it.",
    "unknown_model": "The model `{model}` does not exist or you do not have access to it.",
    "not_found": "{object} not found.",
    "previous_not_found": "Previous response with id '{id}' not found.",
    "not_cancellable": "Only responses that are still made in the background can be cancelled.",
    "unmatched": "No rule answers this request.",
    "unsupported": "This is not supported with this model.",
    "route_not_found": "Invalid URL ({method} {path})",
    "method_not_allowed": "Not allowed to {method} on {path}.",
    "timeout": "Request timed out.",
    "conflict": "The resource was changed by another request. Please try again.",
    "too_large": "The request body is too large.",
    "unsupported_media_type": "Invalid Content-Type header, expected application/json.",
    "unprocessable": "The request was well-formed, but could not be processed.",
    "rate_limit": (
        "Rate limit reached for {model} in organization mockserver on {rate}: Limit {most}, Used {used}, "
        "Requested {asked}. Please try again in {wait}. "
        "Visit https://platform.openai.com/account/rate-limits to learn more."
    ),
    "over_limit": (
        "Request too large for {model} in organization mockserver on {rate}: Limit {most}, Requested {asked}. "
        "The input or output tokens must be reduced in order to run successfully. "
        "Visit https://platform.openai.com/account/rate-limits to learn more."
    ),
    "quota": (
        "You exceeded your current quota, please check your plan and billing details. For more information on this "
        "error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors."
    ),
    "server_error": "The server had an error while processing your request. Sorry about that!",
    "bad_gateway": "Bad gateway.",
    "overloaded": "The engine is currently overloaded, please try again later.",
    "gateway_timeout": "The server did not answer in time.",
}

# A prompt of the Responses API that is longer than the context window; others say the same of it as of a chat.
INPUT_TOO_LONG: Messages = {
    "input_too_long": "Your input exceeds the context window of this model. Please adjust your input and try again."
}
# For providers whose own messages are not known: those that speak of OpenAI alone are worded without it.
PLAIN_MESSAGES: Messages = {
    **OPENAI_MESSAGES,
    "invalid_key": "Incorrect API key provided: {key}.",
    "missing_key": "You didn't provide an API key.",
    "key_not_allowed": "This API key is not allowed to do this.",
    "model_not_allowed": "This API key is not allowed to use the model `{model}`.",
    "rate_limit": "Rate limit reached for {model}. Please try again in {wait}.",
    "over_limit": "The request is too large: it has {asked} tokens, and the limit on {rate} is {most}.",
    "quota": "You exceeded your current quota, please check your plan and billing details.",
}


def fill_messages(own: Messages, others: Messages) -> Messages:
    """Return a provider's messages: its own, which also hold for what it does not tell apart, and the `others`."""
    implied = {reason: own[like] for reason, like in _TOLD_ALIKE.items() if like in own}
    return {**others, **implied, **own}


_TOLD_ALIKE = {"unknown_model": "model_not_found", "missing_key": "invalid_key"}

INVALID_REQUEST = "invalid_request_error"
# What gateways in front of OpenAI have in common.
_GATEWAY_ROWS = (
    ErrorRow(status=400, kind=INVALID_REQUEST, code="invalid_parameter"),
    ErrorRow(status=401, kind="authentication_error", code="invalid_api_key"),
    ErrorRow(status=404, kind=INVALID_REQUEST, code="not_found"),
    ErrorRow(status=405, kind=INVALID_REQUEST, code="method_not_supported"),
    ErrorRow(status=408, kind=INVALID_REQUEST, code="timeout"),
    ErrorRow(status=409, kind=INVALID_REQUEST, code="conflict"),
    ErrorRow(status=413, kind=INVALID_REQUEST, code="request_too_large"),
    ErrorRow(status=415, kind=INVALID_REQUEST, code="unsupported_media_type"),
    ErrorRow(status=422, kind=INVALID_REQUEST, code="unprocessable"),
    ErrorRow(status=429, kind="rate_limit_error", code="rate_limit_exceeded"),
    ErrorRow(status=502, kind="server_error", code="bad_gateway"),
    ErrorRow(status=503, kind="server_error", code="service_unavailable"),
    ErrorRow(status=504, kind="server_error", code="gateway_timeout"),
)


def make_gateway_rows(**own: ErrorRow) -> Rows:
    """Return the rows of a gateway, given those that differ from other gateways' or have no common one."""
    common = {row.status: row for row in _GATEWAY_ROWS}
    forbidden = own["forbidden"]
    unknown = own["unknown_model"]
    common |= {402: own["billing"], 403: forbidden, 500: own["server_error"]}
    return make_error_rows(
        common.__getitem__,
        bad_json=ErrorRow(status=400, kind=INVALID_REQUEST, code="invalid_request"),
        **{"previous_not_found": unknown, **own},
    )


def make_bare_row(status: int) -> ErrorRow:
    """Return the row of a provider whose errors have no more than a status and a message."""
    return ErrorRow(status=status)


def make_error_rows(by_status: Callable[[int], ErrorRow], **own: ErrorRow) -> Rows:
    """Return a row for each reason: its own, or else what `by_status` makes of the reason's status."""
    if "model_not_found" in own:
        own.setdefault("unknown_model", own["model_not_found"])
    return {reason: own.get(reason) or by_status(status) for reason, status in REASONS.items()}


def find_reason_phrase(status: int) -> str:
    """Return the phrase of a status; Python 3.13 changed two of them."""
    return {413: "Request Entity Too Large", 422: "Unprocessable Entity"}.get(status) or HTTPStatus(status).phrase


def refuse(complaint: Complaint) -> Failure:
    """Return the failure for a bad parameter, with OpenAI's message and code for the complaint."""
    message, code = _word_complaint(complaint)
    return Failure("bad_parameter", message=message, code=code, param=complaint.param or complaint.where or None)


def refuse_without_code(complaint: Complaint) -> Failure:
    """Return the failure of `refuse` without its code, for dialects that give every bad parameter one code."""
    failure = refuse(complaint)
    return Failure("bad_parameter", message=failure.message, param=failure.param)


def _word_complaint(complaint: Complaint) -> tuple[str, str | None]:
    """Return OpenAI's message for a complaint, and its code."""
    where = complaint.where
    bound = complaint.bound
    kind = complaint.kind
    if complaint.message is not None:
        return complaint.message, _CODES_OF_MESSAGES.get(kind)
    got = name_json_type(complaint.got)  # with an article
    thing = got.partition(" ")[2]
    match kind:
        case "missing":
            return f"Missing required parameter: '{where}'.", "missing_required_parameter"
        case "unknown":
            return f"Unknown parameter: '{where}'.", "unknown_parameter"
        case "type":
            return (
                f"Invalid type for '{where}': expected {_word_expectation(complaint)}, but got {got} instead.",
                "invalid_type",
            )
        case "value":
            allowed = join_words([f"'{value}'" for value in complaint.expected], "and")
            stated = clip(str(complaint.got))
            return f"Invalid value: '{stated}'. Supported values are: {allowed}.", "invalid_value"
        case "pattern":
            words = f"string does not match pattern. Expected a string that matches the pattern '{bound}'."
            code = "invalid_value"
        case "short":
            words = f"empty {thing}. Expected {got} with minimum length {bound}, but got an empty {thing} instead."
            code = f"empty_{thing}"
        case "long" if thing == "object":
            words = (
                f"too many properties. Expected an object with at most {bound} properties, "
                f"but got an object with {len(complaint.got)} properties instead."
            )
            code = "object_above_max_properties"
        case "long":
            words = (
                f"{thing} too long. Expected {got} with maximum length {bound}, "
                f"but got {got} with length {len(complaint.got)} instead."
            )
            code = f"{thing}_above_max_length"
        case _:  # below, above
            side, sign = ("minimum", ">=") if kind == "below" else ("maximum", "<=")
            number, shown = ("decimal", f"{bound:g}") if isinstance(bound, float) else ("integer", str(bound))
            stated = clip(str(complaint.got), 40)
            words = f"{number} {kind} {side} value. Expected a value {sign} {shown}, but got {stated} instead."
            code = f"{number}_{kind}_{side[:3]}_value"
    return f"Invalid '{where}': {words}", code


_CODES_OF_MESSAGES = {
    "value": "invalid_value",
    "moved": "unsupported_parameter",
    "parameters": "invalid_function_parameters",
    "schema": "invalid_json_schema",
    "image": "invalid_image_format",
}


def _word_expectation(complaint: Complaint) -> str:
    wanted, *others = complaint.expected
    if others:
        return "one of " + join_words([wanted, *(name.split(" ", 1)[1] for name in others)], "or")
    if wanted == "an array":
        return "an array of strings" if complaint.path[-1] in _STRING_ARRAYS else "an array of objects"
    return wanted


_STRING_ARRAYS = ("stop", "modalities", "include", "input")


def word_schema_failure(failure: Failure, call: Call | None, *, coded: bool) -> Failure:
    """Return a failure about a schema of the call with OpenAI's message and `param`, and if `coded`, with its code."""
    details = failure.details
    if call is None or failure.param is not None or details.get("schema") is None:
        return failure
    found = _find_in_format(call, details["schema"]) or _find_in_tools(call, details["schema"])
    if found is None:
        return failure
    message = f"Invalid schema for {found.what}: {details['why']} (at {details['pointer']})."
    code = found.code if coded and failure.code is None else failure.code
    return failure.replace(message=message, param=found.param, code=code)


class _InvalidSchema(NamedTuple):
    """What an invalid schema is for, where it is in the request, and the code of OpenAI's error."""

    what: str
    param: str
    code: str | None = None


def _find_in_format(call: Call, schema: Json) -> _InvalidSchema | None:
    if call.options.schema is not schema:
        return None
    responses = find_table(call.raw, "text", "format")
    name = clip(str(find_in(call.raw, "response_format", "json_schema", "name") or responses.get("name") or ""))
    what = f"response_format '{name}'" if name else "response_format"
    if responses:
        return _InvalidSchema(what, "text.format.schema", "invalid_json_schema")
    return _InvalidSchema(what, "response_format")


def _find_in_tools(call: Call, schema: Json) -> _InvalidSchema | None:
    written = compact(schema)  # as JSON: to Python, 1 and true are equal
    for at, tool in enumerate(call.tools):
        if compact(tool.parameters) == written:
            what = f"function '{clip(tool.name)}'"
            place = next((place for key, place in _PLACES.items() if key in call.raw), _CHAT)
            return _InvalidSchema(what, place.format(at), "invalid_function_parameters")
    return None


_CHAT = "tools[{}].function.parameters"
_PLACES = {
    "functions": "functions[{}].parameters",
    "input": "tools[{}].parameters",
    "previous_response_id": "tools[{}].parameters",
}

Path = tuple[str | int, ...]


class UnsupportedFeature(Struct, frozen=True):
    """Where the feature is in the body, what OpenAI calls that place, and the key of the message."""

    path: Path
    param: str | None
    message: str
    code: str | None = None


def find_unsupported_feature(failure: Failure, call: Call) -> UnsupportedFeature:
    """Return the place in a call's body of the feature that its model lacks, which the failure names."""
    match failure.details["feature"]:
        case "tools":
            return _locate_parameter("tools" if call.raw.get("tools") else "functions")
        case "vision":
            return _locate_image(call)
        case "json_schema" if call.operation == "responses":
            return UnsupportedFeature(("text", "format", "type"), "text.format", "json_schema")
        case "json_schema":
            return UnsupportedFeature(("response_format", "type"), "response_format", "json_schema")
        case "reasoning" if failure.details.get("param") == "include":
            return UnsupportedFeature(("include",), "include", message="encrypted_content")
        case "reasoning" if call.operation == "responses":
            return UnsupportedFeature(("reasoning", "effort"), "reasoning.effort", message="parameter", code=_PARAMETER)
        case "reasoning":
            return UnsupportedFeature(("reasoning_effort",), None, message="unrecognized")
        case "efforts" | "verbosity" as feature:
            path = _PATHS[call.operation == "responses", feature]
            words = "value_of_model" if call.operation == "responses" else "one_of_values"
            return UnsupportedFeature(path, ".".join(path), message=words, code=_VALUE)
        case "reasoning_with_tools":
            return UnsupportedFeature(("reasoning_effort",), "reasoning_effort", message="reasoning_with_tools")
        case "cache_retention":
            name = "prompt_cache_retention"
            return UnsupportedFeature((name,), name, message="cache_retention", code="invalid_parameter")
        case "max_output_tokens":
            name = next((key for key in _LIMITS if call.raw.get(key) is not None), _LIMITS[0])
            return UnsupportedFeature((name,), name, message="max_output_tokens", code="invalid_value")
    return _locate_sampling(failure.details, call)


def _locate_parameter(name: str) -> UnsupportedFeature:
    return UnsupportedFeature((name,), name, message="parameter", code=_PARAMETER)


def _locate_sampling(details: Mapping[str, Json], call: Call) -> UnsupportedFeature:
    name = str(details["param"])
    if name == "max_tokens":
        return UnsupportedFeature((name,), name, message="max_tokens", code=_PARAMETER)
    if call.operation != "chat":
        return UnsupportedFeature((name,), name, message="parameter")
    if "default" not in details:
        return _locate_parameter(name)
    return UnsupportedFeature((name,), name, message="value", code=_VALUE)


def _locate_image(call: Call) -> UnsupportedFeature:
    """Return the first image of the body; only its field if an earlier answer has the image."""
    field = "input" if call.operation == "responses" else "messages"
    path = next(_find_images(call.raw.get(field), (field,)), None)
    if path is None:
        return UnsupportedFeature((field,), field, "vision")
    within = "".join(f".[{step}]" if isinstance(step, int) else f".{step}" for step in path[1:])
    return UnsupportedFeature(path, field + within if field == "messages" else field, "vision")


def _find_images(messages: Json, before: Path) -> Iterator[Path]:
    for at, message in enumerate(messages if isinstance(messages, list) else ()):
        content = message.get("content") if isinstance(message, Mapping) else None
        for index, part in enumerate(content if isinstance(content, list) else ()):
            if isinstance(part, Mapping) and part.get("type") in IMAGES:
                yield (*before, at, "content", index, "type")


_PARAMETER = "unsupported_parameter"
_VALUE = "unsupported_value"
# Where a body has its effort and verbosity, by whether it is of the Responses API.
_PATHS: Mapping[tuple[bool, str], tuple[str, ...]] = {
    (False, "efforts"): ("reasoning_effort",),
    (False, "verbosity"): ("verbosity",),
    (True, "efforts"): ("reasoning", "effort"),
    (True, "verbosity"): ("text", "verbosity"),
}
_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")

UNSUPPORTED_MESSAGES: Mapping[str, str] = {
    "parameter": "Unsupported parameter: '{param}' is not supported with this model.",
    "value": (
        "Unsupported value: '{param}' does not support {value} with this model. "
        "Only the default ({default}) value is supported."
    ),
    "max_tokens": (
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    ),
    "one_of_values": (
        "Unsupported value: '{param}' does not support '{value}' with this model. Supported values are: {supported}."
    ),
    "value_of_model": (
        "Unsupported value: '{value}' is not supported with the '{model}' model. Supported values are: {supported}."
    ),
    "unrecognized": "Unrecognized request argument supplied: {param}",
    "encrypted_content": "Encrypted content is not supported with this model.",
    "reasoning_with_tools": (
        "Function tools with reasoning_effort are not supported for {model} in /v1/chat/completions. "
        "To use function tools, use /v1/responses or set reasoning_effort to 'none'."
    ),
    "cache_retention": "{param} is not supported on this model",
    "vision": "Invalid content type. {value} is only supported by certain models.",
    "json_schema": (
        "Invalid parameter: '{param}' of type 'json_schema' is not supported with this model. Learn more about "
        "supported models at the Structured Outputs guide: https://platform.openai.com/docs/guides/structured-outputs"
    ),
    "max_output_tokens": (
        "{param} is too large: {asked}. This model supports at most {limit} completion tokens, "
        "whereas you provided {asked}."
    ),
}
# These messages without links to OpenAI's guides.
PLAIN_UNSUPPORTED_MESSAGES: Mapping[str, str] = {
    **UNSUPPORTED_MESSAGES,
    "json_schema": "Invalid parameter: '{param}' of type 'json_schema' is not supported with this model.",
}


def make_plain_errors(
    rows: Rows,
    messages: Messages,
    *,
    read_credential: ReadCredential,
    unsupported: Messages = PLAIN_UNSUPPORTED_MESSAGES,
) -> ErrorTable:
    """Return the errors of a provider of which only these messages are known."""
    return ErrorTable(
        rows=rows,
        messages=fill_messages(messages, PLAIN_MESSAGES),
        read_credential=read_credential,
        unsupported=unsupported,
    )
