"""What OpenAI's API says about a field that it refuses: message, code and param of each complaint."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from mockserver.core.call import Call
from mockserver.core.json import Json
from mockserver.core.plan import Failure
from mockserver.dialects._shared.parse import Complaint, clip, join_words, json_type


def refuse(complaint: Complaint) -> Failure:
    """Return OpenAI's 400 for a complaint (`wire/errors.md` section 1)."""
    if complaint.message is not None:
        code = "invalid_value" if complaint.kind == "value" else None
        return _failure(complaint, complaint.message, code)
    return _WORDINGS[complaint.kind](complaint)


def refuse_without_code(complaint: Complaint) -> Failure:
    """Return the same message, for look-alikes that give every bad parameter one code."""
    failure = refuse(complaint)
    return Failure("bad_parameter", message=failure.message, param=failure.param)


def _failure(complaint: Complaint, message: str, code: str | None) -> Failure:
    return Failure("bad_parameter", message=message, code=code, param=complaint.where or None)


def _missing(complaint: Complaint) -> Failure:
    return _failure(complaint, f"Missing required parameter: '{complaint.where}'.", "missing_required_parameter")


def _unknown(complaint: Complaint) -> Failure:
    return _failure(complaint, f"Unknown parameter: '{complaint.where}'.", "unknown_parameter")


def _type(complaint: Complaint) -> Failure:
    wanted, *others = complaint.expected
    if others:
        wanted = "one of " + join_words([wanted, *(name.split(" ", 1)[1] for name in others)], "or")
    elif wanted == "an array":
        wanted = "an array of strings" if complaint.path[-1] in _OF_STRINGS else "an array of objects"
    got = json_type(complaint.got)
    message = f"Invalid type for '{complaint.where}': expected {wanted}, but got {got} instead."
    return _failure(complaint, message, "invalid_type")


def _value(complaint: Complaint) -> Failure:
    allowed = join_words([f"'{value}'" for value in complaint.expected], "and")
    message = f"Invalid value: '{clip(str(complaint.got))}'. Supported values are: {allowed}."
    return _failure(complaint, message, "invalid_value")


def _beyond(complaint: Complaint) -> Failure:
    side, sign = ("minimum", ">=") if complaint.kind == "below" else ("maximum", "<=")
    number = "decimal" if isinstance(complaint.bound, float) else "integer"
    got = clip(str(complaint.got), 40)
    message = (
        f"Invalid '{complaint.where}': {number} {complaint.kind} {side} value. "
        f"Expected a value {sign} {_plain(complaint.bound)}, but got {got} instead."
    )
    return _failure(complaint, message, f"{number}_{complaint.kind}_{side[:3]}_value")


def _short(complaint: Complaint) -> Failure:
    thing = _thing(complaint)
    message = (
        f"Invalid '{complaint.where}': empty {thing}. Expected {_article(thing)} {thing} "
        f"with minimum length {complaint.bound}, but got an empty {thing} instead."
    )
    return _failure(complaint, message, f"empty_{thing}")


def _long(complaint: Complaint) -> Failure:
    thing, length = _thing(complaint), len(complaint.got)
    if thing == "object":
        message = (
            f"Invalid '{complaint.where}': too many properties. Expected an object with at most {complaint.bound} "
            f"properties, but got an object with {length} properties instead."
        )
        return _failure(complaint, message, "object_above_max_properties")
    message = (
        f"Invalid '{complaint.where}': {thing} too long. Expected {_article(thing)} {thing} with maximum length "
        f"{complaint.bound}, but got {_article(thing)} {thing} with length {length} instead."
    )
    return _failure(complaint, message, f"{thing}_above_max_length")


def _pattern(complaint: Complaint) -> Failure:
    message = (
        f"Invalid '{complaint.where}': string does not match pattern. "
        f"Expected a string that matches the pattern '{complaint.bound}'."
    )
    return _failure(complaint, message, "invalid_value")


def _thing(complaint: Complaint) -> str:
    return json_type(complaint.got).split(" ")[1]


def _article(thing: str) -> str:
    return "a" if thing == "string" else "an"


def _plain(bound: float | int | str | None) -> str:
    return f"{bound:g}" if isinstance(bound, float) else str(bound)


_OF_STRINGS = ("stop", "modalities", "include", "input")
_WORDINGS: Mapping[str, Callable[[Complaint], Failure]] = {
    "missing": _missing,
    "type": _type,
    "value": _value,
    "below": _beyond,
    "above": _beyond,
    "short": _short,
    "long": _long,
    "pattern": _pattern,
    "unknown": _unknown,
}


def with_schema_message(failure: Failure, call: Call | None, *, coded: bool) -> Failure:
    """Return the failure with OpenAI's message where its details hold a schema of the call.

    It gets a `param`, and, `coded`, OpenAI's code, which look-alikes do not have.
    """
    details = failure.details
    if call is None or failure.param is not None or details.get("schema") is None:
        return failure
    found = _of_format(call, details["schema"]) or _of_tool(call, details["schema"])
    if found is None:
        return failure
    what, param, code = found
    message = f"Invalid schema for {what}: {details['why']} (at {details['pointer']})."
    return replace(failure, message=message, param=param, code=code if coded and failure.code is None else failure.code)


def _of_format(call: Call, schema: Json) -> tuple[str, str, str | None] | None:
    if call.options.schema is not schema:
        return None
    chat, responses = _within(call.raw, "response_format", "json_schema"), _within(call.raw, "text", "format")
    name = clip(str(chat.get("name") or responses.get("name") or ""))
    what = f"response_format '{name}'" if name else "response_format"
    return (what, "text.format.schema", "invalid_json_schema") if responses else (what, "response_format", None)


def _of_tool(call: Call, schema: Json) -> tuple[str, str, str] | None:
    for at, tool in enumerate(call.tools):
        if tool.parameters is schema:
            what = f"function '{clip(tool.name)}'"
            return what, _PLACES.get(_spelling(call.raw), _CHAT).format(at), "invalid_function_parameters"
    return None


def _spelling(raw: Mapping[str, Json]) -> str:
    return next((key for key in ("functions", "input", "previous_response_id") if key in raw), "")


def _within(found: Json, *keys: str) -> Mapping[str, Json]:
    for key in keys:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


_CHAT = "tools[{}].function.parameters"
_PLACES = {
    "functions": "functions[{}].parameters",
    "input": "tools[{}].parameters",
    "previous_response_id": "tools[{}].parameters",
}
