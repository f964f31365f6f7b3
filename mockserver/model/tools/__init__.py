"""Which tools a model would call next, and with which arguments; none where it would answer in text.

Knows the conversation and its tools, no wire shape.
"""

import ast
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest

from msgspec.structs import replace

from mockserver.core.call import CLIENT_RUN_TOOLS, Call, Message, Tool, ToolCall, list_recent_tool_calls, tool_calls
from mockserver.core.json import Json, compact
from mockserver.core.lazy import lazy_pattern
from mockserver.core.plan import Failure, Item, ToolUse
from mockserver.core.seed import Seed
from mockserver.model.arguments import Mentions, mentions
from mockserver.model.prose.closing import without_form
from mockserver.model.prose.formats import courtesy
from mockserver.model.schema import instance
from mockserver.model.shapes import read
from mockserver.model.tools.choosing import best, properties_of
from mockserver.model.tools.decisions import chosen_values, colleague
from mockserver.model.tools.hosted import chosen, free_text, hosted_use
from mockserver.model.tools.pending_calls import (
    CLIENT_KINDS,
    PendingCall,
    answering_tools,
    calls_of,
    earlier_call,
    ending_call,
    ending_tools,
    pending_calls,
    same_arguments,
)

Use = ToolUse | Item


def tool_uses(call: Call, seed: Seed) -> tuple[Use, ...]:
    """Return the calls that come next, in order; none where the model answers in text."""
    mode, offered = call.tool_choice.mode, _offered(call)
    if mode not in ("auto", "required", "named") or not offered:
        return ()
    call = without_form(call)
    found = () if mode == "named" else tuple(_next(call, pending_calls(call, offered), seed))
    if not found:
        found = tuple(_final(call, offered, seed) if mode == "auto" else _demanded(call, offered, seed))
    return found if call.options.parallel_tool_calls else tuple(_up_to_one(found))


def tool_use(tool: Tool, said: Mentions, seed: Seed, *, lenient: bool = False) -> ToolUse:
    """Return a call of one tool without an id; arguments that no text mentions are generated.

    Raises Failure if its schema is unusable; if `lenient`, the call then has no arguments.
    """
    if tool.kind == "custom":
        return ToolUse(ToolCall("", tool.name, free_text(tool, said, seed), "custom", tool.namespace))
    said = replace(said, sparse=True) if said.text else said
    try:
        made = instance(tool.parameters, seed.branch("arguments", tool.name), said) if tool.parameters else {}
    except Failure:
        if not lenient:
            raise
        made = {}
    return ToolUse(ToolCall("", tool.name, compact(made), namespace=tool.namespace))


def waits(use: Use) -> bool:
    """Whether the model continues only when the client has answered; the provider runs other tools itself."""
    return isinstance(use, ToolUse) or use.kind in CLIENT_RUN_TOOLS or use.kind == "mcp_approval_request"


def with_earlier_results(call: Call, seed: Seed) -> Call:
    """Return the call, with results of earlier turns after a message that asks for them again."""
    is_asked = call.last_turn is not None and call.last_turn.role == "user"
    if call.tool_choice.mode != "auto" or not tool_calls(call) or not is_asked:
        return call
    pending = [each for each in pending_calls(without_form(call), _offered(call)) if each.tool.kind in CLIENT_KINDS]
    lenient = call.options.lenient_schema
    uses = [(each, tool_use(each.tool, each.said, seed, lenient=lenient)) for each in pending]
    found = [old for each, use in uses if (old := earlier_call(call, each, use.call))]
    if not found:
        return call
    ids = {old.id for old in found}
    results = (message for message in call.messages if message.tool_call_id in ids)
    return replace(call, messages=(*call.messages, Message("assistant", tool_calls=tuple(found)), *results))


def _offered(call: Call) -> tuple[Tool, ...]:
    choice = call.tool_choice
    named = (chosen(tool, choice) for tool in call.tools if choice.allows(tool))
    return tuple(tool for tool in named if tool is not None) if choice.names else call.tools


def _up_to_one(uses: Iterable[Use]) -> Iterator[Use]:
    for use in uses:
        yield use
        if waits(use):
            return


def _next(call: Call, pending: Sequence[PendingCall], seed: Seed) -> Iterator[Use]:
    made, stage = list[ToolUse](), None
    for at, each in enumerate(pending):
        if stage not in (None, each.stage):
            return
        use = _use(call, each, _seed_of(seed, at))
        if isinstance(use, ToolUse):
            if earlier_call(call, each, use.call) or _is_among(use.call, made):
                continue
            made.append(use)
        if use is not None:
            stage = each.stage if waits(use) else stage
            yield use


def _use(call: Call, pending: PendingCall, seed: Seed) -> Use | None:
    if pending.tool.kind in CLIENT_KINDS:
        stated = chosen_values(call, pending.tool.parameters, pending.tool.description)
        stated |= colleague(call, pending.tool)
        said = pending.said.stating(stated)
        return tool_use(pending.tool, said, seed, lenient=call.options.lenient_schema)
    return hosted_use(pending.tool, _with_last_text(call, pending.said.text), seed)


def _with_last_text(call: Call, text: str) -> Call:
    """The call as if the user had said only this."""
    *before, last = call.messages[: len(call.messages) - len(call.since_user)] or (None,)
    if last is None or not text:
        return call
    return replace(call, messages=(*before, replace(last, text=text), *call.since_user))


def _seed_of(seed: Seed, at: int) -> Seed:
    return seed.branch("call", str(at)) if at else seed


def _is_among(made: ToolCall, uses: Iterable[ToolUse]) -> bool:
    return any(use.call.name == made.name and same_arguments(use.call.arguments, made.arguments) for use in uses)


def _final(call: Call, offered: Sequence[Tool], seed: Seed) -> Iterator[Use]:
    """A call of the tool that takes the final answer, where there is one: clients wait for it, not for a text."""
    tools, made = answering_tools(offered), {old.name for old in list_recent_tool_calls(call)}
    if tools and made.isdisjoint(tool.name for tool in tools) and not courtesy(call.last_user):
        use = _use(call, ending_call(call, _mentioned_most(tools, call.last_user)[0]), seed)
        if use is not None:
            yield use


def _demanded(call: Call, offered: Sequence[Tool], seed: Seed) -> Iterator[Use]:
    """A call that the tool choice demands, whether or not there is anything to do; a new one, if there is any."""
    ending = {tool.name for tool in ending_tools(offered)}
    for tool in (_likeliest(call, offered), *offered[:_MOST_TRIED]):
        candidates = [ending_call(call, tool)] if tool.name in ending else calls_of(call, tool)
        first: Use | None = None
        for at, each in enumerate(candidates):
            use = _use(call, each, _seed_of(seed, at))
            if use is not None and (isinstance(use, Item) or not earlier_call(call, each, use.call)):
                yield use
                return
            first = first or use
        if first is not None:
            yield first
            return


def _likeliest(call: Call, offered: Sequence[Tool]) -> Tool:
    """The tool for a model that has to call one: the best for the text, else one that ends the turn, else a new one."""
    ending, made = ending_tools(offered), [old.name for old in list_recent_tool_calls(call)]
    names = {*made, *(tool.name for tool in ending)}
    work = [tool for tool in offered if tool.name not in names]
    if not made and (fitting := best(call.last_user, work, {})) is not None:
        return fitting
    counts = Counter(made)
    mentioned = _mentioned_most(ending[:_MOST_TRIED], call.last_user)
    return next(iter((*mentioned, *work)), None) or min(offered, key=lambda tool: counts[tool.name])


def _mentioned_most(tools: Sequence[Tool], text: str) -> list[Tool]:
    said = mentions(text)
    return sorted(tools, key=lambda tool: -said.evidence(properties_of(tool)))


_MOST_TRIED = 64  # tools that are tried one by one where a call is demanded
_CALLING, _OBSERVED = "Calling tools:", "Observation:"


def with_quoted_calls(call: Call) -> Call:
    """Return the call, with tool calls and observations that its messages quote as calls and results."""
    if call.tools and any(map(_observes, call.messages)):
        call = replace(call, messages=tuple(_parsed(call.messages)))
    if any(map(_is_of_others, call.messages)):
        call = replace(call, messages=tuple(each for message in call.messages for each in _acts(message)))
    return call


def without_reminders(call: Call) -> Call:
    """Return the call without what clients add to the user's words in tags: `<system-reminder>…</system-reminder>`."""
    if not any("<" in each.text and each.role == "user" and _REMINDER.search(each.text) for each in call.messages):
        return call
    left = map(_without_reminder, call.messages)
    said = tuple(message for message in left if message.role != "user" or message.text or message.parts)
    return replace(call, messages=said) if any(message.role == "user" for message in said) else call


def _without_reminder(message: Message) -> Message:
    kept, at = list[str](), 0
    for found in _REMINDER.finditer(message.text) if message.role == "user" else ():
        end = message.text.find(f"</{found['tag']}>", found.end())
        if end < 0:
            break
        if found.start() >= at:
            kept.append(message.text[at : found.start()])
            at = end + len(f"</{found['tag']}>")
    said = "".join((*kept, message.text[at:])).strip()
    return replace(message, text=said) if at else message


_REMINDER = lazy_pattern(r"<(?P<tag>system[-_](?:reminder|context|info)|environment[-_](?:details|context|info)|env)>")


def _is_of_others(message: Message) -> bool:
    return message.role == "user" and message.text.startswith(_CONTEXT)


def _acts(message: Message) -> Iterator[Message]:
    """What a transcript of other agents says that they did, as messages."""
    found = [*_ACT.finditer(message.text[:_LONGEST_CONTEXT])] if _is_of_others(message) else []
    if not found:
        yield message
    for act, following in zip_longest(found, found[1:]):
        text = message.text[act.end() : following.start() if following else None]
        text = _MARKERS.sub("", text).strip()
        if act["made"]:
            made = ToolCall(f"quoted_{act['made']}", act["made"], _as_json(text))
            yield Message("assistant", tool_calls=(made,))
        elif act["of"]:
            yield Message("tool", text, tool_call_id=f"quoted_{act['of']}", name=act["of"])
        else:
            yield Message("assistant", text)


def _as_json(text: str) -> str:
    """Arguments as Python writes them, as JSON."""
    try:
        return compact(ast.literal_eval(text))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return "{}"


# How a transcript shows calls of other agents: `[planner] called tool `search` with parameters: {'query': 'tides'}`.
_CONTEXT, _LONGEST_CONTEXT = "For context:", 100_000
_ACT = lazy_pattern(
    r"\[[\w -]{1,80}\] (?:called tool `(?P<made>[^`\n]{1,128})` with parameters:|"
    r"`(?P<of>[^`\n]{1,128})` tool returned result:|said:)"
)
_MARKERS = lazy_pattern(r"<<<(?:BEGIN|END)_\w{1,60}>>>")


def _observes(message: Message) -> bool:
    return message.role == "user" and message.text.startswith(_OBSERVED)


def _parsed(messages: Sequence[Message]) -> Iterator[Message]:
    before: tuple[ToolCall, ...] = ()
    for message, following in zip_longest(messages, messages[1:]):
        made = _quoted(message) if following is not None and _observes(following) else ()
        if made:
            yield Message("assistant", tool_calls=made)
        elif before:
            yield Message("tool", message.text.removeprefix(_OBSERVED).strip(), tool_call_id=before[-1].id)
        else:
            yield message
        before = made


def _quoted(message: Message) -> tuple[ToolCall, ...]:
    if message.role != "assistant" or not message.text.startswith(_CALLING):
        return ()
    opening = message.text.find("[")
    found = None if opening < 0 else read(message.text, opening)
    listed = found[0] if found and isinstance(found[0], list) else []
    return tuple(made for each in listed if (made := _call(each)) is not None)


def _call(quoted: Json) -> ToolCall | None:
    function = quoted.get("function") if isinstance(quoted, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        return None
    arguments = function.get("arguments", {})
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return ToolCall(str(quoted.get("id", "")), function["name"], text)
