"""The MCP servers of rules files: their tools, resources and prompts, and the rules for the `then` of these."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Any, Literal

from msgspec import Struct
from msgspec.json import decode, encode
from msgspec.structs import replace
from pydantic_core import ValidationError

from mockserver.config.source import Document, Path, did_you_mean
from mockserver.config.tables import AsTable, AsText, ByShape, Table, field
from mockserver.config.validation_errors import validate_table
from mockserver.core.json import Json, find_in
from mockserver.core.mcp_server import VERSIONS, McpChange, McpLogin, McpPrompt, McpResource, McpServer, McpTool
from mockserver.core.text import show_value
from mockserver.model.validators import compile_validator, make_pointer

_LONGEST_NAME = 128  # characters of a tool
Add = Callable[..., None]  # takes a message and the path of what is wrong


_SHORT_SCHEMA = {"path": "string"}
_ANSWER = {"text": "# Hello"}


class McpToolSpec(Table):
    """A tool of an MCP server."""

    example = "{name: read_file, input: {path: string}}"

    name: str = field(min_length=1, max_length=_LONGEST_NAME, description="name of the tool")
    title: str | None = field(None, description="the name shown to people", examples=["Files"])
    description: str | None = field(None, description="what the tool does, for models", examples=["Reads a file."])
    input: dict[str, Any] | None = field(
        None,
        description="its arguments: a JSON Schema, or {path: string, lines?: integer}",
        examples=[_SHORT_SCHEMA],
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
    values: dict[str, list[str]] | None = field(
        None, description="values that completion suggests, by argument", examples=[{"style": ["short", "long"]}]
    )
    then: dict[str, Any] | None = field(None, description="the answer, unless a rule answers first", examples=[_ANSWER])


class McpToolsChange(Table):
    """Tools that come and go."""

    example = "{remove: [read_file]}"

    add: list[McpToolSpec] | None = field(None, description="tools to add or to replace")
    remove: list[str] | None = field(None, description="names of tools to remove", examples=[["read_file"]])


class McpResourcesChange(Table):
    """Resources that come, change and go."""

    example = "{add: [{uri: 'file:///readme.md', text: '# New'}]}"

    add: list[McpResourceSpec] | None = field(None, description="resources to add or to replace")
    remove: list[str] | None = field(None, description="URIs of resources to remove", examples=[["file:///a"]])


class McpPromptsChange(Table):
    """Prompts that come and go."""

    example = "{remove: [review]}"

    add: list[McpPromptSpec] | None = field(None, description="prompts to add or to replace")
    remove: list[str] | None = field(None, description="names of prompts to remove", examples=[["review"]])


class McpChangeSpec(Table):
    """A change of what a server offers, of which its clients are told."""

    example = "{after: 3, tools: {remove: [read_file]}}"

    after: int = field(ge=1, description="after how many calls of the server")
    tools: McpToolsChange | None = field(None, description="changes of its tools")
    resources: McpResourcesChange | None = field(None, description="changes of its resources")
    prompts: McpPromptsChange | None = field(None, description="changes of its prompts")


class McpBearerSpec(Table):
    """The token that clients of a server must send."""

    example = "{bearer: secret-token}"

    bearer: str = field(min_length=1, description="the token")


AuthValue = Annotated[
    AsText[Literal["oauth"]] | AsTable[McpBearerSpec], ByShape("oauth, or a table such as {bearer: secret-token}")
]


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
    versions: list[Literal[VERSIONS]] | None = field(  # type: ignore[valid-type]
        None, min_length=1, description="revisions of MCP that it supports (default: all)", examples=[["2025-06-18"]]
    )
    sessions: bool | None = field(
        None, description="whether clients must repeat a session id (default: if there are changes)"
    )
    sse: bool | None = field(
        None, description="whether answers are streams of events (default: if there is something to notify)"
    )
    changes: list[McpChangeSpec] | None = field(None, description="changes of what it offers, after some calls")
    auth: AuthValue | None = field(
        None, description="a login that clients need: a bearer token, or oauth", examples=["oauth"]
    )


class LocatedRule(Struct, frozen=True):
    """A rule as it would be written, and its path in the file."""

    spec: Mapping[str, Json]
    path: Path
    names: tuple[str, ...]  # of the server, and of the tool or prompt
    after: int = 0  # how many calls of the server there must have been


def find_servers(document: Document, add: Add) -> Mapping[str, McpServer]:
    """Return the servers of a file, by name; report mistakes to `add`."""
    servers: dict[str, McpServer] = {}
    for name, spec in _list_servers(document):

        def add_here(message: str, path: Path, name: str = name, **more: Any) -> None:
            add(message, ("mcp", name, *path), **more)

        if _NAME.fullmatch(name) is None:
            add(_BAD_NAME.format(name=show_value(name)), ("mcp", name), key=True)
        checked = validate_table(McpServerSpec, spec, whole=f'the MCP server "{name}"', add=add_here)
        if checked is not None:
            servers[name] = make_server(name, checked, add_here)
        elif isinstance(spec, Mapping):  # its other mistakes are found as well
            make_server(name, McpServerSpec.model_validate(_leave_sound_parts(spec)), add_here)
    return servers


def _leave_sound_parts(spec: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return a mistaken server without its mistakes, each entry where it was."""
    tables: Mapping[str, type[Table]] = {"tools": McpToolSpec, "resources": McpResourceSpec, "prompts": McpPromptSpec}
    return {
        kind: [_leave_sound_entry(table, entry, at) for at, entry in enumerate(_make_list(spec.get(kind)))]
        for kind, table in tables.items()
    }


def _leave_sound_entry(table: type[Table], entry: Json, at: int) -> Json:
    try:
        table.model_validate(entry)
    except ValidationError:
        key = "uri" if table is McpResourceSpec else "name"
        name = entry.get(key) if isinstance(entry, Mapping) else None
        return {key: name if isinstance(name, str) and 0 < len(name) <= _LONGEST_NAME else f"\0{at}"}
    return entry


def list_rules_beside(document: Document) -> Iterator[LocatedRule]:
    """Yield a rule for each `then` beside a tool or a prompt."""
    for name, spec in _list_servers(document):
        for kind, key in (("tools", "tool"), ("prompts", "prompt_name")):
            for entry, path in _list_entries(spec, kind):
                if isinstance(entry.get("then"), Mapping):
                    when = {"mcp": {"equals": name}, key: {"equals": entry.get("name")}}
                    after = 0
                    labels = list[str]()
                    if path[0] == "changes":
                        after = spec["changes"][path[1]].get("after")
                        labels.append(f"changes[{path[1]}]")
                    names = (name, *labels, str(entry.get("name")))
                    spec_of_rule = {"when": when, "then": entry["then"]}
                    located = ("mcp", name, *path)
                    yield LocatedRule(spec_of_rule, located, names=names, after=after if isinstance(after, int) else 0)


def _list_entries(spec: Json, kind: str) -> Iterator[tuple[Mapping[str, Json], Path]]:
    """Yield the tools or prompts of a server as written, those that the latest changes add first, with their paths."""
    stated = spec if isinstance(spec, Mapping) else {}
    changes = [*enumerate(_make_list(stated.get("changes")))]
    for number, change in sorted(changes, key=_find_after, reverse=True):
        for at, entry in enumerate(_make_list(find_in(change, kind, "add"))):
            if isinstance(entry, Mapping):
                yield entry, ("changes", number, kind, "add", at)
    for at, entry in enumerate(_make_list(stated.get(kind))):
        if isinstance(entry, Mapping):
            yield entry, (kind, at)


def _find_after(change: tuple[int, Json]) -> tuple[int, int]:
    number, stated = change
    after = stated.get("after") if isinstance(stated, Mapping) else None
    return (after if isinstance(after, int) else 0, number)


def _make_list(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list | tuple) else ()


def make_server(name: str, spec: McpServerSpec, add: Add) -> McpServer:
    """Return the server that a table describes; report mistakes in schemas and duplicate names to `add`."""
    offer = _make_offer(spec.tools, spec.resources, prompts=spec.prompts, path=(), add=add)
    changes = tuple(_make_change(change, ("changes", at), add) for at, change in enumerate(spec.changes or ()))
    _check_changes(offer, changes, add)
    auth = spec.auth
    return McpServer(
        name=name,
        title=spec.title,
        instructions=spec.instructions,
        version=spec.version or McpServer(name).version,
        tools=offer.tools,
        resources=offer.resources,
        prompts=offer.prompts,
        page=spec.page,
        versions=tuple(sorted(spec.versions, reverse=True)) if spec.versions else VERSIONS,
        sessions=bool(changes) if spec.sessions is None else spec.sessions,
        sse=spec.sse,
        changes=changes,
        login=None if auth is None else McpLogin(auth.bearer if isinstance(auth, McpBearerSpec) else None),
    )


def _make_offer(
    tools: Sequence[McpToolSpec] | None,
    resources: Sequence[McpResourceSpec] | None,
    prompts: Sequence[McpPromptSpec] | None,
    path: Path,
    add: Add,
) -> McpChange:
    """Return what tables describe as a change that adds it; report mistakes to `add`."""
    below = ("add",) if path else ()
    made = McpChange(
        after=0,
        tools=tuple(_make_tool(tool, (*path, "tools", *below, at), add) for at, tool in enumerate(tools or ())),
        resources=tuple(_make_resource(resource) for resource in resources or ()),
        prompts=tuple(
            _make_prompt(prompt, (*path, "prompts", *below, at), add) for at, prompt in enumerate(prompts or ())
        ),
    )
    _refuse_double("tool", (*path, "tools", *below), names=[tool.name for tool in made.tools], add=add)
    _refuse_double(
        "resource", (*path, "resources", *below), names=[resource.uri for resource in made.resources], add=add
    )
    _refuse_double("prompt", (*path, "prompts", *below), names=[prompt.name for prompt in made.prompts], add=add)
    return made


def _make_change(spec: McpChangeSpec, path: Path, add: Add) -> McpChange:
    tools = spec.tools
    resources = spec.resources
    prompts = spec.prompts
    offer = _make_offer(
        tools.add if tools else None,
        resources.add if resources else None,
        prompts=prompts.add if prompts else None,
        path=path,
        add=add,
    )
    stated = {"tools": tools, "resources": resources, "prompts": prompts}
    removed = {kind: frozenset(change.remove or ()) for kind, change in stated.items() if change is not None}
    if not any((offer.tools, offer.resources, offer.prompts, *removed.values())):
        add("a change needs something to add or remove: {after: 3, tools: {remove: [read_file]}}", path)
    return replace(offer, after=spec.after, removed=removed)


def _check_changes(offer: McpChange, changes: Sequence[McpChange], add: Add) -> None:
    """Report what changes remove although it is never there."""
    known = {
        "tools": {tool.name for each in (offer, *changes) for tool in each.tools},
        "resources": {resource.uri for each in (offer, *changes) for resource in each.resources},
        "prompts": {prompt.name for each in (offer, *changes) for prompt in each.prompts},
    }
    for at, change in enumerate(changes):
        for kind, names in change.removed.items():
            for name in sorted(names - known[kind]):
                hint = did_you_mean(name, known[kind])
                add(f'there is no {kind[:-1]} "{name}" to remove{hint}', ("changes", at, kind, "remove"))


def _list_servers(document: Document) -> Iterator[tuple[str, Json]]:
    servers = document.data.get("mcp") if isinstance(document.data, Mapping) else None
    yield from servers.items() if isinstance(servers, Mapping) else ()


def _refuse_double(what: str, path: Path, names: Sequence[str], add: Add) -> None:
    for at, name in enumerate(names):
        if name in names[:at]:
            add(f'there are two {what}s "{name}"; rename one of them', (*path, at))


def _make_tool(spec: McpToolSpec, path: Path, add: Add) -> McpTool:
    return McpTool(
        name=spec.name,
        title=spec.title,
        description=spec.description,
        input=make_schema(spec.input or {}, (*path, "input"), add),
        output=None if spec.output is None else make_schema(spec.output, (*path, "output"), add),
        annotations=spec.annotations,
    )


def _make_resource(spec: McpResourceSpec) -> McpResource:
    name = spec.name or spec.uri.rstrip("/").rpartition("/")[2] or spec.uri
    return McpResource(spec.uri, name, text=spec.text, blob=spec.blob, mime=spec.mime, description=spec.description)


def _make_prompt(spec: McpPromptSpec, path: Path, add: Add) -> McpPrompt:
    required = frozenset(name for name in spec.arguments or [] if not name.endswith("?"))
    names = tuple(name.removesuffix("?") for name in spec.arguments or [])
    for name in spec.values or {}:
        if name not in names:
            add(f'there is no argument "{name}"{did_you_mean(name, names)}', (*path, "values", name), key=True)
    return McpPrompt(spec.name, spec.description, arguments=names, required=required, values=spec.values or {})


def make_schema(stated: Mapping[str, Json], path: Path, add: Add) -> Mapping[str, Json]:
    """Return a JSON Schema unchanged, or make one of an object with properties of these types."""
    if _is_schema(stated):
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


def _is_schema(stated: Mapping[str, Json]) -> bool:
    """Return whether a table is a JSON Schema, and not types by name.

    A property may be called `type`: `{type: string}` is one, `{type: array}` with words of schemas beside it is not.
    """
    if not _SCHEMA_KEYWORDS.isdisjoint(stated):
        return True
    kind = stated.get("type")
    if kind in ("object", "array") or isinstance(kind, list):
        return True
    return kind in _TYPES and any(key in _BESIDE_TYPES for key in stated)


def _check_schema(schema: Mapping[str, Json], path: Path, add: Add) -> Mapping[str, Json]:
    from mockserver.model.schema import find_schema_error  # slow to import, and few files need it

    if why := find_schema_error(schema):
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
_SCHEMA_KEYWORDS = frozenset(
    (
        "$schema", "$ref", "$defs", "properties", "required", "anyOf", "oneOf", "allOf", "not", "const", "enum",
        "additionalProperties", "patternProperties", "prefixItems",
    )
)  # fmt: skip
_BESIDE_TYPES = frozenset(
    (
        "items", "minItems", "maxItems", "minLength", "maxLength", "pattern", "format", "minimum", "maximum",
        "description", "title", "default", "examples",
    )
)  # fmt: skip
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@+ -]{0,63}")
_BAD_NAME = (
    "{name} cannot be the name of an MCP server, as it is part of a URL: use up to 64 letters, digits, blanks and "
    "_ . @ + -"
)


def find_argument_mistake(tool: McpTool, arguments: Json) -> str | None:
    """Return why a tool does not accept arguments, or None if it does; what may be left out may be null, too."""
    mistake = _find_mistake(tool.input, arguments)
    required = tool.input.get("required")
    if mistake is None or not isinstance(arguments, Mapping):
        return mistake
    needed = required if isinstance(required, list) else ()
    return _find_mistake(
        tool.input, {name: value for name, value in arguments.items() if value is not None or name in needed}
    )


def find_output_mistake(tool: McpTool, value: Json) -> str | None:
    """Return why a tool cannot return a value, or None if it can."""
    return None if tool.output is None else _find_mistake(tool.output, value)


def _find_mistake(schema: Mapping[str, Json], value: Json) -> str | None:
    mistake = next(_compile_validator(encode(schema)).iter_errors(value), None)
    if mistake is None:
        return None
    place = make_pointer(mistake.instance_path)
    return f"{mistake.message}{f' at {place}' if place else ''}"


@lru_cache(maxsize=256)
def _compile_validator(schema: bytes) -> Any:
    return compile_validator(decode(schema))
