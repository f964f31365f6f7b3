"""The request bodies of the Messages API, as Anthropic validates them: closed tables, unions distinguished by `type`.

Anthropic words its errors like pydantic, so the first of pydantic's errors becomes the message of the 400.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic_core import ErrorDetails, PydanticCustomError, ValidationError

from mockserver.config.tables import BeforeValidator
from mockserver.core.json import Json, compact, try_parse
from mockserver.core.plan import Failure
from mockserver.core.validation import Validation
from mockserver.dialects._fields import (
    BodyModel,
    Object,
    Type,
    closed_shape,
    integer,
    label_member,
    list_of,
    literal,
    not_null,
    number,
    open_shape,
    optional,
    tag_union,
    text,
    text_or_list,
    text_or_object,
    union_by,
    usually,
)
from mockserver.dialects._openai_api.lenient import read_content, read_function, read_list, read_role, read_tool_call
from mockserver.dialects._parse import Body, clip, is_label
from mockserver.dialects.anthropic.errors import refuse

NAME = "anthropic"


def read_as_anthropic(model: BodyModel, body: Body, *, validation: Validation, tolerant: bool = False) -> Body:
    """Return a body; if nothing is checked, without wrong values. `tolerant`: unknown names are accepted.

    Raises Failure with Anthropic's message for the first mistake.
    """
    try:
        return model.read(body, validation).body
    except ValidationError as error:
        if tolerant and model.knows_all_but_names(body):
            return body
        found = error.errors(include_url=False)
        refused = next((each for each in found if not (tolerant and each["type"] in _NAME_ERRORS)), found[0])
        raise _make_refusal(refused, body) from None


def find_new_places(model: BodyModel, body: Body) -> tuple[str, ...]:
    """Return where a body that the `tolerant` read has unknown names; for each list, only the first place."""
    try:
        model.validate(body)
    except ValidationError as error:
        return tuple(
            ".".join(clip(str(step)) for step in _drop_labels(each)) for each in error.errors(include_url=False)
        )
    return ()


_NAME_ERRORS = ("extra_forbidden", "union_tag_invalid", "literal_error")


def _make_refusal(error: ErrorDetails, body: Body) -> Failure:
    steps = _drop_labels(error)
    if steps[0] == "tools" and len(steps) > 2 and steps[2] in _DATED:
        steps[2] = body["tools"][steps[1]]["type"]
    message = _MESSAGES.get(error["type"], error["msg"])
    match error["type"]:
        case "union_tag_not_found" if not isinstance(error["input"], dict):
            message = _NO_OBJECT
        case "union_tag_not_found":
            steps.append("type")
        case "dict_type" if steps[-1] in _FREE_TABLES:
            message = error["msg"]
        case "string_type" if error["loc"][-1] == "<a string>" and steps[-1] not in _TEXTS_OR_OBJECTS:
            message = _MESSAGES["list_type"]
        case "union_tag_invalid":
            tags = error["ctx"]["expected_tags"].split(", ")
            expected = ", ".join(tag for tag in tags if not is_label(tag.strip("'")))
            message = message.format(tag=clip(str(error["ctx"]["tag"])), expected=expected)
        case "literal_error" if steps[-1] == "role":
            role = clip(str(error["input"]))
            return refuse(f'messages: Unexpected role "{role}". Allowed roles are "user" or "assistant".')
        case "greater_than_equal" if steps == ["max_tokens"]:
            message = "must be greater than or equal to 0"
    return refuse(f"{'.'.join(clip(str(step)) for step in steps)}: {message}")


def _drop_labels(error: ErrorDetails) -> list[str | int]:
    """Return the path without the labels of unions, which the name of an unknown key may resemble."""
    *path, last = error["loc"]
    label_member = is_label(last) and error["type"] != "extra_forbidden"
    return [step for step in path if not is_label(step)] + ([] if label_member else [last])


_NO_OBJECT = "Input should be an object"
_FREE_TABLES = ("input", "caller", "schema")  # of any keys
_TEXTS_OR_OBJECTS = ("container", "fallback_credit_token")
# Anthropic's words where they are no longer those of pydantic.
_MESSAGES: Mapping[str, str] = {
    "list_type": "Input should be a valid array",
    "model_attributes_type": _NO_OBJECT,
    "dict_type": "Input does not match the expected shape.",
    "union_tag_not_found": "Field required",
    "union_tag_invalid": "Input tag '{tag}' found using 'type' does not match any of the expected tags: {expected}",
}


def _check_range(value: Json) -> Json:
    if isinstance(value, int | float) and not 0 <= value <= 1:
        raise PydanticCustomError("range", "range: 0..1")
    return value


Share = usually(number(0, 1), BeforeValidator(_check_range)(number()))


def _make_block_type(kind: str, **fields: Type) -> Type:
    return closed_shape(type=literal(kind), **fields)


# `scope` is of a beta that the official client does not name, but coding agents send.
CacheControl = tag_union("type", _make_block_type("ephemeral", ttl=not_null(literal("5m", "1h")), scope=optional(str)))


def _make_cacheable_block_type(kind: str, **fields: Type) -> Type:
    return _make_block_type(kind, cache_control=optional(CacheControl), **fields)


_URL = _make_block_type("url", url=str)
_FILE = _make_block_type("file", file_id=str)
_CITATIONS = optional(closed_shape(enabled=not_null(bool)))
Text = _make_cacheable_block_type("text", text=str, citations=optional(list_of(Object)))
Image = _make_cacheable_block_type(
    "image",
    source=tag_union(
        "type",
        _make_block_type("base64", media_type=literal("image/jpeg", "image/png", "image/gif", "image/webp"), data=str),
        _URL,
        _FILE,
    ),
    transformations=optional(closed_shape(oversized_image=not_null(literal("downsize", "error")))),
)
Document = _make_cacheable_block_type(
    "document",
    source=tag_union(
        "type",
        _make_block_type("base64", media_type=literal("application/pdf"), data=str),
        _make_block_type("text", media_type=literal("text/plain"), data=str),
        _make_block_type("content", content=text_or_list(tag_union("type", Text, Image))),
        _URL,
        _FILE,
    ),
    title=optional(str),
    context=optional(str),
    citations=_CITATIONS,
)
SearchResult = _make_cacheable_block_type(
    "search_result", source=str, title=str, content=list_of(Text), citations=_CITATIONS
)
ToolReference = _make_cacheable_block_type("tool_reference", tool_name=str)
_RESULT_ID = {"tool_use_id": text(pattern="^[a-zA-Z0-9_-]+$")}
_CALL = {
    "id": text(pattern="^[a-zA-Z0-9_-]+$"),
    "name": str,
    "input": Object,
    "caller": optional(Object),
}
ToolResult = _make_cacheable_block_type(
    "tool_result",
    **_RESULT_ID,
    content=optional(
        text_or_list(
            tag_union(
                "type",
                Text,
                Image,
                Document,
                SearchResult,
                ToolReference,
                open_shape(type=literal("browser_state")),
            )
        )
    ),
    is_error=optional(bool),
    toolset_name=optional(str),
)
# Results of tools that the provider runs; of the beta ones, only the type is known.
_RESULTS = (
    "web_search_tool_result",
    "web_fetch_tool_result",
    "code_execution_tool_result",
    "bash_code_execution_tool_result",
    "text_editor_code_execution_tool_result",
    "tool_search_tool_result",
)
_BETA = (
    "mcp_tool_use", "mcp_tool_result", "mcp_tool_listing", "advisor_tool_result", "compaction", "fallback",
    "tool_addition", "tool_removal",
)  # fmt: skip
Block = tag_union(
    "type",
    Text,
    Image,
    Document,
    SearchResult,
    _make_block_type("thinking", thinking=str, signature=str),
    _make_block_type("redacted_thinking", data=str),
    _make_cacheable_block_type("tool_use", **_CALL, toolset_name=optional(str)),
    ToolResult,
    _make_cacheable_block_type("server_tool_use", **_CALL),
    *(_make_cacheable_block_type(kind, **_RESULT_ID, content=Any, caller=optional(Object)) for kind in _RESULTS),
    _make_cacheable_block_type("container_upload", file_id=str),
    ToolReference,
    open_shape(type=literal(*_BETA)),
)
_EFFORT = {"effort": optional(literal("low", "medium", "high", "xhigh", "max"))}
Turn = closed_shape(role=literal("user", "assistant"), content=text_or_list(Block))
SystemMessage = closed_shape(
    role=literal("system"),
    content=not_null(text_or_list(Block)),
    output_config=optional(closed_shape(**_EFFORT)),
    clear_at=optional(literal("next_user_message", "never")),
)


def _tag_message(message: Json) -> str:
    is_of_system = isinstance(message, dict) and message.get("role") == "system"
    return "<a system message>" if is_of_system else "<a turn>"


RequestMessage = usually(
    tag_union("role", Turn, SystemMessage),
    union_by(_tag_message, label_member("<a turn>", Turn), label_member("<a system message>", SystemMessage)),
)

_OPTIONS: dict[str, Type] = {
    "strict": optional(bool),
    "cache_control": optional(CacheControl),
    "defer_loading": optional(bool),
    "allowed_callers": optional(list_of(str)),
}
_DOMAINS = {"allowed_domains": optional(list_of(str)), "blocked_domains": optional(list_of(str))}
_SEARCHED = {
    "max_uses": optional(integer(1)),
    "response_inclusion": not_null(literal("full", "excluded")),
    **_DOMAINS,
}
_PLACE = _make_block_type("approximate", **dict.fromkeys(("city", "region", "country", "timezone"), optional(str)))
_EXAMPLES = {"input_examples": optional(list_of(Object))}
_SCREEN = {"display_width_px": int, "display_height_px": int, "display_number": optional(int)}
# The options of tools whose schema Anthropic supplies, by the beginning of their type (a date follows).
_DATED: Mapping[str, Mapping[str, Type]] = {
    "bash": {"name": literal("bash"), **_EXAMPLES},
    "text_editor": {
        "name": literal("str_replace_editor", "str_replace_based_edit_tool"),
        "max_characters": optional(integer(1)),
        **_EXAMPLES,
    },
    "memory": {"name": literal("memory"), **_EXAMPLES},
    "computer": {"name": literal("computer"), "enable_zoom": optional(bool), **_SCREEN, **_EXAMPLES},
    "web_search": {"name": literal("web_search"), **_SEARCHED, "user_location": optional(_PLACE)},
    "web_fetch": {
        "name": literal("web_fetch"),
        **_SEARCHED,
        "citations": _CITATIONS,
        "max_content_tokens": optional(integer(1)),
        "url_sources": optional(Any),
        "use_cache": optional(bool),
    },
    "code_execution": {"name": literal("code_execution")},
    "tool_search_tool": {"name": literal("tool_search_tool_regex", "tool_search_tool_bm25")},
}
_WITHOUT_NAME = ("computer_toolset", "browser_toolset", "mcp_toolset", "advisor")
Custom = closed_shape(
    type=optional(literal("custom")),
    name=text(1, 128, pattern="^[a-zA-Z0-9_-]{1,128}$"),
    input_schema=open_shape(type=literal("object")),
    description=not_null(str),
    eager_input_streaming=optional(bool),
    **_EXAMPLES,
    **_OPTIONS,
)


def find_family(kind: str) -> str | None:
    """Return the key of the options of a tool's type; None for unknown types."""
    return next((name for name in _DATED if kind == name or kind.startswith(f"{name}_")), None)


def is_toolset(kind: str) -> bool:
    """Return whether only the provider knows the tools of a type, so that the client runs none of them by name."""
    return kind.startswith(_WITHOUT_NAME)


def _tag_tool(tool: Any) -> str | None:
    if not isinstance(tool, dict):
        return None
    kind = tool.get("type")
    if kind is None or not isinstance(kind, str) or kind == "custom":
        return "custom"
    if is_toolset(kind):
        return "<a toolset>"
    return find_family(kind) or ("<a toolset>" if kind and isinstance(tool.get("name"), str) else kind)


Tool = usually(
    Custom,
    union_by(
        _tag_tool,
        label_member("custom", Custom),
        *(label_member(name, closed_shape(type=str, **own, **_OPTIONS)) for name, own in _DATED.items()),
        label_member("<a toolset>", Object),
    ),
)
_ONE_CALL = {"disable_parallel_tool_use": not_null(bool)}
ToolChoice = tag_union(
    "type",
    _make_block_type("auto", **_ONE_CALL),
    _make_block_type("any", **_ONE_CALL),
    _make_block_type("tool", name=str, **_ONE_CALL),
    _make_block_type("none"),
)
_DISPLAY = {"display": optional(literal("summarized", "omitted", "updates"))}
_BINDING = {
    "block_binding": optional(closed_shape(prefix_mismatch_behavior=optional(literal("error", "drop_block")))),
}
Thinking = tag_union(
    "type",
    _make_block_type("enabled", budget_tokens=integer(1024), **_DISPLAY, **_BINDING),
    _make_block_type("adaptive", **_DISPLAY, **_BINDING),
    _make_block_type("disabled"),
    _make_block_type("between_tools", **_DISPLAY),
)
OutputFormat = _make_block_type("json_schema", schema=Object)
Thread = tag_union("type", _make_block_type("create"), _make_block_type("continue", previous_message_id=str))
_SKILL = closed_shape(skill_id=str, type=literal("anthropic", "custom"), version=not_null(str))
Container = text_or_object(closed_shape(id=optional(str), skills=optional(list_of(_SKILL))))


# The readable parts of requests that Anthropic would refuse: turns, blocks and tools in the format of chats. Values in
# Anthropic's own format stay unchanged, for the request model to check.


def _read_turns(given: Json) -> list[Body]:
    """Return the messages: those of tools become turns of the user, those of developers the system's."""
    found = (_read_turn(each) for each in ([given] if isinstance(given, str | Mapping) else read_list(given)))
    return [turn for turn in found if turn is not None]


def _read_turn(given: Json) -> Body | None:
    if isinstance(given, str):
        return {"role": "user", "content": given}
    if not isinstance(given, Mapping):
        return None
    role = read_role(given)
    content = _read_blocks(given.get("content"))
    calls = list(_list_calls(given))
    if role is None and content is None and not calls:
        return None
    if role in ("tool", "function"):
        named = given.get("tool_call_id")
        result = {"type": "tool_result", "tool_use_id": named if isinstance(named, str) else "", "content": content}
        return {"role": "user", "content": [result]}
    if calls:
        spoken = [{"type": "text", "text": content}] if isinstance(content, str) and content else content or []
        content = [*spoken, *calls]
    turn = {**given, "role": _LOOSE_ROLES.get(role or "", "user")}
    if content is None and turn["role"] == "system":  # it may only configure
        return {key: value for key, value in turn.items() if key != "content"}
    return {**turn, "content": [] if content is None else content}


def _list_calls(given: Body) -> Iterator[Body]:
    """Yield the calls of a chat's message as blocks."""
    made = [read_tool_call(each) for each in read_list(given.get("tool_calls"))]
    for call in filter(None, made):
        custom = call.get("custom")
        called = {"name": custom["name"], "arguments": custom["input"]} if custom else call["function"]
        yield _make_tool_use(call["id"], called)
    if old := read_function(given.get("function_call")):
        yield _make_tool_use("", old)


def _make_tool_use(identity: str, called: Body) -> Body:
    return {"type": "tool_use", "id": identity, "name": called["name"], "input": _read_arguments(called["arguments"])}


def _read_arguments(given: Json) -> Body:
    """Return the arguments of a call, which may be JSON text; a value that is not an object is one argument."""
    value = try_parse(given, given) if isinstance(given, str) else given
    return value if isinstance(value, Mapping) else {} if value in (None, "") else {"input": value}


def _read_blocks(given: Json) -> Json:
    """Return a text, or the readable blocks; None if there is neither."""
    return read_content(given, _read_loose_block)


def _read_loose_block(given: Json) -> Json:
    if isinstance(given, str):
        return {"type": "text", "text": given}
    match given:
        case {"type": "tool_use" | "server_tool_use"}:
            identity = given.get("id")
            return {
                **given,
                "id": identity if isinstance(identity, str) else "",
                "input": _read_arguments(given.get("input")),
            }
        case {"type": "tool_result"}:
            return _read_result(given)
        case {"image_url": str(url) | {"url": str(url)}}:
            return _make_image(url)
        case {"refusal": str(text)} | {"text": str(text)} if given.get("type") != "text":
            return {"type": "text", "text": text}
    return given if isinstance(given, Mapping) else None


def _read_result(given: Body) -> Body:
    """Return the result of a tool: an object that is not a block becomes text."""
    named = given.get("tool_use_id")
    content = given.get("content")
    if isinstance(content, Mapping) and "type" not in content:
        content = compact(content)
    return {**given, "tool_use_id": named if isinstance(named, str) else "", "content": _read_blocks(content)}


def _make_image(url: str) -> Body:
    found = _DATA_URL.fullmatch(url)
    if found is None:
        return {"type": "image", "source": {"type": "url", "url": url}}
    return {"type": "image", "source": {"type": "base64", "media_type": found["media"], "data": found["data"]}}


def _read_offers(given: Json) -> Json:
    """Return the tools, with functions in Anthropic's format; other tools unchanged."""
    return [_read_offer(tool) for tool in read_list(given)]


def _read_offer(given: Json) -> Json:
    match given:
        case {"function": {"name": str()} as about}:
            pass
        case {"name": str()} as about if given.get("type", "custom") in (None, "custom", "function"):
            pass
        case _:
            return given
    schema = about.get("input_schema", about.get("parameters"))
    described = {key: value for key, value in about.items() if key not in ("type", "parameters")}
    return {**described, "input_schema": {**(schema if isinstance(schema, Mapping) else {}), "type": "object"}}


def _read_choice(given: Json) -> Json:
    """Return the choice of tools, which chats state as a word or a function."""
    match given:
        case {"function": {"name": str(name)}}:
            return {"type": "tool", "name": name}
        case str():
            return {"type": "any" if given == "required" else given}
    return given


_LOOSE_ROLES = {"assistant": "assistant", "model": "assistant", "system": "system", "developer": "system"}
_DATA_URL = re.compile(r"data:(?P<media>[^;,]*);base64,(?P<data>.*)", re.DOTALL)
_LENIENT = {"messages": _read_turns, "system": _read_blocks, "tools": _read_offers, "tool_choice": _read_choice}

_NEEDED: dict[str, Type] = {
    "model": text(1, 256),
    "messages": list_of(RequestMessage, None, 100_000),
}
# What counting tokens takes, too. The order of fields is that in which their mistakes are reported.
_COUNTED: dict[str, Type] = {
    "model": _NEEDED["model"],
    "tool_choice": not_null(ToolChoice),
    "tools": not_null(list_of(Tool)),
    "messages": _NEEDED["messages"],
    "system": not_null(text_or_list(Text)),
    "thinking": not_null(Thinking),
    "output_config": optional(
        closed_shape(
            **_EFFORT,
            format=optional(OutputFormat),
            task_budget=optional(_make_block_type("tokens", total=int, remaining=optional(int))),
        )
    ),
    "cache_control": optional(CacheControl),
    "speed": optional(literal("standard", "fast")),
    # of betas
    "output_format": optional(OutputFormat),
    "context_management": optional(Object),
    "mcp_servers": not_null(list_of(Object)),
    "compaction": optional(Object),
    "billing_policy": optional(Any),
    "safeguards": optional(list_of(Object)),
}
_REST: dict[str, Type] = {
    "max_tokens": integer(0),
    "metadata": optional(closed_shape(user_id=optional(text(most=256)))),
    "stop_sequences": optional(list_of(str)),
    "temperature": not_null(Share),
    "service_tier": not_null(literal("auto", "standard_only")),
    "top_k": not_null(int),
    "top_p": not_null(Share),
    "stream": not_null(bool),
    "container": optional(Container),
    "inference_geo": optional(str),
    "diagnostics": optional(closed_shape(previous_message_id=optional(str))),
    "user_profile_id": optional(str),
    # of betas
    "fallbacks": optional(Any),
    "fallback_credit_token": optional(
        text_or_object(closed_shape(token=str, mode=not_null(literal("strict", "best_effort"))))
    ),
    "thread": optional(Thread),
}
# `POST /v1/messages` and `POST /v1/messages/count_tokens`.
MessagesBody = closed_shape(**_COUNTED, **_REST)
MESSAGES = BodyModel(MessagesBody, needed=_NEEDED, lenient=_LENIENT)
COUNT = BodyModel(closed_shape(**_COUNTED), needed=_NEEDED, lenient=_LENIENT)
