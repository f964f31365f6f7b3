"""Calls as XML elements, one for each tool and in it one for each argument: `<read_file><path>…` (Cline)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from msgspec import Struct

from mockserver.core.call import Call, Tool, ToolCall
from mockserver.core.json import compact, try_parse
from mockserver.core.lazy import compile_lazily
from mockserver.model.choosing import find_offers
from mockserver.model.notations import MAX_TOOLS, AgentStep, TextAgent, make_agent_call, read_steps


class Elements(Struct, frozen=True):
    """How calls are written, and the answer: as the element of the tool that ends the work, if there is one."""

    tools: Sequence[Tool]
    ending: Tool | None

    def write_calls(self, calls: Sequence[ToolCall]) -> str:
        arguments = try_parse(calls[0].arguments)
        inner = arguments.items() if isinstance(arguments, Mapping) else ()
        lines = [f"<{key}>{value if isinstance(value, str) else compact(value)}</{key}>" for key, value in inner]
        return "\n".join((f"<{calls[0].name}>", *lines, f"</{calls[0].name}>"))

    def write_answer(self, answer: str) -> str:
        if self.ending is None:
            return answer
        named = next(iter(self.ending.parameters["properties"]), "result")
        return self.write_calls((ToolCall("", self.ending.name, compact({named: answer})),))

    def read_calls(self, text: str) -> Iterator[AgentStep]:
        made = [tool.name for tool in self.tools if f"<{tool.name}>" in text][:1]
        given = compact({key: value.strip() for key, value in _INNER.findall(text)})
        return (AgentStep(name, given) for name in made)


def read(call: Call, prompt: str) -> TextAgent | None:
    if "</" not in prompt or _IN_ELEMENTS.search(prompt) is None:
        return None
    described = (_read_tool(prompt, found) for found in islice(_SHOWN.finditer(prompt), MAX_TOOLS))
    tools = [*{tool.name: tool for tool in described if tool}.values()]
    if not tools:
        return None
    ending = next(iter(find_offers(tools).ending), None)
    work = [tool for tool in tools if tool != ending]
    elements = Elements(work, ending)
    request, steps = read_steps(call, elements.read_calls, _TASK)
    return TextAgent(
        make_agent_call(call, request, tools=work, steps=steps), elements.write_calls, elements.write_answer
    )


def _read_tool(prompt: str, shown: re.Match[str]) -> Tool | None:
    """Return a tool with the parameters that its element has, where the prompt says somewhere before what it does."""
    name = shown["name"]
    about = re.search(rf"(?m)^[#*\- \t]{{0,9}}{name}\b[^\n]{{0,20}}\n+(?:Description:)?[ \t]*([^\n]{{3,900}})", prompt)
    if about is None:
        return None
    properties = {key: {"type": "string"} for key, _ in _INNER.findall(shown["inner"])}
    optional = {key for key in properties if re.search(rf"\b{key}: \(optional", prompt[about.start() : shown.start()])}
    required = [key for key in properties if key not in optional]
    return Tool(name, about[1], {"type": "object", "properties": properties, "required": required})


_IN_ELEMENTS = compile_lazily(r"(?i)\bXML\b|\btags?\b")
_SHOWN = compile_lazily(
    r"(?m)^<(?P<name>[a-z]\w{2,40})>\n(?P<inner>(?:<(\w{1,40})>[^<>]{0,500}</\3>\n?){0,12})</(?P=name)>"
)
_INNER = compile_lazily(r"<(\w{1,40})>([^<>]{0,8000})</\1>")
_TASK = compile_lazily(r"(?s)\A\s*<(task|feedback|user_message)>\s*(?P<said>.{0,20000}?)\s*</\1>.*")
