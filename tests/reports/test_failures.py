"""Why a test fails; whole texts are in tests/misses."""

import pytest

from mockserver.config.spelling import FLAGS
from mockserver.core.plan import Cause, Plan
from mockserver.reports.calls import MAX_REJECTED, NO_CALLS, ReceivedCall, explain_rejection
from mockserver.reports.failures import (
    PlayedCassette,
    explain_defects,
    explain_too_few_answers,
    explain_unmatched,
    find_unplayed,
    make_problem,
    summarize_unplayed,
    write_server_report,
)
from mockserver.rules.load import Rule
from tests.kit.calls import call
from tests.kit.received import SECRET, make_received, rules

THERE: tuple[Rule, ...] = rules({"when": {"last_user": "hullo"}}, {"when": {"last_user": {"regex": "(x+x+)+y"}}})
NO_RULE = "no rule answers this request; the nearest:\n..."


def came(said: str = "hello", number: int = 1, **more: object) -> ReceivedCall:
    stated = {"rules": THERE, **more}
    return make_received(call(said, meaning={"said": said}), number=number, error=NO_RULE, **stated)


def test_of_many_the_others_are_told_in_a_line_each() -> None:
    problems = list(explain_unmatched([came(str(number), number) for number in range(40)], THERE))
    assert (len(problems), problems[-1].count) == (4, 37)
    assert problems[-1].headline == "37 more unmatched requests:"
    assert problems[-1].text.endswith('\n  "22" (call 22)\n  ... and 17 more')


def test_a_pattern_that_takes_too_long_is_none_that_answers() -> None:
    [problem] = explain_unmatched([came("x" * 60)], (*THERE, *rules({"when": {"last_user": {"regex": "(x+x+)+y"}}})))
    assert "was declared after it came" not in problem.text


@pytest.mark.parametrize("name", ["rule", "first, of two"])
def test_a_rule_that_has_answered_is_not_to_be_changed(name: str) -> None:
    [rule] = there = rules({"name": name, "when": {"last_user": "hullo"}})
    answered = came("hullo", 1, source=rule.source, rules=there)
    [problem] = explain_unmatched([answered, came(number=2, rules=there)], there)
    assert f'rules.yaml:1 "{name}": 0 of 1 condition holds' in problem.text
    assert "change rules.yaml:1 to" not in problem.text
    [problem] = explain_unmatched([came(rules=there)], there)
    assert "change rules.yaml:1 to" in problem.text


def test_what_was_never_read_is_told_too() -> None:
    [problem] = explain_unmatched([make_received(None, method="GET", path="/x\n", error="Nothing\nhere")], THERE)
    assert problem.text == "no answer to GET /x\\n (call 1); Nothing\n  here"
    [problem] = explain_unmatched([make_received(None, error=f"Nothing at {'x' * 9_999}\n{'y' * 9_999}")], THERE)
    assert len(problem.text) < 1_200


REJECTED = make_received(None, source="invalid", status=400, error=f"No {SECRET}.\n")


def test_a_report_has_problems_then_rejected_calls_then_all_calls() -> None:
    answered = make_received(source="rule t.py:1", status=500, error="stated")
    calls = [REJECTED, answered, make_received(source="rule t.py:1", status=200)]
    assert write_server_report(calls, [make_problem("budget")]).splitlines() == [
        "budget",
        "",
        "call 1: chat -> invalid (400)",
        "  No sk-t...(masked).\\n",
        "",
        "3 calls received:",
        "  call 1: chat -> invalid (400)",
        *['  call 1: chat gpt-4o "hello" -> rule t.py:1'] * 2,
    ]
    assert write_server_report((), ()) == NO_CALLS
    assert f"... and {30 - MAX_REJECTED} more rejected calls\n" in write_server_report([REJECTED] * 30, ())


def test_what_failed_on_calls_is_told_once_for_each_reason() -> None:
    def fail(number: int, defect: str, source: str = "rule t.py:1") -> ReceivedCall:
        made = make_received(number=number, source=source, status=500)
        made.row.plan = Plan(Cause("server_error", defect), source)
        return made

    assert list(explain_defects([make_received(source="rule t.py:1", status=500)])) == []
    calls = [fail(1, f"t.py:1: no {SECRET}"), fail(2, "KeyError\n", "crashed"), fail(3, f"t.py:1: no {SECRET}")]
    template, crash = explain_defects(calls)
    assert template.text.splitlines() == [
        "t.py:1: no sk-t...(masked), 2 times",
        '  call 1: chat gpt-4o "hello" -> rule t.py:1 (500)',
        '  call 3: chat gpt-4o "hello" -> rule t.py:1 (500)',
    ]
    assert crash.text == 'KeyError\\n\n  call 2: chat gpt-4o "hello" -> crashed (500)'


def test_a_rejection_tells_what_to_set() -> None:
    made = make_received(None, source="invalid", status=404, error="No such model.")
    made.row.plan = Plan(Cause("unknown_model"), "invalid")
    advice = "to accept it, add the model to the setting models"
    assert list(explain_rejection(made.row)) == ["No such model.", advice]
    made.row.plan = Plan(Cause("bad_parameter", advice="keep the signature"), "invalid")
    assert list(explain_rejection(made.row)) == ["No such model.", "keep the signature"]
    made.row.dialect = "mcp"  # whose servers have settings of their own
    made.row.pieces = []
    assert list(explain_rejection(made.row)) == ["rejected before any rule was tried"]


def test_a_test_is_told_of_its_cassette() -> None:
    [problem] = find_unplayed(PlayedCassette("cassettes/a.yaml", 9, (2, 7)), FLAGS)
    assert problem.headline == (
        "cassettes/a.yaml: 7 of 9 episodes not played: #1, #3 to #6, #8 to #9; re-record it"
        " (--record all), or find out why they are no longer requested"
    )
    assert list(find_unplayed(PlayedCassette("cassettes/a.yaml", 1, (1,)), FLAGS)) == []
    assert list(find_unplayed(PlayedCassette("cassettes/a.yaml", 0, ()), FLAGS)) == []


def test_a_run_is_told_of_what_no_test_has_played() -> None:
    tapes = (
        PlayedCassette("b.yaml", 3, (1,)),
        PlayedCassette("a.yaml", 1, ()),
        PlayedCassette("b.yaml", 4, (4,)),  # recorded meanwhile: what came later was not there for all
        PlayedCassette("whole.yaml", 2, (1,)),
        PlayedCassette("whole.yaml", 2, (2,)),
    )
    assert list(summarize_unplayed(tapes)) == [
        "a.yaml: 1 of 1 episode not played: #1",
        "b.yaml: 2 of 3 episodes not played: #2 to #3",
    ]


def test_rules_that_could_not_answer() -> None:
    [rule] = rules({"times": 1})
    refused = make_received(None, source="invalid", status=400, error="No such temperature.")
    assert explain_too_few_answers(rule, 1, [refused]).text.splitlines()[1:] == [
        "  no other call could match it; 1 call received in total",
        "  call 1: chat -> invalid (400)",
        "    No such temperature.",
    ]
    lost = make_received(None, source="invalid", status=404, error="There is no MCP server.")
    assert explain_too_few_answers(rule, 1, [], [lost, make_received()]).text.splitlines()[1:] == [
        "  no calls received, only requests that do not count:",
        '  call 1: chat gpt-4o "hello" -> unmatched',
        "  call 1: chat -> invalid (404)",
        "    There is no MCP server.",
    ]
    asked = make_received(error=NO_RULE, rules=rules({"state": {"is": "paid"}}))
    [problem] = explain_unmatched([asked], asked.rules)
    assert 'matches, but the state of this namespace is not "paid"' in problem.text
