"""The kinds of values that settings take: how each is written, and what it comes to.

Knows no setting by name, and nothing of files, flags or variables.
"""

from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetPydanticSchema,
    ValidationError,
    WithJsonSchema,
)
from pydantic_core import InitErrorDetails, PydanticCustomError, core_schema

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


def _texts(value: Json) -> Json:
    """A list as a tuple; a text alone is one of one."""
    return (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list | tuple) else value


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
Aliases = Annotated[
    tuple[Annotated[str, Field(min_length=1)], ...],
    BeforeValidator(_texts),
    WithJsonSchema({"anyOf": [{"type": "string"}, _TEXTS]}),
]
Names = Annotated[tuple[str, ...] | None, BeforeValidator(_names), WithJsonSchema(_TEXTS)]


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


class Model(BaseModel):
    """What is known of a model."""

    model_config = ConfigDict(extra="forbid", frozen=True, title="model")

    context_window: int | None = Field(None, ge=1, description="How many tokens prompt and answer may have together.")
    max_output_tokens: int | None = Field(None, ge=1, description="How many tokens an answer may have.")
    tokenizer: Literal["approx", "cl100k_base", "o200k_base"] | None = Field(
        None, description="How its tokens are counted where the setting tokenizer is by-model."
    )
    tools: bool | None = Field(None, description="Whether tools may be offered.")
    vision: bool | None = Field(None, description="Whether images may be shown.")
    json_schema: bool | None = Field(None, description="Whether the answer's JSON Schema may be given.")
    reasoning: bool | None = Field(None, description="Whether an effort of reasoning may be asked for.")
    sampling: bool | None = Field(
        None, description="Whether temperature, top_p, penalties, log probabilities and max_tokens may be set."
    )
    resolved: str | None = Field(None, min_length=1, description="What its answers call it; absent: its name.")
    aliases: Aliases = Field((), description="Other names for it, which its answers do not carry.")
    timing: Annotated[TimingSetting | None, WithJsonSchema(TimingTable.model_json_schema())] = Field(
        None, description="When its answers go out, unless a rule says so."
    )


def _told_apart(models: Mapping[str, Model] | None) -> Mapping[str, Model] | None:
    """The models, none of which has a name that is another's. Raises ValidationError at each that has."""
    owners: dict[str, str] = {}
    errors = [found for name, model in (models or {}).items() for found in _taken(name, model, owners, models or {})]
    if errors:
        raise ValidationError.from_exception_data("models", errors)
    return models


def _taken(name: str, model: Model, owners: dict[str, str], models: Collection[str]) -> Iterator[InitErrorDetails]:
    """What cannot be among a model's other names; `owners` learns whose they are."""
    if model.resolved is not None and "*" in model.resolved:
        yield _mistake((name, "resolved"), "must be a name without *", model.resolved)
    for at, alias in enumerate(model.aliases):
        if "*" in alias:
            why = "must be a name without *"
        elif "*" in name:
            why = "cannot be an alias of a pattern, only of a name"
        elif alias in models:
            why = "is the name of a model already"
        elif alias in owners:
            why = f'is an alias of "{owners[alias]}" already'
        else:
            owners[alias] = name
            continue
        yield _mistake((name, "aliases", at), why, alias)


def _mistake(path: tuple[str | int, ...], why: str, value: str) -> InitErrorDetails:
    return InitErrorDetails(type=PydanticCustomError("cannot", "{why}", {"why": why}), loc=path, input=value)


_PROPERTIES = Model.model_json_schema()
Models = Annotated[
    Mapping[str, Model] | None,
    BeforeValidator(_models),
    AfterValidator(_told_apart),
    WithJsonSchema(
        {
            "anyOf": [
                _TEXTS,
                {"type": "object", "additionalProperties": {"anyOf": [_PROPERTIES, {"type": "null"}]}},
            ]
        }
    ),
]
