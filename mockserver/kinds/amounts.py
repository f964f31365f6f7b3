"""Amounts and times as settings and rules take them: durations, shares, sizes, instants."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any, LiteralString

from pydantic import BeforeValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from mockserver.core.json_text import Json
from mockserver.core.seed import FROZEN_AT
from mockserver.units import seconds, share, size


def _amount(read: Callable[[Any], float], expected: LiteralString) -> BeforeValidator:
    def parse(value: Json) -> float:
        try:
            return read(value)
        except ValueError:
            raise PydanticCustomError("expected", expected) from None

    return BeforeValidator(parse)


_LAST_INSTANT = 253_402_300_799  # the end of the year 9999


def _instant(value: Json) -> int | None:
    """Unix seconds; None stands for the real clock."""
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
    raise PydanticCustomError("wants", "frozen, real, Unix seconds or a time such as 2024-05-01T12:00:00Z")


_AMOUNT = {"type": "string", "pattern": r"^\s*[0-9_]*\.?[0-9]+\s*[A-Za-z%]*\s*$"}
_NUMBER = {"type": "number", "minimum": 0}
_INSTANT = {"anyOf": [{"enum": ["frozen", "real"]}, {"type": "integer", "minimum": 0}, {"type": "string"}]}
SHARE = {"anyOf": [{**_NUMBER, "maximum": 1}, _AMOUNT]}  # the JSON Schema of a share

Duration = Annotated[
    float, _amount(seconds, "a duration such as 300ms, 2s or 1m"), WithJsonSchema({"anyOf": [_NUMBER, _AMOUNT]})
]
Share = Annotated[float, _amount(share, "a share such as 20% or 0.2"), WithJsonSchema(SHARE)]
Size = Annotated[int, BeforeValidator(size), WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 1}, _AMOUNT]})]
Instant = Annotated[int | None, BeforeValidator(_instant), WithJsonSchema(_INSTANT)]
