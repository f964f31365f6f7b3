"""Calls that nothing answered; what is told of each stands in tests/misses."""

import pytest

from mockserver.core.plan import Usage
from mockserver.reports.failures import unmatched
from mockserver.rules.load import Rule
from tests.kit.calls import call
from tests.kit.came import Came, rules

THERE: tuple[Rule, ...] = rules({"when": {"last_user": "hullo"}}, {"when": {"last_user": {"regex": "(x+x+)+y"}}})
NO_RULE = "no rule answers this request; the nearest:\n..."


def came(said: str = "hello", number: int = 1, **more: object) -> Came:
    stated = {"rules": THERE, **more}
    return Came(call(said, meaning={"said": said}), number, error=NO_RULE, **stated)


def test_none() -> None:
    assert list(unmatched((), THERE)) == []


def test_equal_calls_are_told_once() -> None:
    problems = list(unmatched([came(number=1), came("bye", 2), came(number=3)], THERE))
    assert [problem.headline for problem in problems] == [
        'no rule answered "hello" (call 1), 2 times; nearest rules.yaml:1: last_user',
        'no rule answered "bye" (call 2); nearest rules.yaml:1: last_user',
    ]


def test_of_many_the_others_are_told_in_a_line_each() -> None:
    problems = list(unmatched([came(str(number), number) for number in range(40)], THERE))
    assert (len(problems), problems[-1].count) == (4, 37)
    assert problems[-1].headline == "nor was there an answer to 37 more:"
    assert problems[-1].text.endswith('\n  "22" (call 22)\n  ... and 17 more')


def test_a_pattern_that_takes_too_long_is_none_that_answers() -> None:
    [problem] = unmatched([came("x" * 60)], (*THERE, *rules({"when": {"last_user": {"regex": "(x+x+)+y"}}})))
    assert "was declared after it came" not in problem.text


def test_a_rule_that_came_late_is_told() -> None:
    [problem] = unmatched([came()], (*THERE, *rules({"when": {"last_user": "hello"}})))
    assert problem.text.endswith("rules.yaml:1 would have answered it, but was declared after it came")


def test_a_scenario_in_another_state() -> None:
    asked = Came(error=NO_RULE, rules=rules({"state": {"is": "paid"}}))
    [problem] = unmatched([asked], asked.rules)
    assert 'its conditions hold, but its state "paid" is another now' in problem.text


@pytest.mark.parametrize("name", ["rule", "first, of two"])
def test_a_rule_that_has_answered_is_not_to_be_changed(name: str) -> None:
    [rule] = there = rules({"name": name, "when": {"last_user": "hullo"}})
    answered = came("hullo", 1, source=rule.source, rules=there)
    [problem] = unmatched([answered, came(number=2, rules=there)], there)
    assert f'rules.yaml:1 "{name}": 0 of 1 condition holds' in problem.text
    assert "in rules.yaml:1 write" not in problem.text
    [problem] = unmatched([came(rules=there)], there)
    assert "in rules.yaml:1 write" in problem.text


def test_what_was_never_read_is_told_too() -> None:
    [problem] = unmatched([Came(None, method="GET", path="/x\n", error="Nothing\nhere", usage=Usage())], THERE)
    assert problem.text == "no answer to GET /x\\n (call 1); Nothing\n  here"
    [problem] = unmatched([Came(None, error=f"Nothing at {'x' * 9_999}\n{'y' * 9_999}")], THERE)
    assert len(problem.text) < 1_200
