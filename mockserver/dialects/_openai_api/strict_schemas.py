"""The JSON Schemas that only OpenAI's live API refuses, and its words for why.

It supports a part of JSON Schema where a schema is strict, and wants functions to take an object
(https://developers.openai.com/api/docs/guides/structured-outputs). The words are those of public reports.
"""

from collections.abc import Iterator, Mapping

from mockserver.core.json import Json
from mockserver.dialects._parse import Complaint, clip

Place = tuple[str, ...]  # the keys that lead to a part of a schema


def find_refused_function(function: Mapping[str, Json], *path: str | int) -> Iterator[Complaint]:
    """Yield why the parameters of a function, at this path, are refused."""
    schema = function.get("parameters")
    is_strict = function.get("strict") is True
    for why in _find_faults(schema, is_strict=is_strict, is_function=True) if schema else ():
        message = f"Invalid schema for function '{clip(str(function.get('name')))}': {why}"
        yield Complaint("parameters", (*path, "parameters"), message=message)


def find_refused_format(form: Mapping[str, Json], *path: str | int) -> Iterator[Complaint]:
    """Yield why a strict format of the answer is refused, with the path that the API names."""
    schema = form.get("schema")
    for why in _find_faults(schema, is_strict=True) if schema and form.get("strict") is True else ():
        message = f"Invalid schema for response_format '{clip(str(form.get('name')))}': {why}"
        yield Complaint("schema" if path[-1] == "schema" else "conflict", path, message=message)


def _find_faults(schema: Json, *, is_strict: bool, is_function: bool = False) -> Iterator[str]:
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    if kind != "object":
        yield f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{clip(str(kind))}\"'."
    elif is_function and not _COMBINING.isdisjoint(schema):
        yield _COMBINED
    elif is_function and "properties" not in schema:
        yield "In context=(), object schema missing properties."
    for place, part in _list_parts(schema):
        where = f"context={place!r}"
        if is_strict and "$ref" in part and len(part) > 1:
            others = ", ".join(repr(key) for key in sorted(part.keys() - {"$ref"}))
            yield f"{where}, $ref cannot have keywords {{{clip(others)}}}."
        elif is_strict:
            yield from (f"In {where}, {why}" for why in _find_unsupported(part))
        if part.get("type") == "array" and "items" not in part:
            yield f"In {where}, array schema missing items."


def _find_unsupported(part: Mapping[str, Json]) -> Iterator[str]:
    yield from (f"'{key}' is not permitted." for key in part if key in _NOT_PERMITTED)
    if _TYPING.isdisjoint(part):
        yield "schema must have a 'type' key."
    if "properties" in part or part.get("type") == "object":
        properties = part.get("properties") or {}
        required = part.get("required") or ()
        if part.get("additionalProperties") is not False:
            yield "'additionalProperties' is required to be supplied and to be false."
        if missing := [key for key in properties if key not in required]:
            yield _REQUIRED.format(clip(missing[0]))
        yield from (f"Extra required key '{clip(str(key))}' supplied." for key in required if key not in properties)
    form = part.get("format")
    if part.get("type") == "string" and isinstance(form, str) and form not in _FORMATS:
        yield f"'{clip(form)}' is not a valid format."


def _list_parts(schema: Json, place: Place = ()) -> Iterator[tuple[Place, Mapping[str, Json]]]:
    """Yield a schema and those within it that constrain values, each with its place."""
    if not isinstance(schema, Mapping):
        return
    yield place, schema
    for key in ("properties", "$defs", "definitions"):
        if isinstance(named := schema.get(key), Mapping):
            for name, inner in named.items():
                yield from _list_parts(inner, (*place, key, str(name)))
    for key in ("anyOf", "allOf", "oneOf"):
        if isinstance(options := schema.get(key), list):
            for at, inner in enumerate(options):
                yield from _list_parts(inner, (*place, key, str(at)))
    yield from _list_parts(schema.get("items"), (*place, "items"))


_TYPING = frozenset({"type", "$ref", "anyOf", "enum", "const"})
_COMBINING = frozenset({"oneOf", "anyOf", "allOf", "enum", "not"})
_COMBINED = "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level."
_NOT_PERMITTED = frozenset(
    {
        "allOf", "oneOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas",
        "patternProperties", "propertyNames", "unevaluatedProperties", "minProperties", "maxProperties",
        "contains", "minContains", "maxContains", "uniqueItems", "unevaluatedItems",
    }
)  # fmt: skip
_FORMATS = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"})
_REQUIRED = "'required' is required to be supplied and to be an array including every key in properties. Missing '{}'."
