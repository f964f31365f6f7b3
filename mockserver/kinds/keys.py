"""What settings say of keys: a list of those that are accepted, or a table of what each may do."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, WithJsonSchema
from pydantic_core import InitErrorDetails, PydanticCustomError

from mockserver.core.json_text import Json
from mockserver.kinds.limits import RatesSetting, RatesTable
from mockserver.kinds.texts import TEXTS, Several, texts


class Key(BaseModel):
    """What a key may do."""

    model_config = ConfigDict(extra="forbid", frozen=True, title="key")

    allowed: bool = Field(True, description="Whether it may ask at all; a key that is known and may not gets a 403.")
    models: Several | None = Field(
        None, description="The models that it may ask, as names with * as wildcard; any other gets a 403."
    )
    limits: Annotated[RatesSetting | None, WithJsonSchema(RatesTable.model_json_schema())] = Field(
        None, description="Its own rates, in place of those that hold for its model or for all."
    )


def _keys(value: Json) -> Json:
    """A table as it is; the keys of a list, or of one text with commas between, may do anything."""
    if not isinstance(value, Mapping):
        return {name: {} for name in texts(value)}
    wants = PydanticCustomError("wants", "a table of what it may do, such as {} or {allowed: false}")
    wrong = [
        InitErrorDetails(type=wants, loc=(str(name),), input=table)
        for name, table in value.items()
        if not isinstance(table, Mapping | None)
    ]
    if wrong:
        raise ValidationError.from_exception_data("keys", wrong)
    return {str(name): table or {} for name, table in value.items()}


Keys = Annotated[
    Mapping[str, Key] | None,
    BeforeValidator(_keys),
    WithJsonSchema(
        {
            "anyOf": [
                TEXTS,
                {"type": "object", "additionalProperties": {"anyOf": [Key.model_json_schema(), {"type": "null"}]}},
            ]
        }
    ),
]
