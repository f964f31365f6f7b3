"""How an answer goes out, where several rules have a word in it."""

import asyncio
from collections.abc import Mapping

import pytest

from mockserver.core.plan import Answer, Failure, Plan
from mockserver.core.state import START
from mockserver.engine.counters import (
    ScenarioState,
    name_fault_counter,
    name_times_counter,
    select_counters,
)
from mockserver.engine.planning import plan_call
from mockserver.rules.load import Rule
from mockserver.state.in_memory import MemoryCounters
from tests.kit.calls import Web, call
from tests.kit.local import Local, local
from tests.kit.rules import load_rule_text


def test_the_counters_of_a_rule_are_those_of_no_other() -> None:
    own = [
        name_times_counter("a"),
        name_fault_counter("a", "then/faults/0/cut"),
        name_fault_counter("a", "then/steps/0/faults/0/cut"),
    ]
    others = [
        name_times_counter("a b"),
        name_fault_counter("a b", "then/faults/0/cut"),
        name_fault_counter("b", "then/faults/0/cut"),
        "state",
    ]
    assert list(select_counters("a", (*others, *own))) == own


TWICE = "{name: twice, times: 2, then: {text: a}}"
ASKED = "{name: asked, state: {is: start, becomes: asked}, then: {text: a}}"


async def opens(counters: MemoryCounters, namespace: str, *rules: Rule) -> int | None:
    return await ScenarioState(namespace, counters).find_open(rules)


async def test_a_rule_answers_as_often_as_it_says_in_each_namespace() -> None:
    (rule,), counters = load_rule_text(f"rules: [{TWICE}]"), MemoryCounters()
    assert [await opens(counters, "one", rule) for _ in range(3)] == [0, 0, None]
    assert await opens(counters, "other", rule) == 0


async def test_a_scenario_goes_from_state_to_state() -> None:
    (rule,), counters = load_rule_text(f"rules: [{ASKED}]"), MemoryCounters()
    assert START == "start"
    assert await opens(counters, "one", rule) == 0
    assert await counters.list_entries("one") == {"state": "asked"}
    assert await opens(counters, "one", rule) is None


async def test_a_request_finds_one_state_whatever_its_rules_make_of_it() -> None:
    first, second, stays = load_rule_text(
        "rules: [{name: first, state: {becomes: b}, then: {faults: [cut]}},"
        " {name: second, state: {is: b, becomes: c}, then: {faults: [slow]}},"
        " {name: stays, state: {}, then: {text: a}}]"
    )
    counters, found = MemoryCounters(), list[list[int | None]]()
    for _ in range(3):
        scenario = ScenarioState("one", counters)
        found.append([await scenario.find_open([rule]) for rule in (first, second, stays)])
    assert found == [[0, None, 0], [None, 0, None], [None, None, None]]
    assert await counters.list_entries("one") == {"state": "c"}


async def test_of_several_rules_the_first_that_opens_is_counted_and_those_before_it() -> None:
    rules = load_rule_text(
        "rules: [{name: a, times: 1, then: {text: a}}, {name: b, state: {is: b}, times: 1, then: {text: b}},"
        " {name: c, times: 2, then: {text: c}}]"
    )
    counters = MemoryCounters()
    assert [await opens(counters, "one", *rules) for _ in range(4)] == [0, 2, 2, None]
    assert await counters.list_entries("one") == {"times a": "4", "times c": "3"}


def server(*faults: str, seed: int = 0) -> Local:
    return local(f"rules: [{{name: r, then: {{text: a, faults: [{', '.join(faults)}]}}}}]", seed=seed)


def plan(server: Local, text: str = "hello", *, attempt: int | None = None, namespace: str = "default") -> Plan:
    headers: Mapping[str, str] = {} if attempt is None else {"x-stainless-retry-count": str(attempt - 1)}
    asked = call(text, web=Web(headers, namespace=namespace), meaning=text)
    return asyncio.run(plan_call(server.live.engine, asked))


def befallen(plan: Plan) -> list[str]:
    return [fault.name for fault in plan.faults]


def test_faults_befall_in_the_order_in_which_they_stand() -> None:
    assert befallen(plan(server("crlf", "cut"))) == ["crlf", "cut"]
    assert befallen(plan(server("cut", "crlf"))) == ["cut", "crlf"]


def test_a_fault_befalls_so_many_calls_of_a_namespace() -> None:
    asked = server("{cut: {times: 2}}")
    assert [befallen(plan(asked, str(n))) for n in range(4)] == [["cut"], ["cut"], [], []]
    assert [befallen(plan(asked, str(n), namespace="other")) for n in range(3)] == [["cut"], ["cut"], []]


def test_each_fault_counts_for_itself() -> None:
    asked = server("{cut: {times: 1}}", "{cut: {times: 2}}")
    assert [len(plan(asked).faults) for _ in range(3)] == [2, 1, 0]


def test_chance_is_seeded_and_near_what_was_asked_for() -> None:
    first, again, other = (
        server("{cut: {probability: 30%}}"),
        server("{cut: {probability: 0.3}}"),
        server("{cut: {probability: 0.3}}", seed=1),
    )
    texts = [str(number) for number in range(300)]
    drawn = [bool(plan(first, text, attempt=1).faults) for text in texts]
    assert drawn == [bool(plan(again, text, attempt=1).faults) for text in texts]
    assert drawn != [bool(plan(other, text, attempt=1).faults) for text in texts]
    assert 60 < sum(drawn) < 120


def test_the_same_attempt_fares_the_same_and_the_next_may_not() -> None:
    asked = server("{cut: {probability: 50%}}")
    told = [bool(plan(asked, attempt=number).faults) for number in range(1, 20)]
    assert told == [bool(plan(asked, attempt=number).faults) for number in range(1, 20)]
    assert len(set(told)) == 2


def test_attempts_that_are_not_told_are_counted() -> None:
    told, counted = server("{cut: {probability: 50%}}"), server("{cut: {probability: 50%}}")
    expected = [bool(plan(told, attempt=number).faults) for number in range(1, 20)]
    assert [bool(plan(counted).faults) for _ in range(19)] == expected


def test_attempts_are_counted_once_where_a_rule_asks_for_them_too() -> None:
    rule = "{name: r, then: {text: a, faults: [{cut: {probability: 50%}}]}}"
    text = f"rules: [{{when: {{attempt: 99}}, then: {{text: b}}}}, {rule}]"
    told, counted = server("{cut: {probability: 50%}}"), local(text)
    expected = [bool(plan(told, attempt=number).faults) for number in range(1, 20)]
    assert [bool(plan(counted).faults) for _ in range(19)] == expected


def test_only_what_befalls_is_counted() -> None:
    asked = server("{cut: {probability: 50%, times: 3}}")
    assert sum(bool(plan(asked, str(n)).faults) for n in range(50)) == 3


def test_faults_alone_bend_what_there_would_be_anyway() -> None:
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hello"}]}
    alone, nobody = local("rules: [{then: {faults: [cut]}}]"), local()
    answered = alone.ask("/v1/chat/completions", body)
    assert answered.body == nobody.ask("/v1/chat/completions", body).body
    assert answered.source == "generated"


SAYS = "{name: says, then: {text: hello, faults: [crlf], timing: {first_token: 9s}}}"


def plan_of(*rules: str, text: str = "hi", **settings: object) -> Plan:
    engine = local(f"rules: [{', '.join(rules)}]", **settings).live.engine
    return asyncio.run(plan_call(engine, call(text, meaning=text)))


def modified_by(plan: Plan) -> list[str]:
    return [source.split()[-1] for source in plan.modified_by]


def faults(plan: Plan) -> list[str]:
    return [fault.name for fault in plan.faults]


def test_rules_behind_answer_and_those_in_front_stand_around_them() -> None:
    found = plan_of(
        "{name: outer, then: {faults: [cut]}}", "{name: inner, then: {faults: [slow], timing: {first_token: 1s}}}", SAYS
    )
    assert isinstance(found.outcome, Answer)
    assert found.source.endswith("says")
    assert modified_by(found) == ["outer", "inner"]
    assert faults(found) == ["crlf", "slow", "cut"]
    assert found.timing.first_token == 1.0


def test_an_answer_says_which_steps_branches_and_faults_it_went_through() -> None:
    outer = "{name: outer, then: {faults: [cut, {slow: {probability: 0}}]}}"
    says = "{name: says, then: {steps: [{text: hello, faults: [crlf]}, {text: again}]}}"
    found = plan_of(outer, "{name: late, then: {timing: {first_token: 1s}}}", says)
    told = [path.split()[-2:] for path in found.trace]
    assert told == [["outer:", "faults[0]"], ["says:", "steps[0]"], ["says:", "steps[0].faults[0]"]]


def test_a_rule_that_forwards_says_so_too() -> None:
    app = local("rules: [{name: on, then: {steps: [{forward: true}]}}]", upstream={"openai": "http://127.0.0.1:9"})
    found = asyncio.run(plan_call(app.live.engine, call("hi", meaning="hi")))
    assert (found.source, modified_by(found)) == ("forwarded", ["on"])
    assert [path.split()[-1] for path in found.trace] == ["steps[0]"]


def test_a_timing_alone() -> None:
    ruled = plan_of("{name: late, then: {timing: {first_token: 2s}}}", "{name: says, then: {text: hello}}")
    generated = plan_of("{name: late, then: {timing: {first_token: 2s}}}")
    assert [each.timing.first_token for each in (ruled, generated)] == [2.0, 2.0]
    assert (ruled.source.split()[-1], generated.source) == ("says", "generated")
    assert modified_by(ruled) == modified_by(generated) == ["late"]


def test_an_answer_has_its_own_timing_where_nobody_in_front_states_one() -> None:
    assert plan_of("{name: cut, then: {faults: [cut]}}", SAYS).timing.first_token == 9.0


def test_a_rule_behind_the_one_that_answers_has_no_word() -> None:
    found = plan_of(SAYS, "{name: cut, then: {faults: [cut]}}")
    assert (faults(found), found.modified_by) == (["crlf"], ())


def test_what_an_answer_says_is_changed_by_rules_in_front() -> None:
    spoils = "{name: spoils, then: {faults: [{bad_tool_arguments: {how: empty}}]}}"
    calls = "{name: calls, then: {tool_calls: [{name: f, arguments: {a: 1}}]}}"
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    answered = local(f"rules: [{spoils}, {calls}]").ask("/v1/chat/completions", body).json
    assert answered["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] == ""


def test_where_no_rule_answers_the_settings_do() -> None:
    found = plan_of("{name: cut, then: {faults: [cut]}}", unmatched="error")
    assert isinstance(found.outcome, Failure)
    assert (found.source, modified_by(found), faults(found)) == ("unmatched", ["cut"], ["cut"])


def test_what_is_lost_goes_out_as_rules_say_too() -> None:
    rule = "{name: slow, when: {previous_response: resp_x}, then: {timing: {first_token: 1s}}}"
    asked = call("hi", meaning={}, operation="responses", previous_response_id="resp_x")
    found = asyncio.run(plan_call(local(f"rules: [{rule}]", unmatched="error").live.engine, asked))
    assert isinstance(found.outcome, Failure)
    assert (found.outcome.reason, modified_by(found), found.timing.first_token) == ("previous_not_found", ["slow"], 1.0)


def test_who_only_says_how_answers_go_out_is_not_among_the_nearest() -> None:
    late = "{name: late, then: {timing: {first_token: 1s}}}"
    mixed = "{name: mixed, when: {turn: 3}, then: {steps: [{timing: {first_token: 1s}}, {text: a}]}}"
    found = plan_of(late, mixed, "{name: other, when: {turn: 4}, then: {text: a}}", unmatched="error")
    told = str(found.outcome)
    assert ["late" in told, "mixed" in told, "other" in told] == [False, True, True]
    assert (
        str(plan_of(late, unmatched="error").outcome) == "no rule answers this request: there are no rules that answer"
    )


def test_a_failure_of_a_rule_behind_names_those_in_front() -> None:
    found = plan_of("{name: cut, then: {faults: [cut]}}", "{name: fails, then: {text: '{{ 1 // 0 }}'}}")
    assert isinstance(found.outcome, Failure)
    assert (found.source.split()[-1], modified_by(found)) == ("fails", ["cut"])


@pytest.mark.parametrize(("turns", "source"), [(0, "says"), (1, "steps")])
def test_a_step_may_leave_the_answer_to_others(turns: int, source: str) -> None:
    steps = "{name: steps, then: {steps: [{faults: [cut]}, {text: hello}]}}"
    said = [part for _ in range(turns) for part in ("hi", "answer")]
    body = [
        *({"role": role, "content": text} for role, text in zip(("user", "assistant") * turns, said, strict=True)),
        {"role": "user", "content": "hi"},
    ]
    asked = local(f"rules: [{steps}, {SAYS}]").ask("/v1/chat/completions", {"model": "m", "messages": body})
    assert asked.source.split()[-1] == source
