"""The settings `models`, `keys` and `limits`: which models exist, which API keys are accepted, and rate limits."""

from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, ClassVar, Literal

from pydantic_core import InitErrorDetails, PydanticCustomError, ValidationError

from mockserver.config.tables import (
    AfterValidator,
    BaseTable,
    BeforeValidator,
    Change,
    WithJsonSchema,
    WrittenAs,
    field,
)
from mockserver.config.timing import TimingSetting, TimingTable
from mockserver.config.types import Duration, Several, make_list_schema, make_refusal, split_texts
from mockserver.core.json import Json
from mockserver.core.rates import UNLIMITED, Kind, Limits, Rate, Rates, Window

_PLAIN: dict[str, Json] = {"pattern": "^[^*]*$", "items": {"type": "string", "pattern": "^[^*]*$"}}  # no wildcard
_Many = Annotated[int, field(ge=1)]


class RatesTable(BaseTable, title="rates"):
    """Rate limits."""

    requests_per_minute: _Many | None = field(None, description="How many requests to accept per minute.")
    requests_per_day: _Many | None = field(None, description="How many requests to accept per day.")
    tokens_per_minute: _Many | None = field(
        None, description="How many tokens (prompt and answer) to accept per minute."
    )
    tokens_per_day: _Many | None = field(None, description="How many tokens (prompt and answer) to accept per day.")


class LimitsTable(RatesTable, title="limits"):
    """Rate limits and concurrency limits."""

    example: ClassVar[str] = "{requests_per_minute: 60}"

    concurrent_requests: _Many | None = field(
        None, description="How many requests of a namespace to handle at once, until their answers are sent."
    )
    queue: int = field(0, ge=0, description="How many more requests may wait; others get a 503.")
    queue_timeout: Duration | None = field(None, description="How long a request may wait before it gets a 503.")


def _make_rates(table: RatesTable) -> Rates:
    """Return the rates that a table sets; null lifts a rate."""
    return tuple(
        Rate(kind, window, getattr(table, name) or UNLIMITED)
        for name, (kind, window) in _RATES.items()
        if name in table.model_fields_set
    )


def _make_limits(table: LimitsTable) -> Limits:
    if table.concurrent_requests is None:
        for name in ("queue", "queue_timeout"):
            if name in table.model_fields_set:
                raise PydanticCustomError("refused", "{name} requires concurrent_requests", {"name": name})
    return Limits(_make_rates(table), table.concurrent_requests, table.queue, table.queue_timeout)


RatesSetting = Annotated[Rates, WrittenAs(RatesTable), AfterValidator(_make_rates)]
LimitsSetting = Annotated[Limits, WrittenAs(LimitsTable), AfterValidator(_make_limits)]


_RATES: Mapping[str, tuple[Kind, Window]] = {
    "requests_per_minute": ("requests", "minute"),
    "requests_per_day": ("requests", "day"),
    "tokens_per_minute": ("tokens", "minute"),
    "tokens_per_day": ("tokens", "day"),
}


class KeySettings(BaseTable, title="key"):
    """What an API key may do."""

    allowed: bool = field(True, description="Accept requests with this key; if false, they get a 403.")
    models: Several | None = field(None, description="The models it may use (* is a wildcard); others get a 403.")
    limits: Annotated[RatesSetting | None, WithJsonSchema(RatesTable.model_json_schema)] = field(
        None, description="Its rate limits, instead of those of the model or the general ones."
    )


def _read_keys(value: Json) -> Json:
    """Read a table as it is. Keys in a list, or in one text separated by commas, may do anything."""
    if not isinstance(value, Mapping):
        return {name: {} for name in split_texts(value)}
    wants = PydanticCustomError("expected", "a table of what it may do, such as {} or {allowed: false}")
    wrong = [
        InitErrorDetails(type=wants, loc=(str(name),), input=table)
        for name, table in value.items()
        if not isinstance(table, Mapping | None)
    ]
    if wrong:
        raise ValidationError.from_exception_data("keys", wrong)
    return {str(name): table or {} for name, table in value.items()}


def _accept_names(table: type[BaseTable]) -> Change:
    """Let the JSON Schema accept names in a list, or as the keys of tables."""

    def made() -> dict[str, Json]:
        tables = {"type": "object", "additionalProperties": {"anyOf": [table.model_json_schema(), {"type": "null"}]}}
        no_aliases = {"patternProperties": {"[*]": {"properties": {"aliases": False}}}}
        return {"anyOf": [{**tables, "allOf": [no_aliases]}, make_list_schema()]}

    return WithJsonSchema(made)


Keys = Annotated[Mapping[str, KeySettings] | None, BeforeValidator(_read_keys), _accept_names(KeySettings)]


class ModelSettings(BaseTable, title="model"):
    """The properties of a model."""

    context_window: int | None = field(None, ge=1, description="The most tokens of prompt and answer together.")
    max_output_tokens: int | None = field(None, ge=1, description="The most tokens of an answer.")
    tokenizer: Literal["approx", "cl100k_base", "o200k_base"] | None = field(
        None, description="How to count its tokens if the setting tokenizer is by-model."
    )
    tools: bool | None = field(None, description="Accept tools.")
    vision: bool | None = field(None, description="Accept images.")
    json_schema: bool | None = field(None, description="Accept a JSON Schema for the answer.")
    reasoning: bool | None = field(None, description="Accept a reasoning effort.")
    sampling: bool | None = field(
        None, description="Accept temperature, top_p, penalties, log probabilities and max_tokens."
    )
    resolved: str | None = field(
        None, min_length=1, json_schema_extra=_PLAIN, description="The model name in its answers. Default: its name."
    )
    aliases: Several = field((), json_schema_extra=_PLAIN, description="Other names for it in requests.")
    timing: Annotated[TimingSetting | None, WithJsonSchema(TimingTable.model_json_schema)] = field(
        None, description="The timing of its answers; a rule's timing wins."
    )
    limits: Annotated[RatesSetting | None, WithJsonSchema(RatesTable.model_json_schema)] = field(
        None, description="Its rate limits, instead of the general ones."
    )


def _read_models(value: Json) -> Json:
    if not isinstance(value, Mapping):
        return {name: {} for name in split_texts(value)}
    if not all(isinstance(properties, Mapping | None) for properties in value.values()):
        raise PydanticCustomError("expected", "a list of names, or a table that gives each name a table of properties")
    return {str(name): properties or {} for name, properties in value.items()}


def _check_names(models: Mapping[str, ModelSettings] | None) -> Mapping[str, ModelSettings] | None:
    owners: dict[str, str] = {}
    errors = [
        found
        for name, model in (models or {}).items()
        for found in _find_alias_errors(name, model, owners, models or {})
    ]
    if errors:
        raise ValidationError.from_exception_data("models", errors)
    return models


def _find_alias_errors(
    name: str, model: ModelSettings, owners: dict[str, str], models: Collection[str]
) -> Iterator[InitErrorDetails]:
    if model.resolved is not None and "*" in model.resolved:
        yield make_refusal((name, "resolved"), f'must be a name without *, not "{model.resolved}"', model.resolved)
    for at, alias in enumerate(model.aliases):
        if "*" in alias:
            why = f'must be a name without *, not "{alias}"'
        elif "*" in name:
            why = "a pattern cannot have aliases; only a name can"
        elif alias in models:
            why = f'"{alias}" is already the name of a model'
        elif alias in owners:
            why = f'"{alias}" is already an alias of "{owners[alias]}"'
        else:
            owners[alias] = name
            continue
        yield make_refusal((name, "aliases", at), why, alias)


Models = Annotated[
    Mapping[str, ModelSettings] | None,
    BeforeValidator(_read_models),
    AfterValidator(_check_names),
    _accept_names(ModelSettings),
]
