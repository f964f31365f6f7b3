"""The JSON Schema of rules files, for editors: built from the models and tables that the loader uses."""

import re
from collections.abc import Mapping

from mockserver.core.action import Faults
from mockserver.core.json import Json
from mockserver.rules.answer.faults import ANSWER_FAULTS
from mockserver.rules.match.fields import FIELDS, Family, Field
from mockserver.rules.match.parse import GROUPS, MODIFIERS
from mockserver.rules.match.predicates import LENGTHS, PREDICATES
from mockserver.rules.schema import RulesFile, fault_schema


def when_schema() -> dict[str, Json]:
    """Return the JSON Schema (draft 2020-12) of a `when` table, which refers to itself as `#/$defs/when`."""
    return {"$ref": "#/$defs/when", "$defs": {"when": _table(), **{f"{kind}_field": _field(kind) for kind in VALUES}}}


def _table() -> dict[str, Json]:
    fields = {name: field for name, field in FIELDS.items() if isinstance(field, Field)}
    families = (field for field in FIELDS.values() if isinstance(field, Family))
    return {
        "type": "object",
        "properties": {**{name: _property(field) for name, field in fields.items()}, **_groups()},
        "patternProperties": {f"^{re.escape(family.prefix)}.": _of_kind(family) for family in families},
        "additionalProperties": False,
    }


def _groups() -> dict[str, Json]:
    table = {"$ref": "#/$defs/when"}
    tables = {"type": "array", "items": table, "minItems": 1}
    shapes = {"any": tables, "all": tables, "not": {**table, "minProperties": 1}}
    return {name: {**shapes[name], "description": doc} for name, doc in GROUPS.items()}


def _property(field: Field) -> dict[str, Json]:
    if field.name == "body":
        tables = {"type": "object", "additionalProperties": {"$ref": "#/$defs/json_field"}, "minProperties": 1}
        return {"anyOf": [{"type": "string"}, tables], "description": field.doc}
    if not field.members:
        return _of_kind(field)
    members = {name: _of_kind(member) for name, member in field.members.items()}
    return {
        "type": "object",
        "properties": {**members, "exists": {"type": "boolean", "description": PREDICATES["exists"].doc}},
        "additionalProperties": False,
        "minProperties": 1,
        "description": field.doc,
    }


def _of_kind(field: Field | Family) -> dict[str, Json]:
    return {"$ref": f"#/$defs/{field.kind}_field", "description": field.doc}


def _field(kind: str) -> dict[str, Json]:
    bare: list[Json] = [VALUES[kind]]
    if kind == "list":
        bare.append({"type": "string"})
    elif kind == "json":
        bare = [{"type": ["string", "number", "boolean"]}, {"type": "array", "minItems": 1}]
    else:
        bare.append({"type": "array", "items": VALUES[kind], "minItems": 1})
    return {"anyOf": [*bare, _predicates(kind)]}


def _predicates(kind: str) -> dict[str, Json]:
    fitting = {name: predicate for name, predicate in PREDICATES.items() if kind in predicate.kinds}
    properties = {
        name: {**_expected(predicate.shape, kind), "description": predicate.doc} for name, predicate in fitting.items()
    }
    if kind not in ("number", "boolean"):
        properties |= {name: {"type": "boolean", "description": doc} for name, doc in MODIFIERS.items()}
    return {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "anyOf": [{"required": [name]} for name in fitting],
    }


def _expected(shape: str, kind: str) -> dict[str, Json]:
    value = VALUES[kind]
    if shape == "value":
        return dict(value)
    if shape == "values":
        return {"type": "array", "items": value, "minItems": 1}
    if shape == "elements":
        element = {"type": "string"} if kind == "list" else {}
        return {"anyOf": [{**element, "not": {"type": "array"}}, {"type": "array", "items": element, "minItems": 1}]}
    return dict(SHAPE_SCHEMAS[shape])


VALUES: Mapping[str, Mapping[str, Json]] = {
    "text": {"type": "string"},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "list": {"type": "array", "items": {"type": "string"}},
    "json": {"not": {"type": "null"}},
}

SHAPE_SCHEMAS: Mapping[str, Mapping[str, Json]] = {
    "text": {"type": "string"},
    "texts": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "length": {
        "anyOf": [
            {"type": "number"},
            {
                "type": "object",
                "properties": {name: {"type": "number"} for name in LENGTHS},
                "additionalProperties": False,
            },
        ]
    },
    "table": {"type": ["object", "array"]},
    "schema": {"type": ["object", "boolean"]},
}


def rules_schema(faults: Faults) -> dict[str, Json]:
    """Return the JSON Schema (draft 2020-12) of a rules file; `faults` are those of delivery, by name."""
    schema: dict[str, Json] = _tidy(RulesFile.model_json_schema())
    when = when_schema()
    definitions = {**schema["$defs"], **when.pop("$defs")}
    for key in RulesFile.nullable:
        schema["properties"][key] = {"anyOf": [schema["properties"][key], {"type": "null"}]}
    definitions["ThenSpec"]["properties"]["faults"]["items"] = _tidy(fault_schema({**faults, **ANSWER_FAULTS}))
    definitions["ThenSpec"]["properties"]["system_fingerprint"]["type"] = ["string", "null"]
    rule = definitions["RuleSpec"]["properties"]
    rule["when"] = {**when, "description": rule["when"]["description"]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "mockserver rules",
        "$defs": definitions,
    }


def _tidy(schema: Json) -> Json:
    """Remove generated titles, and the null that means an absent key."""
    if isinstance(schema, list):
        return [_tidy(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: _tidy(value) for key, value in schema.items() if not _is_noise(key, value)}
    for union in ("anyOf", "oneOf"):
        if union in kept:
            real = [option for option in kept.pop(union) if option != {"type": "null"}]
            kept |= real[0] if len(real) == 1 else {union: real}
    return kept


def _is_noise(key: str, value: Json) -> bool:
    return (key in ("title", "discriminator") and not isinstance(value, list)) or (key == "default" and value is None)
