"""The faults of a rule: what loads, what is refused, and what depends on the order of calls."""

import math
from typing import Any

import pytest

from mockserver.core.action import Position
from mockserver.core.call import Message, ToolCall
from mockserver.core.draft import Draft, DraftChoice
from mockserver.core.plan import Text, ToolUse
from mockserver.delivery.faults import (
    CutShort,
    Disconnect,
    JoinFrames,
    KeepAlive,
    Slow,
    Stall,
    WrongContentLength,
    WrongContentType,
)
from mockserver.rules.answer.faults import BadToolArguments, UnknownTool
from tests.kit.calls import call
from tests.kit.rules import find_rule_mistakes, find_then_mistakes, load_rule_text, respond, scope

MADE: dict[str, Any] = {
    "cut": CutShort(),
    "{cut: {after_bytes: 0, probability: 30%, times: 2}}": CutShort(Position("after_bytes", 0)),
    "{disconnect: {before_done: true}}": Disconnect(Position("before_done")),
    "stall": Stall(for_=math.inf),
    "{stall: {for: 30s, in_tool_arguments: true}}": Stall(Position("in_tool_arguments"), 30.0),
    "{slow: {bytes_per_second: 20}}": Slow(bytes_per_second=20),
    "{keepalive: {every: 15s}}": KeepAlive(every=15.0),
    "{join_frames: {count: 3}}": JoinFrames(count=3),
    "{wrong_content_length: {by: -10, for: 1s}}": WrongContentLength(-10, 1.0),
    "{wrong_content_type: {type: text/html}}": WrongContentType("text/html"),
    "{bad_tool_arguments: {how: empty}}": BadToolArguments("empty"),
}
BAD = {
    "ct": '0:unknown fault "ct"; did you mean "cut"?',
    "7": "0:a fault is a name, or a table with one name: {cut: {after_tokens: 3}}, not 7",
    "{cut: {}, reset: {}}": "0:a fault is a name, or a table with one name: {cut: {after_tokens: 3}}",
    "{cut: 3}": '6:"cut" expects a table, not 3; write {cut: {after_tokens: 3}}',
    "{cut: {at_start: true, after_bytes: 3}}": '7:use "after_bytes" or "at_start", not both',
    "{keepalive: {after_bytes: 3}}": (
        '13:"after_bytes" does not apply to keepalive; '
        "it accepts at_start, after_frames, after_tokens, before_done, in_tool_arguments"
    ),
    "{empty_body: {at_start: true}}": '14:"at_start" does not apply to empty_body: it affects the whole answer',
    "{cut: {in_tool_arguments: true}}": '7:"in_tool_arguments" does not apply to this answer: it calls no tool',
    "bad_tool_arguments": '0:"bad_tool_arguments" does not apply to this answer: it calls no tool',
    "{wrong_content_length: {by: 0}}": '28:"by" expects a number that is not 0, not 0',
    '{wrong_content_type: {type: "a\\r\\nb"}}': '28:"type" expects a type such as text/html, not "a\\r\\nb"',
    "{missing_field: {field: id}}": '24:"field" expects a JSON Pointer such as /choices/0/delta, not "id"',
    "{error_event: {reason: overlode}}": '23:"reason" expects ',
}  # fmt: skip
NO_CALL = ("error: 429", "echo: true", "text: a", "choices: [{text: a}]", "parts: [{text: a}]")
A_CALL = (
    "tool_calls: [{name: a}]",
    "generate: prose",
    "choices: [{text: a}, {tool_calls: [{name: a}]}]",
    "parts: [{text: a}, {tool_call: {name: a}}]",
    "raw: {}",
)


@pytest.mark.parametrize(("fault", "made"), MADE.items())
def test_faults_are_made(fault: str, made: Any) -> None:
    (spec,) = respond(f"{{faults: [{fault}]}}").faults
    assert (spec.change_actions or spec.change_draft) == made
    assert spec.name in fault
    assert (spec.probability, spec.times) == ((0.3, 2) if "30%" in fault else (None, None))


@pytest.mark.parametrize(("fault", "mistake"), BAD.items())
def test_what_is_wrong_is_told_where_it_stands(fault: str, mistake: str) -> None:
    (found,) = find_then_mistakes(f"{{text: a, faults: [{fault}]}}")
    column, _, message = found.partition(":")
    shown = f"{int(column) - 19}:{message.strip()}"
    assert shown.startswith(mistake) if mistake.endswith(" ") else shown == mistake


@pytest.mark.parametrize("then", NO_CALL)
def test_an_answer_that_calls_no_tool(then: str) -> None:
    (found,) = find_then_mistakes(f"{{{then}, faults: [unknown_tool]}}")
    assert found.endswith('"unknown_tool" does not apply to this answer: it calls no tool')


@pytest.mark.parametrize(("fault", "column"), [("{cut: {after_tokens: 1}}", 7), ("malformed_json", 0)])
def test_a_fault_that_counts_tokens_beside_progress(fault: str, column: int) -> None:
    then = "{{text: a, progress: {{of: 2}}, faults: [{}]}}"
    (found,) = find_rule_mistakes(f"rules: [{{when: {{tool: a}}, then: {then.format(fault)}}}]")
    place, _, message = found.partition(": ")
    assert place == f"1:{71 + column}"
    assert message.endswith(" beside progress or log, as all of them are in one event; use after_frames")
    assert load_rule_text(f"rules: [{{when: {{tool: a}}, then: {then.format('{cut: {after_frames: 1}}')}}}]")


@pytest.mark.parametrize("then", A_CALL)
def test_an_answer_that_may_call_a_tool(then: str) -> None:
    assert load_rule_text(
        f"rules: [{{then: {{{then}, faults: [unknown_tool, {{cut: {{in_tool_arguments: true}}}}]}}}}]"
    )


def test_faults_of_steps_and_branches() -> None:
    steps = "{steps: [{text: a, faults: [cut]}, {text: b}]}"
    assert [fault.label for fault in respond(steps).faults] == ["then/steps/0/faults/0"]
    assert respond(steps, scope(call("x", Message("assistant", "a"), "y"))).faults == ()
    assert len(respond("{one_of: [{then: {text: a, faults: [cut]}}]}").faults) == 1
    assert find_rule_mistakes("rules:\n  - then: {steps: [{faults: [ct]}]}\n") == [
        '2:30: unknown fault "ct"; did you mean "cut"?'
    ]


TEXT = Text("Let me see.")


def draft(arguments: str, kind: str = "function", chunks: object = "token") -> Draft:
    made = ToolCall("", "get_weather", arguments, kind)
    return Draft((DraftChoice((TEXT, ToolUse(made, chunks))),))  # type: ignore[arg-type]


def called(draft: Draft) -> ToolUse:
    (choice,) = draft.choices
    text, use = choice.parts
    assert text is TEXT
    assert isinstance(use, ToolUse)
    return use


@pytest.mark.parametrize(
    ("how", "arguments", "spoilt"),
    [
        ("truncated", '{"a":1}', '{"a":1'),
        ("truncated", "", ""),
        ("trailing_comma", '{"a":1}', '{"a":1,}'),
        ("wrong_types", '{"a":1,"b":"x","c":true}', '{"a":"about 1","b":["x"],"c":"maybe"}'),
        ("wrong_types", '{"d":[],"e":null}', '{"d":0,"e":"maybe"}'),
        ("wrong_types", "no JSON", "no JSO"),
        ("empty", '{"a":1}', ""),
    ],
)  # fmt: skip
def test_arguments_are_spoilt(how: str, arguments: str, spoilt: str) -> None:
    assert called(BadToolArguments(how)(draft(arguments), call("hello"))).call.arguments == spoilt  # type: ignore[arg-type]


def test_free_text_is_not_spoilt() -> None:
    assert BadToolArguments()(draft("words", "custom"), call("hello")) == draft("words", "custom")


def test_pieces_that_would_not_join_any_more_are_dropped() -> None:
    assert called(BadToolArguments()(draft("{}", chunks=("{", "}")), call("hello"))).chunks == "token"
    assert called(BadToolArguments()(draft("{}", chunks=3), call("hello"))).chunks == 3


def test_a_tool_that_nobody_offers() -> None:
    tools = ("get_weather", "get_weather_2")
    assert called(UnknownTool()(draft("{}"), call("hello", tools=tools))).call.name == "get_weather_2_2"
    assert called(UnknownTool()(draft("{}"), call("hello"))).call.name == "get_weather_2"
