"""Blocks of code that call functions, the last of which takes the final answer (smolagents and its like)."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from mockserver.core.call import Call, Tool, ToolCall
from mockserver.core.lazy import compile_lazily
from mockserver.model.choosing import find_offers
from mockserver.model.notations import (
    MAX_TOOLS,
    AgentStep,
    TextAgent,
    make_agent_call,
    read_steps,
    read_tools,
    write_keywords,
)


class Block(Struct, frozen=True):
    """A block of code as the prompt shows it: whether a thought precedes it, its first and last line, and its end."""

    thinks: bool
    opening: str
    closing: str
    end: str  # the function that takes the answer

    def write_calls(self, calls: Sequence[ToolCall]) -> str:
        lines = [f"print({each.name}({write_keywords(each.arguments)}))" for each in calls]
        return self._write(f"I will call {calls[0].name}.", "\n".join(lines))

    def write_answer(self, answer: str) -> str:
        number = re.fullmatch(r"-?\d+(?:\.\d+)?", answer)
        return self._write("I have the final answer.", f"{self.end}({answer if number else repr(answer)})")

    def _write(self, thought: str, code: str) -> str:
        return f"{f'Thought: {thought}' * self.thinks}\n{self.opening}\n{code}\n{self.closing}".lstrip()


def read(call: Call, prompt: str) -> TextAgent | None:
    called = islice(_CALLED.finditer(prompt), MAX_TOOLS * 10) if "(" in prompt else ()
    lines = ((found[1], prompt[prompt.rfind("\n", 0, found.start()) + 1 :][:900]) for found in called)
    told = dict.fromkeys((name, line.partition("\n")[0]) for name, line in lines)
    ends = dict.fromkeys(name for name, line in told if find_offers((Tool(name, line),)).ending)
    blocks = (_read_block(prompt, name) for name in islice(ends, MAX_TOOLS) if re.search(_ORDERED.format(name), prompt))
    block = next(filter(None, blocks), None)
    if block is None:
        return None
    functions = [found[1] for found in _FUNCTION.finditer(prompt)]
    tools = [tool for tool in read_tools(prompt, functions) if tool.name != block.end]

    def read_calls(text: str) -> Iterator[AgentStep]:
        """Yield the functions that a block calls; something that has a result, if it calls none of the tools."""
        if block.opening in text and f"{block.end}(" not in text:
            counts = {tool.name: min(text.count(f"{tool.name}("), MAX_TOOLS) for tool in tools}
            names = [name for name, count in counts.items() for _ in range(count)]
            yield from (AgentStep(name, "{}") for name in names or ["result"])

    messages = [each for each in call.messages if each.role != "user" or not _GOING_ON.fullmatch(each.text)]
    request, steps = read_steps(replace(call, messages=tuple(messages)), read_calls, _HEADED)
    steps = [replace(step, seen=_NOISE.sub("", step.seen).strip()) for step in steps]
    return TextAgent(make_agent_call(call, request, tools=tools, steps=steps), block.write_calls, block.write_answer)


def _read_block(prompt: str, end: str) -> Block | None:
    """Return the last block that calls the function that ends."""
    for called in reversed([*re.finditer(rf"(?m)^[ \t]*(?:return )?{re.escape(end)}\(", prompt)][-MAX_TOOLS:]):
        openings = [*_OPENING.finditer(prompt, max(0, called.start() - 2000), called.start())]
        if openings and (closing := _CLOSING.search(prompt, called.end())):
            return Block(
                "Thought:" in prompt[: openings[-1].start()][-800:], openings[-1][1], closing=closing[1], end=end
            )
    return None


_CALLED = compile_lazily(r"\b([a-zA-Z_]\w{2,60})[`'\"]?(?:\(| (?:tool|function)\b)")
_ORDERED = r"(?i)\b(?:call|use|using|with|via|invoke|through)\b[^\n]{{0,80}}\b{0}\b|\b{0}\b[^\n]{{0,40}}\bends?\b"
_FUNCTION = compile_lazily(
    r"(?m)^[ \t>*\d.-]{0,12}[`*]{0,3}(?:(?:async )?def |(?=\w{2,60}\([^()\n]{0,300}\)[`*]{0,3}(?:[ \t]*->|:| -| —)))"
    r"([A-Za-z_]\w{1,60})(?=\()"
)
_OPENING = compile_lazily(r"(?m)^[ \t]*(```\w*|<\w{2,20}>|\[[A-Z_]{2,20}\])[ \t]*$")
_CLOSING = compile_lazily(r"(?m)^[ \t]*(```\S{0,20}|</\w{2,20}>\S{0,20}|\[/[A-Z_]{2,20}\])[ \t]*$")
_NOISE = compile_lazily(
    r"(?m)^(?:Observation|Execution logs|Last output from code snippet|Output|Result|Execution result)s?:[ \t]*|^None$"
)
_GOING_ON = compile_lazily(
    r"(?i)\W*(?:(?:now|ok|okay|please)\W+){0,3}(?:proceed|continue|go on|go ahead|carry)\b.{0,80}"
)
_HEADED = compile_lazily(r"(?P<said>)\A\s*(?:New task|Task|Question|Query)\s*:\s*")
