"""Which tools a model would call next, and with which arguments; nothing where it would answer in text.

Knows the conversation and the tools that it offers, no wire shape.
"""

import json

from mockserver.core.call import Call, Tool, ToolCall
from mockserver.core.plan import Item, ToolUse
from mockserver.core.seed import Seed
from mockserver.engine.generate.grammar import text_of
from mockserver.engine.generate.hosted import hosted_use
from mockserver.engine.generate.prompt import Mentions, mentions
from mockserver.engine.generate.prose import sentence
from mockserver.engine.generate.schema import instance

Use = ToolUse | Item


def tool_uses(call: Call, seed: Seed) -> tuple[Use, ...]:
    """The calls that come next, in order; none where the model answers in text."""
    if call.tool_choice.mode not in ("named", "required"):
        return ()
    names = call.tool_choice.names
    tool = next((tool for tool in call.tools if tool.name in names or not names), None)
    if tool is None:
        return ()
    use = _use(tool, call, seed)
    return () if use is None else (use,)


def tool_use(tool: Tool, said: Mentions, seed: Seed) -> ToolUse:
    """A call of one tool without an id, its arguments taken from what was said, and made up where nothing was."""
    if tool.kind == "custom":
        return ToolUse(ToolCall("", tool.name, _free_text(tool, said, seed), kind="custom"))
    made = instance(tool.parameters, seed.branch("arguments", tool.name), said) if tool.parameters else {}
    return ToolUse(ToolCall("", tool.name, _compact(made)))


def _use(tool: Tool, call: Call, seed: Seed) -> Use | None:
    own = tool.kind not in ("function", "custom")
    return hosted_use(tool, call, seed) if own else tool_use(tool, mentions(call.last_user), seed)


def _free_text(tool: Tool, said: Mentions, seed: Seed) -> str:
    if tool.grammar is None:
        return sentence(seed.stream("custom", tool.name))
    return text_of(*tool.grammar, seed.branch("grammar", tool.name), said)


_compact = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
