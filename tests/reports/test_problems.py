"""What a test fails for; the texts of each kind stand in tests/misses."""

from mockserver.core.plan import Usage
from mockserver.reports.failures import Budget, Problem, failing, problem, told, unanswered, unmet
from tests.kit.calls import call
from tests.kit.came import Came, rules


def test_several_problems_are_one_text() -> None:
    assert told([]) == ""
    assert told([problem("one", ["a"])]) == "one\n  a"
    assert (
        told([problem("one", ["a"]), problem("two"), problem("more", count=3)])
        == "one (and 4 more)\n  a\n\ntwo\n\nmore"
    )


def test_a_headline_is_cut() -> None:
    long = problem("x" * 120)
    assert long == Problem(f"{'x' * 99}…", "x" * 120)


def test_budgets() -> None:
    calls = [Came(number=number, usage=Usage(3, 4)) for number in range(1, 40)]
    assert list(Budget().passed(calls)) == list(Budget(39, 300).passed(calls)) == []
    passed = list(Budget(30, 20).passed(calls))
    assert [each.headline for each in passed] == [
        '39 calls came, 30 may; one too many: "hello" (call 31)',
        '273 tokens were used, 20 may be; passed by "hello" (call 3)',
    ]
    assert passed[0].text.splitlines()[11].startswith("  > call 31: ")
    assert passed[1].text.splitlines()[3].startswith("  7 tokens, 21 so far, 1 too many: call 3: ")
    [at_once] = Budget(0).passed([Came(usage=None)])
    assert at_once.headline == '1 call came, 0 may; one too many: "hello" (call 1)'


def test_a_rule_that_was_to_answer_more() -> None:
    [rule] = rules({"when": {"last_user": "hullo"}, "times": 2})
    came = [Came(call("bye")), Came(), Came(call("hullo"), source="rule rules.yaml:9"), Came(None), Came()]
    lines = unmet(rule, 2, 0, came).text.splitlines()
    assert lines[0] == "rules.yaml:1 was to answer 2 calls and answered 0"
    assert lines[1:3] == [
        '  call 1: chat gpt-4o "hullo" -> rule rules.yaml:9',
        "    it would have fit, but what answered it came first",
    ]
    assert lines[4] == '  call 1: chat gpt-4o "hello" -> unmatched'
    assert lines[-1] == "  ... and 1 other call"
    assert unmet(rule, 2, 1, [Came(source=rule.source)]).text.splitlines()[1] == (
        "  no other call came that it could have answered; 1 call came in all"
    )


def test_calls_that_were_refused_before_any_rule_are_told_with_why() -> None:
    [rule] = rules({"times": 1})
    failed = Came(source="rule rules.yaml:9", status=500, error="as the rule has it")
    lines = unmet(rule, 1, 0, [Came(None, source="invalid", status=400, error="No such temperature."), failed])
    assert lines.text.splitlines()[-2:] == ["  call 1: chat -> invalid (400)", "    No such temperature."]


def fails(words: str) -> Exception:
    try:
        raise ValueError(words)
    except ValueError as error:
        return error


def test_a_function_that_failed() -> None:
    lines = failing("t.py:3", [fails("not\nso"), fails("x")]).text.splitlines()
    assert lines[0] == "ValueError: not\\nso in the function of t.py:3, 2 times"
    assert lines[1].startswith("  tests/reports/test_problems.py:")
    assert lines[2:] == ["    raise ValueError(words)", "  ValueError: not", "  so"]
    assert failing("t.py:3", [KeyError()]).headline == "KeyError in the function of t.py:3"


def test_a_rule_without_an_answer() -> None:
    assert unanswered("t.py:3").text.startswith("t.py:3: this on(...) says no answer; add .reply(...)")
