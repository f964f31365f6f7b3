"""Fields of a Responses body that exclude or need each other, and what waits for `strict`."""

from collections.abc import Callable
from typing import Any

import pytest

CALL = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c", "output": ""}
F = {"type": "function", "name": "f"}
MCP = {"type": "mcp", "server_label": "s"}
MINIMAL = {"model": "gpt-x", "input": "hi"}

CONFLICTS: list[tuple[dict[str, Any], str, str]] = [
    (
        {"stream_options": {}},
        "stream_options",
        "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
    ),
    (
        {"previous_response_id": "a", "conversation": "b"},
        "previous_response_id",
        "Mutually exclusive parameters: 'previous_response_id' and 'conversation'. "
        "Ensure you are only providing one of: 'previous_response_id' or 'conversation'.",
    ),
    ({"background": True, "store": False}, "background", "Background mode requires 'store' to be true."),
]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(("body", "param", "message"), CONFLICTS)
def test_conflicts(
    speak: Callable[[str], Any], *, body: dict[str, Any], param: str, message: str, strict: bool
) -> None:
    error = speak("openai").complains({**MINIMAL, **body}, strict=strict)
    assert (error["param"], error["message"], error["code"]) == (param, message, None)


LIVE_ONLY: list[tuple[dict[str, Any], str]] = [
    ({"foo": 1}, "Unknown parameter: 'foo'."),
    ({"model": ""}, "Missing required parameter: 'model'."),
    (
        {"input": ""},
        "Missing required parameter: provide one of 'input', 'prompt', 'previous_response_id' or 'conversation'.",
    ),
    ({"tool_choice": "required"}, "Tool choice 'required' must be specified with 'tools' parameter."),
    ({"tool_choice": {**F}}, "Tool choice 'function' must be specified with 'tools' parameter."),
    (
        {"tools": [F], "tool_choice": {"type": "function", "name": "g"}},
        "Tool choice 'function' not found in 'tools' parameter.",
    ),
    (
        {"tools": [MCP], "tool_choice": {"type": "mcp", "server_label": "t"}},
        "Tool choice 'mcp' not found in 'tools' parameter.",
    ),
    (
        {"tools": [F], "tool_choice": {"type": "web_search"}},
        "Tool choice 'web_search' not found in 'tools' parameter.",
    ),
    ({"input": [{"type": "function_call"}]}, "Missing required parameter: 'input[0].call_id'."),
    ({"input": [{**OUTPUT, "output": None}]}, "Missing required parameter: 'input[0].output'."),
    ({"input": [CALL]}, "No tool output found for function call c."),
    ({"input": [OUTPUT]}, "No tool call found for function call output with call_id c."),
    ({"input": [{**CALL, "call_id": [7]}]}, "No tool output found for function call [7]."),
    ({"input": [{**OUTPUT, "call_id": {}}]}, "No tool call found for function call output with call_id {}."),
]


@pytest.mark.parametrize(("body", "message"), LIVE_ONLY)
def test_what_waits_for_strict(speak: Callable[[str], Any], body: dict[str, Any], message: str) -> None:
    openai = speak("openai")
    assert openai.responses({**MINIMAL, **body}).operation == "responses"
    assert openai.complains({**MINIMAL, **body}, strict=True)["message"] == message


STRICTLY_FINE: list[dict[str, Any]] = [
    {},
    {"model": "", "prompt": {"id": "p"}},
    {"input": "", "prompt": {"id": "p"}},
    {"input": "", "previous_response_id": "a"},
    {"tool_choice": "auto"},
    {"tool_choice": "required", "prompt": {"id": "p"}},
    {"tools": [F, MCP, {"type": "web_search"}], "tool_choice": F},
    {"tools": [F, MCP], "tool_choice": MCP},
    {"tools": [F, {"type": "web_search"}], "tool_choice": {"type": "web_search"}},
    {"tools": [F], "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [F]}},
    {"input": [CALL, OUTPUT]},
    {"input": [OUTPUT], "previous_response_id": "a"},
    {"input": [OUTPUT], "conversation": "a"},
    {"background": True},
    {"background": True, "store": True},
]


@pytest.mark.parametrize("body", STRICTLY_FINE)
def test_what_strict_accepts(speak: Callable[[str], Any], body: dict[str, Any]) -> None:
    assert speak("openai").responses({**MINIMAL, **body}, strict=True).operation == "responses"
