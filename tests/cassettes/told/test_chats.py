"""Deltas of chat are put together by choice and by call, whatever order they come in."""

import json
from typing import Any

from mockserver.cassettes.parse_response import Used, around, events, of_chat, of_chunks, prompt_filters


def stream(*choices: Any, done: bool = True) -> Any:
    chunks = [json.dumps({"model": "m", "choices": [choice]}).encode() for choice in choices]
    return events([(0.0, b"data: %s\n\n" % chunk) for chunk in (*chunks, *([b"[DONE]"] if done else []))])


def test_calls_are_told_apart_by_their_index() -> None:
    pieces = [
        {"index": 0, "id": "a", "function": {"name": "f", "arguments": ""}},
        {"index": 1, "id": "b", "function": {"name": "g", "arguments": "{"}},
        {"index": 0, "function": {"arguments": '{"x":1}'}},
        {"index": 1, "function": {"arguments": "}"}},
    ]
    said = of_chunks(stream(*({"index": 0, "delta": {"tool_calls": [piece]}} for piece in pieces)))
    assert said.choices[0].calls == (Used("f", '{"x":1}'), Used("g", "{}"))
    assert (said.model, said.whole) == ("m", True)


def test_custom_calls_and_bare_functions_are_calls_too() -> None:
    custom = {"message": {"tool_calls": [{"custom": {"name": "sql", "input": "select"}}]}, "finish_reason": "stop"}
    bare = {"index": 1, "message": {"function_call": {"name": "f", "arguments": "{}"}}}
    first, second = of_chat({"choices": [bare, custom]}).choices
    assert first.calls == (Used("sql", "select", custom=True),)
    assert second.calls == (Used("f", "{}"),)


def test_choices_grow_side_by_side() -> None:
    said = of_chunks(
        stream(
            {"index": 1, "delta": {"content": "b"}},
            {"index": 0, "delta": {"content": "a"}},
            {"index": 1, "delta": {"content": "c"}, "finish_reason": "length"},
            done=False,
        )
    )
    assert [(choice.joined("text"), choice.finish) for choice in said.choices] == [("a", ""), ("bc", "length")]
    assert not said.whole


def test_what_stands_around_is_the_last_that_was_said() -> None:
    rows = [{"usage": {"total_tokens": 3}}, {"error": {"message": "no"}}]
    found = around(events([(0.0, b"data: %s\n\n" % json.dumps(row).encode()) for row in rows]), whole=False)
    assert (found["usage"], found["error"], found["broken"]) == ({"total_tokens": 3}, {"message": "no"}, True)
    filters = {"prompt_filter_results": [{"content_filter_results": {"hate": {}}}]}
    assert (prompt_filters(filters), prompt_filters({})) == ({"hate": {}}, None)
