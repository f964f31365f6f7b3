"""Finds answers that no model could give: tools, arguments, JSON and finish reasons that contradict the request.

Checks the answers of rules before faults and limits change them. An answer that breaks off may end anywhere.
"""

from collections.abc import Hashable, Iterator, Sequence
from itertools import islice

from msgspec import Struct

from mockserver.config.source import did_you_mean
from mockserver.core.call import Call, Tool, ToolCall, Toolset
from mockserver.core.draft import Draft, DraftChoice
from mockserver.core.json import Json, try_parse
from mockserver.core.mcp_server import McpTool
from mockserver.core.plan import OWN_FINISHES, Item, Part, Reasoning, Refusal, Text, ToolUse
from mockserver.core.text import join_to_line, show_value, truncate
from mockserver.model.validators import make_pointer

_OPERATIONS = ("chat", "completions", "responses")
_CUT_OFF = ("length", "content_filter", "error")
_JSON = ("json_object", "json_schema")
_FORCED = ("named", "required")  # tool choices that require a call, after which providers may finish with `stop`
_CALLED = ("function", "custom")  # kinds of tools that are called by their names
_NESTING = ("namespace", "tool_search")  # tools that offer others
_MAX_COST = 10_000  # of validating, as `SchemaValidator.estimate_cost` estimates it: some ms
_MAX_WHY = 200  # characters of a reason
_MAX_WHYS = 3  # reasons that a schema gives
_NOT_JSON = object()
_MEMORY = "reasons"  # the attribute of a draft
_MAX_REMEMBERED = 8  # kinds of calls that it has reasons for
_NEED_NO_TOOL = ("_tool_result", "redacted_thinking", "container_upload")  # items that follow a call, or stand alone


def recall_contradictions(call: Call, draft: Draft) -> tuple[str, ...] | None:
    """Return the result of `find_contradictions` if it is known without a check; else None."""
    if call.options.response_format not in _JSON and call.tool_choice.mode not in _FORCED:
        plain = draft.plain
        if plain is not None and not plain.calls:  # only texts, like most answers
            return ()
    memory: dict[Hashable, _Known] | None = vars(draft).get(_MEMORY)
    if not memory or (known := memory.get(_find_key(call))) is None:
        return None
    return known.reasons


def follows_schema(call: Call) -> bool:
    """Return whether answers to a call are checked by schemas of its own, which may take long."""
    return call.options.schema is not None or any(tool.strict for tool in call.tools)


def find_contradictions(call: Call, draft: Draft, *, shows_reasoning: bool = True) -> tuple[str, ...]:
    """Return why no model could give the answer to the call, each reason once. A draft that comes again remembers them.

    `shows_reasoning`: whether the call's dialect shows what the model thought.
    """
    if draft.broken is not None or call.operation not in _OPERATIONS:
        return ()
    found: list[str] = []
    if not shows_reasoning and _has_reasoning(draft):
        found.append(f"has reasoning, which {call.label} does not show in {call.operation}")
    for choice in draft.choices[: call.options.n]:
        found += _check_choice(call, choice)
    reasons = tuple(dict.fromkeys(found))
    memory = vars(draft).get(_MEMORY)
    if memory is None:  # most that are made for one call do not come again
        vars(draft)[_MEMORY] = {}
    elif (key := _find_key(call)) is not None:
        if len(memory) >= _MAX_REMEMBERED:
            memory.clear()
        memory[key] = _Known(reasons, call.tools)
    return reasons


def _has_reasoning(draft: Draft) -> bool:
    return any(type(part) is Reasoning for choice in draft.choices for part in choice.parts)


class _Known(Struct, frozen=True):
    """The reasons found for these tools, which are kept alive so that no other objects get their identity."""

    reasons: tuple[str, ...]
    tools: tuple[Tool, ...]


def _find_key(call: Call) -> Hashable:
    """Return everything besides the draft that the reasons depend on; None for calls that are rarely repeated."""
    options = call.options
    choice = call.tool_choice
    if type(call.tools) is not Toolset or options.response_format in _JSON or call.operation == "responses":
        return None
    how = call.label, choice.mode, choice.names, options.n, options.parallel_tool_calls, options.bare_functions
    return id(call.tools), call.operation, *how


def _check_choice(call: Call, choice: DraftChoice) -> Iterator[str]:
    parts = choice.parts
    made = [part for part in parts if type(part) is ToolUse]
    items = [part for part in parts if type(part) is Item]
    own = OWN_FINISHES.get(choice.finish or "")
    whole = (own or choice.finish) not in _CUT_OFF and choice.filter_after is None
    if not (call.operation == "responses" and call.raw.get("prompt")):  # a stored prompt may offer tools
        for use in made:
            if (why := _check_call(call, use, whole=whole)) is not None:
                yield why
        for item in items:
            yield from _check_item(call, item)
    if len(made) > 1 and not call.options.parallel_tool_calls:
        why = "" if call.options.bare_functions else ", as its parallel_tool_calls is false"
        yield f"calls {len(made)} tools, but the request allows one call{why}"
    if whole and not made and Refusal not in map(type, parts):
        if call.tool_choice.mode in _FORCED and not items:
            yield "calls no tool, although the request's tool_choice requires one"
        elif call.options.response_format in _JSON:
            yield from _check_json(call, parts)
    if choice.finish is not None and own is None and call.operation != "responses":  # Responses have no finish reasons
        yield from _check_finish(call, choice.finish, is_calling=bool(made))


def _check_call(call: Call, use: ToolUse, *, whole: bool) -> str | None:
    made = use.call
    kind = "custom" if made.kind == "custom" else "function"
    meant = [tool for tool in call.find_tools(made.name, made.namespace) if tool.kind in _CALLED]
    if not meant:
        return _check_unknown_tool(call, made)
    tool = meant[0]
    choice = call.tool_choice
    if len(meant) > 1:
        where = " and ".join([show_value(each.namespace) for each in meant if each.namespace])
        return f"calls {show_value(made.name)}, which several namespaces offer: {where}; add namespace to the call"
    if choice.mode == "none" or not choice.allows(tool):
        return f"calls {show_value(made.name)}, which the request's tool_choice forbids"
    if tool.kind != kind:
        key = "input" if tool.kind == "custom" else "arguments"
        return f"calls {show_value(made.name)}, a {tool.kind} tool, which takes {key}"
    if kind == "custom" or not whole or (use.is_json and not tool.strict):
        return None
    why = _check_arguments(tool, made.arguments)
    return why and f"calls {show_value(made.name)} with arguments that {why}"


def _check_unknown_tool(call: Call, made: ToolCall) -> str | None:
    """Explain that a called tool is not offered, unless another tool or an MCP server may offer it."""
    if any(map(_finds_others, call.tools)) or _may_be_hosted(call, made):
        return None
    name = f"{made.namespace}.{made.name}" if made.namespace else made.name
    names = [each.full_name for each in call.tools if each.kind in _CALLED]
    hint = did_you_mean(name, names) or (f"; it offers {', '.join(map(show_value, names[:5]))}" if names else "")
    return f"calls {show_value(name)}, a tool that the request does not offer{hint}"


def _finds_others(tool: Tool) -> bool:
    """Return whether a tool offers others, also by a search of the client's own, as Claude Code's `ToolSearch`."""
    return tool.kind in _NESTING or tool.name.replace("_", "").lower() == "toolsearch"


def _may_be_hosted(call: Call, made: ToolCall) -> bool:
    """Return whether an MCP server of the request may have a tool; of those that rules define, all are offered."""
    named = [each for each in call.connectors if made.kind == "function" and made.namespace in ("", each.label)]
    return any(each.allows(McpTool(made.name)) for each in named if not each.is_defined) or (
        made.namespace != "" and bool(named) and bool(call.find_tools(made.name))
    )


def _check_arguments(tool: Tool, arguments: str) -> str | None:
    value = try_parse(arguments if arguments.strip() else "{}", _NOT_JSON)
    if value is _NOT_JSON:
        return "are not JSON"
    if not isinstance(value, dict):
        return "are not a JSON object"
    why = explain_refusal(tool.parameters, value) if tool.strict and tool.parameters is not None else None
    return why and f"its strict schema refuses: {why}"


def _check_item(call: Call, item: Item) -> Iterator[str]:
    """Yield a reason if the provider's own tool was not offered: `web_search_call` needs any `web_search` tool."""
    if item.kind.startswith("mcp"):
        label = item.body.get("server_label")
        named = {connector.label for connector in call.connectors}
        if label not in named and not any(tool.options.get("server_label") == label for tool in call.tools):
            yield f"has {item.kind} of {show_value(label)}, an MCP server that the request does not offer"
    elif not item.kind.endswith(_NEED_NO_TOOL):
        used = str(item.body.get("name")) if item.kind == "server_tool_use" else item.kind.partition("_call")[0]
        is_offered = any(tool.kind.startswith(used) or tool.name == used for tool in call.tools)
        if not is_offered and not (
            used == "web_search" and call.raw.get("web_search_options") is not None
        ):  # of a chat
            yield f"has {item.kind}, but the request does not offer that tool"


def _check_json(call: Call, parts: Sequence[Part]) -> Iterator[str]:
    texts = [part for part in parts if isinstance(part, Text)]
    if not texts:
        return
    begins = max((at for at, part in enumerate(texts) if part.apart), default=0)  # the last message
    value = try_parse("".join(part.text for part in texts[begins:]), _NOT_JSON)
    kind = call.options.response_format
    schema = call.options.schema if call.options.strict_schema else None
    if value is _NOT_JSON:
        yield f"has text that is not JSON, but response_format is {kind}"
    elif kind == "json_object" and not isinstance(value, dict):
        yield "has JSON that is not an object, but response_format is json_object"
    elif schema is not None and (why := explain_refusal(schema, value)):
        yield f"has JSON that the strict schema of response_format refuses: {why}"


def _check_finish(call: Call, finish: str, *, is_calling: bool) -> Iterator[str]:
    usual = "function_call" if call.options.bare_functions else "tool_calls"
    if finish in ("tool_calls", "function_call"):
        if not is_calling:
            yield f"has finish: {finish}, but calls no tool"
        elif finish != usual:
            yield f"has finish: {finish}, but with this request's tools, a model sends {usual}"
    elif finish == "stop" and is_calling and call.tool_choice.mode not in _FORCED:
        yield f"has finish: stop, but calls a tool; a model sends {usual}"


def explain_refusal(schema: Json, value: Json) -> str | None:
    """Return why a schema refuses a value; None if it accepts it, is itself invalid, or takes too long."""
    from mockserver.model.schema.document import (
        UnsatisfiableError,  # slow to import, as are the others
        measure_depth_and_size,
    )
    from mockserver.model.schema.shape import compile_schema

    try:
        validator = compile_schema(schema).validator
    except UnsatisfiableError:
        return None
    if validator.estimate_cost(*measure_depth_and_size(value)) > _MAX_COST or validator.whole.is_valid(value):
        return None
    found = islice(validator.whole.iter_errors(value), _MAX_WHYS)
    places = ((error.message, make_pointer(error.instance_path)) for error in found)
    return "; ".join(join_to_line(truncate(why, _MAX_WHY)) + (f" at {place}" if place else "") for why, place in places)
