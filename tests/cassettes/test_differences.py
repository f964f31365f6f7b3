"""Each kind of difference, as a line."""

from typing import Any

import pytest

from mockserver.cassettes.miss import MAX_LINES, SHOWN, Difference, differences, lines
from mockserver.core.text import shown

USER = {"role": "user", "content": "What is the weather in Oslo today?"}
WEATHER = {"type": "function", "function": {"name": "weather", "parameters": '{"type":"object","properties":{}}'}}
TIME = {"type": "function", "function": {"name": "time"}}
STRICT = {"type": "function", "function": {**WEATHER["function"], "strict": True}}  # type: ignore[dict-item]
TYPED = {"type": "function", "function": {"name": "weather", "parameters": '{"type":"object","required":["a"]}'}}


def user(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": content, **more}


CASES: list[tuple[dict[str, Any], dict[str, Any], list[str]]] = [
    ({"a": 1}, {"a": 1}, []),
    ({"temperature": 0.2}, {"temperature": 0.7}, ["temperature: recorded 0.2 | request 0.7"]),
    ({"seed": 1}, {}, ["seed: only in the recording: 1"]),
    ({}, {"seed": 1}, ["seed: only in the request: 1"]),
    ({"n": 1}, {"n": True}, ["n: recorded 1 | request true"]),
    ({"stop": ["a"]}, {"stop": "a"}, ['stop: recorded ["a"] | request "a"']),
    ({"stop": ["a", "b"]}, {"stop": ["a", "c"]}, ['stop[1]: recorded "b" | request "c"']),
    (
        {"messages": [USER]},
        {"messages": [user("What is the weather in Bergen today?")]},
        ['messages[0] (user): recorded "… the weather in Oslo today?" | request "… the weather in Bergen today?"'],
    ),
    (
        {"messages": [user("a")]},
        {"messages": [user([{"type": "text", "text": "a"}])]},
        ['messages[0] (user): recorded "a" | request "a"'],
    ),
    (
        {"messages": [USER]},
        {"messages": [{"role": "system", "content": "Be brief"}, USER]},
        ['messages[0] (system): only in the request: "Be brief"'],
    ),
    (
        {"messages": [USER, user("Thanks")]},
        {"messages": [USER]},
        ['messages[1] (user): only in the recording: "Thanks"'],
    ),
    (
        {"messages": [user("a", name="x")]},
        {"messages": [user("a", name="y")]},
        ['messages[0] (user).name: recorded "x" | request "y"'],
    ),
    (
        {"messages": [user("a")]},
        {"messages": [{"role": "system", "content": "a"}]},
        ['messages[0] (system).role: recorded "user" | request "system"'],
    ),
    ({"input": "abc"}, {"input": "abd"}, ['input: recorded "abc" | request "abd"']),
    ({"input": [USER]}, {"input": "abd"}, [f'input: recorded {shown([USER], SHOWN)} | request "abd"']),
    ({"tools": [WEATHER]}, {"tools": [WEATHER, TIME]}, ["tool time: only in the request"]),
    ({"tools": [TIME, WEATHER]}, {"tools": [TIME]}, ["tool weather: only in the recording"]),
    ({"tools": [WEATHER]}, {}, ["tool weather: only in the recording"]),
    ({"tools": [WEATHER]}, {"tools": [STRICT]}, ["tool weather.strict: only in the request: true"]),
    (
        {"tools": [WEATHER]},
        {"tools": [TYPED]},
        [
            'tool weather.parameters.required: only in the request: ["a"]',
            "tool weather.parameters.properties: only in the recording: {}",
        ],
    ),
    (
        {"tools": [WEATHER, TIME]},
        {"tools": [TIME, WEATHER]},
        ['the order of tools: recorded ["weather", "time"] | request ["time", "weather"]'],
    ),
    (
        {"tools": [{"type": "web_search"}]},
        {"tools": [{"type": "x"}]},
        ['tools[0] (x).type: recorded "web_search" | request "x"'],
    ),
    ({"header.x-tenant": "a"}, {"header.x-tenant": "b"}, ['header.x-tenant: recorded "a" | request "b"']),
]


@pytest.mark.parametrize(("recorded", "asked", "told"), CASES)
def test_each_is_a_line(recorded: dict[str, Any], asked: dict[str, Any], told: list[str]) -> None:
    assert list(map(str, differences(recorded, asked))) == told


def test_what_was_said_stands_first() -> None:
    found = differences({"a": 1, "messages": [user("a")]}, {"a": 2, "messages": [user("b")]})
    assert [each.field for each in found] == ["messages", "a"]


def test_long_texts_are_cut_around_what_differs() -> None:
    one, other = "x" * 5000 + "Oslo" + "y" * 5000, "x" * 5000 + "Bergen" + "y" * 5000
    (found,) = differences({"prompt": one}, {"prompt": other})
    assert str(found) == (f'prompt: recorded "…{"x" * 16}Oslo{"y" * 16}…" | request "…{"x" * 16}Bergen{"y" * 16}…"')


def test_a_long_difference_is_cut() -> None:
    (found,) = differences({"prompt": "a" * 500}, {"prompt": "b" * 500})
    assert max(map(len, (found.recorded or "", found.asked or ""))) < 70


def test_no_request_writes_a_line_of_its_own() -> None:
    text = "a\n\u202e\x1b[31m"
    found = differences({"messages": [user("b", name=text)]}, {"messages": [user(text)], text: text, "tools": [text]})
    assert found
    assert all(str(each).isprintable() for each in found)


def test_many_lines_are_counted() -> None:
    found = [Difference("a", str(number), "1", "2") for number in range(20)]
    told = list(lines(found))
    assert len(told) == MAX_LINES + 1
    assert told[-1] == f"... and {20 - MAX_LINES} more"
