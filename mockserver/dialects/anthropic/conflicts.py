"""Mistakes in Messages requests that no type can express, in Anthropic's words. The first is sent."""

import re
from base64 import b64decode
from collections.abc import Iterable, Iterator
from itertools import pairwise, takewhile
from operator import attrgetter
from typing import NamedTuple

from mockserver.core.json import Json
from mockserver.dialects._parse import Body, clip
from mockserver.media.file_kinds import recognize

BLANK_STOP = "stop_sequences: each stop sequence must contain non-whitespace"
NO_MESSAGES = "messages: at least one message is required"
VERSIONS = ("2023-06-01", "2026-10-21")
CONFLICTING = frozenset(("tools", "tool_choice", "thinking"))  # fields that exclude others, even beside mere texts
Messages = Iterator[str]


class PlacedBlock(NamedTuple):
    """A content block: the place of its message, its own place in that, and the message's role."""

    at: int
    place: int
    role: str
    block: Body

    @property
    def is_result(self) -> bool:
        return bool(self.block["type"] == "tool_result")


Blocks = list[PlacedBlock]


class _Turn(NamedTuple):
    """The blocks of consecutive messages of one role."""

    role: str
    blocks: Blocks


def find_conflicts(body: Body, version: str, *, interleaved: bool) -> Messages:
    """Yield the mistakes in a body with the right types; `interleaved`: a beta lets it think between tool calls."""
    blocks = _list_blocks(body["messages"])
    if version != VERSIONS[0]:
        yield from (f"{key}: Extra inputs are not permitted" for key in _SAMPLING if key in body)
        yield from _find_outdated(blocks)
    if not body["messages"]:
        yield NO_MESSAGES
    yield from _find_empty(body, blocks)
    if "tools" in body or "tool_choice" in body:
        yield from _check_tools(body)
    if "thinking" in body:
        yield from _check_thinking(body, interleaved=interleaved)
    kinds = {placed.block["type"] for placed in blocks}
    if not _PAIRED.isdisjoint(kinds):
        yield from find_unpaired(body)
    sources = [placed.block for placed in blocks if placed.block["type"] in ("document", "search_result")]
    cited = (block.get("citations") for block in sources)
    if find_output_format(body) and any((citations or {}).get("enabled") for citations in cited):
        yield "Citations cannot be enabled together with `output_config.format`."


def find_output_format(body: Body) -> Body | None:
    """Return the format of the answer that a body demands, by its newer or its older field."""
    found: Body | None = (body.get("output_config") or {}).get("format") or body.get("output_format")
    return found


def _find_outdated(blocks: Blocks) -> Messages:
    for at, index, role, block in blocks:
        if role == "assistant" and block["type"] == "document":
            yield f"messages.{at}.content.{index}: `document` blocks are not permitted in assistant messages"
        if role == "user" and block.get("citations") and block["type"] == "text":
            yield f"messages.{at}.content.{index}.text.citations: Extra inputs are not permitted"


def _list_blocks(messages: Iterable[Body]) -> Blocks:
    """Return the blocks of all messages, each with its place and role."""
    return [
        PlacedBlock(at, index, role=message["role"], block=block)
        for at, message in enumerate(messages)
        if isinstance(content := message.get("content"), list)
        for index, block in enumerate(content)
    ]


def _find_empty(body: Body, blocks: Blocks) -> Messages:
    last = len(body["messages"]) - 1
    for at, message in enumerate(body["messages"]):
        configures = "content" not in message and message.get("output_config")  # a system message
        if not message.get("content") and not configures and not (at == last and message["role"] == "assistant"):
            yield _EMPTY.format(at=at)
    results = [placed.block.get("content") for placed in blocks if placed.is_result]
    if any(map(_has_empty_text, ([placed.block for placed in blocks], *results))):
        yield "messages: text content blocks must be non-empty"
    if _has_empty_text(body.get("system")):
        yield "system: text content blocks must be non-empty"


def _has_empty_text(content: Json) -> bool:
    return isinstance(content, list) and any(block["type"] == "text" and block["text"] == "" for block in content)


def _check_tools(body: Body) -> Messages:
    for at, tool in enumerate(body.get("tools") or ()):
        if tool.get("allowed_domains") and tool.get("blocked_domains"):
            yield f"tools.{at}: Only one of `allowed_domains` and `blocked_domains` may be specified."
    names = [tool["name"] for tool in body.get("tools") or () if "name" in tool]
    if len(set(map(str, names))) < len(names):
        yield "tools: Tool names must be unique."
    choice = body.get("tool_choice") or {}
    match choice.get("type"):
        case "any" if not body.get("tools"):
            yield "tool_choice.any may only be specified while providing tools"
        case "tool" if choice["name"] not in names:
            yield f"Tool '{clip(choice['name'])}' not found in provided tools"


def _check_thinking(body: Body, *, interleaved: bool) -> Messages:
    """Yield conflicts with this kind of thinking: several with a stated budget, hardly any if it is adaptive.

    A budget of `interleaved` thinking is for the whole turn with its tool calls, so it can exceed `max_tokens`.
    """
    thinking = body.get("thinking") or {"type": "disabled"}
    if thinking["type"] == "enabled":
        if not interleaved and thinking["budget_tokens"] >= body.get("max_tokens", 1 << 62):
            yield f"`max_tokens` must be greater than `thinking.budget_tokens`{_DOCS}"
        if (body.get("tool_choice") or {}).get("type") in ("any", "tool"):
            yield "Thinking may not be enabled when tool_choice forces tool use."
        if "top_k" in body:
            yield f"`top_k` must be unset when thinking is enabled{_CONSIDERATIONS}"
        if body.get("top_p", 1) < _LEAST_TOP_P:
            least = f"greater than or equal to {_LEAST_TOP_P}"
            yield f"`top_p` must be {least} or unset when thinking is enabled{_CONSIDERATIONS}"
    if thinking["type"] in ("enabled", "adaptive") and body.get("temperature", 1) != 1:
        yield f"`temperature` may only be set to 1 when thinking is enabled or in adaptive mode{_DOCS}"


def _check_caching(body: Body, blocks: Blocks) -> Messages:
    found = list(_find_cache_controls(body, blocks))
    count = len(found) + bool(body.get("cache_control"))
    if count > _MAX_CACHED:
        yield f"A maximum of {_MAX_CACHED} blocks with cache_control may be provided. Found {count}."
    short = False
    for place, control in found:
        if control.get("ttl") == "1h" and short:
            yield _TTL.format(place=place)
        short = short or control.get("ttl") != "1h"


def _find_cache_controls(body: Body, blocks: Blocks) -> Iterator[tuple[str, Body]]:
    """Yield each cache_control and its place, in the order in which prompts are cached."""
    held = [(f"tools.{at}", tool) for at, tool in enumerate(body.get("tools") or ())]
    system = body.get("system")
    held += [(f"system.{at}", block) for at, block in enumerate(system if isinstance(system, list) else ())]
    held += _locate_blocks(blocks)
    yield from ((place, block["cache_control"]) for place, block in held if block.get("cache_control"))


def find_unpaired(body: Body, *, first: bool = False) -> Messages:
    """Yield tool calls without an immediate result, and results without a call; a thread may have others.

    `first`: results must come before anything else in their turn.
    """
    if (body.get("thread") or {}).get("type") == "continue":
        return
    turns = [_Turn("", []), *_merge_turns(body["messages"]), _Turn("", [])]
    for turn, following in pairwise(turns):
        calls: dict[str, int] = {}  # of this turn: later ones may use an id again
        for at, index, _, block in turn.blocks:
            if block["type"] == "tool_use":
                if block["id"] in calls:
                    yield f"messages.{at}.content.{index}: `tool_use` ids must be unique"
                calls[block["id"]] = at
        if not calls or turn.role != "assistant":
            continue
        select = takewhile if first else filter
        answered = {placed.block["tool_use_id"] for placed in select(_is_result, following.blocks)}
        if open_ids := [name for name in calls if name not in answered]:
            yield _UNANSWERED.format(at=calls[open_ids[0]], ids=clip(", ".join(open_ids), 400))
    for before, turn in pairwise(turns):
        made = {placed.block["id"] for placed in before.blocks if placed.block["type"] == "tool_use"}
        for at, index, _, block in filter(_is_result, turn.blocks):
            if block["tool_use_id"] not in made:
                yield _UNASKED.format(at=at, index=index, id=clip(block["tool_use_id"]))


_is_result = attrgetter("is_result")


def _merge_turns(messages: Iterable[Body]) -> Iterator[_Turn]:
    """Yield the turns of a conversation, without the system's messages."""
    role = ""
    blocks: Blocks = []
    for at, message in enumerate(messages):
        if message["role"] == "system":
            continue
        if message["role"] != role and role:
            yield _Turn(role, blocks)
            blocks = []
        role = message["role"]
        if isinstance(content := message["content"], list):
            blocks += [PlacedBlock(at, index, role=role, block=block) for index, block in enumerate(content)]
    if role:
        yield _Turn(role, blocks)


def find_prefill(messages: list[Body]) -> str:
    """Return the beginning of the answer that the client has written."""
    if not messages or messages[-1]["role"] != "assistant":
        return ""
    content = messages[-1]["content"]
    return str(content if isinstance(content, str) else content[-1].get("text", "") if content else "")


def find_live_conflicts(body: Body) -> Messages:
    """Yield mistakes that only the live provider refuses, as they depend on the model or are not in its reference."""
    if any(not stop.strip() for stop in body.get("stop_sequences") or ()):
        yield BLANK_STOP
    yield from _check_caching(body, _list_blocks(body["messages"]))
    if form := find_output_format(body):
        yield from (f"output_config.format.schema: {why}" for why in _find_unsupported(form["schema"]))
    for at, tool in enumerate(body.get("tools") or ()):
        if "input_schema" in tool:
            yield from (f"tools.{at}.custom.input_schema{why}" for why in _find_refused_input(tool))
    yield from _check_model(body)
    yield from _find_blank(body)
    if (text := find_prefill(body["messages"])) != text.rstrip():
        yield "messages: final assistant content cannot end with trailing whitespace"
    for place, block in _locate_blocks(_list_blocks(body["messages"])):
        if block["type"] == "image" and block["source"]["type"] == "base64":
            yield from _check_image(f"{place}.image.source.base64", block["source"])
    yield from _find_unthinking_turn(body)
    yield from _find_unasked_of_server(_list_blocks(body["messages"]))
    yield from find_unpaired(body, first=True)


def _check_model(body: Body) -> Messages:
    """Yield features that the model's family no longer accepts."""
    model = body["model"]
    if find_prefill(body["messages"]) and "fallback_credit_token" not in body and _WITHOUT_PREFILL.match(model):
        yield "This model does not support assistant message prefill. The conversation must end with a user message."
    if "temperature" in body and "top_p" in body and _WITH_EITHER.match(model):
        yield "`temperature` and `top_p` cannot both be specified for this model. Please use only one."
    if (body.get("output_config") or {}).get("effort") == "xhigh" and _WITHOUT_XHIGH.match(model):
        yield "This model does not support effort level 'xhigh'. Supported levels: high, low, max, medium."
    if _ADAPTIVE_ONLY.match(model):
        yield from (f"`{key}` is deprecated for this model." for key in _SAMPLING if key in body)
        if (body.get("thinking") or {}).get("type") == "enabled":
            yield _ADAPTIVE


def _locate_blocks(blocks: Blocks) -> Iterator[tuple[str, Body]]:
    """Yield each block with its place, including those in tool results."""
    for at, index, _, block in blocks:
        place = f"messages.{at}.content.{index}"
        yield place, block
        if block["type"] == "tool_result" and isinstance(inner := block.get("content"), list):
            yield from ((f"{place}.tool_result.content.{n}", one) for n, one in enumerate(inner))


def _check_image(place: str, source: Body) -> Messages:
    stated = source["media_type"]
    data = source["data"]
    size = len(data) * 3 // 4
    if size > _LARGEST_IMAGE:
        yield f"{place}: image exceeds 5 MB maximum: {size} bytes > {_LARGEST_IMAGE} bytes"
    try:
        found = recognize(b64decode(data, validate=True))
    except ValueError:
        yield f"{place}: Could not process image"
    else:
        if found is not None and found.startswith("image/") and found != stated:
            yield _OTHER_IMAGE.format(place=place, stated=stated, found=found)


def _find_blank(body: Body) -> Messages:
    """Yield messages and instructions of nothing but blanks; beside other blocks, a blank text passes."""
    held = [("system", body.get("system")), *(("messages", message.get("content")) for message in body["messages"])]
    for where, content in held:
        texts = [block.get("text") for block in content] if isinstance(content, list) else [content]
        if texts and all(isinstance(text, str) and text.isspace() for text in texts):
            yield f"{where}: text content blocks must contain non-whitespace text"


def _find_refused_input(tool: Body) -> Messages:
    """Yield why the schema of a tool is refused."""
    from jsonschema_rs import meta  # slow to import

    schema: Body = tool["input_schema"]
    if not _UNIONS.isdisjoint(schema):
        yield ": input_schema does not support oneOf, allOf, or anyOf at the top level"
    properties = schema.get("properties")
    if isinstance(properties, dict) and not all(map(_PROPERTY.fullmatch, properties)):
        yield f".properties: Property keys should match pattern '^{_PROPERTY.pattern}$'"
    if not meta.is_valid({**schema, "$schema": _DRAFT}):
        yield _NO_SCHEMA
    if tool.get("strict"):
        yield from (f": {why}" for why in _find_unsupported(schema))


def _find_unasked_of_server(blocks: Blocks) -> Messages:
    """Yield results of the provider's own tools without a use before them; uses need no result."""
    uses = set[str]()
    for at, index, role, block in blocks:
        kind = block["type"]
        if kind == "server_tool_use":
            uses.add(block["id"])
        is_result = role == "assistant" and kind.endswith("_tool_result") and kind != "mcp_tool_result"
        if is_result and block["tool_use_id"] not in uses:
            yield _UNASKED_OF_SERVER.format(at=at, index=index, kind=kind, id=clip(block["tool_use_id"]))


def _find_unthinking_turn(body: Body) -> Messages:
    """Yield the last turn of the assistant if thinking is enabled, but the turn calls tools without thinking first."""
    if (body.get("thinking") or {}).get("type") != "enabled":
        return
    turns = [turn.blocks for turn in _merge_turns(body["messages"]) if turn.role == "assistant" and turn.blocks]
    last = turns[-1] if turns else []
    for at, index, _, first in last[:1]:
        if "thinking" not in first["type"] and any(placed.block["type"] == "tool_use" for placed in last):
            yield _THOUGHTLESS.format(at=at, index=index, kind=first["type"])


def _find_unsupported(schema: Json) -> Messages:
    """Yield why structured outputs do not support a schema."""
    if isinstance(schema, list):
        for each in schema:
            yield from _find_unsupported(each)
    if not isinstance(schema, dict):
        return
    match schema.get("type"):
        case "object" if schema.get("additionalProperties") is not False:
            yield "For 'object' type, 'additionalProperties' must be explicitly set to false"
        case "array" if "maxItems" in schema:
            yield "For 'array' type, property 'maxItems' is not supported"
        case "array" if schema.get("minItems", 0) not in (0, 1):
            yield _ITEMS.format(schema["minItems"])
        case "number" | "integer" as kind if found := [key for key in ("maximum", "minimum") if key in schema]:
            which = f"properties {', '.join(found)} are" if len(found) > 1 else f"property {found[0]} is"
            yield f"For '{kind}' type, {which} not supported"
    for key in ("properties", "$defs", "definitions"):
        if isinstance(named := schema.get(key), dict):
            yield from _find_unsupported(list(named.values()))
    for key in ("items", "anyOf", "allOf"):
        yield from _find_unsupported(schema.get(key))


_UNIONS = frozenset({"oneOf", "allOf", "anyOf"})
_PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_NO_SCHEMA = (
    ": JSON schema is invalid. It must match JSON Schema draft 2020-12 (https://json-schema.org/draft/2020-12). "
    "Learn more about tool use at https://docs.claude.com/en/docs/tool-use."
)
_OTHER_IMAGE = (
    "{place}: The image was specified using the {stated} media type, but the image appears to be a {found} image"
)
_UNASKED_OF_SERVER = (
    "messages.{at}.content.{index}: unexpected `tool_use_id` found in `{kind}` blocks: {id}. "
    "Each `{kind}` block must have a corresponding `server_tool_use` block before it."
)
_PAIRED = frozenset({"tool_use", "tool_result"})
_SAMPLING = ("temperature", "top_p", "top_k")
_MAX_CACHED = 4  # blocks
_LARGEST_IMAGE = 5 << 20  # bytes
_LEAST_TOP_P = 0.95
# The generations of a family that lack something, or that have only one of two things.
_WITH_EITHER = re.compile(r"claude-opus-4-[1-9](?!\d)|claude-(?:sonnet|haiku)-4-[5-9](?!\d)|claude-[a-z]+-[5-9](?!\d)")
_WITHOUT_PREFILL = re.compile(r"claude-(?:opus|sonnet)-4-[6-9](?!\d)|claude-[a-z]+-[5-9](?!\d)")
_ADAPTIVE_ONLY = re.compile(r"claude-(?:opus|sonnet)-4-[7-9](?!\d)|claude-[a-z]+-[5-9](?!\d)")
_WITHOUT_XHIGH = re.compile(r"claude-(?:opus|sonnet)-4-6(?!\d)")
_ADAPTIVE = (
    '"thinking.type.enabled" is not supported for this model. '
    'Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'
)
_CONSIDERATIONS = (
    ". Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
    "#important-considerations-when-using-extended-thinking"
)
_DOCS = (
    ". Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
    "#max-tokens-and-context-window-size for more details."
)
_EMPTY = "messages.{at}: all messages must have non-empty content except for the optional final assistant message"
_ITEMS = "For 'array' type, 'minItems' values other than 0 or 1 are not supported (got: [{}, ∞])"
_TTL = (
    "{place}.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. "
    "Note that blocks are processed in the following order: `tools`, `system`, `messages`."
)
_THOUGHTLESS = (
    "messages.{at}.content.{index}.type: Expected `thinking` or `redacted_thinking`, but found `{kind}`. "
    "When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost "
    "set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous turns. "
    "To avoid this requirement, disable `thinking`."
)
_UNANSWERED = (
    "messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: {ids}. "
    "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
)
_UNASKED = (
    "messages.{at}.content.{index}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. "
    "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
)
