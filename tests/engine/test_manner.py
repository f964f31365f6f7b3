"""How an answer goes out, where several rules have a word in it."""

import asyncio

import pytest

from mockserver.core.plan import Answer, Failure, Plan
from tests.kit.calls import call
from tests.kit.local import local

SAYS = "{name: says, then: {text: hello, faults: [crlf], timing: {first_token: 9s}}}"


def plan(*rules: str, text: str = "hi", **settings: object) -> Plan:
    engine = local(f"rules: [{', '.join(rules)}]", **settings).live.engine
    return asyncio.run(engine.plan(call(text, meaning=text)))


def modified_by(plan: Plan) -> list[str]:
    return [source.split()[-1] for source in plan.modified_by]


def faults(plan: Plan) -> list[str]:
    return [fault.name for fault in plan.faults]


def test_rules_behind_answer_and_those_in_front_stand_around_them() -> None:
    found = plan(
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
    found = plan(outer, "{name: late, then: {timing: {first_token: 1s}}}", says)
    told = [path.split()[-2:] for path in found.trace]
    assert told == [["outer:", "faults[0]"], ["says:", "steps[0]"], ["says:", "steps[0].faults[0]"]]


def test_a_rule_that_forwards_says_so_too() -> None:
    app = local("rules: [{name: on, then: {steps: [{forward: true}]}}]", upstream={"openai": "http://127.0.0.1:9"})
    found = asyncio.run(app.live.engine.plan(call("hi", meaning="hi")))
    assert (found.source, modified_by(found)) == ("forwarded", ["on"])
    assert [path.split()[-1] for path in found.trace] == ["steps[0]"]


def test_a_plain_rule_goes_through_nothing() -> None:
    assert plan(SAYS.replace("faults: [crlf], ", "")).trace == ()


def test_a_timing_alone() -> None:
    ruled = plan("{name: late, then: {timing: {first_token: 2s}}}", "{name: says, then: {text: hello}}")
    generated = plan("{name: late, then: {timing: {first_token: 2s}}}")
    assert [each.timing.first_token for each in (ruled, generated)] == [2.0, 2.0]
    assert (ruled.source.split()[-1], generated.source) == ("says", "generated")
    assert modified_by(ruled) == modified_by(generated) == ["late"]


def test_an_answer_has_its_own_timing_where_nobody_in_front_states_one() -> None:
    assert plan("{name: cut, then: {faults: [cut]}}", SAYS).timing.first_token == 9.0


def test_a_rule_behind_the_one_that_answers_has_no_word() -> None:
    found = plan(SAYS, "{name: cut, then: {faults: [cut]}}")
    assert (faults(found), found.modified_by) == (["crlf"], ())


def test_what_an_answer_says_is_changed_by_rules_in_front() -> None:
    spoils = "{name: spoils, then: {faults: [{bad_tool_arguments: {how: empty}}]}}"
    calls = "{name: calls, then: {tool_calls: [{name: f, arguments: {a: 1}}]}}"
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    answered = local(f"rules: [{spoils}, {calls}]").ask("/v1/chat/completions", body).json
    assert answered["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] == ""


def test_nothing_befalls_what_does_not_hold() -> None:
    found = plan("{name: other, when: {last_user: other}, then: {faults: [cut]}}", SAYS)
    assert (faults(found), found.modified_by) == (["crlf"], ())


def test_where_no_rule_answers_the_settings_do() -> None:
    found = plan("{name: cut, then: {faults: [cut]}}", unmatched="error")
    assert isinstance(found.outcome, Failure)
    assert (found.source, modified_by(found), faults(found)) == ("unmatched", ["cut"], ["cut"])


def test_what_is_lost_goes_out_as_rules_say_too() -> None:
    rule = "{name: slow, when: {previous_response: resp_x}, then: {timing: {first_token: 1s}}}"
    asked = call("hi", meaning={}, operation="responses", previous="resp_x")
    found = asyncio.run(local(f"rules: [{rule}]", unmatched="error").live.engine.plan(asked))
    assert isinstance(found.outcome, Failure)
    assert (found.outcome.reason, modified_by(found), found.timing.first_token) == ("previous_not_found", ["slow"], 1.0)


def test_who_only_says_how_answers_go_out_is_not_among_the_nearest() -> None:
    late = "{name: late, then: {timing: {first_token: 1s}}}"
    mixed = "{name: mixed, when: {turn: 3}, then: {steps: [{timing: {first_token: 1s}}, {text: a}]}}"
    found = plan(late, mixed, "{name: other, when: {turn: 4}, then: {text: a}}", unmatched="error")
    told = str(found.outcome)
    assert ["late" in told, "mixed" in told, "other" in told] == [False, True, True]
    assert str(plan(late, unmatched="error").outcome) == "no rule answers this request: there are no rules that answer"


def test_faults_of_one_state_after_the_other_befall_one_request_after_the_other() -> None:
    cut, slow = (
        "{name: cut, state: {becomes: b}, then: {faults: [cut]}}",
        "{name: slow, state: {is: b, becomes: c}, then: {faults: [slow]}}",
    )
    engine = local(f"rules: [{cut}, {slow}, {{name: says, then: {{text: hello}}}}]").live.engine
    found = [asyncio.run(engine.plan(call("hi", meaning="hi"))) for _ in range(3)]
    assert list(map(faults, found)) == [["cut"], ["slow"], []]


def test_a_failure_of_a_rule_behind_names_those_in_front() -> None:
    found = plan("{name: cut, then: {faults: [cut]}}", "{name: fails, then: {text: '{{ 1 // 0 }}'}}")
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
