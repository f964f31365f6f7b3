"""The fields of `when`: each reads one value from a Call. Knows no predicates and no rules.

A field that the request lacks reads as None.
"""

import json
from collections.abc import Callable, Mapping
from operator import attrgetter

from msgspec import Struct

from mockserver.core.call import Call, Toolset, find_last_tool_result, list_names
from mockserver.core.http import explain_header_name
from mockserver.core.json import Json
from mockserver.kinds import ARTIFACTS, CONVERSATIONS, OPERATIONS

Read = Callable[[Call], Json]


_OPERATIONS = tuple(dict.fromkeys((*CONVERSATIONS, *ARTIFACTS, *OPERATIONS)))  # the most frequent ones first
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
FORMATS = ("text", "json_object", "json_schema", "enum")


class Field(Struct, frozen=True, eq=False):
    """One field of `when`; its kind (text, number, boolean, list or json) decides which predicates apply.

    A field with `members` is written as a table of them. `values` lists all values that a field can have, if known. A
    `costly` field is read after others, and only if they do not decide. If the value is true, the body contains
    `needs`; without it, the value need not be read.
    """

    name: str
    kind: str
    read: Read
    doc: str
    members: Mapping[str, "Field"] = {}
    values: tuple[str, ...] = ()
    costly: bool = False
    needs: bytes = b""

    @property
    def key(self) -> str:
        """The key of the field in `when`."""
        return self.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Field) and (self.name, self.kind) == (other.name, other.kind)

    def __ne__(self, other: object) -> bool:  # Struct has its own
        return not self == other

    def __hash__(self) -> int:
        return hash((self.name, self.kind))

    @property
    def family(self) -> str:
        """Return the fixed part of the name: `header` for `header.x-id`."""
        return self.name.partition(".")[0].partition(" ")[0]


class FieldFamily(Struct, frozen=True):
    """Fields that share a prefix. `reader(name)` returns the reader of one, or raises ValueError with the reason."""

    prefix: str
    kind: str
    reader: Callable[[str], Read]
    doc: str
    costly: bool = False

    @property
    def key(self) -> str:
        """The key of the fields in lists of what `when` takes."""
        return f"{self.prefix}<name>"

    def make_member(self, name: str) -> Field:
        return Field(f"{self.prefix}{name}", self.kind, read=self.reader(name), doc=self.doc, costly=self.costly)


def find_field(name: str) -> Field | None:
    """Return the field for a key of `when`, or None if unknown. Raises ValueError for an impossible name."""
    match FIELDS.get(name):
        case Field() as found:
            return found
        case FieldFamily():
            return None
    prefix, _, rest = name.partition(".")
    family = FIELDS.get(f"{prefix}.<name>") if rest else None
    return family.make_member(rest) if isinstance(family, FieldFamily) else None


def make_expression_field(text: str) -> Field:
    """Return a field that reads the request body with a JMESPath expression. Raises ValueError if it is invalid."""
    from mockserver.rules.match import expressions  # slow to import, and few rules need it

    name = f"body {json.dumps(text, ensure_ascii=False)}"
    evaluate = expressions.compile_expression(text)
    read = _read_once(lambda call: evaluate(call.body), name)
    return Field(name, "json", read=read, doc="", costly=True, needs=expressions.find_needed(text))


def _read_once(read: Read, name: str) -> Read:
    """Return a reader that caches its value on the call, like cached_property: several rules may read it."""
    key = f"{name} read"

    def read_and_keep(call: Call) -> Json:
        memory = vars(call)
        if key in memory:
            return memory[key]
        value = memory[key] = read(call)
        return value

    return read_and_keep


def _read_last_message(call: Call) -> str | None:
    return None if call.last_turn is None else call.last_turn.text


def read_path_without_mount(call: Call) -> str:
    # Mounts begin with their dialect's or host's name, or its first word: /openai/v1, /azure-openai, /azure, /groq.
    # Others are those of another provider, whose path counts as a whole: /gemini/v1beta/openai.
    segment, slash, rest = call.http.path[1:].partition("/")
    return f"/{rest}" if slash and f"{call.label}_".startswith(f"{segment}_".replace("-", "_")) else call.http.path


def _read_system(call: Call) -> str | None:
    return call.system or ("" if any(m.role in ("system", "developer") for m in call.messages) else None)


def _read_conversation(call: Call) -> str | None:
    return "\n".join(m.text for m in call.messages) if call.messages else None


def _read_tools(call: Call) -> tuple[str, ...]:
    tools = call.tools
    if type(tools) is Toolset:
        return tools.names
    return list_names(tools) if tools else ()


def _read_tool_choice(call: Call) -> str:
    choice = call.tool_choice
    return choice.names[0] if choice.mode == "named" and len(choice.names) == 1 else choice.mode


def _count_images(call: Call) -> int:
    return sum("image" in str(part.get("type", "")) for m in call.messages for part in m.parts)


def _read_key(call: Call) -> str | None:
    scheme, _, token = (call.http.find_header("authorization") or "").partition(" ")
    if scheme.lower() == "bearer":
        return token.strip()
    named = (call.http.find_header(name) for name in ("api-key", "x-api-key", "x-goog-api-key"))
    return next((key for key in named if key is not None), call.http.query.get("key"))


_read_tool_result = _read_once(find_last_tool_result, "tool_result")


def _make_tool_result_reader(name: str) -> Read:
    def read(call: Call) -> Json:
        result = _read_tool_result(call)
        return None if result is None else result[name]

    return read


def _make_header_reader(name: str) -> Read:
    if complaint := explain_header_name(name):
        raise ValueError(complaint)
    wanted = name.lower().encode()

    def read(call: Call) -> str | None:
        for key, value in call.http.headers:
            if key == wanted:
                return value.decode("latin-1")
        return None

    return read


def _make_metadata_reader(name: str) -> Read:
    def read(call: Call) -> Json:
        metadata = _get_child(call.body, "metadata") or _get_child(call.body, "labels")
        return metadata.get(name) if isinstance(metadata, dict | Mapping) else None

    return read


def _make_param_reader(name: str) -> Read:
    if "." not in name:
        return lambda call: _get_child(call.body, name)
    steps = tuple(name.split("."))

    def read(call: Call) -> Json:
        value: Json = call.body
        for step in steps:
            value = _get_child(value, step)
        return value

    return read


def find_nested_param(field: str, call: Call) -> str:
    """Return the field for a key that is missing at the top of a body: `param.generationConfig.temperature`."""
    name = field.removeprefix("param.")
    tables = call.body.items() if field.startswith("param.") else ()
    return next((f"param.{at}.{name}" for at, table in tables if isinstance(table, Mapping) and name in table), "")


def _get_child(value: Json, step: str) -> Json:
    match value:
        case dict() | Mapping():  # the first is much faster to tell
            return value.get(step)
        case list() if step.isdecimal() and len(step) < 9 and int(step) < len(value):
            return value[int(step)]
    return None


def _read_mcp_server(call: Call) -> str | None:
    return None if call.mcp is None else call.mcp.server


def _make_target_reader(operation: str) -> Read:
    return lambda call: call.mcp.target if call.mcp is not None and call.operation == operation else None


def _read_arguments(call: Call) -> Json:
    return None if call.mcp is None else call.mcp.arguments


def _read_client_answer(call: Call) -> Json:
    return None if call.mcp is None else call.mcp.client_answer


_TOOL_RESULT = {
    "name": Field("tool_result.name", "text", read=_make_tool_result_reader("name"), doc="name of the tool"),
    "text": Field("tool_result.text", "text", read=_make_tool_result_reader("text"), doc="the result as text"),
    "json": Field("tool_result.json", "json", read=_make_tool_result_reader("json"), doc="the result, if it is JSON"),
}

FIELDS: Mapping[str, Field | FieldFamily] = {
    each.key: each
    for each in (
        Field("dialect", "text", read=attrgetter("dialect"), doc="name of the dialect"),
        Field(
            "host", "text", read=lambda call: call.host or None, doc="host of the dialect compatible: groq, vllm, ..."
        ),
        Field(
            "operation",
            "text",
            read=attrgetter("operation"),
            doc="the operation: chat, models, ...",
            values=_OPERATIONS,
        ),
        Field(
            "path", "text", read=attrgetter("http.path"), doc="path, without a namespace; with or without /openai etc."
        ),
        Field("method", "text", read=attrgetter("http.method"), doc="HTTP method of the request", values=METHODS),
        Field("model", "text", read=attrgetter("model"), doc="requested model"),
        Field("stream", "boolean", read=attrgetter("stream"), doc="whether streaming is requested"),
        Field("last_user", "text", read=attrgetter("last_user_text"), doc="text of the last user message"),
        Field(
            "last_message", "text", read=_read_last_message, doc="text of the last message that is not an instruction"
        ),
        Field(
            "system",
            "text",
            read=_read_once(_read_system, "system"),
            doc="system and developer texts, joined by newlines",
        ),
        Field(
            "conversation",
            "text",
            read=_read_once(_read_conversation, "conversation"),
            doc="texts of all messages, joined by newlines",
            costly=True,
        ),
        Field("turn", "number", read=attrgetter("turn"), doc="number of assistant messages so far"),
        Field("tools", "list", read=_read_tools, doc="names of the offered tools"),
        Field("tool_choice", "text", read=_read_tool_choice, doc="none, auto, required, or the name of the tool"),
        Field(
            "tool_result",
            "json",
            read=_read_tool_result,
            doc="the tool result, if it is the last message",
            members=_TOOL_RESULT,
        ),
        Field(
            "response_format",
            "text",
            read=attrgetter("options.response_format"),
            doc="type of the response format",
            values=FORMATS,
        ),
        Field(
            "previous_response",
            "text",
            read=attrgetter("previous_response_id"),
            doc="`previous_response_id` of the request",
        ),
        Field(
            "images",
            "number",
            read=_read_once(_count_images, "images"),
            doc="number of images in the conversation",
            costly=True,
        ),
        FieldFamily(
            "param.", "json", reader=_make_param_reader, doc="a field of the body; dots for nested fields", costly=True
        ),
        FieldFamily("header.", "text", reader=_make_header_reader, doc="a request header, in any case"),
        FieldFamily(
            "query.", "text", reader=lambda name: lambda call: call.http.query.get(name), doc="a query parameter"
        ),
        FieldFamily(
            "metadata.",
            "json",
            reader=_make_metadata_reader,
            doc="an entry of the request's metadata, or labels",
            costly=True,
        ),
        Field("key", "text", read=_read_key, doc="the API key as sent"),
        Field(
            "attempt",
            "number",
            read=attrgetter("attempt"),
            doc="number of the attempt, from 1: by the retry header, or by counting repeats",
        ),
        Field("namespace", "text", read=attrgetter("http.namespace"), doc="namespace of the request"),
        Field("mcp", "text", read=_read_mcp_server, doc="name of the MCP server"),
        Field("tool", "text", read=_make_target_reader("mcp_call"), doc="name of the called MCP tool"),
        Field("arguments", "json", read=_read_arguments, doc="arguments of an MCP tool or prompt"),
        FieldFamily(
            "arguments.",
            "json",
            reader=lambda name: lambda call: _get_child(_read_arguments(call), name),
            doc="one of these arguments",
        ),
        Field("resource", "text", read=_make_target_reader("mcp_read"), doc="URI of the requested MCP resource"),
        Field("prompt_name", "text", read=_make_target_reader("mcp_prompt"), doc="name of the requested MCP prompt"),
        Field("client_answer", "json", read=_read_client_answer, doc="what an MCP client answered when it was asked"),
        FieldFamily(
            "client_answer.",
            "json",
            reader=lambda name: lambda call: _get_child(_read_client_answer(call), name),
            doc="a part of it",
        ),
        Field(
            "client_action",
            "text",
            read=lambda call: None if call.mcp is None else call.mcp.client_action,
            doc="what an MCP client did when it was asked",
            values=("accept", "decline", "cancel", "error"),
        ),
        Field(
            "prompt_tokens",
            "number",
            read=attrgetter("prompt_tokens"),
            doc="tokens of the prompt, as in usage",
            costly=True,
        ),
        Field(
            "body",
            "json",
            read=attrgetter("raw"),
            doc="a JMESPath expression that holds for the body, or a table of them",
        ),
    )
}

# Fields with texts that people write.
FREE_TEXT = frozenset(("last_user", "last_message", "system", "conversation"))

# A condition on the key of this table may also hold for the other field.
ALTERNATIVES: Mapping[str, Field] = {"path": Field("path without mount", "text", read=read_path_without_mount, doc="")}
