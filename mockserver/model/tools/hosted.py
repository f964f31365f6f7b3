"""What a model does on a computer: it looks first, and then does what the user asks for, one step after the other.

Reads commands such as click, type, scroll, press and open out of what the user said last.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice

from mockserver.core.call import Call, Tool, ToolChoice
from mockserver.core.hosted_tools import item
from mockserver.core.json import Json, parsed
from mockserver.core.plan import Item
from mockserver.core.seed import Random, Seed
from mockserver.core.tool_results import calls, calls_since_last_user
from mockserver.model.arguments import Mentions
from mockserver.model.fillers import sentence
from mockserver.model.grammar import text_of


def free_text(tool: Tool, said: Mentions, seed: Seed) -> str:
    """The input of a custom tool: by its grammar, if it has one, or else out of what was said.

    Raises Failure where the grammar is broken.
    """
    if tool.grammar is not None:
        return text_of(*tool.grammar, seed.branch("grammar", tool.name), said)
    return _quoted(said.text) or _rest(tool, said.text) or sentence(seed.stream("custom", tool.name))


def _quoted(said: str) -> str:
    """What stands in a fence or in quotes."""
    for pattern in (_FENCE, _TICKS, _QUOTES):
        if found := pattern.search(said):
            return next(group for group in found.groups() if group is not None).strip("\n")
    return ""


def _rest(tool: Tool, said: str) -> str:
    """What follows a colon or the words that ask for the tool."""
    asked = re.compile(rf"^.{{0,60}}?\b{re.escape(tool.name)}\b(?:\s+tool)?\s*(?:to|with|on|for|and)?\s*", re.I | re.S)
    rest = asked.sub("", said, count=1)
    _, colon, after = rest.partition(": ")
    return (after if colon else _POLITE.sub("", rest)).strip()


_FENCE = re.compile(r"```(?:\w*\n)?([^`]*)```")
_TICKS = re.compile(r"`([^`\n]+)`")
_QUOTES = re.compile(r'"([^"]+)"|“([^“”]+)”|«([^«»]+)»')
_POLITE = re.compile(r"^\s*(?:please|can you|could you|would you|kindly)\s+", re.IGNORECASE)


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


Action = Mapping[str, Json]


def next_step(tool: Tool, call: Call, seed: Seed) -> Item | None:
    """The next step, within the screen that the tool describes; None when all has been done.

    No action is repeated in a conversation; the first is a look at the screen.
    """
    done, earlier = (
        [made.arguments for made in asked if made.kind == "computer_call"]
        for asked in (calls_since_last_user(call), calls(call))
    )
    screen = Screen.of(tool.options, seed.stream("computer"))
    looked = len(earlier) > len(done)  # for what the user said before
    steps = [*([] if looked else [_LOOK]), *actions(call.last_user, screen)]
    known = [parsed(arguments) for arguments in earlier]
    action = next((step for step in steps[len(done) :] if dict(step) not in known), None)
    if action is None:
        return None
    several = tool.kind == "computer"  # the newest takes lists
    return item("computer_call", {"actions": [action]} if several else {"action": action})


@dataclass(frozen=True, slots=True)
class Screen:
    """How large the screen is, in pixels, and where on it something may be."""

    width: int
    height: int
    rng: Random

    @classmethod
    def of(cls, options: Mapping[str, Json], rng: Random) -> "Screen":
        """The screen that a tool describes."""
        width, height = (options.get(key) for key in ("display_width", "display_height"))
        return cls(_size(width, 1024), _size(height, 768), rng)

    def somewhere(self) -> dict[str, Json]:
        """A place well inside."""
        return {"x": _inside(self.width, self.rng.random()), "y": _inside(self.height, self.rng.random())}

    def place(self, text: str) -> dict[str, Json]:
        """The place that a text gives, as far as it is on the screen, or else some place."""
        somewhere = self.somewhere()
        found = _PLACE.search(text)
        if not found:
            return somewhere
        return {"x": min(int(found["x"]), self.width - 1), "y": min(int(found["y"]), self.height - 1)}


def actions(text: str, screen: Screen) -> Iterator[Action]:
    """What a text asks to be done, in its order; a click somewhere if it asks for nothing that is known."""
    text = text[:_COMPUTER_READ]
    verbs = [*islice(_verbs(text), _MOST_STEPS)]
    for at, verb in enumerate(verbs):
        end = verbs[at + 1].start() if at + 1 < len(verbs) else len(text)
        yield from _MAKERS[str(verb.lastgroup)](text[verb.end() : end], screen)
    if not verbs:
        address = _ADDRESS.search(text)
        yield from _opened(address[0], screen) if address else _clicked(text, screen)


def _verbs(text: str) -> Iterator[re.Match[str]]:
    """The verbs outside quotes."""
    quoted = [found.span() for found in _COMPUTER_QUOTED.finditer(text)]
    for verb in _VERB.finditer(text):
        if not any(start <= verb.start() < end for start, end in quoted):
            yield verb


def _clicked(rest: str, screen: Screen) -> Iterator[Action]:
    yield {"type": "click", "button": "left", **screen.place(rest)}


def _right_clicked(rest: str, screen: Screen) -> Iterator[Action]:
    yield {"type": "click", "button": "right", **screen.place(rest)}


def _double_clicked(rest: str, screen: Screen) -> Iterator[Action]:
    yield {"type": "double_click", **screen.place(rest)}


def _moved(rest: str, screen: Screen) -> Iterator[Action]:
    yield {"type": "move", **screen.place(rest)}


def _dragged(rest: str, screen: Screen) -> Iterator[Action]:
    places = [{"x": int(found["x"]), "y": int(found["y"])} for found in _PLACE.finditer(rest)]
    inside = [{"x": min(at["x"], screen.width - 1), "y": min(at["y"], screen.height - 1)} for at in places[:20]]
    yield {"type": "drag", "path": inside if len(inside) > 1 else [screen.somewhere(), screen.somewhere()]}


def _scrolled(rest: str, screen: Screen) -> Iterator[Action]:
    amount = next((int(found[0]) for found in _AMOUNT.finditer(rest)), screen.height // 2)
    way = _WAY.search(rest)
    by = _WAYS[way[0].lower() if way else "down"]
    yield {"type": "scroll", **screen.somewhere(), "scroll_x": by[0] * amount, "scroll_y": by[1] * amount}


def _typed(rest: str, screen: Screen) -> Iterator[Action]:
    if text := _words(rest):
        yield {"type": "type", "text": text}


def _searched(rest: str, screen: Screen) -> Iterator[Action]:
    yield {"type": "click", "button": "left", **screen.somewhere()}
    yield from _typed(rest, screen)
    yield {"type": "keypress", "keys": ["ENTER"]}


def _opened(rest: str, screen: Screen) -> Iterator[Action]:
    address = _ADDRESS.search(rest)
    if address is None:
        yield {"type": "double_click", **screen.place(rest)}
        return
    yield {"type": "keypress", "keys": ["CTRL", "L"]}
    yield {"type": "type", "text": address[0].rstrip(".,;:!?")}
    yield {"type": "keypress", "keys": ["ENTER"]}


def _pressed(rest: str, screen: Screen) -> Iterator[Action]:
    """Keys where some are named; else a button on the screen is meant."""
    found = _KEYS.match(rest)
    if found is None:
        yield from _clicked(rest, screen)
        return
    yield {"type": "keypress", "keys": [_NAMES.get(key, key) for key in re.split(r"\s*\+\s*", found["keys"].upper())]}


def _waited(rest: str, screen: Screen) -> Iterator[Action]:
    yield {"type": "wait"}


def _looked(rest: str, screen: Screen) -> Iterator[Action]:
    """Everything begins with a look at the screen."""
    yield from ()


def _words(rest: str) -> str:
    """What is to be typed: what stands in quotes, or else the words up to the next turn of the sentence."""
    if found := _COMPUTER_QUOTED.search(rest):
        return found[0][1:-1]
    return _TURN.split(rest, maxsplit=1)[0].strip(" .,;:!?\n")


def _size(value: Json, usual: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else usual


def _inside(length: int, fraction: float) -> int:
    return int(length * (0.1 + 0.8 * fraction))


_COMPUTER_READ = 4_000  # characters of what the user says
_MOST_STEPS = 30
_LOOK: Action = {"type": "screenshot"}
_VERB = re.compile(
    r"\b(?:(?P<double>double[- ]?click)|(?P<right>right[- ]?click)|(?P<search>search(?:\s+for)?)|(?P<scroll>scroll)"
    r"|(?P<type>type|(?<!press )(?<!hit )(?<!the )enter|write|input|fill(?:\s+in)?)"
    r"|(?P<open>open|go\s+to|navigate(?:\s+to)?|visit|browse(?:\s+to)?)"
    r"|(?P<drag>drag)|(?P<move>hover|move)|(?P<press>press|hit)|(?P<click>click|tap|select|choose)|(?P<wait>wait)"
    r"|(?P<look>(?:take\s+(?:a|another)\s+)?screenshot))\b",
    re.IGNORECASE,
)
_COMPUTER_QUOTED = re.compile(r"\"[^\"\n]{1,500}\"|“[^”\n]{1,500}”|`[^`\n]{1,500}`|(?<!\w)'[^'\n]{1,500}'(?!\w)")
_PLACE = re.compile(r"(?<![\w.])(?P<x>\d{1,5})\s?[,x]\s?(?:y\s?=\s?)?(?P<y>\d{1,5})(?![\w.]*\w)")
_ADDRESS = re.compile(
    r"\bhttps?://[^\s\"'<>]{1,500}|(?<![\w@.])(?:[a-z0-9-]{1,63}\.){1,5}[a-z]{2,12}\b(?:/[^\s\"'<>]{0,300})?", re.I
)
_AMOUNT = re.compile(r"(?<![\w.])\d{1,5}(?![\w.]*\w)")
_WAY = re.compile(r"\b(?:up|down|left|right)\b", re.IGNORECASE)
_WAYS = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}
_KEYS = re.compile(
    r"\s*(?:the\s+)?(?P<keys>(?:(?:ctrl|control|alt|shift|cmd|command|meta)\s*\+\s*){0,3}"
    r"(?:enter|return|esc(?:ape)?|tab|space|backspace|delete|home|end|page(?:up|down)|f\d{1,2}|(?<=\+)\w|(?<=\+\s)\w))\b",
    re.IGNORECASE,
)
_NAMES = {"RETURN": "ENTER", "ESCAPE": "ESC", "CONTROL": "CTRL", "COMMAND": "CMD"}
_TURN = re.compile(r"[,.;\n]|\s(?:and|then|in(?:to)?|on|at|inside)\s", re.IGNORECASE)

_MAKERS: Mapping[str, Callable[[str, Screen], Iterator[Action]]] = {
    "double": _double_clicked,
    "right": _right_clicked,
    "search": _searched,
    "scroll": _scrolled,
    "type": _typed,
    "open": _opened,
    "drag": _dragged,
    "move": _moved,
    "press": _pressed,
    "click": _clicked,
    "wait": _waited,
    "look": _looked,
}


Use = Callable[[Tool, Call, Seed], Item | None]


def hosted_use(tool: Tool, call: Call, seed: Seed) -> Item | None:
    """The next use of one of the provider's own tools; None where there is nothing (more) that it would be used for."""
    return next((use(tool, call, seed) for kind, use in _USES.items() if tool.kind.startswith(kind)), None)


def _once(kind: str, given: Callable[[Tool, str], Mapping[str, Json]]) -> Use:
    """A use of that kind of item, unless there was one since the user spoke last."""

    def use(tool: Tool, call: Call, seed: Seed) -> Item | None:
        return None if _is_done(kind, call) else item(kind, given(tool, call.last_user[:_HOSTED_READ]))

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
    found = _HOSTED_FENCE.search(text) or _HOSTED_TICKS.search(text)
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


_HOSTED_READ = 4_000  # characters of what the user says
_LONGEST_QUERY = 200
_SEARCHED = re.compile(
    r"\b(?:search|look\s+up|google|find|browse)\b(?:\s+(?:(?:in|on|through|the|my|our|web|internet|online|files?|documents?)\b))*"
    r"(?:\s+(?:for|about))?\s+(?P<what>[^\n]+)",
    re.IGNORECASE,
)
_HOSTED_FENCE = re.compile(r"```(?:\w*\n)?(?P<code>[^`]+)```")
_HOSTED_TICKS = re.compile(r"`(?P<code>[^`\n]+)`")
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
