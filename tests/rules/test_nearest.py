"""Which rules come nearest to a call that none answers, and the words for it."""

from dataclasses import dataclass
from dataclasses import replace as replace_row
from typing import Any

import pytest
from msgspec.structs import replace

from mockserver.core.call import Call
from mockserver.core.text import show_value
from mockserver.rules.load import State
from mockserver.rules.match.conditions import Condition, ConditionResult
from mockserver.rules.nearest import explain_miss, find_nearest, render_results
from tests.kit.calls import call
from tests.kit.rules import compile_condition


@dataclass(frozen=True)
class Row:
    """A rule, as far as it matters here."""

    name: str
    where: str
    when: Condition
    times: int | None = None
    state: State | None = None

    @property
    def quoted_name(self) -> str:
        return f" {show_value(self.name)}"


WEATHER: dict[str, Any] = {"tools": {"includes": "get_weather"}, "last_user": {"regex": r"weather in (?P<city>\w+)"}}
ASKED = call("What is the time?", tools=("get_weather",))


def test_report() -> None:
    tables = [WEATHER, {"last_user": "*flaky*"}, {"not": {"model": "gpt-4o"}, "header.x": "1"}, {"model": "busy*"}]
    assert told(tables, ASKED) == (
        "no rule answers this request; the nearest:\n"
        '  rules.yaml:1 "r1": 1 of 2 conditions hold\n'
        '    ok    tools includes "get_weather"\n'
        '    MISS  last_user regex "weather in (?P<city>\\\\w+)": got "What is the time?"\n'
        '  rules.yaml:2 "r2": 0 of 1 condition holds\n'
        '    MISS  last_user glob "*flaky*": got "What is the time?"\n'
        '  rules.yaml:3 "r3": 0 of 2 conditions hold\n'
        '    MISS  model not equals "gpt-4o": got "gpt-4o"\n'
        '    MISS  header.x equals "1": got nothing'
    )


def test_where_else_a_parameter_is() -> None:
    asked = replace(ASKED, raw={"generationConfig": {"temperature": 0}})
    text = told([{"param.temperature": 0}], asked)
    assert text.endswith("equals 0: got nothing; the request has param.generationConfig.temperature")


USED = "it is used up: it has answered its 1 call in this namespace"


@pytest.mark.parametrize(
    ("times", "state", "entries", "why"),
    [
        (1, None, {"times r1": "1"}, USED),
        (1, None, None, USED),
        (2, None, {"times r1": "3"}, "it is used up: it has answered its 2 calls in this namespace"),
        (None, "asked", {}, 'the state of this namespace is "start", not "asked"'),
        (None, "asked", {"state": "done"}, 'the state of this namespace is "done", not "asked"'),
        (None, "asked", None, 'the state of this namespace is not "asked"'),
        (1, "asked", {"times r1": "1", "state": "asked"}, USED),
        (1, "asked", {"times r1": "1"}, f'{USED} and the state of this namespace is "start", not "asked"'),
        (1, "asked", None, f'{USED} or the state of this namespace is not "asked"'),
        (None, None, {}, "it was not tried"),
    ],
)
def test_a_rule_that_matches_says_why_it_does_not_answer(
    times: int | None, state: str | None, entries: dict[str, str] | None, why: str
) -> None:
    [row] = rows([{"model": "gpt*"}])
    closed: Any = replace_row(row, times=times, state=state and State(state, state))
    told = explain_miss(find_nearest([closed], ASKED), entries)
    assert told.splitlines()[1:] == [f'  rules.yaml:1 "r1": matches, but {why}', '    ok    model glob "gpt*"']


@pytest.mark.parametrize(
    ("tables", "order"),
    [
        ([{"turn": 1}, {"turn": 2}, {"turn": 3}, {"turn": 4}], ["r1", "r2", "r3"]),  # equals: the first in the file
        ([{"turn": 1}, {"turn": 1, "stream": False}, {}], ["r3", "r2", "r1"]),  # the greater share first
        ([{"model": "o3"}, {"model": "gpt-4"}, {"model": "gpt-4o-mini"}], ["r2", "r3", "r1"]),  # the closer text first
    ],
)
def test_order(tables: list[dict[str, Any]], order: list[str]) -> None:
    assert [near.rule.name for near in find_nearest(rows(tables), ASKED)] == order


def test_among_many_the_closest_text_is_found() -> None:
    tables = [{"operation": "chat", "last_user": {"contains": f"order {n:05d}"}} for n in range(10_000)]
    found = find_nearest(rows(tables), call("What is the order number 07123?"))
    assert found[0].rule.name == "r7124"
    assert [near.held for near in found] == [1, 1, 1]


def test_what_is_absent_has_no_words() -> None:
    tables = [{"header.x": f"value {n}"} for n in range(100)]
    assert [near.rule.name for near in find_nearest(rows(tables), ASKED)] == ["r1", "r2", "r3"]
    assert told([], ASKED) == "no rule answers this request: there are no rules that answer"


def test_a_rule_of_many_conditions_is_cut_and_keeps_its_misses() -> None:
    table = {f"param.p{n}": {"exists": n == 19} for n in range(20)}
    text = told([table], ASKED).splitlines()
    assert text[1] == '  rules.yaml:1 "r1": 19 of 20 conditions hold'
    assert text[2] == "    MISS  param.p19 exists true: got nothing"
    assert (len(text), text[-1]) == (15, "    ... and 8 more")


def test_no_text_writes_lines_of_its_own() -> None:
    evil = 'x"\n  rules.yaml:1 "r1": all good\u2028\r\x0b'
    findings = [
        ConditionResult(f"body {evil}", "equals", evil, evil, False),
        ConditionResult("model", "in", [evil], evil, True),
    ]
    assert all(len(line.splitlines()) == 1 for line in render_results(findings))
    rule = Row(evil, evil, compile_condition({"last_user": evil}))
    assert len(explain_miss(find_nearest([rule], call(evil + "!"))).splitlines()) == 3


def told(tables: list[dict[str, Any]], asked: Call) -> str:
    return explain_miss(find_nearest(rows(tables), asked))


def rows(tables: list[dict[str, Any]]) -> list[Row]:
    return [Row(f"r{n}", f"rules.yaml:{n}", compile_condition(table)) for n, table in enumerate(tables, 1)]
