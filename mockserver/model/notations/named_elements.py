"""Two XML elements for each call, `<tool>search</tool><tool_input>tides</tool_input>`, and one for the answer."""

import re
from collections.abc import Sequence

from msgspec import Struct

from mockserver.core.call import Call, ToolCall
from mockserver.core.json import compact, try_parse
from mockserver.core.lazy import lazy_pattern
from mockserver.model.notations import AgentStep, TextAgent, read_tools, with_steps
from mockserver.model.vocabulary import RULING


class ElementNames(Struct, frozen=True):
    """The names of the elements for a tool, its input, what was observed, and the answer."""

    tool: str
    given: str
    seen: str
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
    shown = _SHOWN.search(prompt)
    if shown is None:
        return None
    answer, seen = _ANSWER.search(prompt), _SEEN.search(prompt)
    names = ElementNames(shown["tool"], shown["given"], seen[1] if seen else "observation", answer[1] if answer else "")
    step = re.compile(
        rf"<{names.tool}>\s*([\w.-]{{1,60}})\s*</{names.tool}>\s*<{names.given}>(.*?)</{names.given}>", re.S
    )
    observed = re.compile(rf"\s*<{names.seen}>(.*?)</{names.seen}>", re.S)
    request, steps = "", list[AgentStep]()
    text = "\n".join(message.text for message in call.messages if message.role not in RULING)
    begin = max(text.rfind("Question:"), 0)
    for made in step.finditer(text, begin):
        if (result := observed.match(text, made.end())) is not None:
            steps.append(AgentStep(made[1], made[2], result[1]))
    request = step.split(text[begin:].removeprefix("Question:"))[0].strip()
    tools = [tool for tool in read_tools(prompt[: shown.start()]) if tool.name != shown["name"]]
    return TextAgent(with_steps(call, request, tools, steps), names.write_calls, names.write_answer) if tools else None


_SHOWN = lazy_pattern(
    r"<(?P<tool>tool|tool_name|function|action)>(?P<name>[^<>\n]{1,60})</(?P=tool)>\s*"
    r"<(?P<given>\w*(?:input|args|arguments|parameters))>[^<>]{0,300}</(?P=given)>"
)
_SEEN = lazy_pattern(r"<(observation|tool_result|result|function_result)>")
_ANSWER = lazy_pattern(r"<((?:final_)?answer|final_response|response)>")
