"""Gemini's schemas as JSON Schemas."""

from collections.abc import Iterable, Mapping

from mockserver.core.json import Json

Schema = Mapping[str, Json]


def json_schema(schema: Schema) -> Json:
    """The JSON Schema of a `Schema`: its types in lower case, what is nullable, its properties in their order."""
    made: dict[str, Json] = {key: value for key, value in schema.items() if key in _KEPT}
    if kind := _TYPES.get(schema.get("type", "")):
        made["type"] = [kind, "null"] if schema.get("nullable") else kind
    if "enum" in schema and schema.get("nullable"):
        made["enum"] = [*schema["enum"], None]
    if "ref" in schema:
        made["$ref"] = schema["ref"]
    for key, name in (("properties", "properties"), ("defs", "$defs")):
        if key in schema:
            made[name] = {field: json_schema(inner) for field, inner in _ordered(schema, key)}
    if "items" in schema:
        made["items"] = json_schema(schema["items"])
    if "anyOf" in schema:
        nullable = [{"type": "null"}] if schema.get("nullable") else []
        made["anyOf"] = [*map(json_schema, schema["anyOf"]), *nullable]
    if isinstance(more := schema.get("additionalProperties"), bool):
        made["additionalProperties"] = more
    if schema.get("type") == "OBJECT" and made.get("properties"):
        made.setdefault("additionalProperties", False)
    return made


def ordered_schema(schema: Json) -> Json:
    """A JSON Schema whose properties have the order that its `propertyOrdering` says."""
    if isinstance(schema, list):
        return [ordered_schema(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    made = {key: ordered_schema(value) for key, value in schema.items() if key != "propertyOrdering"}
    if isinstance(made.get("properties"), Mapping) and isinstance(schema.get("propertyOrdering"), list):
        made["properties"] = dict(_ordered({**schema, "properties": made["properties"]}, "properties"))
    return made


def _ordered(schema: Schema, key: str) -> Iterable[tuple[str, Json]]:
    fields: Schema = schema[key]
    first = [name for name in schema.get("propertyOrdering") or () if isinstance(name, str) and name in fields]
    return ((name, fields[name]) for name in dict.fromkeys((*first, *fields)))


_TYPES = {name: name.lower() for name in ("STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL")}
_KEPT = frozenset(
    (
        *("title", "description", "enum", "required", "pattern", "format", "default"),
        *("minItems", "maxItems", "minProperties", "maxProperties", "minLength", "maxLength", "minimum", "maximum"),
    )
)
