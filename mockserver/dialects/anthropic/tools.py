"""The tools of a Messages request: its own, those that Anthropic defines or runs, and those of MCP servers."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from pydantic_core import SchemaError, SchemaValidator

from mockserver.core.call import McpConnector, Tool, ToolChoice
from mockserver.core.json import Json
from mockserver.dialects._parse import Body
from mockserver.dialects.anthropic.bodies import find_family, is_toolset

Schema = Mapping[str, Json]


def read_tools(tools: Iterable[Body]) -> Iterator[Tool]:
    """Yield the tools that an answer can call; a toolset is its members."""
    for tool in tools:
        kind = "custom" if tool.get("type") is None else tool["type"]
        name = tool.get("name")
        for member, schema in _TOOLSETS.get(kind.partition("_toolset")[0], {}).items() if is_toolset(kind) else ():
            yield Tool(member, parameters=schema)
        if not isinstance(name, str) or is_toolset(kind):
            continue
        if kind == "custom":
            schema = make_usable_schema(tool["input_schema"])
            yield Tool(name, tool.get("description") or "", schema, strict=tool.get("strict") is True)
        elif (known := find_family(kind)) in _HOSTED:
            yield Tool(name, kind=_HOSTED[known or ""], options=tool)
        elif known is None or known in _SCHEMAS:
            schema = _SCHEMAS.get(known or "", {"type": "object"})
            yield Tool(name, str(schema.get("description", "")), schema)


def read_tool_choice(choice: Body) -> ToolChoice:
    """Return Anthropic's choice of tools in the words of chats."""
    return ToolChoice(_MODES.get(choice["type"], "auto"), (choice["name"],) if choice["type"] == "tool" else ())


_MODES = {"auto": "auto", "any": "required", "tool": "named", "none": "none"}
# Tools that Anthropic runs, by the names under which the model without weights knows them.
_HOSTED = {
    "web_search": "web_search",
    "web_fetch": "web_fetch",
    "code_execution": "code_interpreter",
    "tool_search_tool": "tool_search",
}


def list_connectors(body: Body) -> Iterator[McpConnector]:
    """Yield the servers of a request, each with the tools that its toolset allows."""
    tools = [tool for tool in _list_tables(body.get("tools")) if tool.get("type") == "mcp_toolset"]
    toolsets = {str(tool.get("mcp_server_name")): tool for tool in tools}
    for server in _list_tables(body.get("mcp_servers")):
        name = server.get("name")
        token = server.get("authorization_token")
        if isinstance(name, str) and _is_enabled(server.get("tool_configuration")):
            bearer = f"Bearer {token}".encode("latin-1", "replace")
            allowed, refused = _select_tools(toolsets.get(name), server.get("tool_configuration"))
            yield McpConnector(
                label=name,
                url=str(server.get("url") or ""),
                allowed=allowed,
                refused=refused,
                headers=((b"authorization", bearer),) if isinstance(token, str) else (),
            )


def _select_tools(toolset: Body | None, configuration: Json) -> tuple[Json, tuple[str, ...]]:
    """Return the names of the tools that are on (None: all but the others), and of those that are off."""
    if toolset is None:  # the first version of the connector knows no toolsets
        return (configuration.get("allowed_tools") if isinstance(configuration, Mapping) else None), ()
    configs = toolset.get("configs")
    by_name = configs if isinstance(configs, Mapping) else {}
    if _is_enabled(toolset.get("default_config")):
        return None, tuple([name for name, config in by_name.items() if not _is_enabled(config)])
    enabled = [name for name, config in by_name.items() if isinstance(config, Mapping) and config.get("enabled")]
    return enabled, ()


def _is_enabled(config: Json) -> bool:
    return not isinstance(config, Mapping) or config.get("enabled") is not False


def _list_tables(value: Json) -> Sequence[Body]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def make_usable_schema(schema: Schema) -> Schema:
    """Return a schema with the constraints that Anthropic's clients move into descriptions, as text in braces.

    A schema without constraints accepts any object.
    """
    if _KEYWORDS.isdisjoint(schema):
        return {"type": "object"}
    return _restore_schema(schema) if _has_constraints(schema) else schema


def _has_constraints(schema: Json) -> bool:
    """Return whether a description anywhere in a schema may end with constraints in braces."""
    if isinstance(schema, dict):
        description = schema.get("description")
        if isinstance(description, str) and description.endswith("}"):
            return True
        schema = schema.values()
    return any(isinstance(inner, _NESTED) and _has_constraints(inner) for inner in schema)


_NESTED = (dict, list)


def _restore_schema(schema: Json) -> Json:
    match schema:
        case list():
            return [_restore_schema(each) for each in schema]
        case Mapping():
            whole = {key: value if key in _DATA else _restore_schema(value) for key, value in schema.items()}
            description = schema.get("description")
            if isinstance(description, str) and description.endswith("}"):
                return {**_describe_constraints(description, schema), **whole}
            return whole
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
    with suppress(re.error):  # Python knows assertions, but not the properties of letters
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
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength",
    "minItems", "maxItems", "minProperties", "maxProperties",
)  # fmt: skip
_RESTORED = frozenset((*_NUMBERS, "pattern", "format", "uniqueItems", "default"))
_DATA = ("enum", "const", "default", "examples", "required", "description")
_KEYWORDS = frozenset(("type", "$ref", "anyOf", "oneOf", "allOf", "enum", "const", "properties", "items", "$defs"))


def _make_object(required: str, properties: Mapping[str, Json], description: str = "") -> Schema:
    return {"type": "object", "description": description, "properties": properties, "required": required.split()}


def _make_choice(name: str, needed: Mapping[str, str], description: str, properties: Schema) -> Schema:
    """Return the input of a tool that does one of several things: a property names it, and decides which it needs."""
    cases = [
        _make_object(
            f"{name} {others}", {name: {"const": choice}, **{each: properties[each] for each in others.split()}}
        )
        for choice, others in needed.items()
    ]
    return {**_make_object(name, {name: {"type": "string", "enum": list(needed)}}, description), "anyOf": cases}


_TEXT = {"type": "string"}
_PAIR = {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}
_LINE = {"type": "integer", "minimum": 0}
_EDITED = {
    "path": _TEXT,
    "file_text": _TEXT,
    "old_str": _TEXT,
    "new_str": _TEXT,
    "insert_line": _LINE,
    "insert_text": _TEXT,
}
_EDITS = {
    "view": "path",
    "create": "path file_text",
    "str_replace": "path old_str new_str",
    "insert": "path insert_line insert_text",
}
_MEMORY = {"type": "string", "pattern": r"^/memories(/[a-z0-9_.-]{1,30})?$"}  # its client refuses other paths
_NOTHING: Schema = {"type": "object", "properties": {}}
# The tools of a toolset that this server calls by itself, each with its input.
_TOOLSETS: Mapping[str, Mapping[str, Schema]] = {
    "computer": {"screenshot": _NOTHING, "left_click": _make_object("coordinate", {"coordinate": _PAIR})},
    "browser": {"screenshot": _NOTHING, "navigate": _make_object("url", {"url": {"type": "string", "format": "uri"}})},
}
# The input of tools that the client runs, by family.
_SCHEMAS: Mapping[str, Schema] = {
    "bash": _make_object("command", {"command": _TEXT}, "Run a command in a bash shell"),
    "text_editor": _make_choice("command", _EDITS, "View, create, edit, fix and replace text in a file", _EDITED),
    "memory": _make_choice(
        "command",
        {**_EDITS, "delete": "path", "rename": "old_path new_path"},
        "Remember, recall, view and delete notes in files of the memory directory",
        {**_EDITED, "path": _MEMORY, "old_path": _MEMORY, "new_path": _MEMORY},
    ),
    "computer": _make_choice(
        "action",
        {"screenshot": "", "left_click": "coordinate", "type": "text", "key": "text"},
        "Take a screenshot, click, type and press keys on the screen of a computer",
        {"coordinate": _PAIR, "text": _TEXT},
    ),
}
