"""A JSON object for each call, `{"name": …, "arguments": {…}}`, perhaps within tags, of tools listed as JSON."""

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from mockserver.core.call import Call, ToolCall
from mockserver.core.json import compact, try_parse
from mockserver.core.lazy import lazy_pattern
from mockserver.model.loose import find_objects, read_loosely
from mockserver.model.notations import AgentStep, TextAgent, read_json_tools, with_steps
from mockserver.model.vocabulary import RULING


class ObjectForm(Struct, frozen=True):
    """The keys of a call, and the tags around it, as the prompt shows them."""

    name: str
    arguments: str
    opening: str
    closing: str

    def write_calls(self, calls: Sequence[ToolCall]) -> str:
        objects = [compact({self.name: each.name, self.arguments: try_parse(each.arguments)}) for each in calls]
        return "\n".join(f"{self.opening}{each}{self.closing}" for each in (objects if self.opening else objects[:1]))

    def write_answer(self, answer: str) -> str:
        return answer

    def read_calls(self, text: str) -> Iterator[tuple[str, str]]:
        for found in find_objects(text):
            value = found.value
            if isinstance(value, Mapping) and isinstance(value.get(self.name), str) and self.arguments in value:
                yield value[self.name], compact(value[self.arguments])


def read(call: Call, prompt: str) -> TextAgent | None:
    if "tool" not in prompt and "function" not in prompt:
        return None
    form = _read_form(prompt)
    tools = [*read_json_tools(prompt)] if form else []
    if form is None or not tools:
        return None
    request, steps, pending = "", list[AgentStep](), list[tuple[str, str]]()
    for message in call.messages:
        if message.role == "assistant":
            pending = [*form.read_calls(message.text)]
        elif message.role not in RULING:
            if pending:
                steps += [AgentStep(name, given, message.text) for name, given in pending]
            else:
                request, steps = message.text, []
            pending = []
    return TextAgent(with_steps(call, request, tools, steps), form.write_calls, form.write_answer)


def _read_form(prompt: str) -> ObjectForm | None:
    for found in _CALL.finditer(prompt):
        loose = read_loosely(prompt, found.start("object"))
        keys = [*loose.value] if loose and isinstance(loose.value, Mapping) else []
        arguments = next((key for key in keys if key.lower() in _ARGUMENTS), None)
        if len(keys) < 4 and arguments and not isinstance(loose and loose.value[found["name"]], Mapping):
            tag = found["tag"] if loose and re.match(rf"\s*</{found['tag']}>", prompt[loose.end :]) else None
            opening, closing = (f"<{tag}>\n", f"\n</{tag}>") if tag else ("", "")
            return ObjectForm(found["name"], arguments, opening, closing)
    return None


_ARGUMENTS = ("arguments", "args", "parameters", "params", "tool_input", "input", "action_input", "tool_args", "kwargs")
_CALL = lazy_pattern(
    r"(?:<(?P<tag>\w{2,40})>\s*)?(?P<object>\{)\s*[\"'](?P<name>name|tool|function|tool_name|function_name|action)[\"']"
    r"\s*:\s*[\"']?(?=[<$\[{.]|the\b|tool|function|\w*name\b|\.\.\.)"
)
