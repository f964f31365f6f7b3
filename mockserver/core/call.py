"""Call: what a request asks, in no provider's shape. Rules match it, generators answer it."""

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from operator import attrgetter
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar

from msgspec import Struct
from msgspec.json import encode
from msgspec.structs import replace

from mockserver.core.http import HttpRequest
from mockserver.core.json import Json, try_parse, write_canonical
from mockserver.core.kept_objects import ObjectView
from mockserver.core.lazy import Memo, lazy_field, lazy_property
from mockserver.core.mcp_server import UPSTREAM, McpRequest, McpTool
from mockserver.core.tokens import APPROX, Tokenizer, count_part_tokens

# Hosted tools whose calls the client carries out: the tool's name, and the key of its input.
CLIENT_RUN_TOOLS: Mapping[str, tuple[str, str]] = {
    "computer_call": ("computer_use_preview", "action"),
    "local_shell_call": ("local_shell", "action"),
    "shell_call": ("shell", "action"),
    "apply_patch_call": ("apply_patch", "operation"),
}


OTHER = "other"  # the operation at a path that no dialect knows: only rules answer it
WEBSOCKET = "websocket"  # the operation that opens a WebSocket: only rules that name it refuse it


V = TypeVar("V")


class ToolCall(Struct, frozen=True, gc=False):
    """A tool call; `arguments` is the string on the wire."""

    id: str
    name: str
    arguments: str
    kind: str = (
        "function"  # or "custom", whose arguments are free text, "bare" (see Call), or a key of CLIENT_RUN_TOOLS
    )
    namespace: str = ""  # of the tool, where it is in one


class Message(Struct, frozen=True, gc=False):
    """One message of the conversation; `text` is joined from the text parts, `parts` holds the others."""

    role: str
    text: str = ""
    parts: tuple[Mapping[str, Json], ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    name: str | None = None


class PlainMessages(tuple[Message, ...]):
    """Messages that have a text and nothing else: no name, no parts, no tool calls, none of a tool."""

    __slots__ = ()


class Grammar(NamedTuple):
    """What the input of a custom tool must be: `syntax` is lark or regex."""

    syntax: str
    definition: str


class Tool(Struct, frozen=True, gc=False):
    """An offered tool; `parameters` is a JSON Schema, or None if it takes nothing."""

    name: str
    description: str = ""
    parameters: Json = None
    kind: str = "function"  # or "custom", which takes free text, or the type of a hosted tool
    strict: bool = False
    grammar: Grammar | None = None  # of the input of a custom tool
    options: Mapping[str, Json] = {}  # how the client configures a hosted tool
    namespace: str = ""  # groups it with others; names are unique within it

    @property
    def full_name(self) -> str:
        return f"{self.namespace}.{self.name}" if self.namespace else self.name


class Toolset(tuple[Tool, ...]):
    """Tools that many calls offer alike; what is worked out of them is kept with them."""

    @lazy_property
    def declaration(self) -> str:
        """The text that tells a model of these tools."""
        return _write_declaration(self)

    @lazy_property
    def has_namespaces(self) -> bool:
        return any(tool.namespace for tool in self)

    @lazy_property
    def names(self) -> tuple[str, ...]:
        return list_names(self)

    def work_out(self, make: Callable[[Sequence[Tool]], V]) -> V:
        """Return what a function makes of these tools, which it does once."""
        results: dict[Any, V] = self._results
        if make not in results:
            results[make] = make(self)
        return results[make]

    @lazy_property
    def _results(self) -> dict[Any, Any]:
        return {}


def find_toolset(tools: tuple[Tool, ...]) -> Toolset:
    """Return tools as a set: the same one for equal tools, as clients offer the same ones each time."""
    if type(tools) is Toolset:
        return tools
    try:
        written = encode(tools)
        found = _TOOLSETS.get(written)
        if found == tools:  # or it has null where these have what is no number
            return found
    except (ValueError, RecursionError):  # half a character, or too deep
        return Toolset(tools)
    return _TOOLSETS.keep(written, Toolset(tools), SIZE_OF_TOOLS * len(written))


SIZE_OF_TOOLS = 40  # about how many bytes a byte of their JSON takes as tables, and as what is worked out of them
_TOOLSETS = Memo[bytes, Toolset](most=1 << 25, fewest=1)  # the largest set that clients offer has room


def list_names(tools: Sequence[Tool]) -> tuple[str, ...]:
    """Return the names of tools; those in namespaces also with these: `get_weather`, and `crm.get_weather`."""
    return (*[tool.name for tool in tools], *[tool.full_name for tool in tools if tool.namespace])


class Prompt(Struct, frozen=True, gc=False):
    """A text to complete, embed or moderate; `numbers` are its token ids, if the client sent those instead.

    What completes it may stand before a `suffix`.
    """

    text: str
    numbers: tuple[int, ...] | None = None
    suffix: str | None = None

    def find_tokens(self, tokenizer: Tokenizer) -> tuple[str, ...]:
        """Return the tokens of the prompt: those that the client sent as numbers, or those of its text."""
        return tokenizer.split(self.text) if self.numbers is None else tokenizer.read(self.numbers)

    def count(self, tokenizer: Tokenizer) -> int:
        return tokenizer.count(self.text) if self.numbers is None else len(self.numbers)


Entry = TypeVar("Entry")


class Page(Struct, frozen=True):
    """At most `limit` entries after the one named `after`, or the last ones before that named `before`.

    `backwards`: newest first.
    """

    after: str | None = None
    limit: int = 20
    backwards: bool = False
    before: str | None = None

    def select(self, entries: Sequence[Entry], name: Callable[[Entry], str]) -> tuple[tuple[Entry, ...], bool]:
        """Return the entries of this page, and whether there are others beyond it.

        Nothing is after an unknown name, or before it.
        """
        ordered = entries[::-1] if self.backwards else entries
        start = 0
        end = len(ordered)
        if self.after is not None:
            start = next((at + 1 for at, entry in enumerate(ordered) if name(entry) == self.after), end)
        if self.before is not None:
            end = next((at for at, entry in enumerate(ordered) if name(entry) == self.before), start)
        if self.before is not None and self.after is None:
            return tuple(ordered[max(start, end - self.limit) : end]), end - start > self.limit
        return tuple(ordered[start : min(start + self.limit, end)]), end - start > self.limit


FIRST_PAGE = Page()


class ServerTool(NamedTuple):
    """A tool of an MCP server, by the server's label; an empty name stands for any of its tools."""

    label: str
    name: str = ""


class ToolChoice(Struct, frozen=True, gc=False):
    """The tool choice: `mode` is none, auto, required or named; `names` are the allowed tools.

    `servers` are the allowed tools of MCP servers; without any, all tools of all servers are allowed.
    """

    mode: str
    names: tuple[str, ...] = ()
    servers: tuple[ServerTool, ...] = ()

    def allows(self, tool: Tool) -> bool:
        """Return whether the choice leaves a tool; without names it leaves all."""
        return not self.names or tool.name in self.names or tool.full_name in self.names


class McpConnector(Struct, frozen=True):
    """An MCP server whose tools the provider is to call itself, by the name that the request gives it.

    `allowed` selects its tools, None all of them, and `refused` names some; `approval` says which calls the client
    must approve: `always`, `never`, or selections by these words. A selection is a list of names, or
    `{tool_names: [...], read_only: true}`. `headers` go to the server. If it `is_defined`, its tools are known.
    """

    label: str
    url: str = ""
    allowed: Json = None
    refused: tuple[str, ...] = ()
    approval: Json = "never"
    headers: tuple[tuple[bytes, bytes], ...] = ()
    is_defined: bool = False

    def allows(self, tool: McpTool) -> bool:
        """Return whether the request lets the provider call a tool of the server."""
        return tool.name not in self.refused and (self.allowed is None or _selects(self.allowed, tool))

    def needs_approval(self, tool: McpTool) -> bool:
        """Return whether a call must be approved first: always, unless the request says otherwise."""
        if not isinstance(self.approval, Mapping):
            return bool(self.approval != "never")
        if _selects(self.approval.get("always"), tool):
            return True
        return not _selects(self.approval.get("never"), tool)


def _selects(selection: Json, tool: McpTool) -> bool:
    if isinstance(selection, list):
        return tool.name in selection
    if not isinstance(selection, Mapping):
        return False
    names = selection.get("tool_names")
    read_only = selection.get("read_only")
    is_reading = (tool.annotations or {}).get("readOnlyHint") is True
    is_named = names is None or (isinstance(names, list) and tool.name in names)
    return is_named and (read_only is None or is_reading is read_only)


class IdShape(Struct, frozen=True, cache_hash=True):
    """The shape of a provider's ids: a prefix and a number of letters and digits (`alnum`, `base58`), hex or
    decimal digits.

    In the prefix of a tool call's id, TOOL_NAME stands for the name of the tool. A `uuid` has 32 hex digits in groups.
    """

    prefix: str = "chatcmpl-"
    length: int = 29
    alphabet: Literal["alnum", "base58", "hex", "digits", "uuid"] = "alnum"


TOOL_NAME = "{name}"


class Options(Struct, frozen=True, gc=False):
    """What a request asks of its answers besides their content: how many, how long, in which form."""

    parallel_tool_calls: bool = True
    bare_functions: bool = False  # the legacy `functions` API: one call, no id
    include_usage: bool = False
    n: int = 1
    max_tokens: int | None = None
    usual_tokens: int | None = None  # the provider's default limit; None: the client set one
    max_tool_calls: int | None = None  # how many hosted tool calls are allowed
    overflow: str = "error"  # error; or truncate the prompt; or shorten the answer, so that both fit
    is_adapted: bool = False  # what the model does not take, except tools and images, is left out for it; else refused
    ignore_eos: bool = False  # generate up to the token limit
    min_tokens: int = 0  # generate at least so many
    echo: int = 0  # how many of the prompt's last tokens to repeat
    stop: tuple[str, ...] = ()
    prefill: str = ""  # how the answer begins, which it does not repeat
    logprobs: int | None = None  # alternatives per token; None: no log probabilities
    dimensions: int | None = None  # of an embedding
    size: tuple[int, int] | None = None  # of a picture: width and height in pixels
    voice: str | None = None  # of speech; in a chat, None: it is written
    sound_format: str = "wav"  # of speech in a chat
    speed: float = 1.0  # of speech
    top_documents: int | None = None  # how many of the documents to return, the best
    pages: tuple[int, ...] | None = None  # of a document, counted from 0; None: all
    image_schema: Json = None  # the JSON Schema of what is said about each image in a document
    seed: int | None = None
    effort: str | None = None  # reasoning effort (none, minimal, low, medium, high...), if stated
    verbosity: str | None = None  # low, medium or high
    response_format: str = "text"
    schema: Json = None  # the JSON Schema that the answer's text must satisfy
    strict_schema: bool = True  # no model breaks it; else models can
    lenient_schema: bool = False  # an unusable schema asks for any object; else it is refused
    store: bool = False  # keep the answer for later look-ups
    background: bool = False  # a background response
    service_tier: str | None = None  # auto, default, flex, priority..., if stated


class Call(Struct, frozen=True, dict=True):
    """One operation that a client asks for, in any dialect.

    `meaning` holds every field that would change what a model answers, with structs for some of its tables;
    `fingerprint` hashes it. `raw` is the whole parsed body as its dialect can read it, which may be parsed only when
    somebody asks for it; `http` is the request it came in. `body` is the body as it was sent: the same, unless its
    dialect would refuse it and nothing was checked.
    """

    dialect: str
    operation: str
    model: str
    http: HttpRequest
    meaning: Json
    raw: Mapping[str, Json] = {}
    messages: tuple[Message, ...] = ()
    prompts: tuple[Prompt, ...] = ()  # without a conversation: each is answered separately
    documents: tuple[str, ...] = ()  # to rank by the query, which is what the user says
    has_instructions: bool = False  # the first message belongs to this call only
    tools: tuple[Tool, ...] = ()
    tool_choice: ToolChoice = ToolChoice("none")
    connectors: tuple[McpConnector, ...] = ()  # MCP servers whose tools the provider calls itself
    stream: bool = False
    options: Options = Options()
    ids: IdShape = IdShape()
    tool_call_ids: IdShape = IdShape("call_", 24)
    finishes: frozenset[str] = frozenset()  # finish reasons that only this dialect can show
    id: str = ""  # of an answer to look up
    previous_response_id: str | None = None  # of the response that this call continues
    page: Page = FIRST_PAGE  # the requested part of a list
    batch: "tuple[Call | Exception, ...]" = ()  # what a batch asks for, or why it is refused
    custom_id: str = ""  # the name that the batch gives it of which it is a part
    tokenizer: Tokenizer = APPROX  # of the model
    part_tokens: Callable[[Mapping[str, Json]], int] = count_part_tokens  # of an image, a file, ... at the provider
    message_tokens: int = 3  # counted by the provider for each message, and for the conversation
    attempt: int = 1
    sent: Mapping[str, Json] | None = None  # the body, where its dialect would refuse it
    is_checked: bool = True  # whether its dialect takes the body: only then is `raw` sure to have the shape it asks for
    is_sound: bool = False  # whether its dialect saw that nothing is wrong with the history that it sends back
    mcp: McpRequest | None = None  # what it asks of an MCP server
    work: "Callable[[Call, Any], Awaitable[ObjectView]] | None" = None  # with kept objects: `Work` in kinds/objects
    references: Any = None  # to kept objects: `References` in kinds/objects
    remarks: tuple[str, ...] = ()  # what its dialect let through and the live provider may refuse
    host: str = ""  # of those that speak its dialect, if it is one of several
    # No field, as a call that is made of another has it no more: the JSON of which `raw` is the plain reading, with
    # nothing added; None where that is not sure.
    written: ClassVar[bytes | None] = None

    @property
    def label(self) -> str:
        """The name by which settings know whom it asks: its host, or its dialect."""
        return self.host or self.dialect

    @property
    def body(self) -> Mapping[str, Json]:
        return self.raw if self.sent is None else self.sent

    @property
    def upstream(self) -> str:
        """The name of the upstream that can answer it: its label, or `mcp/files` for an MCP server."""
        return self.label if self.mcp is None else f"{UPSTREAM}{self.mcp.server}"

    @lazy_property
    def fingerprint(self) -> str:
        """A hash of the meaning: 32 hex digits, the same on every machine and Python."""
        return compute_fingerprint(self.dialect, self.operation, self.meaning)

    @lazy_property
    def content_fingerprint(self) -> str:
        """A hash of the meaning without schemas and tools, so that a new property changes no other value."""
        if not isinstance(self.meaning, Mapping) or _SHAPING.isdisjoint(self.meaning):
            return self.fingerprint
        kept = {key: value for key, value in self.meaning.items() if key not in _SHAPING}
        return compute_fingerprint(self.dialect, self.operation, kept)

    @lazy_property
    def last_user_text(self) -> str | None:
        """The text of the user's last message; None without one."""
        for message in reversed(self.messages):
            if message.role == "user":
                return message.text
        return None

    @lazy_property
    def last_user(self) -> str:
        """The text of the user's last message; empty without one."""
        return self.last_user_text or ""

    @lazy_property
    def last_turn(self) -> Message | None:
        """The last message of the user, the assistant or a tool.

        Clients add instructions after it. Where there are only instructions, the last of them is what is said.
        """
        for message in reversed(self.messages):
            if message.role not in _INSTRUCTING:
                return message
        return self.messages[-1] if self.messages else None

    @lazy_property
    def system(self) -> str:
        """The instructions: the texts of all system and developer messages."""
        return "\n".join([m.text for m in self.messages if m.role in _INSTRUCTING])

    @lazy_property
    def since_user(self) -> tuple[Message, ...]:
        """The messages after the user's last one."""
        positions = (at for at in range(len(self.messages), 0, -1) if self.messages[at - 1].role == "user")
        return self.messages[next(positions, 0) :]

    @lazy_property
    def turn(self) -> int:
        """How many messages of the assistant there are so far."""
        return [m.role for m in self.messages].count("assistant")

    @lazy_property
    def opening_fingerprint(self) -> str:
        """A hash of the conversation up to its first user message, which does not change as it grows."""
        if self.operation == OTHER:
            return self.fingerprint
        spoken = self.spoken
        first = next((i for i, m in enumerate(spoken) if m.role == "user"), len(spoken) - 1)
        said = [[m.role, m.text] for m in spoken[: first + 1]]
        return compute_fingerprint(self.dialect, self.operation, said)

    @lazy_property
    def prompt_tokens(self) -> int:
        """The prompt's token count: texts, tool calls, tools and images, with their overhead."""
        if self.prompts:
            return sum([prompt.count(self.tokenizer) for prompt in self.prompts])
        count = self.tokenizer.count
        messages = self.messages
        tokens = self.message_tokens * (len(messages) + 1) + sum(map(count, map(_read_text, messages)))
        if self.tokenizer.exact and self.message_tokens:  # the estimate ignores the roles
            tokens += sum([count(message.role) for message in messages])
        if type(messages) is not PlainMessages:
            for message in messages:
                if message.name:
                    tokens += _NAMED + count(message.name)
                if message.tool_calls:
                    for used in message.tool_calls:
                        tokens += count(used.name) + count(used.arguments)
                if message.parts:
                    for part in message.parts:
                        tokens += self.part_tokens(part)
        for document in self.documents:
            tokens += count(document)
        if self.tools:
            tokens += _TOOLS + count(declare_tools(self.tools))
            for message in messages:
                if message.role in _INSTRUCTING:
                    tokens -= _SHARED
                    break
        return tokens

    @property
    def spoken(self) -> tuple[Message, ...]:
        """The messages without the instructions that begin the conversation."""
        return self.messages[1:] if self.has_instructions else self.messages

    def limit_tokens(self, max_tokens: int) -> "Call":
        return self._share_results(replace(self, options=replace(self.options, max_tokens=max_tokens)))

    def use_model(self, name: str) -> "Call":
        return self._share_results(replace(self, model=name))

    def _share_results(self, other: "Call") -> "Call":
        """Return a call with the same meaning and messages, for which what was computed holds, too."""
        vars(other).update(vars(self))
        return other

    def find_tool(self, name: str, namespace: str = "") -> Tool | None:
        """Return the offered tool of a name; without a namespace, the first in any."""
        return next(iter(self.find_tools(name, namespace)), None)

    def find_tools(self, name: str, namespace: str = "") -> tuple[Tool, ...]:
        """Return the offered tools of a name in a namespace, or in any; `crm.get_weather` names both."""
        bare = [tool for tool in self.tools if tool.name == name and namespace in ("", tool.namespace)]
        return tuple(bare or [tool for tool in self.tools if tool.namespace and tool.full_name == name])


Call.raw = lazy_field(Call.raw)  # type: ignore[assignment]

_INSTRUCTING = ("system", "developer")  # roles of messages that are not a turn of the conversation

# The keys of the meaning that decide the shape of an answer, rather than its content.
_SHAPING = frozenset(
    ("tools", "tool_choice", "functions", "function_call", "response_format", "text", "output_config", "output_format")
)


def compute_fingerprint(*parts: Json) -> str:
    """Return 32 hex digits that identify JSON values, regardless of key order."""
    return compute_digest(write_canonical(parts))


def compute_digest(written: bytes) -> str:
    """Return a hash of these bytes: 32 hex digits."""
    hasher = _EMPTY.copy()  # takes a third less than a new one
    hasher.update(written)
    return hasher.hexdigest()


_EMPTY = blake2b(digest_size=16)


_read_text = attrgetter("text")
_NAMED = 1  # tokens
_TOOLS = 9
_SHARED = 4  # as tools share the system message, if there is one
_DEEPEST = 8  # levels of a tool's parameters that are rendered


def declare_tools(tools: tuple[Tool, ...]) -> str:
    """Return the text that tells a model of its tools, as far as is known."""
    return find_toolset(tools).declaration


def has_namespaces(tools: tuple[Tool, ...]) -> bool:
    """Return whether a namespace groups some of the tools."""
    if type(tools) is Toolset:
        return tools.has_namespaces
    return any(tool.namespace for tool in tools)


def _write_declaration(tools: tuple[Tool, ...]) -> str:
    lines = [line for tool in tools for line in _declare_function(tool)]
    return "\n".join(("namespace functions {", "", *lines, "} // namespace functions"))


def _declare_function(tool: Tool) -> Iterator[str]:
    if tool.description:
        yield f"// {tool.description}"
    if tool.grammar is not None:
        yield from (f"// {line}" for line in tool.grammar.definition.splitlines())
    properties = tool.parameters.get("properties") if isinstance(tool.parameters, Mapping) else None
    if tool.kind == "custom":
        yield f"type {tool.name} = (_: string) => any;"
    elif not isinstance(properties, Mapping) or not properties:
        yield f"type {tool.name} = () => any;"
    else:
        yield f"type {tool.name} = (_: {{"
        yield from _declare_members(tool.parameters, 0)
        yield "}) => any;"
    yield ""


def _declare_members(schema: Mapping[str, Json], depth: int) -> Iterator[str]:
    required = schema.get("required")
    properties = schema.get("properties")
    indent = " " * (2 * depth)
    if not isinstance(properties, Mapping):
        return
    needed = frozenset(name for name in required if isinstance(name, str)) if isinstance(required, list) else ()
    for name, spec in properties.items():
        described = spec.get("description") if isinstance(spec, Mapping) else None
        if isinstance(described, str) and depth < 2:
            yield f"{indent}// {described}"
        yield f"{indent}{name}{'' if name in needed else '?'}: {_declare_type(spec, depth)},"


def _declare_type(schema: Json, depth: int) -> str:
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return "any"
    if isinstance(choices := schema.get("enum"), list):
        return " | ".join(json.dumps(choice, ensure_ascii=False) for choice in choices)
    for key in ("anyOf", "oneOf"):
        if isinstance(several := schema.get(key), list):
            return " | ".join(_declare_type(one, depth + 1) for one in several)
    kind = schema.get("type")
    if isinstance(kind, list):
        # Without duplicates, which hostile schemas repeat.
        kinds = dict.fromkeys(one for one in kind if isinstance(one, str))
        return " | ".join(_declare_type({**schema, "type": one}, depth) for one in kinds)
    match kind:
        case "array":
            return f"{_declare_type(schema.get('items'), depth + 1)}[]"
        case "object":
            inner = [*_declare_members(schema, depth + 1)]
            return "\n".join(("{", *inner, " " * (2 * depth) + "}")) if inner else "object"
    return _WORDS.get(kind, "any") if isinstance(kind, str) else "any"


_WORDS = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


ToolResult = Mapping[str, Json]  # name (None where no call has the result's id), text, json (None for other texts)


def find_last_tool_result(call: Call) -> ToolResult | None:
    """Return the result that ends the conversation, if one does; instructions may follow it."""
    last = call.last_turn
    return _read_tool_result(call, last) if last is not None and _is_tool_result(last) else None


def list_tool_results(call: Call) -> tuple[ToolResult, ...]:
    """Return the results since the user's last message, in order."""
    return tuple(_read_tool_result(call, message) for message in call.since_user if _is_tool_result(message))


def list_recent_tool_calls(call: Call) -> tuple[ToolCall, ...]:
    """Return the tool calls since the user's last message."""
    return tuple(made for message in call.since_user for made in message.tool_calls)


def list_tool_calls(call: Call) -> tuple[ToolCall, ...]:
    """Return the tool calls of the whole conversation."""
    return tuple(made for message in call.messages for made in message.tool_calls)


class Approval(Struct, frozen=True):
    """What the client says to a call that it was asked to approve."""

    made: ToolCall
    approved: bool


APPROVAL_REQUEST = "mcp_approval_request"  # the kind of such calls


def list_recent_approvals(call: Call) -> tuple[Approval, ...]:
    """Return what the client has said, since the last turn of others, to calls that it was asked to approve.

    The requests of a kept answer have no ids: they are answered in their order.
    """
    named = {made.id: made for made in list_tool_calls(call) if made.kind == APPROVAL_REQUEST and made.id}
    unnamed: list[ToolCall] = []
    found: list[Approval] = []
    for message in call.messages:
        if not _is_tool_result(message):
            found = []
            unnamed += [made for made in message.tool_calls if made.kind == APPROVAL_REQUEST and not made.id]
            continue
        made = named.get(message.tool_call_id or "")
        if made is None and unnamed and message.text.startswith(_ANSWERED):
            made = unnamed.pop(0)
        if made is not None:
            found.append(Approval(replace(made, id=message.tool_call_id or ""), _ANSWERED + "true" in message.text))
    return tuple(found)


_ANSWERED = '{"approve":'


def _is_tool_result(message: Message) -> bool:
    return message.role in ("tool", "function")


def _read_tool_result(call: Call, result: Message) -> ToolResult:
    made = (tool_call for message in reversed(call.messages) for tool_call in message.tool_calls)
    name = next((each.name for each in made if each.id == result.tool_call_id), result.name)
    return {"name": name, "text": result.text, "json": try_parse(result.text)}
