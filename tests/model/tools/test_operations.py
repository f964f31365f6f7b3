"""Sums that tools compute, a step with each call."""

import json

import pytest
from msgspec.structs import replace

from mockserver.core.call import Message, Tool, ToolCall, ToolChoice
from mockserver.core.plan import Text, ToolUse
from mockserver.core.seed import Seed
from mockserver.model.auto import answer_as_model
from mockserver.model.operations import find_calculation
from tests.kit.calls import call


def make_tool(name: str, *parameters: str, kind: str = "number") -> Tool:
    properties = {each: {"type": kind} for each in parameters}
    return Tool(name, f"{name} two numbers", {"type": "object", "properties": properties, "required": [*parameters]})


ADD, SUBTRACT, MULTIPLY = (make_tool(name, "a", "b") for name in ("add", "subtract", "multiply"))
DIVIDE = make_tool("divide", "denominator", "numerator")
WEATHER = make_tool("get_weather", "city", kind="string")
FUNCTIONS = {"add": float.__add__, "subtract": float.__sub__, "multiply": float.__mul__}


def run(prompt: str, *tools: Tool) -> tuple[list[str], str]:
    """Run an agent to its end; return the calls of each turn, and its answer."""
    messages = [Message("user", prompt)]
    turns = list[str]()
    for turn in range(9):
        asked = replace(call(*messages, tool_choice=ToolChoice("auto")), tools=tools)
        parts = answer_as_model(asked, Seed("5"), {}).parts
        made = [replace(each.call, id=f"{turn}-{at}") for at, each in enumerate(parts) if isinstance(each, ToolUse)]
        if not made:
            return turns, "".join(each.text for each in parts if isinstance(each, Text))
        turns.append(" ".join(f"{each.name}{[*json.loads(each.arguments).values()]}" for each in made))
        messages.append(Message("assistant", tool_calls=tuple(made)))
        messages += [Message("tool", compute(each), tool_call_id=each.id) for each in made]
    raise AssertionError(f"the agent does not end: {turns}")


def compute(made: ToolCall) -> str:
    given = json.loads(made.arguments)
    if made.name == "get_weather":
        return "sunny"
    if made.name == "divide":
        return json.dumps({"result": given["numerator"] / given["denominator"]})
    return str(FUNCTIONS[made.name](*map(float, given.values())))


@pytest.mark.parametrize(
    ("prompt", "turns"),
    [
        ("What is 2 + 2?", ["add[2, 2]"]),
        ("What is 123 / 456?", ["divide[456, 123]"]),
        ("What is 12 * 7 + 3?", ["multiply[12, 7]", "add[84.0, 3]"]),
        (
            "Calculate ((10 - 4) * (3 + 5)) / 3 and describe the result.",
            ["subtract[10, 4] add[3, 5]", "multiply[6.0, 8.0]", "divide[3, 48.0]"],
        ),
        ("What is (1.5 + 2) * -3?", ["add[1.5, 2]", "multiply[3.5, -3]"]),
        ("What is 2 + 2, and what's the weather in Oslo?", ["add[2, 2] get_weather['Oslo']"]),
        ("First add 10 and 5 with the add tool. Then multiply that sum by 3.", ["add[10, 5]", "multiply[15, 3]"]),
    ],
)
def test_each_step_is_a_call(prompt: str, turns: list[str]) -> None:
    assert run(prompt, ADD, SUBTRACT, MULTIPLY, DIVIDE, WEATHER)[0] == turns


def test_tools_of_other_parameters_compute_no_sum() -> None:
    asked = call(Message("user", "What is 2 + 2?"))
    assert find_calculation(asked, [make_tool("add", "text", kind="string"), make_tool("add", "a", "b", "c")]) is None
    assert find_calculation(call(Message("user", "What is 2 * (3 + 4)?")), [ADD]) is None
