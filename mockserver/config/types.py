"""The types of values in settings and rules: amounts with units, times, lists of texts, JSONPaths."""

import json
import math
import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from typing import Annotated, Any, LiteralString

from msgspec import Struct
from pydantic_core import InitErrorDetails, PydanticCustomError, ValidationError

from mockserver.config.tables import AfterValidator, BeforeValidator, Change, WithJsonSchema, field
from mockserver.core.json import Json
from mockserver.core.lazy import compile_lazily
from mockserver.core.origins import is_address, read_host, read_origin
from mockserver.core.seed import FROZEN_AT
from mockserver.core.text import show_value

_AMOUNT = re.compile(r"\s*(\d+(?:_\d+)*(?:\.\d+)?|\.\d+)\s*([A-Za-z%]*)\s*")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_BYTES = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}
_SHARES = {"%": 0.01}


def parse_seconds(value: Any) -> float:
    """Parse a duration, such as `300ms`, `2s`, `1.5m`, `1h` or a number of seconds. Raises ValueError."""
    amount = _parse_amount(value, _SECONDS)
    if amount is None:
        raise ValueError(f"{show_value(value)} is not a duration; write 300ms, 2s, 1m or a number of seconds")
    return amount


def parse_size(value: Any) -> int:
    """Parse a size, such as `10MB`, `512KiB` or a whole number of bytes. Raises ValueError."""
    amount = _parse_amount(value, _BYTES)
    if amount is None or not amount.is_integer():
        raise ValueError(f"{show_value(value)} is not a size; write 512KB, 10MB or a whole number of bytes")
    return int(amount)


def parse_share(value: Any) -> float:
    """Parse a share from 0 to 1, such as `20%` or `0.2`. Raises ValueError."""
    amount = _parse_amount(value, _SHARES)
    if amount is None or amount > 1:
        raise ValueError(f"{show_value(value)} is not a percentage; write 20% or 0.2, at most 100%")
    return amount


def _parse_amount(value: Any, units: dict[str, Any]) -> float | None:
    """Return the number times its unit, or None if that is not finite and at least zero."""
    if isinstance(value, str):
        found = _AMOUNT.fullmatch(value)
        if found is None:
            return None
        digits, unit = found.groups()
        scale = units.get(unit.lower()) if unit else 1
        # Rounded, because 0.1 * 3 is not 0.3.
        amount = math.inf if scale is None else round(float(digits) * scale, 9)
    elif isinstance(value, int | float) and not isinstance(value, bool) and value < 1e15:
        amount = float(value)
    else:
        return None
    return amount if 0 <= amount < math.inf else None


def _make_amount_reader(read: Callable[[Any], float], expected: LiteralString) -> Change:
    def parse(value: Json) -> float:
        try:
            return read(value)
        except ValueError:
            raise PydanticCustomError("expected", expected) from None

    return BeforeValidator(parse)


_LONGEST_NUMBER = 10  # seconds of a delay between tokens that is written without a unit


def _refuse_long_number(value: Json) -> Json:
    """Refuse what is meant in milliseconds."""
    if isinstance(value, int | float) and _LONGEST_NUMBER < value < math.inf:
        raise PydanticCustomError("refused", "{value} would be seconds; write {value}ms or {value}s", {"value": value})
    return value


_LAST_INSTANT = 253_402_300_799  # the end of the year 9999


def _parse_instant(value: Json) -> int | None:
    try:
        match value:
            case "frozen":
                return FROZEN_AT
            case "real":
                return None
            case str() if not value.isdecimal():
                at = datetime.fromisoformat(value)
                value = int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp())
            case str():
                value = int(value)
        if type(value) is int and 0 <= value <= _LAST_INSTANT:
            return value
    except (ValueError, OverflowError):
        pass
    raise PydanticCustomError("expected", "frozen, real, Unix seconds or a time such as 2024-05-01T12:00:00Z")


def _make_amount_schema(number: dict[str, Any], units: dict[str, Any], example: str) -> dict[str, Any]:
    """Return the JSON Schema of a number, or of one in a text with its unit in any case."""
    unit = "|".join("".join(f"[{letter.upper()}{letter}]" for letter in unit) for unit in units)
    text = rf"^\s*([0-9]+(_[0-9]+)*(\.[0-9]+)?|\.[0-9]+)\s*({unit})?\s*$"
    amount = {"type": "string", "pattern": text, "patternErrorMessage": f"expected a number with a unit: {example}"}
    return {"anyOf": [amount, number], "examples": [example]}


_NUMBER = {"type": "number", "minimum": 0}
_INSTANT = {
    "anyOf": [{"enum": ["frozen", "real"]}, {"type": "integer", "minimum": 0}, {"type": "string", "pattern": "^[0-9]"}]
}
SHARE = _make_amount_schema({**_NUMBER, "maximum": 1}, _SHARES, "20%")  # the JSON Schema of a share

Duration = Annotated[
    float,
    _make_amount_reader(parse_seconds, "a duration such as 300ms, 2s or 1m"),
    WithJsonSchema(lambda: _make_amount_schema(_NUMBER, _SECONDS, "300ms")),
]
Delay = Annotated[
    float,
    _make_amount_reader(parse_seconds, "a duration such as 300ms, 2s or 1m"),
    BeforeValidator(_refuse_long_number),  # first
    WithJsonSchema(lambda: _make_amount_schema({**_NUMBER, "maximum": _LONGEST_NUMBER}, _SECONDS, "300ms")),
]
Share = Annotated[
    float, _make_amount_reader(parse_share, "a percentage such as 20% or 0.2"), WithJsonSchema(lambda: SHARE)
]
Size = Annotated[
    int,
    _make_amount_reader(parse_size, "a size such as 10MB, 512KiB or a whole number of bytes"),
    WithJsonSchema(lambda: _make_amount_schema({"type": "integer", "minimum": 1}, _BYTES, "10MB")),
]
Instant = Annotated[int | None, BeforeValidator(_parse_instant), WithJsonSchema(lambda: _INSTANT)]


def make_refusal(path: tuple[str | int, ...], why: str, value: Json) -> InitErrorDetails:
    """Make an error of pydantic-core about a value at a path, in our words."""
    return InitErrorDetails(type=PydanticCustomError("refused", "{why}", {"why": why}), loc=path, input=value)


def split_texts(value: Json) -> tuple[str, ...]:
    """Return the texts of a list, or of one text that separates them by commas. Raises PydanticCustomError."""
    if isinstance(value, str):
        return tuple(name for part in value.split(",") if (name := part.strip()))
    if not isinstance(value, list | tuple):
        raise PydanticCustomError("expected", "a list of strings")
    wrong = [at for at, text in enumerate(value) if not isinstance(text, str)]
    if wrong:
        mistakes = [InitErrorDetails(type="string_type", loc=(at,), input=value[at]) for at in wrong]
        raise ValidationError.from_exception_data("texts", mistakes)
    return tuple(value)


def _check_hosts(names: tuple[str, ...] | None) -> tuple[str, ...]:
    found = tuple(name.lower().strip("[]") for name in names or ())
    for name in found:
        bare = name.removeprefix("*.")
        if name != "*" and read_host(bare) != bare and not is_address(bare):
            raise PydanticCustomError("expected", "a list of host names without ports, such as mock.test")
    return found


def _check_origins(listed: tuple[str, ...] | None) -> tuple[str, ...]:
    """Return origins as browsers send them; `*` allows all."""
    found = tuple("*" if text == "*" else read_origin(text.removesuffix("/")) for text in listed or ())
    if None in found:
        raise PydanticCustomError("expected", "a list of origins, such as https://app.example, or *")
    return tuple(text for text in found if text)


def _check_token(text: str | None) -> str | None:
    """Check that a header can carry a token. The error does not show the token."""
    if text is not None and not (text and text.isascii() and text.isprintable() and " " not in text):
        raise PydanticCustomError("refused", "must be printable ASCII without spaces")
    return text


def _check_state_url(text: str) -> str:
    """Check where the state is. The error does not show the URL, which may hold a password."""
    if text != "memory" and not text.startswith(("redis://", "rediss://", "unix://", "sentinel://")):
        raise PydanticCustomError("refused", "must be memory, or a URL such as redis://HOST:6379/0")
    return text


def make_list_schema(pattern: str = "[^,]*") -> dict[str, Any]:
    """Return the JSON Schema of a list of texts, or of one text that separates them by commas."""
    items = {"type": "string", "pattern": f"^({pattern})$"}
    return {"type": ["array", "string"], "items": items, "pattern": rf"^(\s*({pattern})\s*(,|$))*$"}


_HOSTS = make_list_schema(r"\[.*\]|[^:,]*|[^,]*:[^,]*:[^,]*")
_ORIGINS = make_list_schema(r"\*|[^/,]+://[^/,]+/?")
Hosts = Annotated[
    tuple[str, ...], BeforeValidator(split_texts), AfterValidator(_check_hosts), WithJsonSchema(lambda: _HOSTS)
]
Origins = Annotated[
    tuple[str, ...], BeforeValidator(split_texts), AfterValidator(_check_origins), WithJsonSchema(lambda: _ORIGINS)
]
Several = Annotated[
    tuple[Annotated[str, field(min_length=1)], ...],
    BeforeValidator(split_texts),
    WithJsonSchema(make_list_schema),
]
StateUrl = Annotated[str, AfterValidator(_check_state_url)]
Token = Annotated[
    str | None, AfterValidator(_check_token), WithJsonSchema(lambda: {"type": "string", "pattern": "^[!-~]+$"})
]


class Step(Struct, frozen=True):
    """One step of a JSONPath: to a name, to an index (negative: from the end), or to all values (None).

    `deep`: at any depth.
    """

    key: str | int | None
    deep: bool = False


JsonPath = tuple[Step, ...]


@cache
def parse_json_path(text: str) -> JsonPath:
    """Parse a path such as `$.messages[*].name`, `$..user` or `$['x y'][0]`. Raises ValueError with the position."""
    if text[:1] != "$":
        raise ValueError("it must begin with $, as in $.user")
    at = 1
    found = list[Step]()
    while at < len(text):
        step = _STEP.match(text, at)
        if step is None:
            raise ValueError(f"{_WANTED}, at character {at + 1}")
        found.append(_make_step(step))
        at = step.end()
    return tuple(found)


def _make_step(found: re.Match[str]) -> Step:
    deep = found["dots"] == ".." or found["deep"] is not None
    if found["name"] is not None:
        return Step(found["name"], deep)
    if found["quoted"] is not None:
        return Step(_unquote(found["quoted"]), deep)
    return Step(None if found["number"] is None else int(found["number"]), deep)


def _unquote(text: str) -> str:
    """Return the name in quotes; backslashes escape as in JSON."""
    inner = text[1:-1].replace("\\'", "'")
    if text[0] == "'":
        inner = _BARE_QUOTE.sub(r'\1\\"', inner)
    try:
        name: str = json.loads(f'"{inner}"')
    except ValueError:
        raise ValueError(f"the name {text} has an invalid escape") from None
    return name


_STEP = compile_lazily(
    r"""(?:(?P<dots>\.\.?)(?:(?P<name>[^\W\d][\w-]*)|\*)
        |(?P<deep>\.\.)?\[\s*(?:(?P<number>-?\d{1,9})|(?P<quoted>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|\*)\s*\])""",
    re.VERBOSE,
)
_BARE_QUOTE = compile_lazily(r'((?:^|[^\\])(?:\\\\)*)"')
_WANTED = "expected a name after a dot, or a number, a quoted name or * in brackets"
