"""The tree of conditions: what holds, what is found, how `not` goes down to the leaves."""

from typing import Any

import pytest

from mockserver.config.errors import RuleError
from mockserver.rules.match.conditions import ConditionResult, mark_implied
from tests.kit.calls import call
from tests.kit.rules import compile_condition

ASKED = call("What is the weather in Paris?", tools=("get_weather",))
YES: dict[str, Any] = {"model": "gpt-4o"}
NO: dict[str, Any] = {"model": "o3"}
CITY: dict[str, Any] = {"last_user": {"regex": r"in (?P<city>\w+)"}}
DAY: dict[str, Any] = {"last_user": {"regex": "(?P<day>What)"}}


@pytest.mark.parametrize(
    ("when", "groups"),
    [
        ({}, {}),
        (YES, {}),
        (NO, None),
        (CITY, {"city": "Paris"}),
        ({**NO, **CITY}, None),
        ({"all": [CITY, DAY]}, {"city": "Paris", "day": "What"}),
        ({"any": [NO, CITY, DAY]}, {"city": "Paris"}),
        ({"any": [NO, NO]}, None),
        ({"any": [NO, CITY], **YES}, {"city": "Paris"}),
        ({"not": NO}, {}),
        ({"not": {**YES, "stream": True}}, {}),
        ({"not": {"any": [NO, YES]}}, None),
        ({"header.absent": {"exists": False}}, {}),
        ({"not": {"header.absent": {"exists": False}}}, None),
    ],
)
def test_holds(when: dict[str, Any], groups: dict[str, str] | None) -> None:
    condition = compile_condition(when)
    assert condition.holds(ASKED) == groups
    held, total = condition.count_held(ASKED)
    results = condition.explain(ASKED)
    assert (held, total) == (sum(finding.ok for finding in results), len(results))
    assert (held == total) == (groups is not None)


def test_findings_are_all_there_without_a_short_cut() -> None:
    results = compile_condition({**NO, "tools": {"includes": "get_weather"}, "header.x": "1"}).explain(ASKED)
    assert results == (
        ConditionResult("model", "equals", "o3", "gpt-4o", False),
        ConditionResult("tools", "includes", "get_weather", ("get_weather",), True),
        ConditionResult("header.x", "equals", "1", None, False),
    )


def test_findings_of_not_are_read_by_themselves() -> None:
    assert compile_condition({"not": {**YES, "stream": False}}).explain(ASKED) == (
        ConditionResult("model", "not equals", "gpt-4o", "gpt-4o", False),
    )
    assert compile_condition({"not": {"any": [YES, NO]}}).explain(ASKED) == (
        ConditionResult("model", "not equals", "gpt-4o", "gpt-4o", False),
        ConditionResult("model", "not equals", "o3", "gpt-4o", True),
    )
    assert compile_condition({"not": {"not": YES}}).explain(ASKED) == (
        ConditionResult("model", "equals", "gpt-4o", "gpt-4o", True),
    )


def test_findings_of_any_are_those_of_the_nearest_branch() -> None:
    branches = [NO, {**NO, "stream": False}, {**NO, "stream": True}, {**NO, "operation": "chat"}]
    assert compile_condition({"any": branches}).explain(ASKED) == (
        ConditionResult("model", "equals", "o3", "gpt-4o", False),
        ConditionResult("stream", "equals", False, False, True),
    )


def test_what_nobody_wrote_is_told_only_where_it_fails() -> None:
    for when, told in (({"all": [YES, CITY]}, 0), ({"any": [NO, YES]}, 0), ({**YES, **NO}, 1), ({"any": [NO, NO]}, 1)):
        unwritten = mark_implied(compile_condition(when))
        assert unwritten.holds(ASKED) == compile_condition(when).holds(ASKED)
        assert len(unwritten.explain(ASKED)) == told
        assert unwritten.count_held(ASKED) == (0, told)


class _Unread(dict[str, Any]):
    def get(self, name: str, default: Any = None) -> Any:
        raise AssertionError(name)


def test_what_is_costly_to_read_is_read_last() -> None:
    asked = call("hi", raw=_Unread())
    assert compile_condition({"body": "model", "param.n": 1, **NO}).holds(asked) is None
    with pytest.raises(AssertionError, match="model"):
        compile_condition({"body": "model", **YES}).holds(asked)


def test_nothing_is_tried_out_of_order_with_a_pattern_which_may_fail() -> None:
    slow, asked = {"last_user": {"regex": "(?:(?:a|aa)+)+c"}}, call("a" * 60 + "bc")
    for when in ({"body": "model", **slow, **NO}, {"body": "model", **slow}):
        with pytest.raises(RuleError, match="took more than"):
            compile_condition(when).holds(call("a" * 60 + "bc", raw={"model": "x"}))
    for when in ({**NO, **slow}, {"body": "model", **NO, **slow}):
        assert compile_condition(when).holds(asked) is None


def test_a_pattern_that_takes_too_long_is_loud_when_matching_and_a_miss_when_explaining() -> None:
    condition = compile_condition({"last_user": {"regex": "(?:(?:a|aa)+)+c"}})
    asked = call("a" * 60 + "bc")
    with pytest.raises(RuleError, match="took more than"):
        condition.holds(asked)
    (finding,) = condition.explain(asked)
    assert not finding.ok
    assert condition.count_held(asked) == (0, 1)
