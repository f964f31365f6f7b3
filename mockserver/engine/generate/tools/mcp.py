"""Plausible uses of an MCP server: its tools listed, an approval asked for, a tool called.

Nothing is fetched from any server: what tools it has is taken from those that the client allows.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from mockserver.core.call import Call, Json, Tool, ToolChoice
from mockserver.core.plan import Item
from mockserver.core.seed import Seed
from mockserver.engine.generate.filler import sentence
from mockserver.engine.own_tools import item


def mcp_use(tool: Tool, call: Call, seed: Seed) -> Item | None:
    """The next use of an MCP server: a call, or first the question whether it may be made; None after that."""
    label = str(tool.options.get("server_label") or "server")
    items = [part for part in _since_last_user(call) if part.get("server_label") == label]
    names = allowed(tool)
    if not names:
        listed = {"server_label": label, "tools": []}
        return None if items else item("mcp_list_tools", listed)
    use = {"server_label": label, "name": _fitting(names, call.last_user), "arguments": _arguments(call.last_user)}
    if any(part["type"] == "mcp_call" for part in items):
        return None
    approved = _approval(call)
    if approved is False:
        return None
    if approved is None and _needs_approval(tool.options.get("require_approval"), use["name"]):
        return item("mcp_approval_request", use)
    return item("mcp_call", {**use, "output": sentence(seed.stream("mcp", label))})


def allowed(tool: Tool) -> list[str]:
    """The names of the tools of an MCP server that the client allows; none where it names none."""
    return _names(tool.options.get("allowed_tools"))


def meant(tool: Tool, choice: ToolChoice) -> Tool | None:
    """The tool as far as a choice means it: of an MCP server perhaps one tool, of another server nothing."""
    if tool.kind != "mcp" or not choice.servers:
        return tool
    label = tool.options.get("server_label")
    names = [name for server, name in choice.servers if server == label]
    if not names:
        return None
    return tool if "" in names else replace(tool, options={**tool.options, "allowed_tools": names})


def _since_last_user(call: Call) -> Iterator[Mapping[str, Json]]:
    for message in call.since_user:
        yield from (part for part in message.parts if isinstance(part.get("type"), str))


def _names(allowed: Json) -> list[str]:
    """The names of the tools that the client allows."""
    listed = allowed.get("tool_names") if isinstance(allowed, Mapping) else allowed
    return [name for name in listed if isinstance(name, str) and name] if isinstance(listed, list) else []


def _fitting(names: list[str], text: str) -> str:
    """The tool whose name shares the most words with a text; the first of them."""
    words = set(_WORD.findall(text[:_READ].lower()))
    return max(names, key=lambda name: len(words.intersection(_WORD.findall(name.lower()))))


def _arguments(text: str) -> str:
    return json.dumps({"query": " ".join(text[:_READ].split())}, ensure_ascii=False)


def _approval(call: Call) -> bool | None:
    """What the user has answered to the last request for approval; None without any answer."""
    asked = [made.id for message in call.messages for made in message.tool_calls if made.kind == "mcp_approval_request"]
    for message in reversed(call.messages):
        if message.role == "user":
            return None
        if message.role == "tool" and message.tool_call_id in asked:
            return '"approve":true' in message.text
    return None


def _needs_approval(required: Json, name: str) -> bool:
    """Whether a call must be approved first: always, unless the client says otherwise."""
    if not isinstance(required, Mapping):
        return bool(required != "never")
    always, never = (_names(required.get(key)) for key in ("always", "never"))
    return name in always or name not in never


_READ = 1_000
_WORD = re.compile(r"[a-z0-9]+")
