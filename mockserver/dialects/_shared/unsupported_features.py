"""Features of a request that its model does not support: the message for each, the parameter and its place."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from mockserver.core.call import Call
from mockserver.core.image_tokens import IMAGES
from mockserver.core.json import Json
from mockserver.core.plan import Failure

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class UnsupportedFeature:
    """Where in the body the feature is, how OpenAI names that place, and the key of the message."""

    path: Path
    param: str
    message: str
    code: str | None = None


def unsupported_feature(failure: Failure, call: Call) -> UnsupportedFeature:
    """Return the feature of the call that its model does not support."""
    match failure.details["feature"]:
        case "tools":
            return _parameter("tools" if call.raw.get("tools") else "functions")
        case "vision":
            return _image(call)
        case "json_schema" if call.operation == "responses":
            return UnsupportedFeature(("text", "format", "type"), "text.format", "json_schema")
        case "json_schema":
            return UnsupportedFeature(("response_format", "type"), "response_format", "json_schema")
        case "reasoning" if call.operation == "responses":
            return UnsupportedFeature(("reasoning", "effort"), "reasoning.effort", "parameter", _PARAMETER)
        case "reasoning":
            return _parameter("reasoning_effort")
        case "max_output_tokens":
            name = next((key for key in _LIMITS if call.raw.get(key) is not None), _LIMITS[0])
            return UnsupportedFeature((name,), name, "max_output_tokens", "invalid_value")
    return _sampling(failure.details["param"], call)


def value_at(body: Json, path: Path) -> Json:
    """Return the value at a path of the body, or None."""
    for step in path:
        if isinstance(body, list) and isinstance(step, int) and step < len(body):
            body = body[step]
        elif isinstance(body, Mapping) and step in body:
            body = body[str(step)]
        else:
            return None
    return body


def _parameter(name: str) -> UnsupportedFeature:
    return UnsupportedFeature((name,), name, "parameter", _PARAMETER)


def _sampling(name: str, call: Call) -> UnsupportedFeature:
    if name == "max_tokens":
        return UnsupportedFeature((name,), name, "max_tokens", _PARAMETER)
    if call.operation != "chat" or name in _WITHOUT_VALUE:
        return _parameter(name)
    return UnsupportedFeature((name,), name, "value", "unsupported_value")


def _image(call: Call) -> UnsupportedFeature:
    """Return the first image of the body; only the field if an earlier answer has it."""
    field = "input" if call.operation == "responses" else "messages"
    path = next(_images(call.raw.get(field), (field,)), None)
    if path is None:
        return UnsupportedFeature((field,), field, "vision")
    within = "".join(f".[{step}]" if isinstance(step, int) else f".{step}" for step in path[1:])
    return UnsupportedFeature(path, field + within if field == "messages" else field, "vision")


def _images(messages: Json, before: Path) -> Iterator[Path]:
    for at, message in enumerate(messages if isinstance(messages, list) else ()):
        content = message.get("content") if isinstance(message, Mapping) else None
        for index, part in enumerate(content if isinstance(content, list) else ()):
            if isinstance(part, Mapping) and part.get("type") in IMAGES:
                yield (*before, at, "content", index, "type")


_PARAMETER = "unsupported_parameter"
_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_WITHOUT_VALUE = ("logprobs", "top_logprobs", "logit_bias")

UNSUPPORTED_MESSAGES: Mapping[str, str] = {
    "parameter": "Unsupported parameter: '{param}' is not supported with this model.",
    "value": (
        "Unsupported value: '{param}' does not support {value} with this model. "
        "Only the default ({default}) value is supported."
    ),
    "max_tokens": (
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    ),
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
# The same without pointing to OpenAI's guides.
PLAIN_UNSUPPORTED_MESSAGES: Mapping[str, str] = {
    **UNSUPPORTED_MESSAGES,
    "json_schema": "Invalid parameter: '{param}' of type 'json_schema' is not supported with this model.",
}
