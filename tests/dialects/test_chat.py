"""From a chat body to a Call, beyond the tables of requests/."""

import json
from collections.abc import Callable
from typing import Any

import pytest

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
