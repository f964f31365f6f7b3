"""OpenAI's wording of refused fields: message, code and param, as clients and wrappers know them."""

import json
from collections.abc import Callable
from typing import Any

import pytest

USER = {"role": "user", "content": "hi"}
TOOL = {"type": "function", "function": {"name": "f"}}
ROLES = "'system', 'assistant', 'user', 'function', 'tool', and 'developer'"

# size: one long table
# Each: fields, message, param, code.
REFUSED: dict[str, tuple[dict[str, Any], str, str, str | None]] = {
    "no messages": (
        {"messages": ...},
        "Missing required parameter: 'messages'.",
        "messages",
        "missing_required_parameter",
    ),
    "no model": ({"model": ...}, "Missing required parameter: 'model'.", "model", "missing_required_parameter"),
    "messages of another type": (
        {"messages": "hi"},
        "Invalid type for 'messages': expected an array of objects, but got a string instead.",
        "messages",
        "invalid_type",
    ),
    "empty messages": (
        {"messages": []},
        "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
        "messages",
        "empty_array",
    ),
    "message of another type": (
        {"messages": [[]]},
        "Invalid type for 'messages[0]': expected an object, but got an array instead.",
        "messages[0]",
        "invalid_type",
    ),
    "unknown role": (
        {"messages": [USER, {"role": "wizard", "content": "x"}]},
        f"Invalid value: 'wizard'. Supported values are: {ROLES}.",
        "messages[1].role",
        "invalid_value",
    ),
    "no role": (
        {"messages": [{"content": "x"}]},
        "Missing required parameter: 'messages[0].role'.",
        "messages[0].role",
        "missing_required_parameter",
    ),
    "no content": (
        {"messages": [{"role": "user"}]},
        "Missing required parameter: 'messages[0].content'.",
        "messages[0].content",
        "missing_required_parameter",
    ),
    "null content of a user": (
        {"messages": [{"role": "user", "content": None}]},
        "Invalid type for 'messages[0].content': expected one of a string or array of objects, but got null instead.",
        "messages[0].content",
        "invalid_type",
    ),
    "content of another type": (
        {"messages": [{"role": "user", "content": {"type": "text"}}]},
        "Invalid type for 'messages[0].content': "
        "expected one of a string or array of objects, but got an object instead.",
        "messages[0].content",
        "invalid_type",
    ),
    "assistant says nothing": (
        {"messages": [{"role": "assistant", "content": None}]},
        "Invalid value for 'content': expected a string, got null.",
        "messages[0].content",
        None,
    ),
    "assistant says nothing, with empty calls": (
        {"messages": [{"role": "assistant", "tool_calls": []}]},
        "Invalid value for 'content': expected a string, got null.",
        "messages[0].content",
        None,
    ),
    "empty parts": (
        {"messages": [{"role": "user", "content": []}]},
        "Invalid 'messages[0].content': empty array. "
        "Expected an array with minimum length 1, but got an empty array instead.",
        "messages[0].content",
        "empty_array",
    ),
    "unknown part": (
        {"messages": [{"role": "user", "content": [{"type": "smell"}]}]},
        "Invalid value: 'smell'. Supported values are: 'text', 'image_url', 'input_audio', and 'file'.",
        "messages[0].content[0].type",
        "invalid_value",
    ),
    "image for the system": (
        {"messages": [{"role": "system", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]},
        "Invalid value: 'image_url'. Supported values are: 'text'.",
        "messages[0].content[0].type",
        "invalid_value",
    ),
    "image as a string": (
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": "x"}]}]},
        "Invalid type for 'messages[0].content[0].image_url': expected an object, but got a string instead.",
        "messages[0].content[0].image_url",
        "invalid_type",
    ),
    "tool message without an id": (
        {"messages": [{"role": "tool", "content": "x"}]},
        "Missing required parameter: 'messages[0].tool_call_id'.",
        "messages[0].tool_call_id",
        "missing_required_parameter",
    ),
    "arguments as an object": (
        {
            "messages": [
                {
                    "role": "assistant",
                    "tool_calls": [{"id": "x", "type": "function", "function": {"name": "f", "arguments": {}}}],
                }
            ]
        },
        "Invalid type for 'messages[0].tool_calls[0].function.arguments': "
        "expected a string, but got an object instead.",
        "messages[0].tool_calls[0].function.arguments",
        "invalid_type",
    ),
    "temperature as text": (
        {"temperature": "hot"},
        "Invalid type for 'temperature': expected a decimal, but got a string instead.",
        "temperature",
        "invalid_type",
    ),
    "temperature above": (
        {"temperature": 3},
        "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 3 instead.",
        "temperature",
        "decimal_above_max_value",
    ),
    "penalty below": (
        {"frequency_penalty": -2.5},
        "Invalid 'frequency_penalty': decimal below minimum value. Expected a value >= -2, but got -2.5 instead.",
        "frequency_penalty",
        "decimal_below_min_value",
    ),
    "top_p above": (
        {"top_p": 1.5},
        "Invalid 'top_p': decimal above maximum value. Expected a value <= 1, but got 1.5 instead.",
        "top_p",
        "decimal_above_max_value",
    ),
    "n below": (
        {"n": 0},
        "Invalid 'n': integer below minimum value. Expected a value >= 1, but got 0 instead.",
        "n",
        "integer_below_min_value",
    ),
    "n above": (
        {"n": 129},
        "Invalid 'n': integer above maximum value. Expected a value <= 128, but got 129 instead.",
        "n",
        "integer_above_max_value",
    ),
    "n as a decimal": (
        {"n": 1.5},
        "Invalid type for 'n': expected an integer, but got a decimal instead.",
        "n",
        "invalid_type",
    ),
    "n as a boolean": (
        {"n": True},
        "Invalid type for 'n': expected an integer, but got a boolean instead.",
        "n",
        "invalid_type",
    ),
    "seed beyond 64 bits": (
        {"seed": 2**63},
        "Invalid 'seed': integer above maximum value. "
        "Expected a value <= 9223372036854775807, but got 9223372036854775808 instead.",
        "seed",
        "integer_above_max_value",
    ),
    "bias above": (
        {"logit_bias": {"1": 5, "50256": 101}},
        "Invalid 'logit_bias.50256': decimal above maximum value. Expected a value <= 100, but got 101 instead.",
        "logit_bias.50256",
        "decimal_above_max_value",
    ),
    "bias as a decimal": (
        {"logit_bias": {"1": 0.5}},
        "Invalid type for 'logit_bias.1': expected an integer, but got a decimal instead.",
        "logit_bias.1",
        "invalid_type",
    ),
    "stop of another type": (
        {"stop": 5},
        "Invalid type for 'stop': expected one of a string or array of strings, but got an integer instead.",
        "stop",
        "invalid_type",
    ),
    "five stops": (
        {"stop": list("abcde")},
        "Invalid 'stop': array too long. "
        "Expected an array with maximum length 4, but got an array with length 5 instead.",
        "stop",
        "array_above_max_length",
    ),
    "modalities of another type": (
        {"modalities": "text"},
        "Invalid type for 'modalities': expected an array of strings, but got a string instead.",
        "modalities",
        "invalid_type",
    ),
    "tool without a name": (
        {"tools": [{"type": "function", "function": {}}]},
        "Missing required parameter: 'tools[0].function.name'.",
        "tools[0].function.name",
        "missing_required_parameter",
    ),
    "tool with an odd name": (
        {"tools": [{"type": "function", "function": {"name": "a b"}}]},
        "Invalid 'tools[0].function.name': string does not match pattern. "
        "Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
        "tools[0].function.name",
        "invalid_value",
    ),
    "tool with a long name": (
        {"tools": [{"type": "function", "function": {"name": "a" * 65}}]},
        "Invalid 'tools[0].function.name': string too long. "
        "Expected a string with maximum length 64, but got a string with length 65 instead.",
        "tools[0].function.name",
        "string_above_max_length",
    ),
    "schema with an odd name": (
        {"response_format": {"type": "json_schema", "json_schema": {"name": "a.b"}}},
        "Invalid 'response_format.json_schema.name': string does not match pattern. "
        "Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
        "response_format.json_schema.name",
        "invalid_value",
    ),
    "unknown format": (
        {"response_format": {"type": "yaml"}},
        "Invalid value: 'yaml'. Supported values are: 'text', 'json_object', and 'json_schema'.",
        "response_format.type",
        "invalid_value",
    ),
    "unknown effort": (
        {"verbosity": "loud"},
        "Invalid value: 'loud'. Supported values are: 'low', 'medium', and 'high'.",
        "verbosity",
        "invalid_value",
    ),
    "much metadata": (
        {"metadata": {str(i): "x" for i in range(17)}},
        "Invalid 'metadata': too many properties. "
        "Expected an object with at most 16 properties, but got an object with 17 properties instead.",
        "metadata",
        "object_above_max_properties",
    ),
    "long metadata": (
        {"metadata": {"a": "x" * 513}},
        "Invalid 'metadata.a': string too long. "
        "Expected a string with maximum length 512, but got a string with length 513 instead.",
        "metadata.a",
        "string_above_max_length",
    ),
    "stream_options alone": (
        {"stream_options": {"include_usage": True}},
        "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
        "stream_options",
        None,
    ),
    "top_logprobs alone": (
        {"top_logprobs": 2},
        "'top_logprobs' is only allowed when 'logprobs' is true.",
        "top_logprobs",
        None,
    ),
    "both lengths": (
        {"max_tokens": 1, "max_completion_tokens": 1},
        "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
        "max_tokens",
        None,
    ),
    "choice without tools": (
        {"tool_choice": "required"},
        "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.",
        "tool_choice",
        None,
    ),
    "choice of an unknown tool": (
        {"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "g"}}},
        "Invalid value for 'tool_choice': 'g' is not found in the 'tools' parameter.",
        "tool_choice",
        None,
    ),
    "an unknown tool allowed": (
        {
            "tools": [TOOL],
            "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [{"name": "g"}]}},
        },
        "Invalid value for 'tool_choice': 'g' is not found in the 'tools' parameter.",
        "tool_choice",
        None,
    ),
    "unknown choice": (
        {"tools": [TOOL], "tool_choice": "any"},
        "Invalid value: 'any'. Supported values are: 'none', 'auto', and 'required'.",
        "tool_choice",
        "invalid_value",
    ),
    "function_call without functions": (
        {"function_call": {"name": "f"}},
        "Invalid value for 'function_call': 'function_call' is only allowed when 'functions' are specified.",
        "function_call",
        None,
    ),
}


@pytest.mark.parametrize(("fields", "message", "param", "code"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(
    speak: Callable[[str], Any], fields: dict[str, Any], message: str, param: str, code: str | None
) -> None:
    full = {"model": "gpt-x", "messages": [USER], **fields}
    body = json.dumps({key: value for key, value in full.items() if value is not ...}).encode()
    reply = speak("openai").refuses(body)
    assert reply.status == 400
    assert json.loads(reply.body)["error"] == {
        "message": message,
        "type": "invalid_request_error",
        "param": param,
        "code": code,
    }
    named = message if param in message else f"{message} (parameter: '{param}')"  # where the envelope names none
    for lookalike, words in (("skytells", message), ("crazyrouter", named)):
        error = json.loads(speak(lookalike).refuses(body).body)["error"]
        assert (error["message"], error["code"]) == (words, "invalid_parameter")


def test_what_the_client_sent_is_quoted_within_bounds(speak: Callable[[str], Any]) -> None:
    reply = speak("openai").refuses({"verbosity": "x" * 10_000, "n": 0})
    assert len(reply.body) < 400
