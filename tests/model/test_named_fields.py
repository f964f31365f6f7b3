"""Answers of named fields, and the agents that DSPy writes with them."""

import json
import re
from typing import Any

import pytest
from msgspec.structs import replace

from mockserver.core.call import Message, Tool, ToolChoice
from mockserver.core.plan import Text, ToolUse
from mockserver.core.seed import Seed
from mockserver.model.auto import answer_as_model
from tests.kit.calls import call

RULES = """Your input fields are:
1. `question` (str):
2. `trajectory` (str):
Your output fields are:
1. `next_thought` (str):
2. `next_tool_name` (Literal['search', 'multiply', 'finish']):
3. `next_tool_args` (dict[str, Any]):

When selecting the next_tool_name and its next_tool_args, the tool must be one of:

(1) search, whose description is <desc>Search the wiki.</desc>. It takes arguments {'query': {'type': 'string'}}.
(2) multiply, whose description is <desc>Multiply.</desc>. It takes arguments {'a': {'type': 'integer'}, 'b': {}}.
(3) finish, whose description is <desc>Marks the task as complete.</desc>. It takes arguments {}.
"""
NAMES = "(must be formatted as a valid Python Literal['search', 'multiply', 'finish'])"
IN_TEXT = (
    f"Respond with the corresponding output fields, starting with the field `[[ ## next_thought ## ]]`, then "
    f"`[[ ## next_tool_name ## ]]` {NAMES}, then `[[ ## next_tool_args ## ]]` (must be formatted as a valid Python "
    "dict[str, Any]), and then ending with the marker for `[[ ## completed ## ]]`."
)
IN_JSON = (
    f"Respond with a JSON object in the following order of fields: `next_thought`, then `next_tool_name` {NAMES}, then "
    "`next_tool_args` (must be formatted as a valid Python dict[str, Any])."
)


def answer(user: str, rules: str = RULES, **asked: Any) -> str:
    (part,) = answer_as_model(call(Message("system", rules), Message("user", user), **asked), Seed(1), {}).parts
    assert isinstance(part, Text)
    return part.text


def fields(text: str) -> dict[str, str]:
    return {name: value.strip() for name, value in re.findall(r"\[\[ ## (\w+) ## \]\]\n?(.*?)(?=\[\[|$)", text, re.S)}


def question(said: str, trajectory: str = "", order: str = IN_TEXT) -> str:
    return f"[[ ## question ## ]]\n{said}\n\n[[ ## trajectory ## ]]\n{trajectory}\n\n{order}"


@pytest.mark.parametrize(
    ("said", "name", "arguments"),
    [("Search the wiki for penguins", "search", {"query": "penguins"}), ("Multiply 6 and 7", "multiply", {"a": 6})],
)
def test_the_next_tool_is_one_that_the_prompt_lists(said: str, name: str, arguments: dict[str, Any]) -> None:
    found = fields(answer(question(said)))
    assert list(found) == ["next_thought", "next_tool_name", "next_tool_args", "completed"]
    assert found["next_tool_name"] == name
    assert json.loads(found["next_tool_args"]).items() >= arguments.items()


def test_an_agent_finishes_after_an_observation() -> None:
    steps = "\n\n".join(
        f"[[ ## {field}_0 ## ]]\n{value}"
        for field, value in {
            "thought": "I look.",
            "tool_name": "search",
            "tool_args": '{"query": "penguins"}',
            "observation": "Penguins are birds.",
        }.items()
    )
    tagged = re.sub(r"\[\[ ## (\w+) ## \]\]\n(.*)", r"<\1>\n\2\n</\1>", steps)
    for trajectory in (steps, tagged):
        found = fields(answer(question("Search the wiki for penguins", trajectory)))
        assert (found["next_tool_name"], found["next_tool_args"]) == ("finish", "{}")


def test_fields_in_json() -> None:
    found = json.loads(answer(question("Multiply 6 and 7", order=IN_JSON), response_format="json_object"))
    assert found["next_tool_name"] == "multiply"
    assert list(found) == ["next_thought", "next_tool_name", "next_tool_args"]
    strict = {"type": "object", "properties": {"next_tool_name": {"enum": ["finish"]}}, "required": ["next_tool_name"]}
    user = question("Multiply 6 and 7", order=IN_JSON)
    assert json.loads(answer(user, response_format="json_schema", schema=strict))["next_tool_name"] == "finish"


def test_fields_have_their_types() -> None:
    rules = 'Your output fields are:\n{tags}  # note: adhere to the JSON schema: {"type": "array", "maxItems": 0}'
    order = (
        "Respond with the corresponding output fields, starting with the field `[[ ## tags ## ]]`, then "
        "`[[ ## sure ## ]]` (must be formatted as a valid Python bool), then `[[ ## mood ## ]]` (must be formatted as "
        "a valid Python Literal['good', 'bad']), and then ending with the marker for `[[ ## completed ## ]]`."
    )
    found = fields(answer(f"[[ ## text ## ]]\nAll is bad.\n\n{order}", rules))
    assert found["tags"] == "[]"
    assert found["sure"] in ("True", "False")
    assert found["mood"] in ("good", "bad")


def ordered(schema: str) -> str:
    rules = f"Your output fields are:\n{{calls}}  # note: adhere to the JSON schema: {schema}"
    order = "Respond with the corresponding output fields, starting with the field `[[ ## calls ## ]]`."
    return answer(f"[[ ## text ## ]]\nWhat is the weather in Oslo?\n\n{order}", rules)


def test_the_schema_of_a_field_refers_to_its_own_definitions() -> None:
    schema = (
        '{"$defs": {"Call": {"enum": ["weather"]}}, "type": "array", "items": {"$ref": "#/$defs/Call"}, "minItems": 1}'
    )
    assert set(json.loads(fields(ordered(schema))["calls"])) == {"weather"}


@pytest.mark.parametrize("schema", ['{"$ref": "#/$defs/none"}', '{"type": "strange"}', '{"not": {}}'])
def test_a_field_that_is_impossible_is_no_error(schema: str) -> None:
    assert ordered(schema)


def test_native_tools_are_called_where_no_field_is_left() -> None:
    order = "Respond with the corresponding output fields, starting with the field , and then ending with the marker."
    said = f"[[ ## q ## ]]\nWhat is the weather in Oslo?\n\n{order}"
    tool = Tool("weather", "", {"type": "object", "properties": {"city": {}}, "required": ["city"]})
    asked = replace(call(said), tools=(tool,), tool_choice=ToolChoice("auto"))
    (part,) = answer_as_model(asked, Seed(1), {}).parts
    assert isinstance(part, ToolUse)
    assert part.call.arguments == '{"city":"Oslo"}'


def test_a_field_takes_calls_of_the_tools_that_another_lists() -> None:
    schema = '{"type": "object", "properties": {"tool_calls": {"type": "array"}}, "required": ["tool_calls"]}'
    rules = (
        f"1. `q` (str)\n2. `tools`\nYour output fields are:\n{{outputs}}  # note: adhere to the JSON schema: {schema}"
    )
    shown = (
        "weather, whose description is <desc>Weather of city</desc>. It takes arguments {'city': {'type': 'string'}}."
    )
    tools = json.dumps([shown])
    order = "Respond with the corresponding output fields, starting with the field `[[ ## outputs ## ]]`."
    said = f"[[ ## q ## ]]\nWhat's the weather in Tokyo?\n\n[[ ## tools ## ]]\n{tools}\n\n{order}"
    found = json.loads(fields(answer(said, rules))["outputs"])
    assert found == {"tool_calls": [{"name": "weather", "args": {"city": "Tokyo"}}]}
