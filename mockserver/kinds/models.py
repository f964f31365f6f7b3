"""What settings say of models: a list of names, or a table that gives each its properties."""

from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, WithJsonSchema
from pydantic_core import InitErrorDetails, PydanticCustomError

from mockserver.core.json_text import Json
from mockserver.kinds.limits import RatesSetting, RatesTable
from mockserver.kinds.texts import TEXTS, Several, texts
from mockserver.kinds.timing import TimingSetting, TimingTable


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
    aliases: Several = Field((), description="Other names for it, which its answers do not carry.")
    timing: Annotated[TimingSetting | None, WithJsonSchema(TimingTable.model_json_schema())] = Field(
        None, description="When its answers go out, unless a rule says so."
    )
    limits: Annotated[RatesSetting | None, WithJsonSchema(RatesTable.model_json_schema())] = Field(
        None, description="Its own rates, in place of those that hold for all."
    )


def _models(value: Json) -> Json:
    """A table as it is; the names of a list without properties."""
    if not isinstance(value, Mapping):
        return {name: {} for name in texts(value)}
    if not all(isinstance(properties, Mapping | None) for properties in value.values()):
        raise PydanticCustomError("wants", "a list of names, or a table that gives each name a table of properties")
    return {str(name): properties or {} for name, properties in value.items()}


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
                TEXTS,
                {"type": "object", "additionalProperties": {"anyOf": [_PROPERTIES, {"type": "null"}]}},
            ]
        }
    ),
]
