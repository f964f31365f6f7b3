"""Mistakes in Messages requests that no type can express, in Anthropic's words. The first is sent."""

import re
from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby, pairwise, takewhile
from operator import attrgetter
from typing import NamedTuple

from mockserver.core.json import Json
from mockserver.core.tokens import read_image_size
from mockserver.dialects._parse import Body, clip
from mockserver.media.file_kinds import recognize

BLANK_STOP = "stop_sequences: each stop sequence must contain non-whitespace"
NO_MESSAGES = "messages: at least one message is required"
VERSIONS = ("2023-06-01", "2026-10-21")
CONFLICTING = frozenset(("tools", "tool_choice", "thinking"))  # fields that exclude others, even beside mere texts
Messages = Iterator[str]
Since = Mapping[str, tuple[int, int]]  # versions by family


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
    for role, run in groupby(enumerate(body["messages"]), key=lambda each: each[1]["role"]):
        turn = list(run)
        first, _ = turn[0]
        if role == "user" and not any(message["content"] for _, message in turn):
            yield f"messages.{first}: user messages must have non-empty content"
        for at, message in turn if role == "system" else ():
            if message.get("content") or message.get("output_config"):  # it may only configure
                continue
            why = (
                ": system content must contain at least one block"
                if "content" in message
                else ".content: Field required"
            )
            yield f"messages.{at}{why}"
    system = body.get("system")
    written = [*_locate_blocks(blocks), *_locate_instructions(system if isinstance(system, list) else ())]
    empty = [(place, block) for place, block in written if block["type"] == "text" and block["text"] == ""]
    for place, block in empty:
        if block.get("cache_control"):
            yield f"{place}{'.text' * place.startswith('messages')}: {_CACHED_EMPTY}"
    for place, _ in empty:
        yield f"{place.partition('.')[0]}: text content blocks must be non-empty"


def _locate_instructions(blocks: Iterable[Body]) -> Iterator[tuple[str, Body]]:
    """Yield each block of the system prompt with its place."""
    return ((f"system.{at}", block) for at, block in enumerate(blocks))


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
    held += _locate_instructions(system if isinstance(system, list) else ())
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
            if turn.role == "assistant":
                yield _MISPLACED.format(at=at, kind="tool_result", role="user")
            elif block["tool_use_id"] not in made:
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
    blocks = _list_blocks(body["messages"])
    if any(not stop.strip() for stop in body.get("stop_sequences") or ()):
        yield BLANK_STOP
    if _ADDRESS.search((body.get("metadata") or {}).get("user_id") or ""):
        yield "metadata.user_id: user_id appears to contain an email address"
    yield from _check_caching(body, blocks)
    if form := find_output_format(body):
        yield from (f"output_config.format.schema: {why}" for why in _find_unsupported(form["schema"]))
    for at, tool in enumerate(body.get("tools") or ()):
        if "input_schema" in tool:
            yield from (f"tools.{at}.custom.input_schema{why}" for why in _find_refused_input(tool["input_schema"]))
        if "input_schema" in tool and tool.get("strict"):
            yield from (f"tools.{at}.custom: {why}" for why in _find_unsupported(tool["input_schema"]))
    yield from _find_overload(body)
    yield from _check_deferred(body, blocks)
    yield from _check_model(body)
    yield from _find_blank(body)
    if (text := find_prefill(body["messages"])) != text.rstrip():
        yield "messages: final assistant content cannot end with trailing whitespace"
    for at, _, role, block in blocks[-1:]:
        if at == len(body["messages"]) - 1 and role == "assistant" and block["type"] == "thinking":
            yield f"messages.{at}: The final block in an assistant message cannot be `thinking`."
    yield from _check_images(blocks)
    for place, block in _locate_blocks(blocks):
        if block["type"] == "document" and block["source"]["type"] == "base64":
            yield from _check_pdf(f"{place}.pdf.source.base64.data", block["source"]["data"])
    yield from _find_wrong_errors(blocks)
    yield from _find_unasked_of_server(blocks)
    for at, _, role, block in blocks:
        if block["type"] == "tool_use" and role == "user":
            yield _MISPLACED.format(at=at, kind="tool_use", role="assistant")
    yield from find_unpaired(body, first=True)
    if body.get("inference_geo") not in (None, "global", "us"):
        yield "inference_geo: must be one of ['global', 'us']"
    if isinstance(body.get("container"), str) and all(
        tool.get("type") in (None, "custom") for tool in body.get("tools") or ()
    ):
        yield "container: Container identifier can only be provided when using the code execution tool"


def _check_model(body: Body) -> Messages:
    """Yield features that the model does not accept, or no longer; a model of another name has them all."""
    model = _read_generation(body["model"])
    if model is None:
        return
    if find_prefill(body["messages"]) and "fallback_credit_token" not in body and model.is_since(_WITHOUT_PREFILL):
        yield "This model does not support assistant message prefill. The conversation must end with a user message."
    if model.is_since(_WITH_SYSTEM_ROLE):
        yield from _check_system_messages(body["messages"])
    elif any(message["role"] == "system" for message in body["messages"]):
        yield _SYSTEM_ROLE
    if "temperature" in body and "top_p" in body and model.is_since(_WITH_EITHER):
        yield "`temperature` and `top_p` cannot both be specified for this model. Please use only one."
    if (effort := (body.get("output_config") or {}).get("effort")) is not None:
        if not model.is_since(_WITH_EFFORT):
            yield "This model does not support the effort parameter."
        elif effort not in (levels := model.list_efforts()):
            yield f"This model does not support effort level '{effort}'. Supported levels: {', '.join(levels)}."
    kind = (body.get("thinking") or {}).get("type")
    if kind == "adaptive" and not model.is_since(_WITH_ADAPTIVE):
        yield "adaptive thinking is not supported on this model"
    if model.is_since(_ADAPTIVE_ONLY):
        yield from (f"`{key}` is deprecated for this model." for key in _SAMPLING if key in body)
        if kind == "enabled":
            yield _ADAPTIVE


def _check_system_messages(messages: Sequence[Body]) -> Messages:
    """Yield what is wrong in each run of system messages with its blocks, its place, and its texts."""
    for role, run in groupby(enumerate(messages), key=lambda each: each[1]["role"]):
        spoken = [(at, message) for at, message in run if message.get("content")]
        if role != "system" or not spoken:
            continue
        (first, _), (last, _) = spoken[0], spoken[-1]
        for at, message in spoken:
            if any(kind not in _INSTRUCTING for kind in _list_kinds(message)):
                yield f"messages.{at}: role 'system' supports text, tool_addition, and tool_removal blocks only"
        before = messages[first - 1] if first else None
        if before is None:
            yield f"messages.0: use the top-level 'system' parameter for the initial system prompt; {_ANYWHERE}"
        elif before["role"] == "assistant" and not "".join(_list_kinds(before)[-1:]).endswith("_tool_result"):
            yield (
                f"messages.{first}: role 'system' must follow a 'user' message or an 'assistant' message ending in a "
                f"server tool result; {_ANYWHERE}"
            )
        if last + 1 < len(messages) and messages[last + 1]["role"] != "assistant":
            yield f"messages.{last}: role 'system' must precede an 'assistant' message or end the array; {_ANYWHERE}"
        for at, message in spoken:
            content = message["content"]
            texts = [content] if isinstance(content, str) else [block.get("text", "-") for block in content]
            if not all(text.strip() for text in texts):
                yield f"messages.{at}: system text blocks must contain non-whitespace text"


def _list_kinds(message: Body) -> list[str]:
    """Return the types of a message's blocks; a mere text has none."""
    content = message.get("content")
    return [block["type"] for block in content] if isinstance(content, list) else []


class _Generation(NamedTuple):
    """The family of a model and its version."""

    family: str
    version: tuple[int, int]

    def is_since(self, first: Since) -> bool:
        """Return whether the model is not older than the first of its family that has something."""
        return self.version >= first.get(self.family, (5, 0))

    def list_efforts(self) -> tuple[str, ...]:
        """Return the levels of effort that the model knows, in the order in which the provider lists them."""
        if self.version < (4, 6):
            return ("high", "low", "medium")
        return ("high", "low", "max", "medium", *(("xhigh",) if self.version >= (4, 7) else ()))


def _read_generation(model: str) -> _Generation | None:
    """Return the generation that a name tells, None if it tells none: `claude-opus-4-6-20260101` is Opus 4.6."""
    found = _NAME.match(model)
    if found is None:
        return None
    return _Generation(
        found["family"] or found["old_family"], (int(found["major"] or found["old_major"]), int(found["minor"] or 0))
    )


def _locate_blocks(blocks: Blocks) -> Iterator[tuple[str, Body]]:
    """Yield each block with its place, including those in tool results."""
    for at, index, _, block in blocks:
        place = f"messages.{at}.content.{index}"
        yield place, block
        if block["type"] == "tool_result" and isinstance(inner := block.get("content"), list):
            yield from ((f"{place}.tool_result.content.{n}", one) for n, one in enumerate(inner))


def _check_images(blocks: Blocks) -> Messages:
    images = [(place, block) for place, block in _locate_blocks(blocks) if block["type"] == "image"]
    limit, among = (_LONGEST_OF_MANY, " for many-image requests") if len(images) > _FEW_IMAGES else (_LONGEST, "")
    for place, block in images:
        source = block["source"]
        if source["type"] != "base64":
            continue
        here = f"{place}.image.source.base64"
        yield from _check_image(here, source)
        size = read_image_size(f"data:{source['media_type']};base64,{source['data']}") or (0, 0)
        if max(size) > limit:
            yield f"{here}.data: At least one of the image dimensions exceed max allowed size{among}: {limit} pixels"


def _check_image(place: str, source: Body) -> Messages:
    stated = source["media_type"]
    data = source["data"]
    if len(data) > _LARGEST_IMAGE:
        yield f"{place}: image exceeds 5 MB maximum: {len(data)} bytes > {_LARGEST_IMAGE} bytes"
    try:
        found = recognize(b64decode(data, validate=True))
    except ValueError:
        yield f"{place}: Could not process image"
    else:
        if found is not None and found.startswith("image/") and found != stated:
            yield _OTHER_IMAGE.format(place=place, stated=stated, found=found)


def _check_pdf(place: str, data: str) -> Messages:
    if not data:
        yield f"{place}: PDF cannot be empty"
        return
    with suppress(ValueError):
        if b64decode(data[:_HEAD], validate=True).lstrip().startswith(b"%PDF"):
            return
    yield f"{place}: The PDF specified was not valid."


def _check_deferred(body: Body, blocks: Blocks) -> Messages:
    """Yield tools that are all deferred, and references to tools that the request does not have."""
    tools = body.get("tools") or ()
    if tools and all(tool.get("defer_loading") for tool in tools):
        yield "At least one tool must have defer_loading=false. All tools cannot be deferred."
    names = {tool.get("name") for tool in tools}
    if None in names or body.get("mcp_servers"):  # a toolset has names of its own
        return
    for at, index, _, block in blocks:
        content = block.get("content") if block["type"] == "tool_result" else None
        for inner in content if isinstance(content, list) else ():
            if inner["type"] == "tool_reference" and inner["tool_name"] not in names:
                named = clip(inner["tool_name"])
                place = f"messages.{at}.content.{index}.tool_result.content"
                yield f"{place}: Tool reference '{named}' not found in available tools"


def _find_blank(body: Body) -> Messages:
    """Yield messages and instructions of nothing but blanks; beside other blocks, a blank text passes."""
    held = [("system", body.get("system")), *(("messages", message.get("content")) for message in body["messages"])]
    for where, content in held:
        texts = [block.get("text") for block in content] if isinstance(content, list) else [content]
        if texts and all(isinstance(text, str) and text.isspace() for text in texts):
            yield f"{where}: text content blocks must contain non-whitespace text"


def _find_wrong_errors(blocks: Blocks) -> Messages:
    """Yield results of failed calls that do not say what failed, or that hold more than texts."""
    for at, index, _, block in blocks:
        if block["type"] != "tool_result" or not block.get("is_error"):
            continue
        content = block.get("content")
        if not content:
            yield f"messages.{at}.content.{index}.tool_result: content cannot be empty if `is_error` is true"
        elif isinstance(content, list) and any(inner["type"] != "text" for inner in content):
            yield f"messages.{at}.content.{index}.tool_result: all content must be type `text` if `is_error` is true"


def _find_overload(body: Body) -> Messages:
    """Yield what is too much for the one grammar of all strict tools and of the answer's format."""
    schemas = [
        tool["input_schema"] for tool in body.get("tools") or () if tool.get("strict") and "input_schema" in tool
    ]
    if len(schemas) > _MAX_STRICT:
        yield _STRICT_TOOLS.format(len(schemas), _MAX_STRICT)
    if form := find_output_format(body):
        schemas.append(form["schema"])
    objects = [(each.get("properties"), each.get("required")) for each in _list_schemas(schemas)]
    optional = unions = 0
    for properties, required in objects:
        if isinstance(properties, dict):
            needed = {each for each in required if isinstance(each, str)} if isinstance(required, list) else ()
            optional += sum(name not in needed for name in properties)
            unions += sum(_is_union(each) for each in properties.values())
    if optional > _MAX_OPTIONAL:
        yield _OPTIONAL.format(optional, _MAX_OPTIONAL)
    if unions > _MAX_UNIONS:
        yield _UNION.format(unions, _MAX_UNIONS)


def _list_schemas(schema: Json) -> Iterator[Body]:
    """Yield all objects in a schema that may be schemas themselves."""
    if isinstance(schema, dict):
        yield schema
        schema = list(schema.values())
    if isinstance(schema, list):
        for each in schema:
            yield from _list_schemas(each)


def _is_union(schema: Json) -> bool:
    return isinstance(schema, dict) and (isinstance(schema.get("type"), list) or "anyOf" in schema)


def _find_refused_input(schema: Body) -> Messages:
    """Yield why the schema of a tool is refused."""
    from jsonschema_rs import meta  # slow to import

    if not _UNIONS.isdisjoint(schema):
        yield ": input_schema does not support oneOf, allOf, or anyOf at the top level"
    properties = schema.get("properties")
    if isinstance(properties, dict) and not all(map(_PROPERTY.fullmatch, properties)):
        yield f".properties: Property keys should match pattern '^{_PROPERTY.pattern}$'"
    if not meta.is_valid({**schema, "$schema": _DRAFT}):
        yield _NO_SCHEMA


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
    "Learn more about tool use at https://platform.claude.com/docs/en/agents-and-tools/tool-use/overview."
)
_STRICT_TOOLS = (
    "Too many strict tools ({}). The maximum number of strict tools supported is {}. "
    "Try reducing the number of tools marked as strict."
)
_OPTIONAL = (
    "Schemas contains too many optional parameters ({}), which would make grammar compilation inefficient. "
    "Reduce the number of optional parameters in your tool schemas (limit: {})."
)
_UNION = (
    "Schemas contains too many parameters with union types ({} parameters with type arrays or anyOf). This causes "
    "exponential compilation cost. Reduce the number of nullable or union-typed parameters (limit: {} parameters with "
    "unions)."
)
# What the grammar of a request can hold.
_MAX_STRICT = 20  # tools
_MAX_OPTIONAL = 24  # properties
_MAX_UNIONS = 16  # properties
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
_LARGEST_IMAGE = 5 << 20  # letters of base64
_LONGEST = 8000  # pixels
_LONGEST_OF_MANY = 2000  # pixels
_FEW_IMAGES = 20
_HEAD = 1024  # letters of base64, in which a PDF shows that it is one
_ADDRESS = re.compile(r"[^@\s]{1,64}@[^@\s]{1,255}\.[A-Za-z]{2,63}")
_INSTRUCTING = ("text", "tool_addition", "tool_removal")  # the blocks of system messages
_ANYWHERE = "the directive-only form (content: [] with output_config) is accepted at any position"
_SYSTEM_ROLE = (
    'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not "system" as an '
    "input message role."
)
_LEAST_TOP_P = 0.95
# The first model of each family that has something, or lacks it; of other families, generation 5.
_WITH_EITHER: Since = {"opus": (4, 1), "sonnet": (4, 5), "haiku": (4, 5)}  # one of temperature and top_p
_WITHOUT_PREFILL: Since = {"opus": (4, 6), "sonnet": (4, 6)}
_WITH_ADAPTIVE: Since = {"opus": (4, 6), "sonnet": (4, 6)}
_ADAPTIVE_ONLY: Since = {"opus": (4, 7), "sonnet": (4, 7)}
_WITH_EFFORT: Since = {"opus": (4, 5), "sonnet": (4, 6)}
_WITH_SYSTEM_ROLE: Since = {"opus": (4, 8)}
# Before generation 4, the version stood before the family; a date may follow either.
_NAME = re.compile(
    r"claude-(?:(?P<family>[a-z]+)-(?P<major>\d)(?!\d)(?:-(?P<minor>\d{1,2})(?!\d))?"
    r"|(?P<old_major>\d)(?:-\d)?-(?P<old_family>[a-z]+))"
)
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
_CACHED_EMPTY = "cache_control cannot be set for empty text blocks"
_ITEMS = "For 'array' type, 'minItems' values other than 0 or 1 are not supported (got: [{}, ∞])"
_TTL = (
    "{place}.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. "
    "Note that blocks are processed in the following order: `tools`, `system`, `messages`."
)
_UNANSWERED = (
    "messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: {ids}. "
    "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
)
_MISPLACED = "messages.{at}: `{kind}` blocks can only be in `{role}` messages"
_UNASKED = (
    "messages.{at}.content.{index}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. "
    "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
)
