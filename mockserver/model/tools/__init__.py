"""Which tools a model would call next, and with which arguments; nothing where it would answer in text.

Knows the conversation and the tools that it offers, no wire shape.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from mockserver.core.call import CARRIED_OUT, Call, Message, Tool, ToolCall
from mockserver.core.json import compact
from mockserver.core.plan import Item, ToolUse
from mockserver.core.seed import Seed
from mockserver.core.tool_results import calls, calls_since_last_user
from mockserver.model.arguments import Mentions, mentions
from mockserver.model.schema import instance
from mockserver.model.tools.choosing import best
from mockserver.model.tools.hosted import chosen, free_text, hosted_use
from mockserver.model.tools.offers import properties_of
from mockserver.model.tools.pending_calls import OF_CLIENT, Errand, closing, concluding, errands, known, same, whole

Use = ToolUse | Item


def tool_uses(call: Call, seed: Seed) -> tuple[Use, ...]:
    """The calls that come next, in order; none where the model answers in text."""
    mode, offered = call.tool_choice.mode, _offered(call)
    if mode not in ("auto", "required", "named") or not offered:
        return ()
    found = () if mode == "named" else tuple(_next(call, errands(call, offered), seed))
    if not found and mode != "auto":
        found = tuple(_demanded(call, offered, seed))
    return found if call.parallel_tool_calls else tuple(_up_to_one(found))


def tool_use(tool: Tool, said: Mentions, seed: Seed) -> ToolUse:
    """A call of one tool without an id, its arguments taken from what was said, and made up where nothing was."""
    if tool.kind == "custom":
        return ToolUse(ToolCall("", tool.name, free_text(tool, said, seed), kind="custom"))
    made = instance(tool.parameters, seed.branch("arguments", tool.name), said) if tool.parameters else {}
    return ToolUse(ToolCall("", tool.name, compact(made)))


def waits(use: Use) -> bool:
    """Whether the model goes on only when the client has answered a use; the provider carries out the others itself."""
    return isinstance(use, ToolUse) or use.kind in CARRIED_OUT or use.kind == "mcp_approval_request"


def recalled(call: Call, seed: Seed) -> Call:
    """The call, with the results of earlier turns behind a message that asks for them again."""
    if call.tool_choice.mode != "auto" or not calls(call) or call.messages[-1].role != "user":
        return call
    wanted = [(each, _use(call, each, seed)) for each in errands(call, _offered(call)) if each.tool.kind in OF_CLIENT]
    found = [old for each, use in wanted if isinstance(use, ToolUse) and (old := known(call, each, use.call))]
    of = {old.id for old in found}
    results = (message for message in call.messages if message.tool_call_id in of)
    return (
        replace(call, messages=(*call.messages, Message("assistant", tool_calls=tuple(found)), *results))
        if of
        else call
    )


def _offered(call: Call) -> tuple[Tool, ...]:
    """The tools that may be called."""
    choice = call.tool_choice
    named = (chosen(tool, choice) for tool in call.tools if tool.name in choice.names)
    return tuple(tool for tool in named if tool is not None) if choice.names else call.tools


def _up_to_one(uses: Iterable[Use]) -> Iterator[Use]:
    """The uses up to the first that waits for the client."""
    for use in uses:
        yield use
        if waits(use):
            return


def _next(call: Call, open_errands: Sequence[Errand], seed: Seed) -> Iterator[Use]:
    """The calls of the first stage in which there is one that was not made before."""
    made, stage = list[ToolUse](), None
    for at, errand in enumerate(open_errands):
        if stage not in (None, errand.stage):
            return
        use = _use(call, errand, _of(seed, at))
        if isinstance(use, ToolUse):
            if known(call, errand, use.call) or _is_among(use.call, made):
                continue
            made.append(use)
        if use is not None:
            stage = errand.stage if waits(use) else stage
            yield use


def _use(call: Call, errand: Errand, seed: Seed) -> Use | None:
    """One errand done; None where nothing is known of such a tool."""
    if errand.tool.kind in OF_CLIENT:
        return tool_use(errand.tool, errand.said, seed)
    return hosted_use(errand.tool, _hearing(call, errand.said.text), seed)


def _hearing(call: Call, text: str) -> Call:
    """The call as if the user had said no more than this, whatever else there was to do."""
    *before, last = call.messages[: len(call.messages) - len(call.since_user)] or (None,)
    if last is None or not text:
        return call
    return replace(call, messages=(*before, replace(last, text=text), *call.since_user))


def _of(seed: Seed, at: int) -> Seed:
    """The first call draws from the seed itself, so that a further one does not change it."""
    return seed.branch("call", str(at)) if at else seed


def _is_among(made: ToolCall, uses: Iterable[ToolUse]) -> bool:
    return any(use.call.name == made.name and same(use.call.arguments, made.arguments) for use in uses)


def _demanded(call: Call, offered: Sequence[Tool], seed: Seed) -> Iterator[Use]:
    """A call that the tool choice demands, whether or not there is anything to do: one that is new, if there is any."""
    for tool in (_likeliest(call, offered), *offered):
        candidates = [concluding(call, tool)] if tool in closing(offered) else whole(call, tool)
        first: Use | None = None
        for at, errand in enumerate(candidates):
            use = _use(call, errand, _of(seed, at))
            if use is not None and (isinstance(use, Item) or not known(call, errand, use.call)):
                yield use
                return
            first = first or use
        if first is not None:
            yield first
            return


def _likeliest(call: Call, offered: Sequence[Tool]) -> Tool:
    """The tool that a model would call which has to call one: one that ends the turn, where there is nothing else."""
    ends, made = closing(offered), [old.name for old in calls_since_last_user(call)]
    spent = {*made, *(tool.name for tool in ends)}
    work = [tool for tool in offered if tool.name not in spent]
    if not made and (fitting := best(call.last_user, work, {})) is not None:
        return fitting
    said = mentions(call.last_user)
    spoken_of = sorted(ends, key=lambda tool: -said.evidence(properties_of(tool)))
    return next(iter((*spoken_of, *work)), None) or min(offered, key=lambda tool: made.count(tool.name))
