"""Tool calls that a client cannot carry out."""

import pytest

from mockserver.core.call import ToolCall
from mockserver.core.draft import Draft, DraftChoice
from mockserver.core.plan import Text, ToolUse
from mockserver.rules.answer.faults import BadToolArguments, UnknownTool
from tests.kit.calls import call

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
        ("truncated", "{}", "{"),
        ("truncated", "", ""),
        ("trailing_comma", '{"a":1}', '{"a":1,}'),
        ("wrong_types", '{"a":1,"b":"x","c":true}', '{"a":"about 1","b":["x"],"c":"maybe"}'),
        ("wrong_types", '{"d":[],"e":null}', '{"d":0,"e":"maybe"}'),
        ("wrong_types", "7", '"7"'),
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
