"""Instructions after the last turn hide nothing: agents add system messages behind a tool's result."""

from typing import Any

import pytest

from tests.kit.local import local

FUNCTION = {"name": "Read", "parameters": {"type": "object"}}
CHAT = [
    {"role": "user", "content": "read note.txt"},
    {
        "role": "assistant",
        "tool_calls": [{"id": "t1", "type": "function", "function": {"name": "Read", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "t1", "content": "blue heron"},
]
MESSAGES = [
    {"role": "user", "content": "read note.txt"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "Read", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "blue heron"}]},
]
ITEMS = [
    {"role": "user", "content": "read note.txt"},
    {"type": "function_call", "call_id": "t1", "name": "Read", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "t1", "output": "blue heron"},
]
# By path: the body without what is said, where that stands, the conversation, and how an instruction follows it.
APIS: dict[str, tuple[dict[str, Any], str, list[Any], list[Any]]] = {
    "/v1/chat/completions": (
        {"model": "m", "tools": [{"type": "function", "function": FUNCTION}]},
        "messages",
        CHAT,
        [{"role": "system", "content": "a reminder"}, {"role": "developer", "content": "another"}],
    ),
    "/v1/responses": (
        {"model": "m", "tools": [{"type": "function", **FUNCTION}]},
        "input",
        ITEMS,
        [{"role": "developer", "content": "a reminder"}, {"role": "system", "content": "another"}],
    ),
    "/anthropic/v1/messages": (
        {"model": "claude-opus-5-5", "max_tokens": 99, "tools": [{"name": "Read", "input_schema": {"type": "object"}}]},
        "messages",
        MESSAGES,
        [{"role": "system", "content": "a reminder"}],
    ),
}
RULES = """
rules:
  - when: {tool_result: {name: Read}, last_message: blue heron}
    then: {text: "It says {{ tool_result.text }}, {{ last_message }}."}
  - when: {last_message: "*read*"}
    then: {tool_calls: [{name: Read, arguments: {}}]}
"""


@pytest.mark.parametrize("path", APIS)
def test_rules_see_the_result_before_an_instruction(path: str) -> None:
    body, key, said, instructions = APIS[path]
    for end in range(len(instructions) + 1):
        answered = local(RULES).ask(path, {**body, key: [*said, *instructions[:end]]})
        assert b"It says blue heron, blue heron." in answered.body
        asked = local(RULES).ask(path, {**body, key: [*said[:1], *instructions[:end]]})
        assert b"Read" in asked.body
        assert b"It says" not in asked.body


@pytest.mark.parametrize("path", APIS)
def test_generated_answers_see_it_too(path: str) -> None:
    body, key, said, instructions = APIS[path]
    assert b"Read: blue heron." in local().ask(path, {**body, key: [*said, *instructions]}).body


def test_where_there_are_only_instructions_the_last_is_what_is_said() -> None:
    rules = "rules: [{when: {last_message: Be brief}, then: {text: Yes.}}]"
    body = {
        "model": "m",
        "messages": [{"role": "system", "content": "Be kind"}, {"role": "system", "content": "Be brief"}],
    }
    assert local(rules).ask("/v1/chat/completions", body).json["choices"][0]["message"]["content"] == "Yes."
