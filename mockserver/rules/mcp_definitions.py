"""The MCP servers of rules files: their tools, resources and prompts, and the rules for the `then` of these."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from msgspec import Struct
from msgspec.json import encode

from mockserver.config.source import Document, Path
from mockserver.config.tables import Table, field
from mockserver.config.validation_errors import validate_table
from mockserver.core.json import Json
from mockserver.core.mcp_server import McpPrompt, McpResource, McpServer, McpTool

Add = Callable[..., None]  # takes a message and the path of what is wrong


_SHORT, _ANSWER = {"path": "string"}, {"text": "# Hello"}


class McpToolSpec(Table):
    """A tool of an MCP server."""

    example = "{name: read_file, input: {path: string}}"

    name: str = field(min_length=1, max_length=128, description="name of the tool")
    title: str | None = field(None, description="the name shown to people", examples=["Files"])
    description: str | None = field(None, description="what the tool does, for models", examples=["Reads a file."])
    input: dict[str, Any] | None = field(
        None,
        description="its arguments: a JSON Schema, or {path: string, lines?: integer}",
        examples=[_SHORT],
    )
    output: dict[str, Any] | None = field(
        None, description="its structured results, in the same form", examples=[{"text": "string"}]
    )
    annotations: dict[str, Any] | None = field(
        None, description="annotations, in MCP's format", examples=[{"readOnlyHint": True}]
    )
    then: dict[str, Any] | None = field(None, description="the answer, unless a rule answers first", examples=[_ANSWER])


class McpResourceSpec(Table):
    """A resource of an MCP server."""

    example = "{uri: 'file:///readme.md', text: '# Hello'}"

    uri: str = field(min_length=1, description="its URI")
    name: str | None = field(None, description="its name (default: the end of the URI)", examples=["readme.md"])
    text: str | None = field(None, description="its content", examples=["# Hello"])
    blob: str | None = field(None, description="its content as base64", examples=["aGVsbG8="])
    mime: str | None = field(None, description="its media type", examples=["text/markdown"])
    description: str | None = field(None, description="what it contains", examples=["The first page."])


class McpPromptSpec(Table):
    """A prompt of an MCP server."""

    example = "{name: review, arguments: [code], then: {text: 'Review: {{ arguments.code }}'}}"

    name: str = field(min_length=1, description="name of the prompt")
    description: str | None = field(None, description="what it is for", examples=["Reviews code."])
    arguments: list[str] | None = field(
        None, description="its arguments; those that end in ? are optional", examples=[["code", "style?"]]
    )
    then: dict[str, Any] | None = field(None, description="the answer, unless a rule answers first", examples=[_ANSWER])


class McpServerSpec(Table):
    """An MCP server."""

    example = "{tools: [{name: read_file, input: {path: string}, then: {text: '# Hello'}}]}"

    title: str | None = field(None, description="the name shown to people", examples=["Files"])
    instructions: str | None = field(None, description="how models should use it", examples=["Reads files."])
    version: str | None = field(None, description="version of the server (default: 1.0.0)", examples=["1.2.0"])
    tools: list[McpToolSpec] | None = field(None, description="its tools")
    resources: list[McpResourceSpec] | None = field(None, description="its resources")
    prompts: list[McpPromptSpec] | None = field(None, description="its prompts")
    page: int | None = field(None, ge=1, description="entries per page of a list (default: all)", examples=[2])


class LocatedRule(Struct, frozen=True):
    """A rule as it would be written, and its path in the file."""

    spec: Mapping[str, Json]
    path: Path
    names: tuple[str, str]  # of the server, and of the tool or prompt


def find_servers(document: Document, add: Add) -> Mapping[str, McpServer]:
    """Return the servers of a file, by name; report mistakes to `add`."""
    servers: dict[str, McpServer] = {}
    for name, spec in _list_servers(document):

        def add_here(message: str, path: Path, name: str = name, **more: Any) -> None:
            add(message, ("mcp", name, *path), **more)

        checked = validate_table(McpServerSpec, spec, f'the MCP server "{name}"', add_here)
        if checked is not None:
            servers[name] = make_server(name, checked, add_here)
    return servers


def list_rules_beside(document: Document) -> Iterator[LocatedRule]:
    """Yield a rule for each `then` beside a tool or a prompt."""
    for name, spec in _list_servers(document):
        for kind, key in (("tools", "tool"), ("prompts", "prompt_name")):
            entries = spec.get(kind) if isinstance(spec, Mapping) else None
            for at, entry in enumerate(entries if isinstance(entries, list | tuple) else ()):
                if isinstance(entry, Mapping) and isinstance(entry.get("then"), Mapping):
                    when = {"mcp": {"equals": name}, key: {"equals": entry.get("name")}}
                    names = (name, str(entry.get("name")))
                    yield LocatedRule({"when": when, "then": entry["then"]}, ("mcp", name, kind, at), names)


def make_server(name: str, spec: McpServerSpec, add: Add) -> McpServer:
    """Return the server that a table describes; report mistakes in schemas and duplicate names to `add`."""
    tools = tuple(_make_tool(tool, ("tools", at), add) for at, tool in enumerate(spec.tools or ()))
    _refuse_double("tool", "tools", [tool.name for tool in tools], add)
    resources = tuple(_make_resource(resource) for resource in spec.resources or ())
    _refuse_double("resource", "resources", [resource.uri for resource in resources], add)
    prompts = tuple(_make_prompt(prompt) for prompt in spec.prompts or ())
    _refuse_double("prompt", "prompts", [prompt.name for prompt in prompts], add)
    version = spec.version or McpServer(name).version
    return McpServer(name, spec.title, spec.instructions, version, tools, resources, prompts, spec.page)


def _list_servers(document: Document) -> Iterator[tuple[str, Json]]:
    servers = document.data.get("mcp") if isinstance(document.data, Mapping) else None
    yield from servers.items() if isinstance(servers, Mapping) else ()


def _refuse_double(what: str, key: str, names: Sequence[str], add: Add) -> None:
    for at, name in enumerate(names):
        if name in names[:at]:
            add(f'there are two {what}s "{name}"; rename one of them', (key, at))


def _make_tool(spec: McpToolSpec, path: Path, add: Add) -> McpTool:
    return McpTool(
        name=spec.name,
        title=spec.title,
        description=spec.description,
        input=_make_schema(spec.input or {}, (*path, "input"), add),
        output=None if spec.output is None else _make_schema(spec.output, (*path, "output"), add),
        annotations=spec.annotations,
    )


def _make_resource(spec: McpResourceSpec) -> McpResource:
    name = spec.name or spec.uri.rstrip("/").rpartition("/")[2] or spec.uri
    return McpResource(spec.uri, name, spec.text, spec.blob, spec.mime, spec.description)


def _make_prompt(spec: McpPromptSpec) -> McpPrompt:
    names = spec.arguments or []
    required = frozenset(name for name in names if not name.endswith("?"))
    return McpPrompt(spec.name, spec.description, tuple(name.removesuffix("?") for name in names), required)


def _make_schema(stated: Mapping[str, Json], path: Path, add: Add) -> Mapping[str, Json]:
    """Return a JSON Schema unchanged, or make one of an object with properties of these types."""
    if stated.get("type") == "object" or not _OF_SCHEMAS.isdisjoint(stated):
        return _check_schema(stated, path, add)
    properties: dict[str, Json] = {}
    for name, kind in stated.items():
        made = _make_type(kind)
        if made is None:
            known = ", ".join(_TYPES)
            add(f'"{name}" expects a type: {known}, a list of one of them, or a JSON Schema', (*path, name))
        else:
            properties[name.removesuffix("?")] = made
    required = [name for name in stated if not name.endswith("?")]
    made = {"type": "object", "properties": properties, **({"required": required} if required else {})}
    return _check_schema(made, path, add)


def _check_schema(schema: Mapping[str, Json], path: Path, add: Add) -> Mapping[str, Json]:
    from mockserver.model.schema import schema_error  # slow to import, and few files need it

    if why := schema_error(schema):
        add(f"invalid JSON Schema: {why}", path)
    return schema


def _make_type(kind: Json) -> Mapping[str, Json] | None:
    match kind:
        case str() if kind in _TYPES:
            return {"type": kind}
        case [inner] if (made := _make_type(inner)) is not None:
            return {"type": "array", "items": made}
        case Mapping():
            return kind
    return None


_TYPES = ("string", "integer", "number", "boolean", "object", "array")
_OF_SCHEMAS = frozenset(("$schema", "$ref", "properties", "anyOf", "oneOf", "allOf", "additionalProperties"))


def find_argument_mistake(tool: McpTool, arguments: Json) -> str | None:
    """Return why a tool does not accept arguments, or None if it does."""
    from jsonschema_rs import ValidationError  # slow to import

    try:
        _compile_validator(encode(tool.input)).validate(arguments)
    except ValidationError as error:
        place = "".join(f"/{step}" for step in error.instance_path)
        return f"{error.message}{f' at {place}' if place else ''}"
    return None


@lru_cache(maxsize=256)
def _compile_validator(schema: bytes) -> Any:
    from jsonschema_rs import validator_for

    return validator_for(schema.decode(), retriever=_refuse_to_fetch)


def _refuse_to_fetch(uri: str) -> Json:
    raise ValueError(f"nothing is fetched: {uri}")
