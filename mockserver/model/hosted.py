"""Uses of the provider's own tools, read from what the user says last, and the input of tools that take free text."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from mockserver.core.call import (
    Call,
    Tool,
    ToolChoice,
    list_recent_approvals,
    list_tool_calls,
)
from mockserver.core.hosted_tools import make_item
from mockserver.core.json import Json, try_parse
from mockserver.core.lazy import compile_lazily
from mockserver.core.plan import SERVED_MCP, Item, Text, ToolUse
from mockserver.core.seed import Seed
from mockserver.model.arguments import Mentions, find_mentions
from mockserver.model.arguments.assigning import find_announced
from mockserver.model.patterns import derive_text
from mockserver.model.vocabulary import draw_sentence, split_pieces

Action = dict[str, Json]


def make_hosted_use(tool: Tool, call: Call, seed: Seed, said: str = "") -> Item | None:
    """Return the next use of one of the provider's own tools; None where there is nothing (more) to use it for.

    `said` is what the user says to this tool, by default all that he says last.
    """
    said = said or call.last_user
    if tool.kind.startswith("computer"):
        return _make_computer_step(tool, call, said=said, seed=seed)
    if tool.kind == SERVED_MCP:  # its tools are offered besides
        return None
    if tool.kind.startswith("mcp"):
        return _make_mcp_use(tool, call, said=said, seed=seed)
    kind, body = next((use for name, use in _ONCE.items() if tool.kind.startswith(name)), ("", None))
    if body is None or _is_done(kind, call):
        return None
    given = body(tool, said[:_MOST_READ])
    return None if given is None else make_item(kind, given)


def cite_sources(uses: Sequence[Item | ToolUse], text: Text) -> Text:
    """Return a text with what web searches found as its sources."""
    actions = (use.body.get("action") for use in uses if isinstance(use, Item) and use.kind == "web_search_call")
    urls = [source["url"] for action in actions if isinstance(action, Mapping) for source in action.get("sources", ())]
    places = {"type": "url_citation", "start_index": 0, "end_index": len(text.text)}
    # An address that was made up names its page: `News about whales`.
    titles = [url.rpartition("/")[2].replace("-", " ").capitalize() for url in urls]
    cited = [{**places, "title": title, "url": url} for title, url in zip(titles, urls, strict=True)]
    return replace(text, annotations=(*text.annotations, *cited)) if cited else text


def write_free_text(tool: Tool, said: Mentions, seed: Seed) -> str:
    """Return the input of a custom tool: by its grammar, if it has one, or else from what the user says.

    Raises Failure where the grammar is broken.
    """
    if tool.grammar is not None:
        return derive_text(tool.grammar, seed.branch("grammar", tool.name), said)
    named = rf"(?is)^.{{0,60}}?\b{re.escape(tool.name)}\b(?: tool)?\s*(?:to|with|on|for|and)?\s*"
    _, colon, after = (rest := re.sub(named, "", said.text, count=1)).partition(": ")
    text = _find(said, "code", "quoted") or (after if colon else _POLITE.sub("", rest)).strip()
    return text or draw_sentence(seed.stream("custom", tool.name))


def _find(said: Mentions, *kinds: str) -> str:
    """Return the first value of these kinds that a text mentions, the likeliest kind first; "" for none."""
    found = (str(each.value) for kind in kinds for each in said.found if each.kind == kind)
    return next(found, "").strip()


def _is_done(kind: str, call: Call) -> bool:
    messages = [message for message in call.since_user if message.role == "assistant"]
    parts = [part.get("type") for message in messages for part in message.parts]
    return kind in (*parts, *(made.kind for message in messages for made in message.tool_calls))


def _write_search(tool: Tool, text: str) -> Mapping[str, Json]:
    place = find_announced(text, "query", ())
    query = " ".join((text[slice(*place)] if place else text).split())[:_LONGEST_QUERY].strip(" .?!\"'`")
    words = [piece for piece in split_pieces(query.lower()) if piece.isalnum()]
    found = "-".join(words[:_MOST_IN_ADDRESS]) or "news"
    sources = {"sources": [f"https://example.com/{found}"]} if tool.kind.startswith("web") else {}
    return {"query": query or "news", **sources}


def _write_code(tool: Tool, text: str) -> Mapping[str, Json]:
    container = tool.options.get("container")
    said = find_mentions(text)
    named = {"container_id": container} if isinstance(container, str) and container else {}
    numbers = [str(each.value) for each in said.found if each.kind == "number"][:50]
    summed = f"numbers = [{', '.join(numbers)}]\nprint(sum(numbers))" if numbers else "print('done')"
    expression = _find(said, "expression")
    code = _find(said, "code") or (f"print({expression})" if expression else summed)
    return {"code": code, "outputs": [], **named}


def _write_image(tool: Tool, text: str) -> Mapping[str, Json]:
    options = {key: tool.options.get(key) for key in ("background", "output_format", "quality", "size")}
    stated = {key: value for key, value in options.items() if isinstance(value, str) and value != "auto"}
    return {"revised_prompt": " ".join(text.split())[:_LONGEST_QUERY], **stated}


def _write_shell_commands(tool: Tool, text: str) -> Mapping[str, Json] | None:
    """Return commands for the client; None for a container, where the provider runs them without saying so."""
    command = _find(find_mentions(text), "code") or "ls"
    if tool.kind == "local_shell":
        return {"command": ["bash", "-lc", command]}
    environment = tool.options.get("environment")
    contained = isinstance(environment, Mapping) and str(environment.get("type")).startswith("container")
    return None if contained else {"commands": [command]}


def _write_patch(tool: Tool, text: str) -> Mapping[str, Json]:
    said = find_mentions(text)
    path = _find(said, "path") or "notes.txt"
    if text.lower().startswith(("delete", "remove")):
        return {"operation": {"type": "delete_file", "path": path}}
    lines = (_find(said, "code", "quoted") or "Hello.").splitlines()
    return {"operation": {"type": "create_file", "path": path, "diff": "".join(f"+{line}\n" for line in lines)}}


def list_allowed(tool: Tool) -> list[str]:
    """Return the tools of an MCP server that the client allows by name."""
    return _list_names(tool.options.get("allowed_tools"))


def limit_to_choice(tool: Tool, choice: ToolChoice) -> Tool | None:
    """Return the tool as far as a choice allows it: of an MCP server perhaps one tool, of another server nothing."""
    if tool.kind != "mcp" or not choice.servers:
        return tool
    names = [each.name for each in choice.servers if each.label == tool.options.get("server_label")]
    if not names:
        return None
    return tool if "" in names else replace(tool, options={**tool.options, "allowed_tools": names})


def _make_mcp_use(tool: Tool, call: Call, said: str, seed: Seed) -> Item | None:
    """Return a call of a server's tool, or first the question whether it may be made; None after that."""
    label = str(tool.options.get("server_label") or "server")
    names = list_allowed(tool)
    parts = [part for message in call.since_user for part in message.parts if part.get("server_label") == label]
    if not names:
        return None if parts else make_item("mcp_list_tools", {"server_label": label, "tools": []})
    answered = list_recent_approvals(call)
    if (answered and not answered[-1].approved) or any(part.get("type") == "mcp_call" for part in parts):
        return None
    said = said[:_LONGEST_MCP_QUERY]
    words = set(split_pieces(said.lower()))
    name = max(names, key=lambda name: len(words.intersection(split_pieces(name.lower()))))
    arguments = json.dumps({"query": " ".join(said.split())}, ensure_ascii=False)
    use = {"server_label": label, "name": name, "arguments": arguments}
    if not answered and _needs_approval(tool.options.get("require_approval"), name):
        return make_item("mcp_approval_request", use)
    return make_item("mcp_call", {**use, "output": draw_sentence(seed.stream("mcp", label))})


def _list_names(allowed: Json) -> list[str]:
    listed = allowed.get("tool_names") if isinstance(allowed, Mapping) else allowed
    return [name for name in listed if isinstance(name, str) and name] if isinstance(listed, list) else []


def _needs_approval(required: Json, name: str) -> bool:
    """Return whether a call must be approved first: always, unless the client says otherwise."""
    if not isinstance(required, Mapping):
        return bool(required != "never")
    return name in _list_names(required.get("always")) or name not in _list_names(required.get("never"))


def _make_computer_step(tool: Tool, call: Call, said: str, seed: Seed) -> Item | None:
    """Return the next action on a computer: a look at the screen, then one other.

    After that it is None, as nothing is repeated.
    """
    made = [use.arguments for use in list_tool_calls(call) if use.kind == "computer_call"]
    left = [action for action in _list_actions(tool, said, seed) if action not in map(try_parse, made)]
    if not left:
        return None
    several = tool.kind == "computer"  # the newest takes lists
    return make_item("computer_call", {"actions": left[:1]} if several else {"action": left[0]})


def _list_actions(tool: Tool, text: str, seed: Seed) -> Iterator[Action]:
    said = find_mentions(text[:_MOST_READ])
    rng = seed.stream("computer")
    yield {"type": "screenshot"}
    if text := _find(said, "quoted", "code"):
        yield {"type": "type", "text": text}
    elif "screenshot" not in said.text.lower():
        stated = {side: tool.options.get(f"display_{side}") for side in _USUAL_SIZE}
        size = [given if type(given) is int and given > 0 else _USUAL_SIZE[side] for side, given in stated.items()]
        place = [abs(int(each.value)) for each in said.found if each.kind == "number"][:2]
        drawn = [int(side * (0.1 + 0.8 * rng.random())) for side in size]
        x, y = (min(at, most - 1) for at, most in zip(place if len(place) == 2 else drawn, size, strict=True))
        yield {"type": "click", "button": "left", "x": x, "y": y}


_MOST_READ = 4_000  # characters
_LONGEST_QUERY = 200  # characters
_LONGEST_MCP_QUERY = 1_000  # characters
_POLITE = compile_lazily(r"^\s*(?:please|can you|could you|would you|kindly)\s+", re.IGNORECASE)  # characters
_MOST_IN_ADDRESS = 6  # words
_USUAL_SIZE = {"width": 1024, "height": 768}
# Tools that are used once for each message of the user, by how their types begin: the item, and what it says.
_ONCE: Mapping[str, tuple[str, Callable[[Tool, str], Mapping[str, Json] | None]]] = {
    "web_search": ("web_search_call", _write_search),
    "file_search": ("file_search_call", _write_search),
    "code_interpreter": ("code_interpreter_call", _write_code),
    "image_generation": ("image_generation_call", _write_image),
    "local_shell": ("local_shell_call", _write_shell_commands),
    "shell": ("shell_call", _write_shell_commands),
    "apply_patch": ("apply_patch_call", _write_patch),
}
