"""The JSON Schema of rules files, for editors: built from the models and tables that the loader uses.

`editors.yaml` adds examples and constraints between keys.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from importlib.resources import files

from mockserver.config.settings import Settings
from mockserver.config.source import read
from mockserver.core.action import Faults
from mockserver.core.json import Json
from mockserver.core.mcp_server import UPSTREAM
from mockserver.kinds import THEN_KEYS
from mockserver.model.budget import MAX_TEXT_TOKENS
from mockserver.rules.answer.compile import KINDS
from mockserver.rules.answer.content import ERROR_NAMES, WAYS
from mockserver.rules.answer.faults import ANSWER_FAULTS
from mockserver.rules.checks import BESIDE, OUTCOMES, SAYS
from mockserver.rules.match.fields import FIELDS, Field, FieldFamily
from mockserver.rules.match.parse import GROUPS, MODIFIERS
from mockserver.rules.match.predicates import PREDICATES
from mockserver.rules.schema import RulesFile, exclude_each_other, make_fault_schema

Schema = dict[str, Json]


def make_when_schema(dialects: Collection[str] = ()) -> Schema:
    """Return the JSON Schema (draft 2020-12) of a `when` table, which refers to itself as `#/$defs/when`."""
    return {
        "$ref": "#/$defs/when",
        "$defs": {"when": _make_when_table(dialects), **{f"{k}_field": _make_field(k) for k in VALUES}},
    }


def _make_when_table(dialects: Collection[str]) -> Schema:
    single = {name: field for name, field in FIELDS.items() if isinstance(field, Field)}
    families = (field for field in FIELDS.values() if isinstance(field, FieldFamily))
    properties = {name: _make_property(field, field.values) for name, field in single.items()}
    return {
        "type": "object",
        "properties": {**properties, "dialect": _make_property(single["dialect"], dialects), **_make_groups()},
        "patternProperties": {_PREFIXES[family.prefix]: _refer_to_kind(family) for family in families},
        "additionalProperties": False,
    }


def _make_groups() -> Schema:
    table = {"$ref": "#/$defs/when"}
    tables = {"type": "array", "items": table, "minItems": 1}
    shapes = {"any": tables, "all": tables, "not": {**table, "minProperties": 1}}
    shown = _EXAMPLES["fields"]
    return {name: {**shapes[name], "description": doc, "examples": [shown[name]]} for name, doc in GROUPS.items()}


def _make_property(field: Field, values: Collection[str]) -> Schema:
    about = _describe_field(field)
    if values:
        return {**_make_field(field.kind, {"anyOf": [{"enum": list(values)}, _PATTERN]}), **about}
    if field.name == "body":
        tables = {"type": "object", "additionalProperties": {"$ref": "#/$defs/json_field"}, "minProperties": 1}
        return {"anyOf": [tables, {"type": "string"}], **about}
    if field.name in ("arguments", "client_answer"):
        named = {"type": "object", "additionalProperties": {"$ref": "#/$defs/json_field"}, "minProperties": 1}
        return {"anyOf": [named, {"$ref": "#/$defs/json_field"}], **about}
    if not field.members:
        return _refer_to_kind(field)
    members = {name: _refer_to_kind(member) for name, member in field.members.items()}
    exists = {"type": "boolean", "description": PREDICATES["exists"].doc}
    table = {"type": "object", "properties": {**members, "exists": exists}, "additionalProperties": False}
    return {**table, "minProperties": 1, "dependentSchemas": _ABSENT_ALONE, **about}


def _refer_to_kind(field: Field | FieldFamily) -> Schema:
    return {"$ref": f"#/$defs/{field.kind}_field", **_describe_field(field)}


def _describe_field(field: Field | FieldFamily) -> Schema:
    name = field.name if isinstance(field, Field) else field.prefix
    return {"description": field.doc, "examples": [_EXAMPLES["fields"][name]]}


def _make_field(kind: str, value: Json = None) -> Schema:
    """Return the schema of a field's value: one value, several, or a table of predicates, distinguished by type."""
    stated = value or VALUES[kind]
    table = _make_predicates(kind, stated)
    if kind == "json":
        return {"type": ["string", "number", "boolean", "array", "object"], "minItems": 1, **table}
    if kind == "list":
        return {"type": ["string", "array", "object"], "items": {"type": "string"}, **table}
    if value is None:
        return {"type": [VALUES[kind]["type"], "array", "object"], "items": stated, "minItems": 1, **table}
    several = {"type": "array", "items": stated, "minItems": 1}
    return {"anyOf": [*stated["anyOf"], {"type": "object", **table}, several]}


def _make_predicates(kind: str, value: Json) -> Schema:
    fitting = {name: predicate for name, predicate in PREDICATES.items() if kind in predicate.kinds}
    shown = value["anyOf"][0]["enum"][0] if "anyOf" in value else _EXAMPLES["values"][kind]
    examples = {**_EXAMPLES["values"], "values": [shown]}
    properties = {
        name: {
            **_make_expected(predicate.shape, kind, value),
            "description": predicate.doc,
            "examples": [_EXAMPLES["predicates"].get(name, examples.get(predicate.shape, shown))],
        }
        for name, predicate in fitting.items()
    }
    textual = _require_one(name for name, predicate in fitting.items() if predicate.textual)
    modifiers = MODIFIERS if kind not in ("number", "boolean") else {}
    properties |= {name: {"type": "boolean", "description": doc} for name, doc in modifiers.items()}
    return {
        "properties": properties,
        "additionalProperties": False,
        "minProperties": 1,
        "dependentSchemas": {**dict.fromkeys(modifiers, textual), **_ABSENT_ALONE},
    }


def _make_expected(shape: str, kind: str, value: Json) -> Schema:
    if shape == "value":
        return dict(value)
    if shape == "values":
        return {"type": "array", "items": value, "minItems": 1}
    if shape == "elements":
        element = {"type": "string"} if kind == "list" else {}
        return {"anyOf": [{**element, "not": {"type": "array"}}, {"type": "array", "items": element, "minItems": 1}]}
    return dict(_EDITORS["shapes"][shape])


_SOURCE = files("mockserver.rules").joinpath("editors.yaml")
_EDITORS: Mapping[str, Json] = read(_SOURCE.read_text("utf-8"), _SOURCE.name).data
_EXAMPLES: Mapping[str, Mapping[str, Json]] = _EDITORS["examples"]
VALUES: Mapping[str, Schema] = _EDITORS["values"]
_PREFIXES: Mapping[str, str] = _EDITORS["prefixes"]
_ABSENT_ALONE = {"exists": {"if": {"properties": {"exists": {"const": False}}}, "then": {"maxProperties": 1}}}
_PATTERN = {"type": "string", "pattern": "[*]"}


def make_rules_schema(faults: Faults, dialects: Collection[str] = ()) -> Schema:
    """Return the JSON Schema (draft 2020-12) of a rules file; `faults` are those of delivery, by name."""
    schema: Schema = _tidy(json.loads(json.dumps(RulesFile.model_json_schema()).replace('Spec"', '"')))
    when = make_when_schema(dialects)
    settings = Settings.model_json_schema()
    definitions = {**schema.pop("$defs"), **when.pop("$defs"), **settings.pop("$defs")}
    properties = schema["properties"]
    rule = definitions["Rule"]["properties"]
    properties["settings"] |= settings
    if dialects:
        settings["properties"]["dialect"]["enum"] = list(dialects)
        settings["properties"]["validation"]["propertyNames"] = {"enum": list(dialects)}
        named = [{"enum": list(dialects)}, {"pattern": f"^{UPSTREAM}[^/]+$"}]
        settings["properties"]["upstream"]["propertyNames"] = {"anyOf": named}
    scrub = settings["properties"]["scrub"]
    scrub["anyOf"] = [{"type": scrub.pop("type"), "items": scrub["items"]}, scrub.pop("items")]
    for table in (schema, *(properties[key] for key in RulesFile.nullable)):
        table["type"] = [table["type"], "null"]
    rule["when"] |= when
    definitions["Then"]["properties"]["faults"]["items"] = _tidy(make_fault_schema({**faults, **ANSWER_FAULTS}))
    definitions["Then"]["properties"]["system_fingerprint"]["type"] = ["string", "null"]
    _restrict(definitions)
    whole = {**schema, "title": "mockserver rules", "$defs": definitions}
    _describe(whole, definitions)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **whole}


def _tidy(schema: Json) -> Json:
    """Remove generated titles, and the null that stands for an absent key. Put tables first: editors show the first."""
    if isinstance(schema, list):
        return [_tidy(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: _tidy(value) for key, value in schema.items() if not _is_noise(key, value)}
    for union in ("anyOf", "oneOf"):
        if union in kept:
            real = [option for option in kept.pop(union) if option != {"type": "null"}]
            real.sort(key=lambda option: "$ref" not in option)
            kept |= real[0] if len(real) == 1 else {union: real}
    return kept


def _is_noise(key: str, value: Json) -> bool:
    is_title = key == "title" and isinstance(value, str)  # else it is a property of that name
    is_discriminator = key == "discriminator" and not isinstance(value, list)
    return is_title or is_discriminator or (key == "default" and value is None)


def _describe(schema: Json, definitions: Schema) -> None:
    """Give each key a description and an example, from its type or its table if it has none of its own."""
    if not isinstance(schema, dict):
        return
    shown = next((example for example in schema.get("examples", ()) if isinstance(example, dict)), {})
    for name, value in {**schema.get("properties", {}), **schema.get("patternProperties", {})}.items():
        _describe(value, definitions)
        if isinstance(value, dict):
            if "const" in value:  # the type that selects the table
                value.setdefault("description", schema["description"])
            if "examples" not in {**value, **_resolve(value, definitions)}:
                value["examples"] = [shown[name] if name in shown else _find_example(value, name, definitions)]
    options = (*schema.get("anyOf", ()), *schema.get("oneOf", ()))
    for inner in (*options, *schema.get("$defs", {}).values(), schema.get("items"), schema.get("additionalProperties")):
        _describe(inner, definitions)


def _find_example(schema: Json, key: str, definitions: Schema) -> Json:
    """Return an example of a value. Raises KeyError if neither its type nor its key has one."""
    match schema:
        case {"examples": [example, *_]} | {"const": example} | {"enum": [example, *_]}:
            return example
        case {"type": "boolean"} | {"anyOf": [{"type": "boolean"}, *_]}:
            return True
    if key in _EXAMPLES["keys"]:
        return _EXAMPLES["keys"][key]
    match schema:
        case {"default": default} if default is not None:
            return default
        case {"$ref": _}:
            return _find_example(_resolve(schema, definitions), key, definitions)
        case {"items": items}:
            return [_find_example(items, key, definitions)]
        case {"anyOf": [first, *_]} | {"oneOf": [first, *_]}:
            return _find_example(first, key, definitions)
    raise KeyError(key)


def _resolve(schema: Schema, definitions: Schema) -> Schema:
    return definitions[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else {}


def _restrict(definitions: Schema) -> None:
    """Add the constraints between keys, which the loader checks after the shape."""
    then = definitions["Then"]
    generate = definitions["Generate"]["properties"]
    for table in (then, definitions["Choice"]):
        table |= _exclude_other_answers(table["properties"])
    for kind, ways in WAYS.items():
        definitions[f"{kind.title().replace('_', '')}"] |= {**_require_one(ways), **exclude_each_other(ways)}
    for name, keys in _EDITORS["exclusive"].items():
        definitions[name] |= exclude_each_other(keys)
    _merge(definitions, _EDITORS["tables"])
    answers_without_calls = then["allOf"][0]["if"]["else"]["anyOf"]
    answers_without_calls += [{"required": [key]} for key in THEN_KEYS]
    statuses = {"type": "integer", "minimum": 400, "maximum": 599}
    then["properties"]["error"]["anyOf"] = [{"$ref": "#/$defs/Error"}, statuses, {"enum": list(ERROR_NAMES)}]
    then["properties"]["generate"]["anyOf"] = [{"$ref": "#/$defs/Generate"}, {"enum": list(KINDS)}]
    definitions["Error"]["properties"]["reason"]["enum"] = list(ERROR_NAMES)
    generate["kind"]["enum"] = list(KINDS)
    generate["tokens"]["maximum"] = MAX_TEXT_TOKENS


def _merge(schema: Schema, more: Mapping[str, Json]) -> None:
    for key, value in more.items():
        if isinstance(value, Mapping) and isinstance(schema.get(key), dict):
            _merge(schema[key], value)
        else:
            schema[key] = value


def _exclude_other_answers(keys: Collection[str]) -> Schema:
    """Return the constraints of `find_kind`: one answer only, and none of the keys beside it without one."""
    answers = [key for key in OUTCOMES if key in keys and key not in _ALONE]
    needs: Schema = {}
    for key in answers:
        alike = {other for other, kind in OUTCOMES.items() if kind == OUTCOMES[key]}
        fit = (alike - (set(SAYS) if key in SAYS else set())) | BESIDE[OUTCOMES[key]] | {key}
        filtered = {"content_filter": _ON_COMPLETION} if "content_filter" in fit else {}
        needs[key] = {"properties": {**{other: False for other in keys if other not in fit}, **filtered}}
    for key in keys:
        if key not in OUTCOMES:
            able = (*answers, *(other for other in ("failed", "content_filter") if other in keys))
            needs[key] = _require_one(other for other in able if key in BESIDE[OUTCOMES[other]])
    alone = BESIDE["content_filter"] | {"content_filter"}
    needs["content_filter"] = {
        "if": {"properties": {"content_filter": _ON_COMPLETION}},
        "then": _require_one(key for key in answers if "content_filter" in BESIDE[OUTCOMES[key]]),
        "else": {"properties": {other: False for other in keys if other not in alone}},
    }
    return {"minProperties": 1, "dependentSchemas": needs}


def _require_one(keys: Iterable[str]) -> Schema:
    return {"anyOf": [{"required": [key]} for key in keys]}


_ALONE = ("content_filter", "failed", "faults", "timing")  # they answer only without others
_ON_COMPLETION: Schema = {"properties": {"on": {"const": "completion"}}}
