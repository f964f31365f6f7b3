"""As little as it takes tells requests apart."""

from typing import Any

import pytest

from mockserver.cassettes.convert.rules import RecordedCall, exact, with_conditions
from mockserver.cassettes.parse_response import ParsedResponse


def asked(then: str, **fields: Any) -> tuple[RecordedCall, Any]:
    return RecordedCall(f"#{then}", "openai", {"operation": "chat", **fields}, ParsedResponse()), {"text": then}


def whens(*fit: Any) -> list[Any]:
    return [dict(rule.when) for rule in with_conditions(fit)]


def test_what_was_said_last_is_enough() -> None:
    assert whens(asked("1", last_user="a", model="m"), asked("2", last_user="b", model="n")) == [
        {"operation": "chat", "last_user": "a"},
        {"operation": "chat", "last_user": "b"},
    ]


def test_one_field_that_settles_it_comes_first() -> None:
    one, two = asked("1", last_user="a", model="m", turn=0), asked("2", last_user="a", model="n", turn=0)
    three = asked("2", last_user="a", model="n", turn=1)
    assert [when["model"] for when in whens(one, two, three)] == ["m", "n"]


def test_a_field_that_only_some_have() -> None:
    assert whens(asked("1", last_user="a", system="s"), asked("2", last_user="a")) == [
        {"operation": "chat", "last_user": "a", "system": "s"},
        {"operation": "chat", "last_user": "a"},
    ]


def test_parameters_and_then_how_it_was_asked() -> None:
    hot, cold = {"param.temperature": 1, "param.messages": [1]}, {"param.temperature": 0, "param.messages": [2]}
    assert [when.get("param.temperature") for when in whens(asked("1", **hot), asked("2", **cold))] == [1, 0]
    assert [when.get("stream") for when in whens(asked("1", stream=True), asked("2", stream=False))] == [True, False]


def test_tools_that_answered() -> None:
    named = {"last_user": "a", "tool_result.name": "f", "tool_result.text": "x"}
    assert whens(asked("1", **named), asked("2", **{**named, "tool_result.text": "y"})) == [
        {"operation": "chat", "last_user": "a", "tool_result": {"name": "f", "text": "x"}},
        {"operation": "chat", "last_user": "a", "tool_result": {"name": "f", "text": "y"}},
    ]
    assert whens(asked("1", **{"last_message": "x", "tool_result.text": "x"})) == [
        {"operation": "chat", "last_message": "x", "tool_result": {"text": "x"}}
    ]


def test_nothing_tells_them_apart() -> None:
    made = with_conditions([asked("1", last_user="a"), asked("1", last_user="a"), asked("2", last_user="a")])
    assert [(rule.times, rule.then) for rule in made] == [(2, {"text": "1"}), (None, {"text": "2"})]


@pytest.mark.parametrize(
    ("value", "condition"),
    [
        ("a", "a"),
        (1, 1),
        (True, True),
        ("a*", {"equals": "a*"}),
        ("a\\", {"equals": "a\\"}),
        (["a"], {"equals": ["a"]}),
    ],
)
def test_a_condition_holds_for_its_value_alone(value: Any, condition: Any) -> None:
    assert exact(value) == condition
