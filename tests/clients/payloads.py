"""What the tests of this family ask: messages, tools, a schema."""

from typing import Any

from openai.types.chat import ChatCompletionFunctionToolParam, ChatCompletionMessageParam
from pydantic import BaseModel

MODEL = "gpt-4o"


class Person(BaseModel):
    name: str
    age: int


def say(text: str) -> list[ChatCompletionMessageParam]:
    return [{"role": "user", "content": text}]


def tool(name: str, **properties: str) -> ChatCompletionFunctionToolParam:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {key: {"type": kind} for key, kind in properties.items()},
        "required": list(properties),
        "additionalProperties": False,
    }
    return {"type": "function", "function": {"name": name, "parameters": schema, "strict": True}}


WEATHER = tool("get_weather", city="string", unit="string")
TIME = tool("get_time", zone="string")
CODE = "print('☀', 6 * 7)"
ZONE = 'Europe/Paris "CET" ☀'  # an argument that JSON has to escape

# Of responses: tools, input of every kind, and a value for every parameter with what it needs.

CITY = {"type": "object", "properties": {"city": {"type": "string"}, "unit": {"type": "string"}}}
WEATHER_FUNCTION: Any = {
    "type": "function",
    "name": "get_weather",
    "parameters": {**CITY, "required": ["city", "unit"], "additionalProperties": False},
    "strict": True,
}
RUN_CODE_TOOL: Any = {"type": "custom", "name": "run_code"}
PIXEL = "data:image/png;base64,iVBORw0KGgo="
ACTION = {"type": "click", "button": "left", "x": 1, "y": 2}
PATCH = {"type": "update_file", "path": "a.txt", "diff": "@@"}
INPUT: list[Any] = [
    {"role": "developer", "content": "Be brief."},
    {"type": "message", "role": "system", "content": [{"type": "input_text", "text": "Be kind."}]},
    {
        "role": "user",
        "content": [
            {"type": "input_text", "text": "Look:"},
            {"type": "input_image", "image_url": PIXEL, "detail": "low"},
            {"type": "input_file", "filename": "a.txt", "file_data": "AAAA"},
        ],
    },
    {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [
            {"type": "output_text", "text": "I look.", "annotations": []},
            {"type": "refusal", "refusal": "No"},
        ],
    },
    {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}], "encrypted_content": "x"},
    {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "call_1", "output": "done"},
    {"type": "custom_tool_call", "call_id": "call_2", "name": "g", "input": "free text"},
    {"type": "custom_tool_call_output", "call_id": "call_2", "output": [{"type": "input_text", "text": "done"}]},
    {
        "type": "computer_call",
        "id": "cu_1",
        "call_id": "call_3",
        "action": ACTION,
        "pending_safety_checks": [],
        "status": "completed",
    },
    {
        "type": "computer_call_output",
        "call_id": "call_3",
        "output": {"type": "computer_screenshot", "image_url": PIXEL},
        "acknowledged_safety_checks": [{"id": "s", "code": "c", "message": "m"}],
    },
    {"type": "file_search_call", "id": "fs_1", "queries": ["a"], "status": "completed", "results": None},
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "a"}},
    {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": "AA=="},
    {"type": "code_interpreter_call", "id": "ci_1", "container_id": "c", "status": "completed", "code": "1"},
    {
        "type": "local_shell_call",
        "id": "lsh_1",
        "call_id": "call_4",
        "action": {"type": "exec", "command": ["ls"], "env": {}},
        "status": "completed",
    },
    {"type": "local_shell_call_output", "id": "call_4", "output": "a.txt"},
    {"type": "shell_call", "call_id": "call_5", "action": {"commands": ["ls"]}},
    {
        "type": "shell_call_output",
        "call_id": "call_5",
        "output": [{"stdout": "a.txt", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}],
    },
    {"type": "apply_patch_call", "call_id": "call_6", "operation": PATCH, "status": "completed"},
    {"type": "apply_patch_call_output", "call_id": "call_6", "status": "completed"},
    {"type": "mcp_list_tools", "id": "mcpl_1", "server_label": "s", "tools": [{"name": "t", "input_schema": {}}]},
    {"type": "mcp_approval_request", "id": "mcpr_1", "server_label": "s", "name": "t", "arguments": "{}"},
    {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True},
    {"type": "mcp_call", "id": "mcp_1", "server_label": "s", "name": "t", "arguments": "{}", "output": "x"},
    {"type": "compaction", "encrypted_content": "x"},
    {"type": "item_reference", "id": "msg_2"},
    {"role": "user", "content": "hello"},
]

PARAMETERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "access_programs": ({"cyber": "standard"}, {}),
    "background": (False, {}),
    "background_options": ({"completion_window": "soonest"}, {}),
    "context_management": ([{"type": "compaction", "compact_threshold": 1000}], {}),
    "conversation": ("conv_1", {}),
    "image": ({"context_compression": "auto"}, {}),
    "include": (["message.output_text.logprobs", "reasoning.encrypted_content"], {}),
    "input": ("hello", {}),
    "instructions": ("Be brief.", {}),
    "max_output_tokens": (100, {}),
    "max_tool_calls": (3, {}),
    "metadata": ({"run": "7"}, {}),
    "model": (MODEL, {}),
    "moderation": ({"model": "omni-moderation-latest"}, {}),
    "parallel_tool_calls": (False, {}),
    "previous_response_id": ("resp_1", {}),
    "prompt": ({"id": "pmpt_1", "version": "2", "variables": {"a": "b"}}, {}),
    "prompt_cache_key": ("k", {}),
    "prompt_cache_options": ({"mode": "explicit"}, {}),
    "prompt_cache_retention": ("24h", {}),
    "reasoning": ({"effort": "low", "summary": "auto"}, {}),
    "safety_identifier": ("s", {}),
    "service_tier": ("flex", {}),
    "store": (True, {}),
    "stream_options": ({"include_obfuscation": False}, {"stream": True}),
    "temperature": (0.5, {}),
    "text": ({"format": {"type": "text"}, "verbosity": "low"}, {}),
    "tool_choice": ("auto", {}),
    "tools": ([WEATHER_FUNCTION, RUN_CODE_TOOL, {"type": "web_search"}], {}),
    "top_logprobs": (2, {}),
    "top_p": (0.9, {}),
    "truncation": ("auto", {}),
    "user": ("u", {}),
}
