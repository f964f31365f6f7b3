"""Schemas: of the tools that Anthropic defines, and those of requests as their authors meant them."""

import json
import re
from collections.abc import Mapping
from contextlib import suppress

from pydantic_core import SchemaError, SchemaValidator

from mockserver.core.json import Json

Schema = Mapping[str, Json]


def usable_schema(schema: Schema) -> Schema:
    """Return a schema with the constraints that Anthropic's clients move into descriptions, as text in braces.

    A schema without constraints accepts any object.
    """
    if _KEYWORDS.isdisjoint(schema):
        return {"type": "object"}
    return _restore_schema(schema) if _mentions(schema) else schema


def _mentions(schema: Json) -> bool:
    if isinstance(schema, dict):
        said = schema.get("description")
        if isinstance(said, str) and said.endswith("}"):
            return True
        schema = schema.values()
    return any(isinstance(inner, _NESTED) and _mentions(inner) for inner in schema)


_NESTED = (dict, list)


def _restore_schema(schema: Json) -> Json:
    match schema:
        case list():
            return [_restore_schema(each) for each in schema]
        case Mapping():
            whole = {key: value if key in _DATA else _restore_schema(value) for key, value in schema.items()}
            said = schema.get("description")
            return (
                {**_describe_constraints(said, schema), **whole}
                if isinstance(said, str) and said.endswith("}")
                else whole
            )
    return schema


def _describe_constraints(description: str, schema: Schema) -> Schema:
    """Return the constraints after a description: `{minimum: 1, maximum: 9}`, on a line of their own."""
    text = description.rpartition("\n\n")[2]
    if not text.startswith("{"):
        return {}
    entries = (entry.partition(": ") for entry in _BETWEEN.split(text[1:-1]))
    found = ((key, _read_value(key, value)) for key, _, value in entries if key in _RESTORED and key not in schema)
    return {key: value for key, value in found if _is_sound(key, value)}


def _is_sound(key: str, value: Json) -> bool:
    if key != "pattern":
        return key not in _NUMBERS or type(value) in (int, float)
    with suppress(SchemaError):
        return bool(SchemaValidator({"type": "str", "pattern": value}))
    with suppress(re.error):  # which knows assertions, but no properties of letters
        return bool(re.compile(value))
    return False


def _read_value(key: str, text: str) -> Json:
    if key in _TEXTS:
        return text
    try:
        return json.loads(_PYTHON.get(text, text))
    except ValueError:
        return text


_BETWEEN = re.compile(r", (?=[A-Za-z$]{1,30}: )")
_PYTHON = {"True": "true", "False": "false", "None": "null"}
_TEXTS = ("pattern", "format", "contentEncoding")
_NUMBERS = (
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength"),
    *("minItems", "maxItems", "minProperties", "maxProperties"),
)
_RESTORED = frozenset((*_NUMBERS, "pattern", "format", "uniqueItems", "default"))
_DATA = ("enum", "const", "default", "examples", "required", "description")
_KEYWORDS = frozenset(("type", "$ref", "anyOf", "oneOf", "allOf", "enum", "const", "properties", "items", "$defs"))


def _make_object(required: str, **properties: Json) -> Schema:
    return {"type": "object", "properties": properties, "required": required.split()}


def _make_one_of(*words: str) -> Schema:
    return {"type": "string", "enum": list(words)}


_TEXT, _NUMBER = {"type": "string"}, {"type": "integer"}
_PAIR = {"type": "array", "items": _NUMBER, "minItems": 2, "maxItems": 2}
_EDITED = {"path": _TEXT, "view_range": _PAIR, "file_text": _TEXT, "old_str": _TEXT, "new_str": _TEXT}
_NOTHING: Schema = {"type": "object", "properties": {}}
# The tools of a toolset that this server calls by itself, each with its input.
TOOLSETS: Mapping[str, Mapping[str, Schema]] = {
    "computer": {"screenshot": _NOTHING, "left_click": _make_object("coordinate", coordinate=_PAIR)},
    "browser": {"screenshot": _NOTHING, "navigate": _make_object("url", url={"type": "string", "format": "uri"})},
}
# The input of tools that the client runs, by family.
SCHEMAS: Mapping[str, Schema] = {
    "bash": _make_object("command", command=_TEXT),
    "text_editor": _make_object(
        "command path",
        command=_make_one_of("view", "create", "str_replace", "insert"),
        **_EDITED,
        insert_line=_NUMBER,
        insert_text=_TEXT,
    ),
    "memory": _make_object(
        "command path", command=_make_one_of("view", "create", "str_replace", "insert", "delete", "rename"), path=_TEXT
    ),
    "computer": _make_object(
        "action", action=_make_one_of("screenshot", "left_click", "type", "key"), coordinate=_PAIR, text=_TEXT
    ),
}
