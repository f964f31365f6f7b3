"""A schema of which nothing can be made is refused by name, place and pointer, as its API knows it."""

from typing import Any

import pytest

from tests.kit.local import local

BAD: Any = {"type": "object", "properties": {"a": {"type": "array", "minItems": 10**9}}, "required": ["a"]}
REMOTE: Any = {"properties": {"a": {"$ref": "https://example.com/a.json"}}}
MESSAGES = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hello"}]}
INPUT = {"model": "gpt-4o", "input": "hello"}
GOOD = {"type": "function", "function": {"name": "good", "parameters": {"type": "object", "properties": {}}}}
WHY = "a list of 1,000,000,000 items is not made, only up to 1,000 (at #/properties/a/minItems)."


def refused(path: str, body: Any) -> Any:
    answered = local().ask(path, body)
    assert answered.status == 400
    return answered.json["error"]


def test_a_format_of_a_chat() -> None:
    form = {"type": "json_schema", "json_schema": {"name": "report", "schema": BAD}}
    assert refused("/openai/v1/chat/completions", {**MESSAGES, "response_format": form}) == {
        "message": f"Invalid schema for response_format 'report': {WHY}",
        "type": "invalid_request_error",
        "param": "response_format",
        "code": None,
    }


def test_a_format_of_a_response() -> None:
    form = {"type": "json_schema", "name": "report", "schema": REMOTE}
    error = refused("/openai/v1/responses", {**INPUT, "text": {"format": form}})
    assert error["message"] == (
        "Invalid schema for response_format 'report': 'https://example.com/a.json' refers to another document, "
        "and nothing is fetched (at #/properties/a/$ref)."
    )
    assert (error["param"], error["code"]) == ("text.format.schema", "invalid_json_schema")


def test_a_tool_of_a_chat() -> None:
    tool = {"type": "function", "function": {"name": "bad", "parameters": BAD}}
    choice = {"type": "function", "function": {"name": "bad"}}
    error = refused("/openai/v1/chat/completions", {**MESSAGES, "tools": [GOOD, tool], "tool_choice": choice})
    assert error["message"] == f"Invalid schema for function 'bad': {WHY}"
    assert (error["param"], error["code"]) == ("tools[1].function.parameters", "invalid_function_parameters")


def test_a_function_of_an_old_chat() -> None:
    asked = {**MESSAGES, "functions": [{"name": "bad", "parameters": BAD}], "function_call": {"name": "bad"}}
    assert refused("/openai/v1/chat/completions", asked)["param"] == "functions[0].parameters"


def test_a_tool_of_a_response() -> None:
    tool = {"type": "function", "name": "bad", "parameters": BAD}
    asked = {**INPUT, "tools": [tool], "tool_choice": "required"}
    assert refused("/openai/v1/responses", asked)["param"] == "tools[0].parameters"


@pytest.mark.parametrize(("dialect", "code"), [("crazyrouter", "invalid_parameter"), ("skytells", "invalid_parameter")])
def test_look_alikes_keep_their_own_code(dialect: str, code: str) -> None:
    form = {"type": "json_schema", "json_schema": {"name": "report", "schema": BAD}}
    error = refused(f"/{dialect}/v1/chat/completions", {**MESSAGES, "response_format": form})
    assert WHY in error["message"]
    assert error["code"] == code


def test_a_schema_of_a_rule_is_nobodys() -> None:
    rules = (
        f"version: 1\nrules:\n  - then: {{generate: {{kind: schema, schema: {{type: array, minItems: {10**9}}}}}}}\n"
    )
    answered = local(rules).ask("/openai/v1/chat/completions", MESSAGES)
    assert answered.status == 400
    assert answered.json["error"]["param"] is None
    assert answered.json["error"]["message"].startswith("The JSON schema cannot be satisfied: ")
