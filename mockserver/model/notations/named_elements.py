"""Calls as two XML elements, for the name of a tool and for its input: `<tool>…</tool><tool_input>…</tool_input>`."""

import re
from collections.abc import Sequence
from itertools import islice

from msgspec import Struct

from mockserver.core.call import Call, ToolCall
from mockserver.core.json import compact, try_parse
from mockserver.core.lazy import compile_lazily
from mockserver.model.notations import MAX_TOOLS, AgentStep, TextAgent, make_agent_call, read_tools
from mockserver.model.vocabulary import RULING


class ElementNames(Struct, frozen=True):
    """The names of the elements for a tool, its input, and the answer."""

    tool: str
    given: str
    answer: str

    def write_calls(self, calls: Sequence[ToolCall]) -> str:
        arguments = try_parse(calls[0].arguments)
        values = [*arguments.values()] if isinstance(arguments, dict) else []
        value = values[0] if len(values) == 1 else arguments
        written = value if isinstance(value, str) else compact(value)
        return f"<{self.tool}>{calls[0].name}</{self.tool}><{self.given}>{written}</{self.given}>"

    def write_answer(self, answer: str) -> str:
        return f"<{self.answer}>{answer}</{self.answer}>" if self.answer else answer


def read(call: Call, prompt: str) -> TextAgent | None:
    """Return an agent that writes its steps into one text, each followed by its observation."""
    shown = _SHOWN.search(prompt) if "</" in prompt else None
    if shown is None:
        return None
    tools = [tool for tool in read_tools(prompt[: shown.start()]) if tool.name != shown["name"]]
    if not tools:
        return None
    answer = _ANSWER.search(prompt)
    seen = _SEEN.search(prompt)
    names = ElementNames(shown["tool"], shown["given"], answer[1] if answer else "")
    step = re.compile(
        rf"(?s)<{names.tool}>\s*([\w.-]{{1,60}})\s*</{names.tool}>\s*<{names.given}>(.*?)</{names.given}>"
        rf"(?:\s*<{seen[1] if seen else 'observation'}>(.*?)</)?"
    )
    text = "\n".join(message.text for message in call.messages if message.role not in RULING)
    text = text[max(text.rfind("Question:"), 0) :].removeprefix("Question:")
    steps = [AgentStep(*made.groups()) for made in islice(step.finditer(text), MAX_TOOLS) if made[3]]
    request = step.split(text, maxsplit=1)[0]
    return TextAgent(make_agent_call(call, request, tools=tools, steps=steps), names.write_calls, names.write_answer)


_SHOWN = compile_lazily(
    r"<(?P<tool>tool|tool_name|function|action)>(?P<name>[^<>\n]{1,60})</(?P=tool)>\s*"
    r"<(?P<given>\w*(?:input|args|arguments|parameters))>[^<>]{0,300}</(?P=given)>"
)
_SEEN = compile_lazily(r"<(observation|tool_result|result|function_result)>")
_ANSWER = compile_lazily(r"<((?:final_)?answer|final_response|response)>")
