"""What the tests of this family ask: messages, tools, a schema."""

from typing import Any

from openai.types.chat import ChatCompletionCustomToolParam, ChatCompletionFunctionToolParam, ChatCompletionMessageParam
from pydantic import BaseModel

MODEL = "gpt-4o"


class Person(BaseModel):
    """What structured answers hold."""

    name: str
    age: int


def say(text: str) -> list[ChatCompletionMessageParam]:
    """A conversation of one message."""
    return [{"role": "user", "content": text}]


def tool(name: str, **properties: str) -> ChatCompletionFunctionToolParam:
    """A strict tool whose parameters are all required."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {key: {"type": kind} for key, kind in properties.items()},
        "required": list(properties),
        "additionalProperties": False,
    }
    return {"type": "function", "function": {"name": name, "parameters": schema, "strict": True}}


WEATHER = tool("get_weather", city="string", unit="string")
TIME = tool("get_time", zone="string")
RUN_CODE: ChatCompletionCustomToolParam = {"type": "custom", "custom": {"name": "run_code"}}
CODE = "print('☀', 6 * 7)"
ZONE = 'Europe/Paris "CET" ☀'  # an argument that JSON has to escape
