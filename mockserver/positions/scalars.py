"""What a plain word of YAML means: the core schema of YAML 1.2, where `no`, `on`, `1:30` and dates are texts."""

import re
from math import inf, nan

from mockserver.core.call import Json


def resolve(text: str) -> Json:
    """The value of an unquoted scalar. Raises ValueError for an integer of thousands of digits."""
    if text and text[0] not in _OPENS:
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    if _BASED.fullmatch(text):
        if len(text) > _LONGEST:
            raise ValueError("too many digits")
        return int(text, 0)
    return text


def as_float(value: int) -> float:
    """A whole number as a decimal; beyond these, as `1e999` is read."""
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf


_LONGEST = 1000  # characters of a number to another base; a decimal one is bounded by Python itself
_OPENS = frozenset("~nNtTfF+-.0123456789")
_INT = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_WORDS: dict[str, Json] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((sign + word for sign in ("", "+") for word in (".inf", ".Inf", ".INF")), inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -inf),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), nan),
}
