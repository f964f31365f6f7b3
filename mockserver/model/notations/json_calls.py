"""Calls of tools that a prompt lists as JSON: objects, `{"name": …, "arguments": {…}}`, perhaps within tags, or lists.

Lists are written as Python writes calls, `[get_weather(city='Oslo')]` (Llama and its like). Where prompts show only the
schemas of calls, each has a constant that names its tool (langroid, griptape).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from msgspec import Struct
from msgspec.structs import replace

from mockserver.core.call import Call, Tool, ToolCall
from mockserver.core.json import Json, compact, try_parse
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


class SchemaForm(Struct, frozen=True):
    """Calls of tools whose own schemas say in a constant which tool it is: bare, or behind a label in a list."""

    tools: Sequence[Tool]
    label: str
    observed: str
    final: str

    def write_calls(self, calls: Sequence[ToolCall]) -> str:
        made = [try_parse(each.arguments) for each in calls]
        return f"{self.label} {compact(made)}" if self.label else compact(made[0])

    def write_answer(self, answer: str) -> str:
        return f"{self.final} {answer}".strip()

    def read_calls(self, text: str) -> Iterator[AgentStep]:
        values = [found.value for found in find_objects(text)]
        made = [each for value in values for each in (value if isinstance(value, list) else [value])]
        known = {tool.name: _find_constants(tool.parameters) for tool in self.tools}
        for each, (name, fixed) in product(made, known.items()):
            if isinstance(each, Mapping) and fixed.items() <= each.items():
                given = {key: value for key, value in each.items() if key not in fixed}
                inner = next(iter(given.values()), None) if len(given) == 1 else None
                yield AgentStep(name, compact(inner if isinstance(inner, Mapping) else given))


class ListForm(Struct, frozen=True):
    """Calls in a list, of these tools."""

    tools: Sequence[Tool]

    def write_calls(self, calls: Sequence[ToolCall]) -> str:
        return f"[{', '.join(f'{each.name}({write_keywords(each.arguments)})' for each in calls)}]"

    def read_calls(self, text: str) -> Iterator[AgentStep]:
        is_list = text.lstrip().startswith("[")
        return (AgentStep(tool.name, "{}") for tool in self.tools if is_list and f"{tool.name}(" in text)


def read(call: Call, prompt: str) -> TextAgent | None:
    if _OF_TOOLS.search(prompt) is None:
        return None
    is_list = _LIST.search(prompt) is not None
    form = None if is_list else _find_form(prompt)
    tools = [*read_json_tools(prompt)] if is_list or form else []
    if not tools and (own := _read_own_schemas(prompt)) is not None:
        request, steps = read_steps(call, own.read_calls)
        steps = [replace(step, seen=step.seen.strip().removeprefix(own.observed)) for step in steps]
        agent = make_agent_call(call, request, tools=own.tools, steps=steps)
        return TextAgent(agent, own.write_calls, own.write_answer)
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


def _read_own_schemas(prompt: str) -> SchemaForm | None:
    """Return how tools are called whose schemas a prompt shows, each with a constant that names it."""
    tools = list[Tool]()
    label = ""
    for found in find_objects(prompt) if "properties" in prompt else ():
        before = prompt[max(0, found.start - _NEAR) : found.start]
        listed = found.value.get("items", found.value) if isinstance(found.value, Mapping) else None
        alternatives = (
            listed.get("anyOf", [listed]) if isinstance(listed, Mapping) and _OF_TOOLS.search(before) else None
        )
        for schema in alternatives if isinstance(alternatives, list) else ():
            if not isinstance(schema, Mapping) or not (fixed := _find_constants(schema)):
                continue
            properties = schema["properties"]
            name = "_".join(fixed.values())
            said = " ".join(str(properties[key].get("description")) for key in fixed)
            about = purpose[1] if (purpose := _PURPOSE.search(before)) else said
            fixed |= {key: name for key in ("tag", "id") if key in properties}
            inner = {**properties, **{key: {"const": value} for key, value in fixed.items()}}
            tools.append(Tool(name, about, {**schema, "properties": inner}))
            label = next(iter(_LABEL.findall(before)[-1:]), "")
    labels = _LABEL.findall(prompt) if label else []
    observed, final = [*labels[labels.index(label) + 1 :], "", ""][:2] if labels else ("", "")
    return SchemaForm(tools, label, observed, final) if tools else None


def _find_constants(schema: Mapping[str, Json]) -> dict[str, str]:
    """Return the properties of a schema that have only one text: a constant, or the default of what is required."""
    properties = schema.get("properties")
    needed = schema.get("required")
    only = dict[str, str]()
    for key, inner in properties.items() if isinstance(properties, Mapping) else ():
        if isinstance(inner, Mapping):
            default = inner.get("default") if isinstance(needed, list) and key in needed else None
            only |= {key: value} if isinstance(value := inner.get("const", default), str) else {}
    return only


_MOST_KEYS = 3
_NEAR = 300  # characters before a schema that say what it is of
_OF_TOOLS = compile_lazily(r"(?i)\b(?:tools?|functions?|actions?)\b")
_PURPOSE = compile_lazily(r"(?i)\b(?:purpose|description):[ \t]*([^\n]+)")
_LABEL = compile_lazily(r"(?m)^(\S{2,20}:) <")
_NAMES = ("name", "tool", "function", "tool_name", "function_name", "action")
_ARGUMENTS = ("arguments", "args", "parameters", "params", "tool_input", "input", "action_input", "tool_args", "kwargs")
_GAP = compile_lazily(r"[<$\[{.]|the\b|tool|function|\w*name\b|\.\.\.")
_CALL = compile_lazily(
    rf"(?:<(?P<tag>\w{{2,40}})>\s*)?(?P<object>\{{)\s*[\"'](?:{'|'.join((*_NAMES, *_ARGUMENTS))})[\"']\s*:"
)
_LIST = compile_lazily(r"(?i)\[\w*func\w*\((?:\w*param\w*|\w*arg\w*)\s?=")
