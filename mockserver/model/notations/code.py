"""Blocks of code that call functions, the last of which takes the final answer (smolagents and its like)."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from mockserver.core.call import Call, Tool, ToolCall
from mockserver.core.lazy import lazy_pattern
from mockserver.model.notations import (
    MOST,
    AgentStep,
    TextAgent,
    make_agent_call,
    read_steps,
    read_tools,
    write_keywords,
)
from mockserver.model.tool_uses import find_ending_tools


class Block(Struct, frozen=True):
    """A block of code as the prompt shows it: what precedes it, with a gap for a thought; its first and last line."""

    before: str
    opening: str
    closing: str
    end: str  # the function that takes the answer

    def write_calls(self, calls: Sequence[ToolCall]) -> str:
        lines = [f"print({each.name}({write_keywords(each.arguments)}))" for each in calls]
        return self._write(f"I will call {calls[0].name}.", "\n".join(lines))

    def write_answer(self, answer: str) -> str:
        number = re.fullmatch(r"(?:.* = )?(-?\d+(?:\.\d+)?)", answer)
        return self._write("I have the final answer.", f"{self.end}({number[1] if number else repr(answer)})")

    def _write(self, thought: str, code: str) -> str:
        return f"{self.before.replace(_GAP, thought)}{self.opening}\n{code}\n{self.closing}"


def read(call: Call, prompt: str) -> TextAgent | None:
    if "(" not in prompt or _ENDING.search(prompt) is None:
        return None
    lines = ((found[1], prompt[prompt.rfind("\n", 0, found.start()) + 1 :][:900]) for found in _CALLED.finditer(prompt))
    told = dict.fromkeys((name, line.partition("\n")[0]) for name, line in islice(lines, MOST * 10))
    ends = dict.fromkeys(name for name, line in told if find_ending_tools((Tool(name, line),)))
    end = next((name for name in islice(ends, MOST) if _is_ordered(name, prompt)), None)
    block = None if end is None else _read_block(prompt, end)
    if block is None:
        return None
    functions = [found[1] for found in _FUNCTION.finditer(prompt)]
    tools = [tool for tool in read_tools(prompt, functions) if tool.name != end]
    request, steps = _read_transcript(call, block, tools)
    return TextAgent(make_agent_call(call, request, tools, steps), block.write_calls, block.write_answer)


def _is_ordered(name: str, prompt: str) -> bool:
    said = (
        rf"(?i)\b(?:call|use|using|with|via|invoke|through)\b[^\n]{{0,80}}\b{name}\b|\b{name}\b[^\n]{{0,40}}\bends?\b"
    )
    return re.search(said, prompt) is not None


def _read_block(prompt: str, end: str) -> Block | None:
    """The last block that calls a function; else the fence that the prompt orders."""
    calls = [*re.finditer(rf"(?m)^[ \t]*(?:return )?{re.escape(end)}\(", prompt)]
    for called in reversed(calls[-MOST:]):
        openings = [*_OPENING.finditer(prompt, max(0, called.start() - 2000), called.start())]
        closing = _CLOSING.search(prompt, called.end())
        if openings and closing:
            labels = _LABELS.search(prompt[max(0, openings[-1].start() - 800) : openings[-1].start()])
            heads = _LABEL.findall(labels[0]) if labels else []
            kept = [f"{name}: {_GAP if text else ''}" for name, text in heads if name not in ("Observation", "Task")]
            return Block("".join(f"{line.rstrip(' ')}\n" for line in kept), openings[-1][1], closing[1], end)
    if _IN_CODE.search(prompt) is None:
        return None
    fence = re.search(r"```\w+", prompt)
    return Block(f"Thought: {_GAP}\n" if "Thought:" in prompt else "", fence[0] if fence else "```python", "```", end)


def _read_transcript(call: Call, block: Block, tools: Sequence[Tool]) -> tuple[str, list[AgentStep]]:
    """The last request, and a step for each function that its blocks have called."""

    def read_calls(text: str) -> Iterator[tuple[str, str]]:
        if block.opening not in text or f"{block.end}(" in text:
            return
        counts = {tool.name: min(text.count(f"{tool.name}("), MOST) for tool in tools}
        yield from [(name, "{}") for name, count in counts.items() for _ in range(count)] or [("result", "{}")]

    messages = [each for each in call.messages if each.role != "user" or not _GOING_ON.fullmatch(each.text)]
    request, steps = read_steps(replace(call, messages=tuple(messages)), read_calls, _HEADED)
    return request, [replace(step, seen=_NOISE.sub("", step.seen).strip()) for step in steps]


_GAP = "\0"  # where a thought goes
_ENDING = lazy_pattern(
    r"\b(?:final|finish|submit|done|complete|terminate|answer|respond|result|give|return|report)(?:_\w{1,30})?[`'\"]?"
    r"(?:\(| (?:tool|function)\b)|_(?<=\w_)(?:answer|result|task|done)[`'\"]?\("
)
_CALLED = lazy_pattern(r"\b([a-zA-Z_]\w{2,60})[`'\"]?(?:\(| (?:tool|function)\b)")
_FUNCTION = lazy_pattern(
    r"(?m)^[ \t>*\d.-]{0,12}[`*]{0,3}(?:(?:async )?def |(?=\w{2,60}\([^()\n]{0,300}\)[`*]{0,3}(?:[ \t]*->|:| -| —)))"
    r"([A-Za-z_]\w{1,60})(?=\()"
)
_OPENING = lazy_pattern(r"(?m)^[ \t]*(```\w*|<\w{2,20}>|\[[A-Z_]{2,20}\])[ \t]*$")
_CLOSING = lazy_pattern(r"(?m)^[ \t]*(```\S{0,20}|</\w{2,20}>\S{0,20}|\[/[A-Z_]{2,20}\])[ \t]*$")
_IN_CODE = lazy_pattern(r"(?i)\b(?:write|respond|reply|answer|act|in|with)\b[^.\n]{0,60}(?:\bcode\b|```\w)")
_LABELS = lazy_pattern(r"(?:^[ \t]*[A-Z]\w{2,20}:[^\n]*\n+){1,2}\Z", re.MULTILINE)
_LABEL = lazy_pattern(r"(?m)^[ \t]*([A-Z]\w{2,20}):[ \t]*([^\n]*)")
_NOISE = lazy_pattern(
    r"(?m)^(?:Observation|Execution logs|Last output from code snippet|Output|Result|Execution result)s?:[ \t]*|^None$"
)
_GOING_ON = lazy_pattern(
    r"(?i)\W*(?:(?:now|ok|okay|please|great)\W+){0,3}(?:proceed|continue|go on|go ahead|carry|keep going|start|begin)\b"
    r".{0,80}"
)
_HEADED = lazy_pattern(r"(?P<said>)\A\s*(?:New task|Task|Question|Query)\s*:\s*")
