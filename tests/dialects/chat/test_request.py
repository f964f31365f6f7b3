"""The chat request of OpenAI and its look-alikes: what only the live API refuses, and a whole conversation."""

import json
from collections.abc import Callable
from typing import Any

import pytest

USER = {"role": "user", "content": "hi"}
TOOL = {"type": "function", "function": {"name": "f"}}


@pytest.fixture
def openai(speak: Callable[[str], Any]) -> Any:
    return speak("openai")


STRICT: dict[str, tuple[dict[str, Any], str, str | None, str | None]] = {
    "unknown": ({"foo": 1}, "Unknown parameter: 'foo'.", "foo", "unknown_parameter"),
    "no model name": ({"model": ""}, "you must provide a model parameter", "model", None),
    "no tokens": (
        {"max_tokens": 0},
        "Invalid 'max_tokens': integer below minimum value. Expected a value >= 1, but got 0 instead.",
        "max_tokens",
        "integer_below_min_value",
    ),
    "choice without tools": (
        {"tool_choice": "auto"},
        "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.",
        "tool_choice",
        None,
    ),
    "many tools": (
        {"tools": [TOOL] * 129},
        "Invalid 'tools': array too long. "
        "Expected an array with maximum length 128, but got an array with length 129 instead.",
        "tools",
        "array_above_max_length",
    ),
    "stray tool message": (
        {"messages": [USER, {"role": "tool", "content": "x", "tool_call_id": "call_1"}]},
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
        "messages[1]",
        None,
    ),
    "unanswered call": (
        {
            "messages": [
                {
                    "role": "assistant",
                    "tool_calls": [
                        {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": ""}},
                        {"id": "call_2", "type": "function", "function": {"name": "f", "arguments": ""}},
                    ],
                },
                {"role": "tool", "content": "x", "tool_call_id": "call_1"},
                USER,
            ]
        },
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
        "The following tool_call_ids did not have response messages: call_2",
        "messages[0]",
        None,
    ),
}


@pytest.mark.parametrize(("fields", "message", "param", "code"), STRICT.values(), ids=STRICT.keys())
def test_what_only_the_live_api_refuses(
    openai: Any, fields: dict[str, Any], message: str, param: str, code: str | None
) -> None:
    openai.parse(fields)
    error = json.loads(openai.refuses(fields, strict=True).body)["error"]
    assert (error["message"], error["param"], error["code"]) == (message, param, code)


def test_a_whole_conversation_is_strictly_fine(openai: Any) -> None:
    called = [{"id": "call_1", "type": "function", "function": {"name": "f", "arguments": ""}}]
    said = [
        {"role": "assistant", "tool_calls": called},
        {"role": "tool", "content": "x", "tool_call_id": "call_1"},
        {"role": "assistant", "content": "done"},
    ]
    assert openai.parse({"messages": [USER, *said, USER]}, strict=True).turn == 2
