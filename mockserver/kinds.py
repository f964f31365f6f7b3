"""The kinds of values that settings take: how each is written, and what it comes to.

Knows no setting by name, and nothing of files, flags or variables.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, GetPydanticSchema, WithJsonSchema
from pydantic_core import PydanticCustomError, core_schema

from mockserver.core.call import Json
from mockserver.core.plan import Timing
from mockserver.core.seed import FROZEN_AT
from mockserver.units import seconds, share, size

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


def _names(value: Json) -> Json:
    """A list as a tuple; one text holds names with commas between."""
    if isinstance(value, str):
        return tuple(name for part in value.split(",") if (name := part.strip()))
    if isinstance(value, list | tuple):
        return tuple(value)
    raise PydanticCustomError("wants", "a list of texts")


def _models(value: Json) -> Json:
    """A table as it is; the names of a list without properties."""
    if not isinstance(value, Mapping):
        names = _names(value)
        if not all(isinstance(name, str) for name in names):
            raise PydanticCustomError("wants", "a list of texts")
        return {name: {} for name in names}
    for properties in value.values():
        if not isinstance(properties, Mapping | None):
            raise PydanticCustomError("wants", "a list of names, or a table that gives each name a table of properties")
    return {str(name): properties or {} for name, properties in value.items()}


_AMOUNT = {"type": "string", "pattern": r"^\s*[0-9]*\.?[0-9]+\s*[A-Za-z%]*\s*$"}
_NUMBER = {"type": "number", "minimum": 0}
_TEXTS = {"type": "array", "items": {"type": "string"}}
_INSTANT = {"anyOf": [{"enum": ["frozen", "real"]}, {"type": "integer", "minimum": 0}, {"type": "string"}]}

Duration = Annotated[float, BeforeValidator(seconds), WithJsonSchema({"anyOf": [_NUMBER, _AMOUNT]})]
Share = Annotated[float, BeforeValidator(share), WithJsonSchema({"anyOf": [{**_NUMBER, "maximum": 1}, _AMOUNT]})]
Size = Annotated[int, BeforeValidator(size), WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 1}, _AMOUNT]})]
Instant = Annotated[int | None, BeforeValidator(_instant), WithJsonSchema(_INSTANT)]
Names = Annotated[tuple[str, ...] | None, BeforeValidator(_names), WithJsonSchema(_TEXTS)]


class Model(BaseModel):
    """What is known of a model."""

    model_config = ConfigDict(extra="forbid", frozen=True, title="model")

    context_window: int | None = Field(None, ge=1, description="How many tokens prompt and answer may have together.")


_PROPERTIES = {"anyOf": [Model.model_json_schema(), {"type": "null"}]}
Models = Annotated[
    Mapping[str, Model] | None,
    BeforeValidator(_models),
    WithJsonSchema({"anyOf": [_TEXTS, {"type": "object", "additionalProperties": _PROPERTIES}]}),
]


class TimingTable(BaseModel):
    """When things go out."""

    model_config = ConfigDict(extra="forbid", frozen=True, title="timing")

    first_token: Duration = Field(0.0, description="The wait before the first token: 300ms, 2s, or seconds.")
    per_token: Duration = Field(0.0, description="The time that each further token takes.")
    tokens_per_second: float | None = Field(
        None, gt=0, allow_inf_nan=False, description="The same as a speed, in place of per_token."
    )
    jitter: Share = Field(0.0, description="How far a wait may stray, by seed: 20% or 0.2.")
    total: Duration | None = Field(None, description="How long the whole answer takes, however many tokens it has.")


def _timing(table: TimingTable) -> Timing:
    per_token = table.per_token
    if table.tokens_per_second is not None:
        if "per_token" in table.model_fields_set:
            raise PydanticCustomError("excludes", "give per_token or tokens_per_second, not both")
        per_token = 1 / table.tokens_per_second
    return Timing(table.first_token, per_token, table.jitter, table.total)


TimingSetting = Annotated[
    Timing,
    GetPydanticSchema(lambda _, handler: core_schema.no_info_after_validator_function(_timing, handler(TimingTable))),
]
