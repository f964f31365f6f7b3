"""From a chat body to a Call, beyond the tables of requests/."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from mockserver.dialects._chat.request import tool_name

USER = {"role": "user", "content": "hi"}


@pytest.fixture
def parse(speak: Callable[[str], Any]) -> Callable[..., Any]:
    parse: Callable[..., Any] = speak("openai").parse
    return parse


def tools(*keys: str) -> list[dict[str, Any]]:
    return [{"type": "function", "function": {"name": "f", "parameters": dict.fromkeys(keys, 1)}}]


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
    assert tool_name(tool) == name


def test_turns_are_counted(parse: Callable[..., Any]) -> None:
    called = [{"id": "call_1", "type": "function", "function": {"name": "f", "arguments": ""}}]
    said = [
        {"role": "assistant", "tool_calls": called},
        {"role": "tool", "content": "x", "tool_call_id": "call_1"},
        {"role": "assistant", "content": "done"},
    ]
    assert parse({"messages": [USER, *said, USER]}).turn == 2
