"""What OpenAI's Responses schema allows is accepted, field by field; what it forbids is refused in its words."""

from collections.abc import Callable
from typing import Any, get_args, get_type_hints

import pytest
from openai.types.responses import response_create_params, response_includable, tool_choice_types_param

from mockserver.dialects._responses.models import RESPONSE_FIELDS, HostedChoice, Includable

SCHEMA = {"type": "object", "properties": {}}


@pytest.fixture
def openai(speak: Callable[[str], Any]) -> Any:
    return speak("openai")


ACCEPTED: list[dict[str, Any]] = [
    {},
    {"input": ""},
    {"input": []},
    {"model": "gpt-x", "instructions": "Be brief.", "max_output_tokens": 16, "max_tool_calls": 0},
    {"temperature": 2, "top_p": 0, "top_logprobs": 20, "truncation": "auto", "parallel_tool_calls": False},
    {"store": False, "background": False, "stream": True, "stream_options": {"include_obfuscation": False}},
    {"previous_response_id": "resp_1"},
    {"conversation": "conv_1"},
    {"conversation": {"id": "conv_1"}},
    {"prompt": {"id": "pmpt_1", "version": "2", "variables": {"a": "b", "c": {"type": "input_text", "text": "x"}}}},
    {"reasoning": {"effort": "max", "summary": "auto", "generate_summary": "concise", "mode": "pro"}},
    {"text": {}},
    {"text": {"format": {"type": "text"}, "verbosity": "low"}},
    {"text": {"format": {"type": "json_object"}}},
    {"text": {"format": {"type": "json_schema", "name": "x", "schema": SCHEMA, "strict": True, "description": "d"}}},
    {"metadata": {"k" * 64: "v" * 512}, "service_tier": "ultrafast", "user": "u", "safety_identifier": "s"},
    {"prompt_cache_key": "k", "prompt_cache_options": {"ttl": "30m"}, "prompt_cache_retention": "24h"},
    {"context_management": [{"type": "compaction", "compact_threshold": 1000}], "moderation": {"model": "x"}},
    {"background_options": {"completion_window": "soonest"}, "access_programs": {}, "image": {}},
    {"tools": [{"type": "function", "name": "f", "parameters": None, "strict": None}]},
    {"tools": [{"type": "custom", "name": "x y", "format": {"type": "grammar", "syntax": "lark", "definition": ""}}]},
    {"tools": [{"type": "custom", "name": "x", "format": {"type": "text"}}]},
    {"tools": [{"type": "image_generation"}, {"type": "image_generation", "partial_images": 3, "size": "auto"}]},
    {"tools": [{"type": "web_search"}, {"type": "mcp", "server_label": "s", "server_url": "u"}, {"type": "of 2030"}]},
    {"tool_choice": {"type": "function", "name": "f"}},
    {"tool_choice": {"type": "custom", "name": "c"}},
    {"tool_choice": {"type": "mcp", "server_label": "s", "name": None}},
    {"tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "mcp", "server_label": "s"}]}},
    {"never_heard_of": {"a": [None]}},
    {"input": [{"role": "user", "content": "hi"}, {"role": "developer", "content": []}]},
    {"input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "x", "more": 1}]}]},
    {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "u"}, {"type": "of 2030"}]}]},
    {"input": [{"type": None, "id": "msg_1"}, {"id": "msg_2"}, {"type": "item_reference", "id": "msg_3"}]},
    {"input": [{"type": "of_2030", "anything": [1]}, {"type": "function_call"}]},
    *({"tool_choice": {"type": kind}} for kind in get_args(HostedChoice.__annotations__["type"])),
    *({"include": [name]} for name in get_args(Includable)),
]


@pytest.mark.parametrize("body", ACCEPTED)
def test_accepted(openai: Any, body: dict[str, Any]) -> None:
    assert openai.responses(body).raw == body


def test_nothing_of_the_client_is_left_out() -> None:
    base = response_create_params.ResponseCreateParamsBase
    assert base.__annotations__.keys() | {"stream"} == RESPONSE_FIELDS
    assert set(get_args(response_includable.ResponseIncludable)) == set(get_args(Includable))
    theirs = get_type_hints(tool_choice_types_param.ToolChoiceTypesParam)["type"]
    assert set(get_args(theirs)) <= set(get_args(HostedChoice.__annotations__["type"]))


NOT_NULL = {"model", "input"}


@pytest.mark.parametrize("field", sorted(RESPONSE_FIELDS))
def test_null_is_as_good_as_nothing(openai: Any, field: str) -> None:
    if field in NOT_NULL:
        assert openai.complains({field: None})["code"] == "invalid_type"
    else:
        assert openai.responses({field: None}).fingerprint == openai.responses({}).fingerprint


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"model": 5}, "model", "invalid_type"),
    ({"max_output_tokens": 15}, "max_output_tokens", "integer_below_min_value"),
    ({"max_tool_calls": "1"}, "max_tool_calls", "invalid_type"),
    ({"temperature": 2.1}, "temperature", "decimal_above_max_value"),
    ({"temperature": -1}, "temperature", "decimal_below_min_value"),
    ({"top_p": 1.5}, "top_p", "decimal_above_max_value"),
    ({"top_logprobs": 21}, "top_logprobs", "integer_above_max_value"),
    ({"truncation": "none"}, "truncation", "invalid_value"),
    ({"store": "yes"}, "store", "invalid_type"),
    ({"service_tier": "slow"}, "service_tier", "invalid_value"),
    ({"metadata": {"a": 1}}, "metadata.a", "invalid_type"),
    ({"metadata": {str(i): "" for i in range(17)}}, "metadata", "object_above_max_properties"),
    ({"include": ["everything"]}, "include[0]", "invalid_value"),
    ({"include": "everything"}, "include", "invalid_type"),
    ({"reasoning": {"effort": "huge"}}, "reasoning.effort", "invalid_value"),
    ({"reasoning": {"summary": "long"}}, "reasoning.summary", "invalid_value"),
    ({"prompt": {}}, "prompt.id", "missing_required_parameter"),
    ({"conversation": {}}, "conversation.id", "missing_required_parameter"),
    ({"conversation": 1}, "conversation", "invalid_type"),
    ({"text": {"format": {"type": "xml"}}}, "text.format.type", "invalid_value"),
    ({"text": {"format": {"type": "json_schema", "schema": {}}}}, "text.format.name", "missing_required_parameter"),
    ({"text": {"format": {"type": "json_schema", "name": "x"}}}, "text.format.schema", "missing_required_parameter"),
    ({"text": {"format": {"type": "json_schema", "name": "a b", "schema": {}}}}, "text.format.name", "invalid_value"),
    ({"text": {"verbosity": "loud"}}, "text.verbosity", "invalid_value"),
    ({"tools": [{}]}, "tools[0].type", "missing_required_parameter"),
    ({"tools": [{"type": 3}]}, "tools[0].type", "invalid_type"),
    ({"tools": ["web_search"]}, "tools[0]", "invalid_type"),
    ({"tools": [{"type": "function", "function": {"name": "f"}}]}, "tools[0].name", "missing_required_parameter"),
    ({"tools": [{"type": "function", "name": "a b"}]}, "tools[0].name", "invalid_value"),
    ({"tools": [{"type": "custom"}]}, "tools[0].name", "missing_required_parameter"),
    (
        {"tools": [{"type": "image_generation", "partial_images": 4}]},
        "tools[0].partial_images",
        "integer_above_max_value",
    ),
    ({"tools": [{"type": "image_generation", "partial_images": "1"}]}, "tools[0].partial_images", "invalid_type"),
    ({"tool_choice": "any"}, "tool_choice", "invalid_value"),
    ({"tool_choice": {"type": "of 2030"}}, "tool_choice.type", "invalid_value"),
    ({"tool_choice": {"type": "function"}}, "tool_choice.name", "missing_required_parameter"),
    ({"tool_choice": {"type": "mcp"}}, "tool_choice.server_label", "missing_required_parameter"),
    ({"tool_choice": {"type": "allowed_tools", "mode": "none", "tools": []}}, "tool_choice.mode", "invalid_value"),
]


@pytest.mark.parametrize(("body", "param", "code"), REFUSED)
def test_refused(openai: Any, body: dict[str, Any], param: str, code: str) -> None:
    error = openai.complains(body)
    assert (error["type"], error["param"], error["code"]) == ("invalid_request_error", param, code)
