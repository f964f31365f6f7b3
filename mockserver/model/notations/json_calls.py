"""Calls of tools that a prompt lists as JSON: objects, `{"name": …, "arguments": {…}}`, perhaps within tags, or lists.

Lists are written as Python writes calls, `[get_weather(city='Oslo')]` (Llama and its like).
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from mockserver.core.call import Call, Tool, ToolCall
from mockserver.core.json import compact, try_parse
from mockserver.core.lazy import compile_lazily
from mockserver.model.notations import (
    AgentStep,
    TextAgent,
    make_agent_call,
    read_json_tools,
    read_steps,
    write_keywords,
)
from mockserver.model.shapes import find_objects, read_loosely


class ObjectForm(Struct, frozen=True):
    """The keys of a call, and the tags around it, as the prompt shows them."""

    name: str
    arguments: str
    opening: str
    closing: str

    def write_calls(self, calls: Sequence[ToolCall]) -> str:
        objects = [compact({self.name: each.name, self.arguments: try_parse(each.arguments)}) for each in calls]
        return "\n".join(f"{self.opening}{each}{self.closing}" for each in (objects if self.opening else objects[:1]))

    def read_calls(self, text: str) -> Iterator[AgentStep]:
        for found in find_objects(text):
            value = found.value
            if isinstance(value, Mapping) and isinstance(value.get(self.name), str) and self.arguments in value:
                yield AgentStep(value[self.name], compact(value[self.arguments]))


class ListForm(Struct, frozen=True):
    """Calls in a list, of these tools."""

    tools: Sequence[Tool]

    def write_calls(self, calls: Sequence[ToolCall]) -> str:
        return f"[{', '.join(f'{each.name}({write_keywords(each.arguments)})' for each in calls)}]"

    def read_calls(self, text: str) -> Iterator[AgentStep]:
        is_list = text.lstrip().startswith("[")
        return (AgentStep(tool.name, "{}") for tool in self.tools if is_list and f"{tool.name}(" in text)


def read(call: Call, prompt: str) -> TextAgent | None:
    if "tool" not in prompt and "function" not in prompt:
        return None
    is_list = _LIST.search(prompt) is not None
    form = None if is_list else _find_form(prompt)
    tools = [*read_json_tools(prompt)] if is_list or form else []
    if not tools:
        return _leave_out(call) if isinstance(form, ObjectForm) and "call" in form.opening else None
    form = form or ListForm(tools)
    request, steps = read_steps(call, form.read_calls)
    return TextAgent(make_agent_call(call, request, tools=tools, steps=steps), form.write_calls, lambda answer: answer)


def _leave_out(call: Call) -> TextAgent | None:
    """Return an agent without tools, whose prompt shows only how it would call one; None if nothing else is said."""
    kept = tuple([each for each in call.messages if _find_form(each.text) is None])
    is_asked = any(each.role == "user" for each in kept)
    return TextAgent(replace(call, messages=kept), lambda calls: "", lambda answer: answer) if is_asked else None


def _find_form(prompt: str) -> ObjectForm | ListForm | None:
    for found in _CALL.finditer(prompt):
        loose = read_loosely(prompt, found.start("object"))
        value = loose.value if loose else None
        if loose is None or not isinstance(value, Mapping) or len(value) > _MOST_KEYS:
            continue
        name = next((key for key in value if key in _NAMES and not isinstance(value[key], Mapping)), None)
        arguments = next((key for key in value if key.lower() in _ARGUMENTS), None)
        if name and arguments and _GAP.match(str(value[name])):
            tag = found["tag"] if re.match(rf"\s*</{found['tag']}>", prompt[loose.end :]) else None
            return ObjectForm(name, arguments, *((f"<{tag}>\n", f"\n</{tag}>") if tag else ("", "")))
    return None


_MOST_KEYS = 3
_NAMES = ("name", "tool", "function", "tool_name", "function_name", "action")
_ARGUMENTS = ("arguments", "args", "parameters", "params", "tool_input", "input", "action_input", "tool_args", "kwargs")
_GAP = compile_lazily(r"[<$\[{.]|the\b|tool|function|\w*name\b|\.\.\.")
_CALL = compile_lazily(
    rf"(?:<(?P<tag>\w{{2,40}})>\s*)?(?P<object>\{{)\s*[\"'](?:{'|'.join((*_NAMES, *_ARGUMENTS))})[\"']\s*:"
)
_LIST = compile_lazily(r"(?i)\[\w*func\w*\((?:\w*param\w*|\w*arg\w*)\s?=")
