"""The JSON Schemas that Gemini's schemas stand for, of functions and of answers."""

from collections.abc import Iterable, Mapping, Sequence

from mockserver.core.json import Json
from mockserver.dialects.gemini.bodies import SCHEMA
from mockserver.dialects.gemini.proto import DOUBLE, INT64, read_message

Schema = Mapping[str, Json]


def make_json_schema(schema: Schema) -> Json:
    """Return the JSON Schema of a `Schema`: with types in lower case, `nullable`, and properties in order."""
    made: dict[str, Json] = {key: value for key, value in schema.items() if key in _KEPT}
    if kind := _TYPES.get(schema.get("type", "")):
        made["type"] = [kind, "null"] if schema.get("nullable") else kind
    if schema.get("enum"):
        choices = _read_choices(schema["enum"], made.get("type"))
        made["enum"] = [*choices, *([None] if schema.get("nullable") else ())]
    if "ref" in schema:
        made["$ref"] = schema["ref"].replace("#/defs/", "#/$defs/", 1)
    for key, name in (("properties", "properties"), ("defs", "$defs")):
        if key in schema:
            made[name] = {field: make_json_schema(inner) for field, inner in _order_fields(schema, key)}
    if "items" in schema:
        made["items"] = make_json_schema(schema["items"])
    if "anyOf" in schema:
        nullable = [{"type": "null"}] if schema.get("nullable") else []
        made["anyOf"] = [*map(make_json_schema, schema["anyOf"]), *nullable]
    if "additionalProperties" in schema:
        made["additionalProperties"] = _convert_additional(schema["additionalProperties"])
    if schema.get("type") == "OBJECT" and made.get("properties"):
        made.setdefault("additionalProperties", False)
    return made


def _read_choices(values: Sequence[Json], kind: Json) -> list[Json]:
    """Return the values of an enum, which Google sends as strings, even numbers."""
    kinds = kind if isinstance(kind, list) else [kind]
    read = next((_NUMBERS[each] for each in kinds if isinstance(each, str) and each in _NUMBERS), None)
    try:
        return [read(value) if read and isinstance(value, str) else value for value in values]
    except ValueError:
        return list(values)


def _convert_additional(value: Json) -> Json:
    inner, wrong = read_message(SCHEMA, value, vertex=False) if isinstance(value, Mapping) else ({}, [])
    return value is not False if wrong or not inner else make_json_schema(inner)


def make_answer_schema(schema: Schema) -> Json:
    """Return the JSON Schema of an answer: all properties are required, unless nullable or not in `required`."""
    return make_json_schema(_complete(schema))


def _complete(schema: Schema) -> Schema:
    made = dict(schema)
    for key in schema.keys() & {"properties", "defs"}:
        made[key] = {name: _complete(inner) for name, inner in schema[key].items()}
    if "items" in schema:
        made["items"] = _complete(schema["items"])
    if "anyOf" in schema:
        made["anyOf"] = list(map(_complete, schema["anyOf"]))
    if "properties" in schema:
        demanded = [name for name, inner in schema["properties"].items() if not inner.get("nullable")]
        made.setdefault("required", demanded[: schema.get("maxProperties")])
    return made


def normalize_schema(schema: Json) -> Json:
    """Return a JSON Schema without Google's spelling: types in any case, `nullable`, `propertyOrdering`."""
    if isinstance(schema, list):
        return [normalize_schema(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    made = {key: _normalize_keyword(key, value) for key, value in schema.items() if key not in _GOOGLES}
    if schema.get("type") == "TYPE_UNSPECIFIED":
        del made["type"]
    if isinstance(made.get("enum"), list):
        made["enum"] = _read_choices(made["enum"], made.get("type"))
    if isinstance(made.get("properties"), Mapping) and isinstance(schema.get("propertyOrdering"), list):
        made["properties"] = dict(_order_fields({**schema, "properties": made["properties"]}, "properties"))
    return _allow_null(made) if schema.get("nullable") is True else made


def _normalize_keyword(key: str, value: Json) -> Json:
    if key in _KEYWORDS_WITH_NAMES and isinstance(value, Mapping):
        return {name: normalize_schema(inner) for name, inner in value.items()}
    if key in _SCHEMAS:
        return normalize_schema(value)
    if key == "type":
        return [_write_type(each) for each in value] if isinstance(value, list) else _write_type(value)
    if key in _COUNTS and isinstance(value, str) and value.isdecimal():  # as JavaScript writes an int64
        return int(value)
    return value


def _write_type(name: Json) -> Json:
    return _TYPES.get(name.upper(), name) if isinstance(name, str) else name


def _allow_null(schema: Schema) -> dict[str, Json]:
    made = dict(schema)
    if isinstance(kind := made.get("type"), str | list):
        kinds = [kind] if isinstance(kind, str) else kind
        made["type"] = kinds if "null" in kinds else [*kinds, "null"]
    if isinstance(made.get("enum"), list) and None not in made["enum"]:
        made["enum"] = [*made["enum"], None]
    if isinstance(made.get("anyOf"), list):
        made["anyOf"] = [*made["anyOf"], {"type": "null"}]
    return made


def _order_fields(schema: Schema, key: str) -> Iterable[tuple[str, Json]]:
    fields: Schema = schema[key]
    first = [name for name in schema.get("propertyOrdering") or () if isinstance(name, str) and name in fields]
    return ((name, fields[name]) for name in dict.fromkeys((*first, *fields)))


_GOOGLES = frozenset(("nullable", "propertyOrdering"))  # keywords that only Google's schemas have
_SCHEMAS = frozenset(  # keywords that hold a schema, or several
    (
        "items", "prefixItems", "additionalItems", "unevaluatedItems", "contains", "additionalProperties",
        "unevaluatedProperties", "propertyNames", "anyOf", "oneOf", "allOf", "not", "if", "then", "else",
    )
)  # fmt: skip
_KEYWORDS_WITH_NAMES = frozenset(("properties", "patternProperties", "$defs", "definitions", "dependentSchemas"))
_NUMBERS = {"integer": INT64.read, "number": DOUBLE.read}
_COUNTS = frozenset(("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"))
_TYPES = {name: name.lower() for name in ("STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL")}
_KEPT = frozenset(
    (
        "title", "description", "required", "pattern", "format", "default",
        "minItems", "maxItems", "minProperties", "maxProperties", "minLength", "maxLength", "minimum", "maximum",
    )
)  # fmt: skip
