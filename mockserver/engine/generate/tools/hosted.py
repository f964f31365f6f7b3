"""Plausible uses of the provider's own tools: searches, code, commands, patches, what is done on a computer.

Knows their kinds and the conversation, not when they are called. Each is used once since the user spoke, but for the
computer, on which one step follows the other.
"""

import re
from collections.abc import Callable, Mapping

from mockserver.core.call import Call, Json, Tool
from mockserver.core.plan import Item
from mockserver.core.seed import Seed
from mockserver.engine.generate.tools.computer import next_step
from mockserver.engine.generate.tools.mcp import mcp_use
from mockserver.engine.own_tools import item

Use = Callable[[Tool, Call, Seed], Item | None]


def hosted_use(tool: Tool, call: Call, seed: Seed) -> Item | None:
    """The next use of one of the provider's own tools; None where there is nothing (more) that it would be used for."""
    return next((use(tool, call, seed) for kind, use in _USES.items() if tool.kind.startswith(kind)), None)


def _once(kind: str, given: Callable[[Tool, str], Mapping[str, Json]]) -> Use:
    """A use of that kind of item, unless there was one since the user spoke last."""

    def use(tool: Tool, call: Call, seed: Seed) -> Item | None:
        return None if _is_done(kind, call) else item(kind, given(tool, call.last_user[:_READ]))

    return use


def _is_done(kind: str, call: Call) -> bool:
    return any(
        any(part.get("type") == kind for part in message.parts) or any(made.kind == kind for made in message.tool_calls)
        for message in call.since_user
        if message.role == "assistant"
    )


def _search(text: str) -> Mapping[str, Json]:
    return {"query": _query(text)}


def _query(text: str) -> str:
    """What is searched for: the words after those that ask for a search."""
    found = _SEARCHED.search(text)
    words = " ".join((found["what"] if found else text).split())
    return words[:_LONGEST_QUERY].strip(" .?!\"'`") or "news"


def _code(tool: Tool, text: str) -> Mapping[str, Json]:
    container = tool.options.get("container")
    named = {"container_id": container} if isinstance(container, str) and container else {}
    return {"code": _quoted_code(text) or _computed(text), "outputs": [], **named}


def _quoted_code(text: str) -> str:
    found = _FENCE.search(text) or _TICKS.search(text)
    return found["code"].strip() if found else ""


def _computed(text: str) -> str:
    """Code for the sum or the numbers in a text."""
    if found := _SUM.search(text):
        return f"print({found[0].strip()})"
    numbers = _NUMBER.findall(text)[:50]
    return f"numbers = [{', '.join(numbers)}]\nprint(sum(numbers))" if numbers else "print('done')"


def _image(tool: Tool, text: str) -> Mapping[str, Json]:
    """An image as the tool is set, where it is set to one thing."""
    wanted = {key: tool.options.get(key) for key in ("background", "output_format", "quality", "size")}
    stated = {key: value for key, value in wanted.items() if isinstance(value, str) and value != "auto"}
    return {"revised_prompt": " ".join(text.split())[:_LONGEST_QUERY], **stated}


def _local_shell(tool: Tool, text: str) -> Mapping[str, Json]:
    return {"command": ["bash", "-lc", _command(text)]}


def _command(text: str) -> str:
    """A command that the user wants to be run as it is written, or a harmless one."""
    found = _RUN.search(text)
    return found["code"].strip() if found else "ls"


def _shell(tool: Tool, call: Call, seed: Seed) -> Item | None:
    """Commands for the client; in a container the provider runs them itself, which is not told."""
    environment = tool.options.get("environment")
    if isinstance(environment, Mapping) and str(environment.get("type")).startswith("container"):
        return None
    return _once("shell_call", lambda _, text: {"commands": [_command(text)]})(tool, call, seed)


def _patch(tool: Tool, text: str) -> Mapping[str, Json]:
    """A file that is named is made, or deleted where that is asked for."""
    found = _PATH.search(text)
    path = found[0] if found else "notes.txt"
    if _DELETE.search(text):
        return {"operation": {"type": "delete_file", "path": path}}
    lines = (_quoted_code(text) or _said(text) or "Hello.").splitlines()
    return {"operation": {"type": "create_file", "path": path, "diff": "".join(f"+{line}\n" for line in lines)}}


def _said(text: str) -> str:
    found = _QUOTED.search(text)
    return found["text"] if found else ""


_READ = 4_000  # characters of what the user says
_LONGEST_QUERY = 200
_SEARCHED = re.compile(
    r"\b(?:search|look\s+up|google|find|browse)\b(?:\s+(?:(?:in|on|through|the|my|our|web|internet|online|files?|documents?)\b))*"
    r"(?:\s+(?:for|about))?\s+(?P<what>[^\n]+)",
    re.IGNORECASE,
)
_FENCE = re.compile(r"```(?:\w*\n)?(?P<code>[^`]+)```")
_TICKS = re.compile(r"`(?P<code>[^`\n]+)`")
_RUN = re.compile(r"\b(?:run|execute|call|type|use)\b[^`\n.!?]{0,60}`(?P<code>[^`\n]+)`", re.IGNORECASE)
_SUM = re.compile(r"[\d(][\d.()]{0,30}(?:\s*[-+*/%]{1,2}\s*[\d(][\d.()]{0,30}){1,30}")
_NUMBER = re.compile(r"(?<![\w.])-?\d{1,15}(?:\.\d{1,15})?(?![\w.]*\w)")
_PATH = re.compile(r"(?<![\w./-])[\w./-]{0,100}\w\.[A-Za-z]\w{0,7}\b(?!\.\w)")
_DELETE = re.compile(r"\b(?:delete|remove)\b", re.IGNORECASE)
_QUOTED = re.compile(r'"(?P<text>[^"\n]+)"')

# The tools by how their types begin.
_USES: Mapping[str, Use] = {
    "web_search": _once("web_search_call", lambda tool, text: {**_search(text), "sources": []}),
    "file_search": _once("file_search_call", lambda tool, text: {**_search(text), "results": []}),
    "code_interpreter": _once("code_interpreter_call", _code),
    "image_generation": _once("image_generation_call", _image),
    "computer": next_step,
    "local_shell": _once("local_shell_call", _local_shell),
    "shell": _shell,
    "apply_patch": _once("apply_patch_call", _patch),
    "mcp": mcp_use,
}
