"""What a request asks, in no provider's shape: the Call that rules match and generators answer."""

import json
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import TypeVar

from mockserver.core.http import HttpRequest
from mockserver.core.json import Json
from mockserver.core.tokens import APPROX, Tokenizer

# Calls of the provider's own tools that the client carries out: the tool's name, and the key of what it is asked.
CARRIED_OUT: Mapping[str, tuple[str, str]] = {
    "computer_call": ("computer_use_preview", "action"),
    "local_shell_call": ("local_shell", "action"),
    "shell_call": ("shell", "action"),
    "apply_patch_call": ("apply_patch", "operation"),
}


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool; `arguments` stays the string that the wire carries."""

    id: str
    name: str
    arguments: str
    kind: str = "function"  # or "custom", whose arguments are free text, "bare" (see Call), or a key of CARRIED_OUT


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the conversation; `text` is joined from the text parts, `parts` holds the others."""

    role: str
    text: str = ""
    parts: tuple[Mapping[str, Json], ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that the client offers; `parameters` is a JSON Schema, or None when it takes nothing."""

    name: str
    description: str = ""
    parameters: Json = None
    kind: str = "function"  # or "custom", which takes free text, or the type of one of the provider's own
    strict: bool = False
    grammar: tuple[str, str] | None = None  # of a custom tool's text: syntax (lark or regex) and definition
    options: Mapping[str, Json] = field(default_factory=dict)  # how the client describes one of the provider's own


@dataclass(frozen=True, slots=True)
class Prompt:
    """A text to go on from, to embed or to judge; `numbers` are its tokens, where the client sent these instead."""

    text: str
    numbers: tuple[int, ...] | None = None

    def tokens(self, tokenizer: Tokenizer) -> tuple[str, ...]:
        """The tokens of the prompt."""
        return tokenizer.split(self.text) if self.numbers is None else tokenizer.read(self.numbers)

    def count(self, tokenizer: Tokenizer) -> int:
        """How many tokens the prompt has."""
        return tokenizer.count(self.text) if self.numbers is None else len(self.numbers)


Entry = TypeVar("Entry")


@dataclass(frozen=True, slots=True)
class Page:
    """At most `limit` entries, those that follow the one named `after`; `backwards`: the last entry comes first."""

    after: str | None = None
    limit: int = 20
    backwards: bool = False

    def of(self, entries: Sequence[Entry], name: Callable[[Entry], str]) -> tuple[tuple[Entry, ...], bool]:
        """The entries of this page, and whether others follow. Nothing follows a name that is not there."""
        ordered = entries[::-1] if self.backwards else entries
        start = 0
        if self.after is not None:
            start = next((at + 1 for at, entry in enumerate(ordered) if name(entry) == self.after), len(ordered))
        end = start + self.limit
        return tuple(ordered[start:end]), len(ordered) > end


FIRST_PAGE = Page()


IMAGES = ("image_url", "input_image", "image")  # types of the parts of a message that show one
_READ = 65_536  # bytes that are looked at: a header stands near the start

Size = tuple[int, int]  # width and height in pixels


def size_of(url: str) -> Size | None:
    """The size of the PNG, JPEG, GIF or WebP in a data URL, or None where it is none or cannot be told."""
    head, comma, _ = url[:_READ].partition(",")
    if not comma or not head.startswith("data:") or not head.endswith(";base64"):
        return None
    start = len(head) + 1
    letters = url[start : start + _READ * 4 // 3]
    try:
        read = b64decode(letters[: len(letters) // 4 * 4])
    except ValueError:
        return None
    size = next((told(read) for magic, told in _KINDS.items() if read.startswith(magic)), None)
    return size if size and min(size) > 0 else None


def _png(read: bytes) -> Size | None:
    return (_big(read[16:20]), _big(read[20:24])) if read[12:16] == b"IHDR" and len(read) >= 24 else None


def _gif(read: bytes) -> Size | None:
    return (_little(read[6:8]), _little(read[8:10])) if len(read) >= 10 else None


def _jpeg(read: bytes) -> Size | None:
    """The size in the frame header: each segment before it tells how long it is."""
    at = 2
    while at + 9 <= len(read) and read[at] == 0xFF:
        marker, length = read[at + 1], _big(read[at + 2 : at + 4])
        if marker == 0xFF:  # filling
            at += 1
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return _big(read[at + 7 : at + 9]), _big(read[at + 5 : at + 7])
        else:
            at += 2 + max(length, 2)
    return None


def _webp(read: bytes) -> Size | None:
    if read[8:12] != b"WEBP" or len(read) < 30:
        return None
    match read[12:16]:
        case b"VP8X":
            return _little(read[24:27]) + 1, _little(read[27:30]) + 1
        case b"VP8L":
            both = _little(read[21:25])
            return (both & 0x3FFF) + 1, (both >> 14 & 0x3FFF) + 1
        case b"VP8 ":
            return _little(read[26:28]) & 0x3FFF, _little(read[28:30]) & 0x3FFF
    return None


def _big(octets: bytes) -> int:
    return int.from_bytes(octets, "big")


def _little(octets: bytes) -> int:
    return int.from_bytes(octets, "little")


# How a file of each kind begins.
_KINDS: Mapping[bytes, Callable[[bytes], Size | None]] = {
    b"\x89PNG\r\n\x1a\n": _png,
    b"GIF8": _gif,
    b"\xff\xd8": _jpeg,
    b"RIFF": _webp,
}


_PER_MESSAGE, _PRIMING, _NAMED = 3, 3, 1
_TOOLS, _SHARED, _PER_PART = 9, 4, 85  # tools stand in the system message, and need none of their own where it is
_IMAGE, _TILE, _SIDE, _SHORTEST, _LONGEST = 85, 170, 512, 768, 2048  # tokens, tokens, then pixels
_USUAL_IMAGE = (1024, 1024)  # of one that is only linked to
_DEEPEST = 8  # levels of a tool's parameters; below them an object is an object


def prompt_tokens(messages: tuple[Message, ...], tools: tuple[Tool, ...], tokenizer: Tokenizer) -> int:
    """How many tokens a conversation and its tools have."""
    tokens = _PRIMING + sum(_of_message(message, tokenizer) for message in messages)
    if not tools:
        return tokens
    shared = _SHARED if any(message.role in ("system", "developer") for message in messages) else 0
    return tokens + _TOOLS - shared + tokenizer.count(declared(tools))


def _of_message(message: Message, tokenizer: Tokenizer) -> int:
    calls = sum(tokenizer.count(call.name) + tokenizer.count(call.arguments) for call in message.tool_calls)
    name = _NAMED + tokenizer.count(message.name) if message.name else 0
    parts = sum(map(part_tokens, message.parts))
    role = tokenizer.count(message.role) if tokenizer.exact else 0  # the estimate leaves it out
    return _PER_MESSAGE + role + tokenizer.count(message.text) + name + calls + parts


def part_tokens(part: Mapping[str, Json]) -> int:
    """What a part of a message costs that is no text: an image by its size, anything else a fixed price."""
    image = part.get("image_url")
    if not isinstance(image, Mapping):
        return _PER_PART
    if image.get("detail") == "low":
        return _IMAGE
    url = image.get("url")
    return image_tokens(*(size_of(url) if isinstance(url, str) else None) or _USUAL_IMAGE)


def image_tokens(width: int, height: int) -> int:
    """The price of an image in detail: scaled into a square of 2048, then to a shorter side of 768, then by tiles."""
    longest = max(width, height, 1)
    if longest > _LONGEST:
        width, height = width * _LONGEST // longest, height * _LONGEST // longest
    shortest = max(min(width, height), 1)
    if shortest > _SHORTEST:
        width, height = width * _SHORTEST // shortest, height * _SHORTEST // shortest
    return _IMAGE + _TILE * -(-max(width, 1) // _SIDE) * -(-max(height, 1) // _SIDE)


def declared(tools: tuple[Tool, ...]) -> str:
    """The tools as the model reads them: a namespace of functions in TypeScript."""
    lines = [line for tool in tools for line in _function(tool)]
    return "\n".join(("namespace functions {", "", *lines, "} // namespace functions"))


def _function(tool: Tool) -> Iterator[str]:
    if tool.description:
        yield f"// {tool.description}"
    if tool.grammar is not None:
        yield from (f"// {line}" for line in tool.grammar[1].splitlines())
    properties = tool.parameters.get("properties") if isinstance(tool.parameters, Mapping) else None
    if tool.kind == "custom":
        yield f"type {tool.name} = (_: string) => any;"
    elif not isinstance(properties, Mapping) or not properties:
        yield f"type {tool.name} = () => any;"
    else:
        yield f"type {tool.name} = (_: {{"
        yield from _members(tool.parameters, 0)
        yield "}) => any;"
    yield ""


def _members(schema: Mapping[str, Json], depth: int) -> Iterator[str]:
    required, properties, indent = schema.get("required"), schema.get("properties"), " " * (2 * depth)
    if not isinstance(properties, Mapping):
        return
    needed = frozenset(name for name in required if isinstance(name, str)) if isinstance(required, list) else ()
    for name, told in properties.items():
        described = told.get("description") if isinstance(told, Mapping) else None
        if isinstance(described, str) and depth < 2:
            yield f"{indent}// {described}"
        yield f"{indent}{name}{'' if name in needed else '?'}: {_type(told, depth)},"


def _type(schema: Json, depth: int) -> str:
    """The TypeScript of a schema; what has no word there is `any`."""
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return "any"
    if isinstance(choices := schema.get("enum"), list):
        return " | ".join(json.dumps(choice, ensure_ascii=False) for choice in choices)
    for key in ("anyOf", "oneOf"):
        if isinstance(several := schema.get(key), list):
            return " | ".join(_type(one, depth + 1) for one in several)
    kind = schema.get("type")
    if isinstance(kind, list):
        kinds = dict.fromkeys(one for one in kind if isinstance(one, str))  # each once, or hostile ones take forever
        return " | ".join(_type({**schema, "type": one}, depth) for one in kinds)
    match kind:
        case "array":
            return f"{_type(schema.get('items'), depth + 1)}[]"
        case "object":
            inner = [*_members(schema, depth + 1)]
            return "\n".join(("{", *inner, " " * (2 * depth) + "}")) if inner else "object"
    return _WORDS.get(kind, "any") if isinstance(kind, str) else "any"


_WORDS = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """How free the model is: `mode` is none, auto, required or named; `names` are the tools allowed then.

    Of MCP servers, which all have one name, `servers` tells the labels of those allowed (none: all), each with the
    name of the one tool that is meant (empty: any).
    """

    mode: str
    names: tuple[str, ...] = ()
    servers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class IdShape:
    """How a provider's ids look: a prefix, then so many letters and digits (`alnum`) or hex digits (`hex`)."""

    prefix: str = "chatcmpl-"
    length: int = 29
    alphabet: str = "alnum"


@dataclass(frozen=True)
class Call:
    """One operation that a client asks for, whatever the dialect.

    `meaning` holds every field that would change what a model answers; `fingerprint` hashes it.
    `raw` is the whole parsed body, `http` the request it came in.
    """

    dialect: str
    operation: str
    model: str
    http: HttpRequest
    meaning: Json
    raw: Mapping[str, Json] = field(default_factory=dict)
    messages: tuple[Message, ...] = ()
    prompts: tuple[Prompt, ...] = ()  # where there is no conversation: each is answered by itself
    instructions: bool = False  # whether the first message is of this call alone, no part of the conversation
    tools: tuple[Tool, ...] = ()
    tool_choice: ToolChoice = ToolChoice("none")
    parallel_tool_calls: bool = True
    bare_functions: bool = False  # whether functions are offered as they were before there were tools: one call, no id
    stream: bool = False
    include_usage: bool = False
    n: int = 1
    max_tokens: int | None = None
    usual_tokens: int | None = None  # the provider's own limit, for text that no rule gives; None: the client set one
    max_tool_calls: int | None = None  # how many of the provider's own tools may be called
    overflow: str = "error"  # when a prompt is too long for its model: error, or truncate what is asked for
    ignore_eos: bool = False  # go on to the last token that is allowed
    echo: int = 0  # how many of the prompt's last tokens the answer repeats first
    stop: tuple[str, ...] = ()
    logprobs: int | None = None  # how many alternatives for each token; None: no log probabilities are asked for
    dimensions: int | None = None  # how many numbers a vector is to have
    seed: int | None = None
    effort: str | None = None  # how hard the model is to think (none, minimal, low, medium, high...); None: unasked
    verbosity: str | None = None  # how much it is to say: low, medium, high
    response_format: str = "text"
    schema: Json = None  # the JSON Schema that the answer's text must satisfy
    ids: IdShape = IdShape()
    id: str = ""  # of the answer, where the client names it: one that is looked up, for instance
    previous: str | None = None  # id of the answer that this call goes on from
    store: bool = False  # whether the answer is kept, to be looked up later
    background: bool = False  # whether the answer is made while the client waits elsewhere
    page: Page = FIRST_PAGE  # which part of a list is wanted
    tokenizer: Tokenizer = APPROX  # of the model, as the engine knows it
    attempt: int = 1

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the meaning: 32 hex digits, equal for equal meaning on every machine and Python."""
        return fingerprint(self.dialect, self.operation, self.meaning)

    @cached_property
    def occasion(self) -> str:
        """A hash of the meaning without its schemas and tools: a property more shifts no other value that is made."""
        if not isinstance(self.meaning, Mapping) or _SHAPING.isdisjoint(self.meaning):
            return self.fingerprint
        kept = {key: value for key, value in self.meaning.items() if key not in _SHAPING}
        return fingerprint(self.dialect, self.operation, kept)

    @cached_property
    def last_user(self) -> str:
        """The text of the last user message, or an empty string."""
        return next((m.text for m in reversed(self.messages) if m.role == "user"), "")

    @cached_property
    def since_user(self) -> tuple[Message, ...]:
        """The messages after the last one of the user: all, where the user has said nothing."""
        said = (at for at in range(len(self.messages), 0, -1) if self.messages[at - 1].role == "user")
        return self.messages[next(said, 0) :]

    @cached_property
    def turn(self) -> int:
        """How many messages the assistant has written so far."""
        return sum(m.role == "assistant" for m in self.messages)

    @cached_property
    def opening(self) -> str:
        """A hash of the conversation up to its first user message: what a conversation keeps while it grows."""
        spoken = self.spoken
        first = next((i for i, m in enumerate(spoken) if m.role == "user"), len(spoken) - 1)
        said = [[m.role, m.text] for m in spoken[: first + 1]]
        return fingerprint(self.dialect, self.operation, said)

    @cached_property
    def prompt_tokens(self) -> int:
        """How many tokens the prompt has: texts, tool calls, tools and images, each with what frames it."""
        if self.prompts:
            return sum(prompt.count(self.tokenizer) for prompt in self.prompts)
        return prompt_tokens(self.messages, self.tools, self.tokenizer)

    @property
    def spoken(self) -> tuple[Message, ...]:
        """The conversation that a later call goes on from: all but this call's own instructions."""
        return self.messages[1:] if self.instructions else self.messages

    def tool(self, name: str) -> Tool | None:
        """The offered tool of that name, or None."""
        return next((tool for tool in self.tools if tool.name == name), None)


# What of a meaning says which shape an answer has, rather than what it is about.
_SHAPING = frozenset({"tools", "tool_choice", "functions", "function_call", "response_format", "text"})

_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode


def fingerprint(*parts: Json) -> str:
    """32 hex digits that name these JSON values, whatever the order of their keys."""
    return blake2b(_canonical(parts).encode("ascii"), digest_size=16).hexdigest()
