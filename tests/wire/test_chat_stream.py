"""ChatCompletionChunk: the order of increments, what each carries, and what it weighs."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from mockserver.core.call import Options, ToolCall
from mockserver.core.frames import Frame
from mockserver.core.plan import Answer, Choice, Logprob, Part, Reasoning, Refusal, Text, ToolUse, Usage
from mockserver.wire.chat import ChatLayout, ChatRenderer

LAYOUT = ChatLayout(
    completion=("id",),
    choice=("index",),
    message=("role", "content", "refusal", "annotations"),
    chunk=("id", "model", "choices", "usage"),
    chunk_choice=("index", "delta", "finish_reason", "logprobs"),
    optional=frozenset({"logprobs"}),
    opening={"role": "assistant", "content": ""},
    opening_of_call={"content": None},
)
OPEN = {"role": "assistant", "content": ""}
CALL = ToolUse(ToolCall("call_1", "f", '{"a":1}'), chunks=4)
NAMED = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "f", "arguments": ""}}
ARGUMENTS = [{"tool_calls": [{"index": 0, "function": {"arguments": piece}}]} for piece in ('{"a"', ":1}")]


def answer(*choices: Choice, model: str = "m") -> Answer:
    return Answer("0" * 64, 7, model, choices, Usage(3, 2))


def frames(*parts: Part, layout: ChatLayout = LAYOUT, **choice: Any) -> list[Frame]:
    return stream(answer(Choice(parts, **choice)), layout)


def stream(given: Answer, layout: ChatLayout = LAYOUT, **asked: Any) -> list[Frame]:
    """The chunks of a stream, without its end."""
    return list(ChatRenderer(layout).render_frames(given, Options(**asked)))[:-1]


def deltas(*parts: Part, layout: ChatLayout = LAYOUT, **choice: Any) -> list[Any]:
    return [json.loads(frame.data)["choices"][0]["delta"] for frame in frames(*parts, layout=layout, **choice)]


SEQUENCES: dict[str, tuple[tuple[Part, ...], list[Any]]] = {
    "text": ((Text("Hello there"),), [OPEN, {"content": "Hello"}, {"content": " there"}, {}]),
    "text in words": ((Text("a bc", "word"),), [OPEN, {"content": "a"}, {"content": " bc"}, {}]),
    "text in given pieces": ((Text("abc", ("a", "bc")),), [OPEN, {"content": "a"}, {"content": "bc"}, {}]),
    "nothing": ((), [OPEN, {}]),
    "empty text": ((Text(""),), [OPEN, {}]),
    "refusal": ((Refusal("No"),), [OPEN, {"refusal": "No"}, {}]),
    "hidden reasoning": ((Reasoning("Hm"), Text("a")), [OPEN, {"content": "a"}, {}]),
    "annotations": (
        (Text("a", annotations=({"n": 1},)),),
        [OPEN, {"content": "a"}, {"annotations": [{"n": 1}]}, {}],
    ),
    "call": (
        (CALL,),
        [{"role": "assistant", "content": None, "tool_calls": [NAMED]}, *ARGUMENTS, {}],
    ),
    "text, then a call": ((Text("a"), CALL), [OPEN, {"content": "a"}, {"tool_calls": [NAMED]}, *ARGUMENTS, {}]),
    "two calls": (
        (ToolUse(ToolCall("x", "f", "1")), ToolUse(ToolCall("y", "g", "", kind="custom"))),
        [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"index": 0, "id": "x", "type": "function", "function": {"name": "f", "arguments": ""}}],
            },
            {"tool_calls": [{"index": 0, "function": {"arguments": "1"}}]},
            {"tool_calls": [{"index": 1, "id": "y", "type": "custom", "custom": {"name": "g", "input": ""}}]},
            {},
        ],
    ),
}


@pytest.mark.parametrize(("parts", "expected"), SEQUENCES.values(), ids=SEQUENCES.keys())
def test_sequences(parts: tuple[Part, ...], expected: list[Any]) -> None:
    assert deltas(*parts) == expected


def test_parts_and_weights() -> None:
    shown = [(frame.part, frame.tokens) for frame in frames(Text("Hello there"), CALL)]
    arguments = [("arguments", 0), ("arguments", 2), ("arguments", 3)]  # usage has no name among its tokens
    assert shown == [("open", 0), ("text", 1), ("text", 1), *arguments, ("finish", 0)]


def test_hidden_reasoning_weighs_on_what_follows_it() -> None:
    assert [frame.tokens for frame in frames(Reasoning("one two three"), Text("a b"))] == [0, 4, 1, 0]


def test_shown_reasoning_weighs_itself() -> None:
    layout = replace(LAYOUT, message=("content", "reasoning_content"))
    assert [frame.tokens for frame in frames(Reasoning("one two"), Text("a"), layout=layout)] == [0, 1, 1, 1, 0]
    assert deltas(Reasoning("one two"), Text("a"), layout=layout)[1] == {"reasoning_content": "one"}


def test_an_empty_delta_may_open() -> None:
    layout = replace(LAYOUT, opening=None)
    assert deltas(Text("a"), layout=layout) == [{}, {"role": "assistant", "content": "a"}, {}]
    assert deltas(CALL, layout=layout)[1] == {"role": "assistant", "tool_calls": [NAMED]}
    assert deltas(layout=layout) == [{}, {"role": "assistant", "content": ""}, {}]


def test_choices_open_in_order_and_take_turns() -> None:
    given = answer(Choice((Text("a b"),)), Choice((Text("c"),)))
    shown = [json.loads(frame.data)["choices"][0] for frame in stream(given)]
    assert [(choice["index"], choice["delta"]) for choice in shown] == [
        (0, OPEN),
        (1, OPEN),
        (0, {"content": "a"}),
        (1, {"content": "c"}),
        (0, {"content": " b"}),
        (1, {}),
        (0, {}),
    ]


TOKENS = (Logprob("a", -1.0), Logprob(" b", -2.0), Logprob("c", -3.0))


def test_what_is_not_streamed() -> None:
    layout = replace(LAYOUT, not_streamed=frozenset({"logprobs", "annotations"}))
    given = Text("a", annotations=({"n": 1},))
    assert deltas(given, layout=layout, logprobs=TOKENS[:1]) == [OPEN, {"content": "a"}, {}]
    assert b"logprobs" not in b"".join(frame.data for frame in frames(given, layout=layout, logprobs=TOKENS[:1]))


@pytest.mark.parametrize(
    ("habit", "asked", "shown"),
    [
        ("requested", False, ["-", "-", "-"]),
        ("requested", True, [None, None, None, 5]),
        ("null", False, [None, None, None]),
        ("null", True, [None, None, None, 5]),
        ("finish", False, ["-", "-", 5]),
        ("finish", True, ["-", "-", "-", 5]),
    ],
)
def test_usage(habit: Any, asked: bool, shown: list[Any]) -> None:
    layout = replace(LAYOUT, stream_usage=habit)
    told = [json.loads(frame.data) for frame in stream(answer(Choice((Text("a"),))), layout, include_usage=asked)]
    assert [(chunk.get("usage", "-") or {"total_tokens": None}) for chunk in told] == [
        "-" if value == "-" else {"total_tokens": None} if value is None else USAGE for value in shown
    ]
    if asked:
        assert told[-1]["choices"] == []


USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}


@pytest.mark.parametrize("model", ['{"\0":0}', '{"\\u0000":0}', 'a"b\\c', "é\u2028😀"])
def test_odd_names_stay_whole(model: str) -> None:
    given = answer(Choice((Text('x"\n'),)), model=model)
    told = [json.loads(frame.data) for frame in stream(given, service_tier="x")]
    assert {chunk["model"] for chunk in told} == {model}
    assert "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in told) == 'x"\n'
    assert "service_tier" not in told[0]
