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


def tool_use(call: ToolCallSpec, cut: Chunks, site: Site, *, before: int = 0) -> Recipe[Part]:
    """The recipe for a call, before which stand so many of the same tool; without an id it gets one later."""
    return _tool_call(call, site, before).into(lambda made: ToolUse(made, cut))


def _tool_call(call: ToolCallSpec, site: Site, before: int) -> Recipe[ToolCall]:
    identity, name = call.id or "", call.name
    site.at("name").refuse_template(name)
    site.at("id").refuse_template(identity)
    if call.input is not None:
        if call.arguments is not None:
            site.at("input").refuse_key('"input" and "arguments" are two ways to say it; keep one')
        return site.at("input").text(call.input).into(lambda text: ToolCall(identity, name, text, "custom"))
    match call.arguments:
        case None | "auto":
            return Recipe(lambda moment: _automatic(moment, ToolCall(identity, name, "{}"), before))
        case str() as source:
            arguments = site.at("arguments").text(source)
        case table:
            arguments = json_text(table, site.at("arguments"))
    return arguments.into(lambda text: ToolCall(identity, name, text))


def _automatic(moment: Moment, bare: ToolCall, before: int) -> ToolCall:
    """A call whose arguments fit the tool's schema; without any where the request does not offer the tool."""
    if moment.call.tool(bare.name) is not None:
        for part in moment.generate("arguments", {"tool": bare.name, "before": before}, 0).parts:
            if isinstance(part, ToolUse):
                return replace(part.call, id=bare.id)
    return bare
