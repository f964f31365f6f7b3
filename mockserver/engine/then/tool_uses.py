"""Tool calls of a rule: arguments as a table, as text, free input, or made to fit the tool's schema."""

from dataclasses import replace

from mockserver.core.call import ToolCall
from mockserver.core.plan import Part, ToolUse
from mockserver.core.tokens import Chunks
from mockserver.engine.draft import Moment
from mockserver.engine.recipe import Recipe
from mockserver.engine.spec.models import ToolCallSpec
from mockserver.engine.then.json_text import json_text
from mockserver.engine.then.site import Site


def tool_use(call: ToolCallSpec, cut: Chunks, site: Site) -> Recipe[Part]:
    """The recipe for a call; without an id it gets one later."""
    return _tool_call(call, site).into(lambda made: ToolUse(made, cut))


def _tool_call(call: ToolCallSpec, site: Site) -> Recipe[ToolCall]:
    identity, name = call.id or "", call.name
    site.at("name").refuse_template(name)
    site.at("id").refuse_template(identity)
    if call.input is not None:
        if call.arguments is not None:
            site.at("input").refuse_key('"input" and "arguments" are two ways to say it; keep one')
        return site.at("input").text(call.input).into(lambda text: ToolCall(identity, name, text, "custom"))
    match call.arguments:
        case None | "auto":
            return Recipe(lambda moment: _automatic(moment, identity, name))
        case str() as source:
            arguments = site.at("arguments").text(source)
        case table:
            arguments = json_text(table, site.at("arguments"))
    return arguments.into(lambda text: ToolCall(identity, name, text))


def _automatic(moment: Moment, identity: str, name: str) -> ToolCall:
    """A call whose arguments fit the tool's schema; without any where the request does not offer the tool."""
    if moment.call.tool(name) is not None:
        for part in moment.generate("arguments", {"tool": name}, 0).parts:
            if isinstance(part, ToolUse):
                return replace(part.call, id=identity)
    return ToolCall(identity, name, "{}")
