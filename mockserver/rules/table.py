"""The base of all tables in rules files: no unknown keys, no conversions, amounts with units."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from mockserver.core.json import Json


class Table(BaseModel):
    """A table of a rules file: no unknown keys, no conversions, no key without a value.

    `example` shows what was expected where something else stands; `nullable` keys may hold nothing; `instead` says what
    to write in place of keys that people take from elsewhere.
    """

    model_config = ConfigDict(defer_build=True, extra="forbid", strict=True, frozen=True, populate_by_name=False)

    example: ClassVar[str] = ""
    nullable: ClassVar[frozenset[str]] = frozenset()
    instead: ClassVar[Mapping[str, str]] = {}

    @model_validator(mode="before")
    @classmethod
    def _no_key_without_value(cls, table: Json) -> Json:
        if isinstance(table, Mapping):
            for key, value in table.items():
                if value is None and key not in cls.nullable:
                    raise PydanticCustomError("empty", "empty", {"key": str(key)})
        return table


def _shape(value: Json) -> str:
    match value:
        case bool() | None:
            return "<other>"
        case int() | float():
            return "<number>"
        case str():
            return "<text>"
        case Mapping() | Table():
            return "<table>"
    return "<list>" if isinstance(value, list) else "<other>"


def either(expected: str) -> Discriminator:
    """Choose among alternatives by shape, so that errors refer to the intended one.

    The alternatives carry the tags `<number>`, `<text>`, `<table>` and `<list>`.
    """
    return Discriminator(_shape, custom_error_type="expected", custom_error_message=expected)


Whole = Annotated[int, Field(ge=0)]
TextOrNumber = Annotated[
    Annotated[str, Tag("<text>")] | Annotated[int, Tag("<number>")], either("a text or a whole number")
]
Headers = dict[str, TextOrNumber]
