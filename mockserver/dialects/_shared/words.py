"""What OpenAI's API says about a field that it refuses: message, code and param of each complaint."""

from collections.abc import Callable, Mapping

from mockserver.core.plan import Failure
from mockserver.dialects._shared.parse import Complaint, clip, kind_of, listed


def refuse(complaint: Complaint) -> Failure:
    """The 400 in which OpenAI words a complaint (`wire/errors.md` section 1)."""
    if complaint.message is not None:
        code = "invalid_value" if complaint.kind == "value" else None
        return _failure(complaint, complaint.message, code)
    return _WORDINGS[complaint.kind](complaint)


def refuse_without_code(complaint: Complaint) -> Failure:
    """The same words for look-alikes that give every bad parameter one code."""
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
        wanted = "one of " + listed([wanted, *(name.split(" ", 1)[1] for name in others)], "or")
    elif wanted == "an array":
        wanted = "an array of strings" if complaint.path[-1] in _OF_STRINGS else "an array of objects"
    got = kind_of(complaint.got)
    message = f"Invalid type for '{complaint.where}': expected {wanted}, but got {got} instead."
    return _failure(complaint, message, "invalid_type")


def _value(complaint: Complaint) -> Failure:
    allowed = listed([f"'{value}'" for value in complaint.expected], "and")
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
    return kind_of(complaint.got).split(" ")[1]


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
