"""What differs in meaning between two answers, and what only in words."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from mockserver.cassettes.drift import find_drift
from mockserver.core.episode import Recorded

JSON = (("content-type", "application/json; charset=utf-8"),)
EVENTS = (("content-type", "text/event-stream"),)
CALL = {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'}}


def body(value: Any, status: int = 200, headers: tuple[tuple[str, str], ...] = JSON) -> Recorded:
    return Recorded(status, headers, json.dumps(value).encode())


def chat(content: str | None = "Hi", finish: str = "stop", **message: Any) -> dict[str, Any]:
    told = {"role": "assistant", "content": content, **message}
    return {"object": "chat.completion", "choices": [{"index": 0, "message": told, "finish_reason": finish}]}


def stream(*events: Any, names: tuple[str, ...] = ()) -> Recorded:
    texts = [event if isinstance(event, str) else json.dumps(event) for event in events]
    heads = [f"event: {name}\n" for name in names] or [""] * len(texts)
    frames = [(0.0, f"{head}data: {text}\n\n".encode()) for head, text in zip(heads, texts, strict=True)]
    return Recorded(200, EVENTS, frames=tuple(frames))


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


@pytest.mark.parametrize(
    ("old", "new", "drift"),
    [
        (chat("Hi"), chat("Hello there"), []),
        (chat(), {**chat(), "service_tier": "default"}, ["service_tier: added (text)"]),
        ({**chat(), "usage": {"prompt_tokens": 3}}, chat(), ["usage: removed (table)"]),
        ({"usage": {"tokens": 3}}, {"usage": {"tokens": "3"}}, ["usage.tokens: number -> text"]),
        ({"usage": {"tokens": 3}}, {"usage": {"tokens": 3.5}}, []),
        ({"usage": {"tokens": 3}}, {"usage": [3]}, ["usage: table -> list"]),
        (chat("Hi"), chat(None), ["choices[].message.content: text -> null"]),
        (chat(), chat(finish="length"), ["choices[].finish_reason: stop -> length"]),
        (
            {"model": "gpt-4o-2024-08-06"},
            {"model": "gpt-4o-2024-11-20"},
            ["model: gpt-4o-2024-08-06 -> gpt-4o-2024-11-20"],
        ),
        (chat(annotations=[]), chat(annotations=[{"type": "url_citation"}]), []),  # an empty list tells nothing
        ({"output": [{"type": "text"}]}, {"output": [{"type": "text"}] * 3}, []),
        ({"output": [{"type": "text"}]}, {"output": [{"type": "call", "id": "a"}]}, None),
        (chat(tool_calls=[CALL]), chat(tool_calls=[{**CALL, "id": "call_2"}]), []),
        ([1, 2], [1, 2, 3], []),
        ([{"status": "done"}], [{"status": "done"}, {"status": None}], ["[].status: done -> null or done"]),
        ({"code": "print(1)"}, {"code": "print(2)"}, []),
        ({"code": "a", "message": "No."}, {"code": "b", "message": "Never."}, ["code: a -> b"]),
    ],
)
def test_bodies(old: Any, new: Any, drift: list[str] | None) -> None:
    expected = ["output[text]: removed (table)", "output[call]: added (table)"] if drift is None else drift
    assert list(find_drift(body(old), body(new))) == expected


def test_which_tool_is_called_and_with_which_arguments() -> None:
    other = {**CALL, "function": {"name": "search", "arguments": '{"town": "Oslo"}'}}
    assert list(find_drift(body(chat(tool_calls=[CALL])), body(chat(tool_calls=[other])))) == [
        "choices[].message.tool_calls[function].function.name: get_weather -> search",
        "choices[].message.tool_calls[function].function.arguments.city (JSON): removed (text)",
        "choices[].message.tool_calls[function].function.arguments.town (JSON): added (text)",
    ]


def test_status_content_and_what_is_no_json() -> None:
    old, new = body(chat()), body({"error": {"code": "gone"}}, 410, (("content-type", "text/plain"),))
    assert list(find_drift(old, new))[:2] == ["status 200 -> 410", "content-type application/json -> text/plain"]
    assert list(find_drift(Recorded(200, JSON, b"\x00\xff"), Recorded(200, JSON, b"\x01"))) == []
    assert list(find_drift(body(chat()), Recorded(200, JSON, b"oops"))) == ["the body: table -> text"]
    assert list(find_drift(body(chat()), stream(chunk(content="Hi"), "[DONE]"))) == [
        "content-type application/json -> text/event-stream"
    ]


def test_streams_of_other_words_do_not_differ() -> None:
    old = stream(chunk(role="assistant", content=""), chunk(content="Hi"), chunk("stop"), "[DONE]")
    new = stream(chunk(role="assistant", content=""), *[chunk(content="Ho")] * 9, chunk("stop"), "[DONE]")
    assert list(find_drift(old, new)) == []


def test_where_the_pieces_of_a_text_end_is_chance() -> None:
    assert (
        list(find_drift(stream(chunk(content='{"a": 1}')), stream(chunk(content='{"a'), chunk(content='": 1}')))) == []
    )


def test_fields_and_order_of_chunks() -> None:
    old = stream(chunk(role="assistant", content=""), chunk(content="Hi"), chunk("stop"), "[DONE]")
    new = stream(
        chunk(role="assistant", content=""),
        chunk(content="Hi", refusal=None),
        chunk("length"),
        {"usage": {"n": 1}},
        "[DONE]",
    )
    assert list(find_drift(old, new)) == [
        "events after finish_reason: nothing -> usage",
        "[chunk].choices[].delta.refusal: added (null)",
        "[chunk].choices[].finish_reason: stop -> length",
        "[chunk].usage: added (table)",
    ]


def test_a_field_that_all_chunks_have_got_is_no_other_order() -> None:
    chunks = [chunk(role="assistant", content=""), chunk(content="Hi"), chunk("stop")]
    assert list(find_drift(stream(*chunks), stream(*[{**each, "fee": 1} for each in chunks]))) == [
        "[chunk].fee: added (number)"
    ]


def test_named_events_and_those_that_keep_alive() -> None:
    typed = [{"type": kind} for kind in ("message_start", "content_block_delta", "message_stop")]
    pinged = stream(typed[0], {"type": "ping"}, *typed[1:])
    assert list(find_drift(stream(*typed), pinged)) == []
    assert list(find_drift(stream(*typed), stream(typed[0], typed[2]))) == [
        "events after message_start: content_block_delta -> nothing",
        "[content_block_delta]: removed (table)",
    ]


@pytest.mark.parametrize("make", [lambda text: Recorded(200, JSON, text.encode()), lambda text: stream(text)])
def test_what_is_nested_too_deeply_is_told_once(make: Callable[[str], Recorded]) -> None:
    deep = make('{"a":' * 900 + "1" + "}" * 900)
    assert list(find_drift(deep, deep)) == ["cannot be compared: its JSON is nested too deeply"]
