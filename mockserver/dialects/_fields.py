"""The types of which request models are made: a model is a table of fields, which pydantic-core validates.

A type is one of Python's, or a schema of pydantic-core: what pydantic would make of annotations, which takes it much
longer. Members of unions carry labels such as `<a string>`, by which complaints name them.
"""

from collections.abc import Callable, Mapping
from typing import Any

from pydantic_core import SchemaValidator

from mockserver.core.json import Json
from mockserver.core.lazy import lazy_property

Type = Any
Schema = dict[str, Any]


class Model:
    """What a body must be; built when it is first used."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.fields = frozenset(schema["fields"])

    @lazy_property
    def validate(self) -> Callable[[Json], Any]:
        """A function that returns the value as it is read. It raises pydantic's ValidationError."""
        return SchemaValidator(self.schema).validate_python


def schema_of(kind: Type) -> Any:
    return kind if isinstance(kind, dict) else {"type": _NAMES[kind]}


_NAMES: Mapping[Any, str] = {Any: "any", **{kind: kind.__name__ for kind in (str, int, float, bool)}}


def shape(others: str = "ignore", /, **fields: Type) -> Schema:
    config = {"strict": True, "extra_fields_behavior": others}
    return {"type": "typed-dict", "fields": {name: _field(kind) for name, kind in fields.items()}, "config": config}


def open_shape(**fields: Type) -> Schema:
    return shape("allow", **fields)


def closed_shape(**fields: Type) -> Schema:
    return shape("forbid", **fields)


def _field(kind: Type) -> Schema:
    schema: Schema = schema_of(kind)
    return schema if schema["type"] == "typed-dict-field" else {**not_null(schema), "required": True}


def fields_of(body: Schema, *names: str) -> Schema:
    """Return some fields of a body, for another that shares them."""
    return {name: body["fields"][name] for name in names}


def not_null(kind: Type) -> Schema:
    return {"type": "typed-dict-field", "schema": schema_of(kind), "required": False}


def optional(kind: Type) -> Schema:
    return not_null(nullable(kind))


def nullable(kind: Type) -> Schema:
    return {"type": "nullable", "schema": schema_of(kind)}


def literal(*allowed: str) -> Schema:
    return {"type": "literal", "expected": [*allowed]}


def text(least: int | None = None, most: int | None = None, *, pattern: str | None = None) -> Schema:
    return _limited("str", min_length=least, max_length=most, pattern=pattern)


def number(least: float | None = None, most: float | None = None, *, multiple_of: float | None = None) -> Schema:
    return _limited("float", ge=least, le=most, multiple_of=multiple_of)


def integer(least: int | None = None, most: int | None = None) -> Schema:
    return _limited("int", ge=least, le=most)


def _limited(name: str, **limits: Json) -> Schema:
    return {"type": name, **{limit: value for limit, value in limits.items() if value is not None}}


def mapping(kind: Type, *, keys: Type = str) -> Schema:
    return {"type": "dict", "keys_schema": schema_of(keys), "values_schema": schema_of(kind)}


def list_of(kind: Type, least: int | None = None, most: int | None = None) -> Schema:
    """A list; only its first wrong element is reported."""
    return _limited("list", items_schema=schema_of(kind), min_length=least, max_length=most, fail_fast=True)


def labelled(name: str, kind: Type) -> Schema:
    """A member of a union under a name, such as `<a string>`."""
    return {**schema_of(kind), "metadata": {"label": name}}


def union(*members: Schema) -> Schema:
    return {"type": "union", "choices": [(member, _label(member)) for member in members]}


def _label(member: Schema) -> str:
    return str(member["metadata"]["label"])


def tagged_by(key: str, *members: Schema) -> Schema:
    """A union whose members allow other values of this field."""
    choices = {value: member for member in members for value in member["fields"][key]["schema"]["expected"]}
    return {"type": "tagged-union", "choices": choices, "discriminator": key}


def union_by(tag: Callable[[Any], str | None], *members: Schema) -> Schema:
    """A union of which a function names the label of the member that a value is meant to be."""
    return {"type": "tagged-union", "choices": {_label(member): member for member in members}, "discriminator": tag}


def text_or(name: str, kind: Type) -> Schema:
    return union(STRING, labelled(name, kind))


STRING = labelled("<a string>", str)
Object = mapping(Any)
