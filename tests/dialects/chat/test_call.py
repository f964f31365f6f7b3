"""From a chat body to a Call: what each field becomes, and what the fingerprint sees of it."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from mockserver.core.call import Message, Tool, ToolCall, ToolChoice
from mockserver.dialects._chat.request import named

USER = {"role": "user", "content": "hi"}
WEATHER = {"type": "function", "function": {"name": "weather", "parameters": {"b": 1, "a": 2}}}
CALLED = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}


@pytest.fixture
def parse(speak: Callable[[str], Any]) -> Callable[..., Any]:
    parse: Callable[..., Any] = speak("openai").parse
    return parse


def test_a_small_chat_has_the_defaults(parse: Callable[..., Any]) -> None:
    call = parse({})
    assert (call.dialect, call.operation, call.model) == ("openai", "chat", "gpt-x")
    assert call.messages == (Message("user", "hi"),)
    assert (call.stream, call.include_usage, call.n, call.max_tokens, call.stop) == (False, False, 1, None, ())
    assert (call.tools, call.tool_choice, call.parallel_tool_calls) == ((), ToolChoice("none"), True)
    assert (call.response_format, call.schema, call.seed, call.logprobs) == ("text", None, None, None)
    assert call.raw == {"model": "gpt-x", "messages": [USER]}


FIELDS: list[tuple[dict[str, Any], str, Any]] = [
    ({"stream": True}, "stream", True),
    ({"stream": True, "stream_options": {"include_usage": True}}, "include_usage", True),
    ({"stream": True, "stream_options": {}}, "include_usage", False),
    ({"n": 3}, "n", 3),
    ({"n": 2.0}, "n", 2),
    ({"n": None}, "n", 1),
    ({"max_tokens": 5}, "max_tokens", 5),
    ({"max_completion_tokens": 0}, "max_tokens", 0),
    ({"max_tokens": -5}, "max_tokens", 0),
    ({"max_tokens": None, "max_completion_tokens": 7}, "max_tokens", 7),
    ({"stop": "x"}, "stop", ("x",)),
    ({"stop": ["x", "y"]}, "stop", ("x", "y")),
    ({"logprobs": True}, "logprobs", 0),
    ({"logprobs": True, "top_logprobs": 3}, "logprobs", 3),
    ({"logprobs": False}, "logprobs", None),
    ({"seed": -(2**63)}, "seed", -(2**63)),
    ({"response_format": {"type": "json_object"}}, "response_format", "json_object"),
    ({"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {}}}}, "schema", {}),
    ({"response_format": {"type": "json_schema", "json_schema": {"name": "x"}}}, "schema", None),
    ({"parallel_tool_calls": False}, "parallel_tool_calls", False),
    ({"tools": [WEATHER]}, "tools", (Tool("weather", parameters={"b": 1, "a": 2}),)),
    (
        {"tools": [{"type": "custom", "custom": {"name": "c d", "description": "x"}}]},
        "tools",
        (Tool("c d", "x", kind="custom"),),
    ),
    (
        {"functions": [{"name": "f", "description": "x", "strict": True}]},
        "tools",
        (Tool("f", description="x", strict=True),),
    ),
    ({"tools": [WEATHER]}, "tool_choice", ToolChoice("auto")),
    ({"tools": []}, "tool_choice", ToolChoice("none")),
    ({"tools": [WEATHER], "tool_choice": "required"}, "tool_choice", ToolChoice("required")),
    ({"tools": [WEATHER], "tool_choice": None}, "tool_choice", ToolChoice("auto")),
    (
        {"tools": [WEATHER], "tool_choice": {"type": "function", "function": {"name": "weather"}}},
        "tool_choice",
        ToolChoice("named", ("weather",)),
    ),
    (
        {
            "tools": [WEATHER],
            "tool_choice": {
                "type": "allowed_tools",
                "allowed_tools": {
                    "mode": "required",
                    "tools": [{"type": "function", "function": {"name": "weather"}}],
                },
            },
        },
        "tool_choice",
        ToolChoice("required", ("weather",)),
    ),
    ({"functions": [{"name": "f"}], "function_call": {"name": "f"}}, "tool_choice", ToolChoice("named", ("f",))),
    ({"functions": [{"name": "f"}], "function_call": "none"}, "tool_choice", ToolChoice("none")),
]


@pytest.mark.parametrize(("fields", "name", "value"), FIELDS)
def test_fields(parse: Callable[..., Any], fields: dict[str, Any], name: str, value: Any) -> None:
    assert getattr(parse(fields), name) == value


IMAGE = {"type": "image_url", "image_url": {"url": "data:,"}}
MESSAGES: list[tuple[dict[str, Any], Message]] = [
    ({"role": "developer", "content": "x", "name": "n"}, Message("developer", "x", name="n")),
    (
        {"role": "system", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        Message("system", "ab"),
    ),
    ({"role": "user", "content": [{"type": "text", "text": "a"}, IMAGE]}, Message("user", "a", parts=(IMAGE,))),
    ({"role": "user", "content": "x", "tool_calls": 5}, Message("user", "x")),
    ({"role": "user", "content": [IMAGE], "tool_calls": 5, "refusal": 7}, Message("user", parts=(IMAGE,))),
    ({"role": "assistant", "content": None, "refusal": "no"}, Message("assistant", "no")),
    ({"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}, Message("assistant", "no")),
    (
        {"role": "assistant", "content": None, "tool_calls": [CALLED]},
        Message("assistant", tool_calls=(ToolCall("call_1", "weather", "{}"),)),
    ),
    (
        {
            "role": "assistant",
            "tool_calls": [{"id": "call_2", "type": "custom", "custom": {"name": "c", "input": "x"}}],
        },
        Message("assistant", tool_calls=(ToolCall("call_2", "c", "x", kind="custom"),)),
    ),
    (
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        Message("assistant", tool_calls=(ToolCall("", "f", "{}"),)),
    ),
    ({"role": "assistant", "audio": {"id": "audio_1"}}, Message("assistant")),
    ({"role": "tool", "content": "x", "tool_call_id": "call_1"}, Message("tool", "x", tool_call_id="call_1")),
    ({"role": "function", "content": None, "name": "f"}, Message("function", name="f")),
]


@pytest.mark.parametrize(("given", "message"), MESSAGES)
def test_messages(parse: Callable[..., Any], given: dict[str, Any], message: Message) -> None:
    assert parse({"messages": [given]}).messages == (message,)


def history(call: str, *, message: str = "m1", answered: str | None = None) -> list[dict[str, Any]]:
    return [
        USER,
        {"role": "assistant", "id": message, "content": None, "tool_calls": [{**CALLED, "id": call}]},
        {"role": "tool", "tool_call_id": answered or call, "content": "sunny"},
    ]


def schema(*keys: str) -> dict[str, Any]:
    properties = {key: {"type": "string"} for key in keys}
    return {"type": "json_schema", "json_schema": {"name": "x", "schema": {"properties": properties}}}


def tools(*keys: str) -> list[dict[str, Any]]:
    return [{"type": "function", "function": {"name": "f", "parameters": dict.fromkeys(keys, 1)}}]


SAME: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {"stream": True, "stream_options": {"include_usage": True}}),
    ({}, {"user": "u", "safety_identifier": "s", "metadata": {"a": "b"}, "store": True}),
    ({}, {"service_tier": "flex", "prompt_cache_key": "k", "prompt_cache_retention": "24h"}),
    ({}, {"temperature": None, "tools": None}),
    ({"temperature": 1}, {"temperature": 1.0}),
    ({"messages": history("call_1")}, {"messages": history("call_9")}),
    ({"messages": history("call_1")}, {"messages": history("call_1", message="m2")}),
    (
        {"messages": [{"role": "assistant", "audio": {"id": "a"}}]},
        {"messages": [{"role": "assistant", "audio": {"id": "b"}}]},
    ),
]
OTHER: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {"temperature": 0}),
    ({}, {"seed": 1}),
    ({}, {"model": "gpt-y"}),
    ({}, {"never_heard_of": 1}),
    ({"temperature": 0.5}, {"temperature": 0.6}),
    ({}, {"messages": [{"role": "user", "content": "hi!"}]}),
    ({"messages": history("call_1")}, {"messages": history("call_1", answered="call_2")}),
    ({"response_format": schema("a", "b")}, {"response_format": schema("b", "a")}),
    ({"tools": tools("a", "b")}, {"tools": tools("b", "a")}),
    (
        {"functions": [{"name": "f", "parameters": {"a": 1, "b": 2}}]},
        {"functions": [{"name": "f", "parameters": {"b": 2, "a": 1}}]},
    ),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_what_does_not_change_the_fingerprint(
    parse: Callable[..., Any], one: dict[str, Any], other: dict[str, Any]
) -> None:
    assert parse(one).fingerprint == parse(other).fingerprint


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_what_changes_the_fingerprint(parse: Callable[..., Any], one: dict[str, Any], other: dict[str, Any]) -> None:
    assert parse(one).fingerprint != parse(other).fingerprint


def test_the_order_of_keys_does_not_change_the_fingerprint(parse: Callable[..., Any]) -> None:
    one = {"model": "m", "messages": [{"role": "user", "content": "x"}], "tools": tools("a")}
    other = json.dumps({key: one[key] for key in reversed(one)}).encode()
    turned = other.replace(b'"role": "user", "content": "x"', b'"content": "x", "role": "user"')
    assert turned != other
    assert parse(json.dumps(one).encode()).fingerprint == parse(turned).fingerprint


def test_each_dialect_has_fingerprints_of_its_own(speak: Callable[[str], Any]) -> None:
    names = ("openai", "skytells", "crazyrouter", "azure")
    assert len({speak(name).parse({}).fingerprint for name in names}) == len(names)


def test_ids_of_odd_shape_in_messages_do_no_harm(parse: Callable[..., Any]) -> None:
    odd = [{"role": "user", "content": "x", "id": [1], "tool_calls": [5, {"id": 6}], "audio": 7}]
    assert parse({"messages": odd}).meaning["messages"] == odd


def test_a_custom_tool_keeps_its_own_keys_in_the_meaning(parse: Callable[..., Any]) -> None:
    tool = {"type": "custom", "custom": {"name": "c"}, "function": 5}
    assert parse({"tools": [tool]}).meaning["tools"] == [tool]


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        ({"type": "function", "function": {"name": "f"}}, "f"),
        ({"type": "custom", "custom": {"name": "c"}}, "c"),
        ({"type": "function", "name": "g"}, "g"),
        ({"name": "h"}, "h"),
        ({"type": [], "name": "i"}, "i"),
        ({"type": "function", "function": 5}, ""),
        ({"name": 5}, ""),
        ({}, ""),
    ],
)
def test_named(tool: dict[str, Any], name: str) -> None:
    assert named(tool) == name
