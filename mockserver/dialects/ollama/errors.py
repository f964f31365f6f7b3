"""Errors of an Ollama server: one key, in the words of its source; below `/v1`, those of OpenAI and Anthropic."""

import re
from collections.abc import Callable, Mapping

from pydantic_core import to_json

from mockserver.core.call import Call
from mockserver.core.frames import Frame
from mockserver.core.http import HeaderLines, HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.plan import Failure
from mockserver.dialects import discover
from mockserver.dialects._errors import (
    INVALID_REQUEST,
    ErrorRow,
    make_error_rows,
    make_plain_errors,
    write_retry_lines,
)
from mockserver.dialects._parse import Complaint, clip, read_bearer
from mockserver.dialects._reply import make_data_reply, make_json_reply

JSON_TYPE = "content-type: application/json; charset=utf-8\r\n"
_TEXT_TYPE = "content-type: text/plain\r\n"
LINES_TYPE = "content-type: application/x-ndjson\r\n"


def fail(http: HttpRequest, failure: Failure, call: Call | None) -> Reply:
    """Return an error as the API at the path of the request writes it."""
    if "/v1/messages" in http.path:
        return discover()["anthropic"].fail(http, failure, call)
    if failure.reason == "bad_json" and call is None:
        failure = failure.replace(message=_word_bad_json(http, failure))
    if "feature" in failure.details and failure.message is None and call is not None:
        failure = failure.replace(message=_word_unsupported(failure, call))
    if failure.reason == "unknown_model" and call is not None and call.operation == "pull_model":
        failure = failure.replace(message="pull model manifest: file does not exist")
        if call.stream:  # the search for it is under way
            frames = (_SEARCH, Frame(to_json({"error": failure.message}) + b"\n", part="finish", framing="bare"))
            return Reply(200, HeaderLines(LINES_TYPE), frames=frames)
    resolved = ERRORS.resolve(failure, http, call)
    lines = write_retry_lines(failure)
    if "/v1/" in http.path:
        # Even where the server has plain text, as OpenAI's client shows only JSON.
        body: dict[str, Json] = {
            "error": {"message": resolved.message, "type": resolved.kind, "param": None, "code": None}
        }
    elif failure.reason in ("route_not_found", "method_not_allowed"):
        return make_data_reply(
            resolved.status, resolved.message.encode(), lines=lines, headers=failure.headers, json_type=_TEXT_TYPE
        )
    else:
        stated = {"code": failure.code, "type": failure.kind, "param": failure.param}  # only a rule states these
        body = {"error": resolved.message, **{key: it for key, it in stated.items() if it is not None}}
    return make_json_reply(resolved.status, body, lines=lines, headers=failure.headers, json_type=JSON_TYPE)


_SEARCH = Frame(b'{"status":"pulling manifest"}\n', framing="bare")


def write_error_line(failed: Reply, last: bytes) -> Frame:
    """Return a failed reply as a line of a stream."""
    return Frame(failed.body + b"\n", part="finish", framing="bare")


def name_in_full(model: str) -> str:
    """Return a model's name with registry, namespace and tag, as the server knows it."""
    name = model if ":" in model.rpartition("/")[2] else f"{model}:latest"
    return name if name.count("/") > 1 else f"registry.ollama.ai/{'' if '/' in name else 'library/'}{name}"


def _word_unsupported(failure: Failure, call: Call) -> str:
    feature = str(failure.details["feature"])
    if feature == "reasoning":
        return f'"{clip(call.model)}" does not support thinking'
    named = failure.details.get("param") or _FEATURES.get(feature, feature.replace("_", " "))
    return f"{clip(name_in_full(call.model))} does not support {named}"


_FEATURES = {"json_schema": "structured outputs", "efforts": "this effort"}


LEVELS = '"high", "medium", "low", "max", true, or false'  # of `think`


def make_refuse(struct: str) -> Callable[[Complaint], Failure]:
    """Return the function that words complaints about a request, which Go reads into a struct of this name."""

    def refuse(complaint: Complaint) -> Failure:
        if complaint.message is not None:
            return Failure("bad_parameter", complaint.message)
        keys = [step for step in complaint.path if isinstance(step, str)]
        name = clip(keys[-1]) if keys else ""
        if name == "think":
            return Failure("bad_parameter", f"think must be a boolean or string ({LEVELS})")
        if complaint.kind != "type":
            return Failure("bad_parameter", f"{name} is required")
        own = ("Alias", keys[1:]) if keys[:1] == ["messages"] and keys[1:] else (struct, keys)
        wanted = _GO_TYPES.get(name) or _GO_TYPES_OF_JSON.get(complaint.expected[0], "string")
        return Failure(
            "bad_parameter",
            f"json: cannot unmarshal {_describe(complaint.got)} into Go struct field "
            f"{own[0]}.{clip('.'.join(own[1]))} of type {wanted}",
        )

    return refuse


def _describe(value: Json) -> str:
    """Return what Go calls a JSON value."""
    match value:
        case bool():
            return "bool"
        case str():
            return "string"
        case float():
            return f"number {value}"
        case int():
            return "number"
    return "array" if isinstance(value, list) else "object"


_GO_TYPES = {
    "messages": "[]api.Message",
    "tools": "api.Tools",
    "tool_calls": "[]api.ToolCall",
    "images": "[]api.ImageData",
    "arguments": "api.ToolCallFunctionArguments",
    "parameters": "api.ToolFunctionParameters",
    "options": "map[string]interface {}",
    "context": "[]int",
}
_GO_TYPES_OF_JSON = {"a string": "string", "an integer": "int", "a decimal": "float64", "a boolean": "bool"}


def _word_bad_json(http: HttpRequest, failure: Failure) -> str | None:
    """Return Go's words about a body that is not a JSON object."""
    body = http.body
    if not body.strip():
        return "missing request body"
    why = (failure.message or "").partition("request: ")[2]
    if found := _OTHER_VALUE.match(why):
        kind = found["kind"].replace("boolean", "bool").replace("integer", "number").replace("decimal", "number")
        struct = http.path.rpartition("/")[2].removesuffix("s").capitalize()
        return f"json: cannot unmarshal {kind} into Go value of type api.{struct}Request"
    if why.startswith("EOF"):
        return "unexpected EOF"
    found = _PLACE.search(why)
    after = next((words for start, words in _EXPECTED.items() if why.startswith(start)), None)
    if found is None or after is None:
        return failure.message
    lines = body.split(b"\n")
    line = int(found["line"]) - 1
    column = int(found["column"]) - 1
    rest = lines[line][max(column, 0) :] if line < len(lines) else b""
    character = rest.decode("utf-8", "replace")[:1] or "\\n"
    return f"invalid character '{character}' {after}"


_OTHER_VALUE = re.compile(r"expected an object, but got (?:an? )?(?P<kind>\w+)")
_PLACE = re.compile(r" at line (?P<line>[0-9]+) column (?P<column>[0-9]+)")
_EXPECTED = {
    "expected value": "looking for beginning of value",
    "expected ident": "looking for beginning of value",
    "key must be a string": "looking for beginning of object key string",
    "trailing comma": "looking for beginning of object key string",
    "expected `:`": "after object key",
    "expected `,` or `}`": "after object key:value pair",
    "expected `,` or `]`": "after array element",
    "trailing characters": "after top-level value",
    "control character": "in string literal",
}

_KINDS = {400: INVALID_REQUEST, 404: "not_found_error"}
ROWS = make_error_rows(
    lambda status: ErrorRow(status=status, kind=_KINDS.get(status, "api_error")),
    timeout=ErrorRow(status=504, kind="api_error"),
)
MESSAGES: Mapping[str, str] = {
    "bad_json": "missing request body",
    "bad_parameter": "invalid request",
    "content_filter": "the request was rejected",
    "context_length": "the input length exceeds the context length",
    "completion_too_long": "the input length exceeds the context length",
    "invalid_key": "unauthorized",
    "billing": "this model requires a subscription, upgrade for access: https://ollama.com/upgrade",
    "forbidden": "forbidden",
    "model_not_found": "model '{model}' not found",
    "not_found": "not found",
    "previous_not_found": "previous response not found",
    "route_not_found": "404 page not found",
    "method_not_allowed": "405 method not allowed",
    "timeout": "timed out waiting for the model to answer",
    "too_large": "http: request body too large",
    "unprocessable": "the request could not be processed",
    "rate_limit": "too many requests",
    "quota": "you've reached your weekly usage limit, upgrade for higher limits: https://ollama.com/upgrade",
    "server_error": "an error was encountered while running the model: unexpected EOF",
    "bad_gateway": "bad gateway",
    "overloaded": "server busy, please try again.  maximum pending requests exceeded",
    "gateway_timeout": "gateway timeout",
}
ERRORS = make_plain_errors(ROWS, MESSAGES, read_credential=read_bearer)
