"""A schema of which nothing can be made is refused by name, place and pointer, as its API knows it."""

from typing import Any

import pytest

from tests.kit.local import local

BAD: Any = {"type": "object", "properties": {"a": {"type": "array", "minItems": 10**9}}, "required": ["a"]}
REMOTE: Any = {"properties": {"a": {"$ref": "https://example.com/a.json"}}}
MESSAGES = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hello"}]}
INPUT = {"model": "gpt-4o", "input": "hello"}
GOOD = {"type": "function", "function": {"name": "good", "parameters": {"type": "object", "properties": {}}}}
WHY = "cannot generate 1,000,000,000 items; the limit is 1,000 (at #/properties/a/minItems)."


FORM = {"type": "json_schema", "json_schema": {"name": "report", "schema": BAD}}
TOOL = {"type": "function", "function": {"name": "bad", "parameters": BAD}}
CHOICE = {"type": "function", "function": {"name": "bad"}}
FORMAT, FUNCTION = f"Invalid schema for response_format 'report': {WHY}", f"Invalid schema for function 'bad': {WHY}"
FLAT = {"type": "function", "name": "bad", "parameters": BAD}
FETCHED = (
    "Invalid schema for response_format 'report': 'https://example.com/a.json' refers to another document, "
    "and nothing is fetched (at #/properties/a/$ref)."
)
REFUSED: dict[str, tuple[str, Any, tuple[str, str, str | None]]] = {
    "format of a chat": ("openai", {**MESSAGES, "response_format": FORM}, (FORMAT, "response_format", None)),
    "format of a response": (
        "openai",
        {**INPUT, "text": {"format": {"type": "json_schema", "name": "report", "schema": REMOTE}}},
        (FETCHED, "text.format.schema", "invalid_json_schema"),
    ),
    "tool of a chat": (
        "openai",
        {**MESSAGES, "tools": [GOOD, TOOL], "tool_choice": CHOICE},
        (FUNCTION, "tools[1].function.parameters", "invalid_function_parameters"),
    ),
    "function of an old chat": (
        "openai",
        {**MESSAGES, "functions": [{"name": "bad", "parameters": BAD}], "function_call": {"name": "bad"}},
        (FUNCTION, "functions[0].parameters", "invalid_function_parameters"),
    ),
    "tool of a response": (
        "openai",
        {**INPUT, "tools": [FLAT], "tool_choice": "required"},
        (FUNCTION, "tools[0].parameters", "invalid_function_parameters"),
    ),
    "look-alike": ("skytells", {**MESSAGES, "response_format": FORM}, (FORMAT, "response_format", "invalid_parameter")),
}


@pytest.mark.parametrize(("dialect", "body", "said"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(dialect: str, body: Any, said: tuple[str, str, str | None]) -> None:
    answered = local().ask(f"/{dialect}/v1/{'responses' if 'input' in body else 'chat/completions'}", body)
    error = answered.json["error"]
    assert (answered.status, error["message"], error["param"], error["code"]) == (400, *said)


def test_a_schema_of_a_rule_is_nobodys() -> None:
    rules = (
        f"version: 1\nrules:\n  - then: {{generate: {{kind: schema, schema: {{type: array, minItems: {10**9}}}}}}}\n"
    )
    answered = local(rules).ask("/openai/v1/chat/completions", MESSAGES)
    assert answered.status == 400
    assert answered.json["error"]["param"] is None
    assert answered.json["error"]["message"].startswith("The JSON schema cannot be satisfied: ")
