"""Shell commands in blocks of code, one an answer; the last is the command that the prompt names for the end."""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from mockserver.core.call import Call, Tool, ToolCall, ToolChoice
from mockserver.core.json import try_parse
from mockserver.core.lazy import compile_lazily
from mockserver.model.form import cut_manual
from mockserver.model.notations import AgentStep, TextAgent, make_agent_call, read_steps
from mockserver.model.tool_uses import FINISHING


class Commands(Struct, frozen=True):
    """How a block begins, and the command that ends the work."""

    opening: str
    last: str

    def write_calls(self, calls: Sequence[ToolCall]) -> str:
        return self._write("I run the next command.", try_parse(calls[0].arguments)[_TAKES])

    def write_answer(self, answer: str) -> str:
        return self._write(answer, self.last)

    def _write(self, thought: str, command: str) -> str:
        return f"THOUGHT: {thought}\n\n{self.opening}\n{command}\n```"

    def read_calls(self, text: str) -> Iterator[AgentStep]:
        blocks = re.findall(rf"(?s){re.escape(self.opening)}\n(.{{1,4000}}?)\n```", text)
        yield from (AgentStep(_TOOL.name, command) for command in blocks)


def read(call: Call, prompt: str) -> TextAgent | None:
    shown = _SHOWN.search(prompt)
    last = FINISHING.search(prompt)
    if shown is None or last is None:
        return None
    commands = Commands(shown[1], last[1])
    request, steps = read_steps(call, commands.read_calls)
    asked = make_agent_call(call, cut_manual(request), tools=(_TOOL,), steps=steps)
    if not steps:
        asked = replace(asked, tool_choice=ToolChoice("required"))
    return TextAgent(asked, commands.write_calls, commands.write_answer)


_TAKES = "command"
_TOOL = Tool(
    "bash",
    "Run a bash command",
    {
        "type": "object",
        "properties": {_TAKES: {"type": "string", "description": "The bash command"}},
        "required": [_TAKES],
    },
)
_SHOWN = compile_lazily(
    r"(?m)^[ \t]*(```(?!bash\n|sh\n)\w{2,40}|```(?:bash|sh)(?=\n(?:your_command|<\w+>)))\n[^`\n]{1,60}\n[ \t]*```"
)
