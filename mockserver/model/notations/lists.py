"""A list of calls as Python writes them, `[get_weather(city='Oslo')]` (Llama and its like), of tools listed as JSON."""

import re
from collections.abc import Mapping, Sequence

from mockserver.core.call import Call, ToolCall
from mockserver.core.json import try_parse
from mockserver.core.lazy import lazy_pattern
from mockserver.model.notations import AgentStep, TextAgent, read_json_tools, with_steps
from mockserver.model.vocabulary import RULING


def read(call: Call, prompt: str) -> TextAgent | None:
    if _SHOWN.search(prompt) is None:
        return None
    tools = [*read_json_tools(prompt)]
    if not tools:
        return None
    request, steps = "", list[AgentStep]()
    for before, message in zip((None, *call.messages), call.messages, strict=False):
        if message.role in RULING or message.role == "assistant":
            continue
        text = before.text.lstrip() if before and before.role == "assistant" else ""
        made = [tool.name for tool in tools if text.startswith("[") and f"{tool.name}(" in text]
        if made:
            steps += [AgentStep(name, "{}", message.text) for name in made]
        else:
            request, steps = message.text, []
    return TextAgent(with_steps(call, request, tools, steps), _write_calls, lambda answer: answer)


def _write_calls(calls: Sequence[ToolCall]) -> str:
    return f"[{', '.join(map(_write_call, calls))}]"


def _write_call(call: ToolCall) -> str:
    arguments = try_parse(call.arguments)
    given = arguments.items() if isinstance(arguments, Mapping) else ()
    return f"{call.name}({', '.join(f'{name}={value!r}' for name, value in given)})"


_SHOWN = lazy_pattern(r"\[\w*func\w*\((?:\w*param\w*|\w*arg\w*)\s?=", re.IGNORECASE)
