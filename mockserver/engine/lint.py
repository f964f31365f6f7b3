"""Finds what no model could have answered: tools, arguments, JSON and finish reasons that contradict the request.

Sees answers of rules before faults and limits change them. An answer that breaks off may end anywhere.
"""

from collections.abc import Iterator, Sequence
from itertools import islice

from mockserver.config.source import did_you_mean
from mockserver.core.call import Call, Tool, ToolCall
from mockserver.core.draft import Draft, DraftChoice
from mockserver.core.json import Json, parsed
from mockserver.core.plan import OWN_FINISHES, Item, Part, Refusal, Text, ToolUse
from mockserver.core.text import one_line, shown, truncate

_OPERATIONS = ("chat", "completions", "responses")
_CUT_OFF = ("length", "content_filter", "error")
_JSON = ("json_object", "json_schema")
_FORCED = ("named", "required")  # tool choices that demand a call; providers finish it with `stop`, too
_NESTING = ("namespace", "tool_search")  # tools that offer others
_MAX_COST = 10_000  # of validating, as `CompiledSchema.cost_of` estimates it: some ms
_MAX_WHY, _MAX_WHYS = 200, 3  # characters of what a schema says, and how often
_NOT_JSON = object()
_ALWAYS = ("_tool_result", "redacted_thinking", "container_upload")  # items of which a call, or nothing, tells


def is_plain(call: Call, draft: Draft) -> bool:
    """Whether there is nothing to check, quickly, as most answers are just text."""
    if call.options.response_format in _JSON or call.tool_choice.mode in _FORCED:
        return False
    for choice in draft.choices:
        if choice.finish is not None:
            return False
        for part in choice.parts:
            if type(part) is not Text:
                return False
    return True


def impossible(call: Call, draft: Draft) -> tuple[str, ...]:
    """Why no model could answer the call so, each reason once; empty if one could."""
    if is_plain(call, draft) or draft.broken is not None or call.operation not in _OPERATIONS:
        return ()
    found = (why for choice in draft.choices[: call.options.n] for why in _of_choice(call, choice))
    return tuple(dict.fromkeys(found))


def _of_choice(call: Call, choice: DraftChoice) -> Iterator[str]:
    parts, as_json = choice.parts, call.options.response_format in _JSON
    own = OWN_FINISHES.get(choice.finish or "")
    whole = (own or choice.finish) not in _CUT_OFF and choice.filter_after is None
    made = [part.call for part in parts if isinstance(part, ToolUse)]
    if not (call.operation == "responses" and call.raw.get("prompt")):  # a stored prompt may offer tools
        for one in made:
            yield from _of_call(call, one, whole=whole)
        yield from (why for part in parts if isinstance(part, Item) for why in _of_item(call, part))
    if len(made) > 1 and not call.options.parallel_tool_calls:
        why = "" if call.options.bare_functions else ", as its parallel_tool_calls is false"
        yield f"calls {len(made)} tools, but the request allows one call{why}"
    if whole and not any(isinstance(part, Refusal | ToolUse) for part in parts):
        if call.tool_choice.mode in _FORCED and not any(isinstance(part, Item) for part in parts):
            yield "calls no tool, which the request's tool_choice demands"
        elif as_json:
            yield from _of_text(call, parts)
    if choice.finish is not None and own is None and call.operation != "responses":  # which has no finish reasons
        yield from _of_finish(call, choice.finish, made)


def _of_call(call: Call, made: ToolCall, *, whole: bool) -> Iterator[str]:
    kind = "custom" if made.kind == "custom" else "function"
    offered = [tool for tool in call.tools if tool.kind in ("function", "custom")]
    meant = [tool for tool in call.tools_named(made.name, made.namespace) if tool in offered]
    tool = next(iter(meant), None)
    choice = call.tool_choice
    if tool is None:
        if not any(each.kind in _NESTING for each in call.tools):
            name = f"{made.namespace}.{made.name}" if made.namespace else made.name
            names = [each.full_name for each in offered]
            hint = did_you_mean(name, names) or (f"; it offers {', '.join(map(shown, names[:5]))}" if names else "")
            yield f"calls {shown(name)}, a tool that the request does not offer{hint}"
    elif len(meant) > 1:
        where = " and ".join([shown(each.namespace) for each in meant if each.namespace])
        yield f"calls {shown(made.name)}, which the namespaces {where} offer; say which with the key namespace"
    elif choice.mode == "none" or not choice.allows(tool):
        yield f"calls {shown(made.name)}, which the request's tool_choice forbids"
    elif tool.kind != kind:
        key = "input" if tool.kind == "custom" else "arguments"
        yield f"calls {shown(made.name)}, a {tool.kind} tool, which takes {key}"
    elif kind == "function" and whole and (why := _wrong_arguments(tool, made.arguments)):
        yield f"calls {shown(made.name)} with arguments that {why}"


def _wrong_arguments(tool: Tool, arguments: str) -> str | None:
    value = parsed(arguments if arguments.strip() else "{}", _NOT_JSON)
    if value is _NOT_JSON:
        return "are no JSON"
    if not isinstance(value, dict):
        return "are no JSON object"
    why = refused(tool.parameters, value) if tool.strict and tool.parameters is not None else None
    return why and f"its strict schema refuses: {why}"


def _of_item(call: Call, item: Item) -> Iterator[str]:
    """Whether the provider's own tool was offered: `web_search_call` needs `web_search`, of any version."""
    if item.kind.startswith("mcp"):
        label = item.body.get("server_label")
        if not any(tool.options.get("server_label") == label for tool in call.tools):
            yield f"has {item.kind} of {shown(label)}, an MCP server that the request does not offer"
    elif not item.kind.endswith(_ALWAYS):
        used = str(item.body.get("name")) if item.kind == "server_tool_use" else item.kind.partition("_call")[0]
        if not any(tool.kind.startswith(used) or tool.name == used for tool in call.tools):
            yield f"has {item.kind}, but the request does not offer that tool"


def _of_text(call: Call, parts: Sequence[Part]) -> Iterator[str]:
    texts = [part for part in parts if isinstance(part, Text)]
    if not texts:
        return
    begins = max((at for at, part in enumerate(texts) if part.apart), default=0)  # the last message
    value = parsed("".join(part.text for part in texts[begins:]), _NOT_JSON)
    kind, schema = call.options.response_format, call.options.schema if call.options.strict_schema else None
    if value is _NOT_JSON:
        yield f"has a text that is no JSON, but response_format is {kind}"
    elif kind == "json_object" and not isinstance(value, dict):
        yield "has JSON that is no object, but response_format is json_object"
    elif schema is not None and (why := refused(schema, value)):
        yield f"has JSON that the strict schema of response_format refuses: {why}"


def _of_finish(call: Call, finish: str, made: Sequence[ToolCall]) -> Iterator[str]:
    usual = "function_call" if call.options.bare_functions else "tool_calls"
    if finish in ("tool_calls", "function_call"):
        if not made:
            yield f"has finish: {finish}, but calls no tool"
        elif finish != usual:
            yield f"has finish: {finish}, but for this request's tools it is {usual}"
    elif finish == "stop" and made and call.tool_choice.mode not in _FORCED:
        yield f"has finish: stop, but calls a tool, for which it is {usual}"


def refused(schema: Json, value: Json) -> str | None:
    """Why a schema refuses a value; None if it does not, is invalid itself, or takes too long."""
    from mockserver.model.schema.document import UnsatisfiableError, compile_schema, depth_and_size  # slow to import

    try:
        compiled = compile_schema(schema)
    except UnsatisfiableError:
        return None
    if compiled.cost_of(*depth_and_size(value)) > _MAX_COST or compiled.validator.is_valid(value):
        return None
    found = islice(compiled.validator.iter_errors(value), _MAX_WHYS)
    places = ((error.message, "".join(f"/{step}" for step in error.instance_path)) for error in found)
    return "; ".join(one_line(truncate(why, _MAX_WHY)) + (f" at {place}" if place else "") for why, place in places)
