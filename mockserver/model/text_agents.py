"""Agents whose tools and calls are text: lines of Thought and Action (ReAct), or code that calls functions.

A prompt is read as a call that offers its tools and holds its earlier steps; what comes next is written as it shows.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from mockserver.core.call import Call, Message, Tool, ToolCall, ToolChoice
from mockserver.core.json import Json, compact, try_parse
from mockserver.core.lazy import lazy_pattern
from mockserver.model.shapes import read, shape
from mockserver.model.tools.pending_calls import ending_tools
from mockserver.model.vocabulary import RULING, excerpt

Step = tuple[str, str, str]  # the name of a tool, its input, and what was observed


class TextAgent(Struct, frozen=True):
    """The call with tools, and with earlier steps as tool calls and results; how next steps and the end are written."""

    call: Call
    step: Callable[[Sequence[ToolCall]], str]
    final: Callable[[str], str]


def text_agent(call: Call) -> TextAgent | None:
    """Return the agent that a prompt describes, or None if it describes none."""
    said = call.messages or tuple(Message("user", prompt.text) for prompt in call.prompts)
    texts = (excerpt(each.text, _LONGEST) for each in said if "\n" in each.text)
    signs = (sign.search(text) for text in texts for parts, sign in _SIGNS if any(map(text.__contains__, parts)))
    if call.tools or call.options.response_format != "text" or not any(signs):
        return None
    call = replace(call, messages=said, prompts=())
    ruling = [each.text for each in said if each.role in RULING]
    first = next((each.text for each in said if each.role == "user"), "")
    prompt = excerpt("\n".join((*ruling, first, call.last_user if call.last_user != first else "")), _LONGEST)
    return _of_labels(call, prompt) or _of_code(call, prompt)


def _with_steps(call: Call, request: str, tools: Sequence[Tool], steps: Iterable[Step]) -> Call:
    known = {tool.name: tool for tool in tools}
    messages = [Message("user", request.strip())]
    for at, (name, given, seen) in enumerate(steps):
        loose = read(given, given.find("{")) if given.lstrip().startswith("{") else None
        value = try_parse(given, loose[0] if loose else None)
        only = next(iter(known[name].parameters["properties"]), "input") if name in known else "input"
        arguments = compact(value) if isinstance(value, Mapping) else compact({only: given.strip(" \"'")})
        made = ToolCall(f"step_{at}", name, arguments)
        messages += [Message("assistant", tool_calls=(made,)), Message("tool", seen.strip(), tool_call_id=made.id)]
    return replace(call, messages=tuple(messages), tools=tuple(tools), tool_choice=ToolChoice("auto"))


def _of_labels(call: Call, prompt: str) -> TextAgent | None:
    formats, blob = [*islice(_ACTION.finditer(prompt), _MOST)], _BLOB.search(prompt)
    shown = next((each for each in formats if _NAMES.search(each[0])), next(iter(formats), None))
    if shown is None and blob is None and _FINAL.search(prompt) is None:
        return None
    place = prompt[max(0, blob.start() - 600) :] if blob else shown[0] if shown else ""
    names = _NAMES.search(place)
    listed = [each.strip(" \"'`.") for each in names[1].split(",")] if names else []
    tools = _tools(prompt, [each for each in listed if each and each != "Final Answer"]) if place else []
    action, given, how = (shown["action"], shown["input"], shown["how"]) if shown else ("Action", "Action Input", "")
    after = prompt[shown.end() if shown else 0 :]
    observed, final = (found[1] if (found := label.search(after)) else usual for label, usual in _USUAL)
    request, steps = _transcript(call, {action: "name", given: "input", observed: "seen", final: "final"}, tools)
    ended = re.search(rf"(?m)^[ \t]*Thought:[ \t]*((?:I|Do I)\b[^\n]*)\n+[ \t]*{re.escape(final)}:", after)
    thinks = "Thought:" in prompt and not call.messages[-1].text.rstrip().endswith("Thought:")
    is_json = _KEYED.search(how) is not None

    def written(thought: str, rest: str) -> str:
        return f"{'Thought: ' * thinks}{thought}\n{rest}"

    def in_blob(name: str, value: Json) -> str:
        return f"Action:\n```json\n{compact({'action': name, 'action_input': value})}\n```"

    def step(made: Sequence[ToolCall]) -> str:
        name, arguments = made[0].name, try_parse(made[0].arguments)
        values = [*arguments.values()] if isinstance(arguments, Mapping) else []
        value = values[0] if len(values) == 1 and not is_json else arguments
        thought = "Do I need to use a tool? Yes" if "use a tool? Yes" in prompt else f"I should use {name}."
        if blob:
            return written(thought, in_blob(name, value))
        return written(thought, f"{action}: {name}\n{given}: {value if isinstance(value, str) else compact(value)}")

    def end(answer: str) -> str:
        thought = ended[1] if ended else "I now know the final answer"
        return written(thought, in_blob("Final Answer", answer) if blob else f"{final}: {answer}")

    return TextAgent(_with_steps(call, request, tools, steps), step, end)


def _transcript(call: Call, labels: Mapping[str, str], tools: Sequence[Tool]) -> tuple[str, list[Step]]:
    """The last request, and the steps made for it."""
    observed = next(label for label, kind in labels.items() if kind == "seen")
    texts = []
    for message in call.messages:
        asks = (
            message.role == "user"
            and not message.text.lstrip().startswith(observed)
            and not _ASKED.search(message.text)
        )
        if message.role not in RULING:
            lead = "Question: " if asks else f"{observed}: " if message.role == "tool" else ""
            texts.append(lead + excerpt(message.text, _LONGEST))
    names = "|".join(map(re.escape, sorted(labels, key=len, reverse=True)))
    pieces = re.split(rf"(?m)^[ \t*>]*({_QUESTIONS}|Thought|{names})\**\s*:\**", "\n".join(texts))
    known, request, steps = {tool.name for tool in tools}, "", list[Step]()
    name = given = ""
    for label, text in zip(pieces[1::2], pieces[2::2], strict=True):
        kind = labels.get(label, "asked" if re.fullmatch(_QUESTIONS, label) else "")
        if kind == "asked":
            request, steps = _FRAME.sub("", text), []
        elif kind == "name":
            quoted = read(text, text.find("{")) if "{" in text else None
            blob = quoted[0] if quoted and isinstance(quoted[0], Mapping) else {"": text.strip(" \n`*[]\"'")}
            name, *rest = (each if isinstance(each, str) else compact(each) for each in blob.values())
            given = "".join(rest[:1])
        elif kind == "input":
            given = text
        elif kind == "seen" and name in known:
            steps.append((name, given, text))
    return request, steps


def _tools(prompt: str, names: Sequence[str]) -> list[Tool]:
    """The tools of these names, or else all that a prompt lists, with what it says of them."""
    if not names:
        section = _SECTION.search(prompt)
        names = [found[1] for found in islice(_LISTED.finditer(section[1]), _MOST)] if section else []
    starts = {}
    for name in islice(dict.fromkeys(names), _MOST):
        found = re.search(rf"{_ENTRY}{re.escape(name)}[\"'`*]{{0,3}}(?=[(:,]| -|\n)", prompt)
        starts[name] = found.end() if found else len(prompt)
    order = sorted((*starts.values(), len(prompt)))
    entries = {
        at: prompt[at : min(order[order.index(at) + 1] if at < len(prompt) else at, at + 1500)]
        for at in starts.values()
    }
    return [Tool(name, _description(entries[at]), _parameters(entries[at])) for name, at in starts.items()]


def _description(entry: str) -> str:
    if said := re.search(r"\bDescription:[ \t]*((?:[^\n]+\n?)+)", entry):
        return said[1][:900]
    about = re.split(r"\n[ \t]*\n|(?i:\b(?:tool )?(?:args|arguments|parameters)\b\W)", entry, maxsplit=1)[0]
    return re.sub(r"^\([^()\n]*\)", "", about).strip(" \n:->\"'`")[:900] or entry.strip()[:900]


def _parameters(entry: str) -> Json:
    """The JSON Schema of the parameters in a tool's entry: `args: {…}`, or a signature; else one text."""
    found = _ARGUMENTS.search(entry)
    value = read(entry, found.end()) if found else None
    if value and isinstance(value[0], Mapping):
        listed = value[0].get("properties", value[0])
        fields = {name: _typed(each) for name, each in listed.items()} if isinstance(listed, Mapping) else {}
        return {"type": "object", "properties": fields, "required": [*fields]}
    signature = _SIGNATURE.match(entry)
    named = (
        [each for each in _PARAMETER.findall(signature[1]) if each[0] != "self"] if signature else [("input", "", "")]
    )
    properties = {name: _typed(kind.strip() or "string") for name, kind, _ in named}
    return {"type": "object", "properties": properties, "required": [name for name, _, default in named if not default]}


def _typed(said: Json) -> Json:
    if isinstance(said, Mapping):
        return {**said, **shape(str(said.get("type", "")))} | (
            {"description": said["description"]} if said.get("description") else {}
        )
    options = re.match(r"Literal\[(.*)\]", str(said))
    return {"enum": re.findall(r"[\w -]+", options[1])} if options else shape(str(said))


def _of_code(call: Call, prompt: str) -> TextAgent | None:
    """An agent that writes blocks of code, the last of which calls the function that takes the final answer."""
    lines = ((found[1], prompt[prompt.rfind("\n", 0, found.start()) + 1 :][:900]) for found in _CALLED.finditer(prompt))
    told = dict.fromkeys((name, line.partition("\n")[0]) for name, line in islice(lines, _MOST * 10))
    ends = dict.fromkeys(name for name, line in told if ending_tools((Tool(name, line),)))
    end = next((name for name in islice(ends, _MOST) if _orders(name, prompt)), None)
    block = None if end is None else _block(prompt, end)
    if end is None or block is None:
        return None
    before, opening, closing = block
    tools = [tool for tool in _tools(prompt, [found[1] for found in _FUNCTION.finditer(prompt)]) if tool.name != end]
    request, steps = "", list[Step]()
    for at, message in enumerate(call.messages):
        last = call.messages[at - 1].text if at and call.messages[at - 1].role == "assistant" else ""
        if message.role in RULING or message.role == "assistant":
            continue
        if (
            (opening in last and f"{end}(" not in last)
            or message.role == "tool"
            or message.text.startswith("Observation")
        ):
            counts = {tool.name: last.count(f"{tool.name}(") for tool in tools}
            used = [name for name, count in counts.items() for _ in range(min(count, _MOST))] or ["result"]
            steps += [(name, "{}", _NOISE.sub("", message.text).strip()) for name in used]
        elif not (request and _GOING_ON.fullmatch(message.text)):
            request, steps = message.text, []

    def written(thought: str, code: str) -> str:
        return f"{before.replace(_GAP, thought)}{opening}\n{code}\n{closing}"

    def step(made: Sequence[ToolCall]) -> str:
        calls = [f"{each.name}({_keywords(try_parse(each.arguments))})" for each in made]
        return written(f"I will call {made[0].name}.", "\n".join(f"print({each})" for each in calls))

    def final(answer: str) -> str:
        number = re.fullmatch(r"(?:.* = )?(-?\d+(?:\.\d+)?)", answer)
        return written("I have the final answer.", f"{end}({number[1] if number else repr(answer)})")

    return TextAgent(_with_steps(call, _HEADED.sub("", request), tools, steps), step, final)


def _orders(name: str, prompt: str) -> bool:
    said = (
        rf"(?i)\b(?:call|use|using|with|via|invoke|through)\b[^\n]{{0,80}}\b{name}\b|\b{name}\b[^\n]{{0,40}}\bends?\b"
    )
    return re.search(said, prompt) is not None


def _keywords(arguments: Json) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in arguments.items()) if isinstance(arguments, Mapping) else ""


def _block(prompt: str, end: str) -> tuple[str, str, str] | None:
    """What precedes a block of code that calls a function, with a gap for a thought, and its first and last line."""
    calls = [*re.finditer(rf"(?m)^[ \t]*(?:return )?{re.escape(end)}\(", prompt)]
    for called in reversed(calls[-_MOST:]):
        openings = [*_OPENING.finditer(prompt, max(0, called.start() - 2000), called.start())]
        closing = _CLOSING.search(prompt, called.end())
        if openings and closing:
            labels = _LABELS.search(prompt[max(0, openings[-1].start() - 800) : openings[-1].start()])
            heads = _LABEL.findall(labels[0]) if labels else []
            kept = [f"{name}: {_GAP if text else ''}" for name, text in heads if name not in ("Observation", "Task")]
            return "".join(f"{line.rstrip(' ')}\n" for line in kept), openings[-1][1], closing[1]
    said = _OPENED.search(prompt)
    before = f"Thought: {_GAP}\n" if "Thought:" in prompt else ""
    if said is None and not re.search(
        r"(?i)\b(?:write|respond|reply|answer|act|in|with)\b[^.\n]{0,60}(?:\bcode\b|```\w)", prompt
    ):
        return None
    fence = re.search(r"```\w+", prompt)
    return (before, said[1], said[2]) if said else (before, fence[0] if fence else "```python", "```")


_LONGEST, _MOST = 50_000, 50  # characters of a prompt; tools and places that are looked at
_GAP = "\0"  # where a thought goes
# Patterns of what agents' prompts show. A text that matches one holds one of the parts before it, found much faster.
_LABELLED = r"(?m)^[ \t>*`-]{0,12}(?:Final Answer|(?:Tool|Function|Call) ?(?:Input|Args|Arguments|Parameters))\**:"
_ENDING = (
    r"\b(?:final|finish|submit|done|complete|terminate|answer|respond|result|give|return|report)(?:_\w{1,30})?[`'\"]?"
    r"(?:\(| (?:tool|function)\b)|_(?<=\w_)(?:answer|result|task|done)[`'\"]?\("
)
_SIGNS = (
    (("Action", "action_input"), lazy_pattern(r"Action\W{1,4}Input|action_input")),
    (("Final Answer", "Input", "Args", "Arguments", "Parameters"), lazy_pattern(_LABELLED)),
    (("(", " tool", " function"), lazy_pattern(_ENDING)),
)
_ACTION = lazy_pattern(
    r"(?m)^[ \t>*`-]*(?P<action>Action|Tool|Function|Act|Call|Tool Name)\**:\**[ \t]*[^\n]*\n(?:[^\n:]*\n){0,3}?"
    r"[ \t>*`-]*(?P<input>(?:(?:Action|Tool|Function|Call)[ _]?)?(?:Input|Args|Arguments|Parameters|Query))\**:\**"
    r"(?P<how>[^\n]*)"
)
_FINAL = lazy_pattern(r"(?m)^[ \t>*`-]*Thought\**:[^\n]*\n+[ \t>*`-]*Final Answer\**:")
_BLOB = lazy_pattern(r"[\"']action_input[\"']")
_NAMES = lazy_pattern(
    r"(?i)(?:\bone (?:name )?of|valid [\"']action[\"'] values:(?: \"Final Answer\" or)?|"
    r"\b(?:available|allowed|following) (?:tools|actions|functions)(?: are)?:)[ \t]{0,9}(?:these |the following )?"
    r"[:\[({]{0,3}[ \t]{0,9}([^\])}\n\\]{1,4000})"
)
_USUAL = (
    (lazy_pattern(r"(?m)^[ \t>*`-]*(Observation|(?:Tool |Action )?(?:Result|Output|Response))\**:"), "Observation"),
    (lazy_pattern(r"(?m)^[ \t>*`-]*(Final \w+|Answer|Final|Conclusion|Finish)\**:"), "Final Answer"),
)
_QUESTIONS = r"(?:Question|Current Task|Task|New [Ii]nput|Input|Query|User|Human)"
_ASKED = lazy_pattern(rf"(?m)^[ \t>*]*{_QUESTIONS}\**\s*:")
_FRAME = lazy_pattern(r"\n(?:This is the expected criteria[^\n]*(?:\nyou MUST [^\n]*)?|Begin!(?s:.*))")
_KEYED = lazy_pattern(r"(?i)\bjson\b|\bdict|curly|kwargs|\bkeys?\b|\bobject\b")
_ENTRY = r"(?m)^[ \t>*(\d.)-]{0,12}(?:Tool Name:|name:|def )?[ \t\"'`*]{0,6}"
_ARGUMENTS = lazy_pattern(r"(?i)\b(?:args|arguments|parameters|inputs?|schema)\b[\"']?\s*:?\s*(?=\{)")
_SIGNATURE = lazy_pattern(r"\s*\(((?:[^()\n]|\([^()\n]*\)){0,500})\)")
_PARAMETER = lazy_pattern(r"(\w+)\s*(?::\s*((?:[^,=\[\]]|\[[^\]]*\])+))?\s*(=)?[^,]*(?:,|$)")
_SECTION = lazy_pattern(r"(?i)\b(?:tools?|functions?|actions?)\b[^\n]{0,80}:[ \t]*\n\s*((?:[^\n]+\n)+)")
_LISTED = lazy_pattern(
    r"(?m)^[ \t>*\d.)-]{0,12}[`*\"]{0,3}([a-zA-Z_]\w{1,60})[`*]*(?:\([^()\n]{0,300}\))?[^\n:]{0,60}?(?::| -)[ \t]+\S"
)
_CALLED = lazy_pattern(r"\b([a-zA-Z_]\w{2,60})[`'\"]?(?:\(| (?:tool|function)\b)")
_FUNCTION = lazy_pattern(
    r"(?m)^[ \t>*\d.-]{0,12}[`*]{0,3}(?:(?:async )?def |(?=\w{2,60}\([^()\n]{0,300}\)[`*]{0,3}(?:[ \t]*->|:| -| —)))"
    r"([A-Za-z_]\w{1,60})(?=\()"
)
_OPENING = lazy_pattern(r"(?m)^[ \t]*(```\w*|<\w{2,20}>|\[[A-Z_]{2,20}\])[ \t]*$")
_CLOSING = lazy_pattern(r"(?m)^[ \t]*(```\S{0,20}|</\w{2,20}>\S{0,20}|\[/[A-Z_]{2,20}\])[ \t]*$")
_OPENED = lazy_pattern(
    r"(?i)\b(?:opened|open|starts?|begins?|enclosed?|wrap(?:ped)?|put|inside|between)\b[^.\n]{0,40}?[`'\"]?(```\w*"
    r"|<\w{2,20}>|\[\w{2,20}\])[`'\"]?[^\n]{0,60}?[`'\"]?((?:```|</\w{2,20}>|\[/\w{2,20}\])(?:<\w+>)?)"
)
_LABELS = lazy_pattern(r"(?:^[ \t]*[A-Z]\w{2,20}:[^\n]*\n+){1,2}\Z", re.MULTILINE)
_LABEL = lazy_pattern(r"(?m)^[ \t]*([A-Z]\w{2,20}):[ \t]*([^\n]*)")
_NOISE = lazy_pattern(
    r"(?m)^(?:Observation|Execution logs|Last output from code snippet|Output|Result|Execution result)s?:[ \t]*|^None$"
)
_GOING_ON = lazy_pattern(
    r"(?i)\W*(?:(?:now|ok|okay|please|great)\W+){0,3}(?:proceed|continue|go on|go ahead|carry|keep going|start|begin)\b"
    r".{0,80}"
)
_HEADED = lazy_pattern(r"\A\s*(?:New task|Task|Question|Query)\s*:\s*")
