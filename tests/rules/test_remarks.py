"""Rules that can never answer, rules for tool results that get none, and rules that count: found by reading alone."""

import json
from collections.abc import Mapping, Sequence
from time import process_time
from typing import Any

import pytest

from mockserver.rules.lint.remarks import find_repeated_calls, review
from tests.kit.local import local
from tests.kit.rules import load_rule_text


def remarks(*rules: str) -> list[str]:
    text = "rules:\n" + "".join(
        f"  - {{name: r{number}, {rule}, then: {{text: x}}}}\n" for number, rule in enumerate(rules)
    )
    found = review(local(text).live.engine.rules)
    return [f"{remark.rule.name} {remark.text.split(' (')[0].split(';')[0]}" for remark in found]


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("when: {}", "when: {model: a}"),
        ("when: {model: a}", "when: {model: a}"),
        ("when: {model: 'gpt*'}", "when: {model: gpt-4o}"),
        ("when: {last_user: {contains: a}}", "when: {last_user: {contains: a, starts_with: b}}"),
        ("when: {}", "when: {operation: {in: [chat, responses]}, model: a}"),
        ("when: {any: [{model: a}, {model: b}]}", "when: {any: [{model: a}, {model: b}], stream: true}"),
    ],
)
def test_a_rule_behind_a_wider_one_never_answers(earlier: str, later: str) -> None:
    assert remarks(earlier, later) == ['r1 never answers: the earlier rule "r0"']


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("when: {model: a}", "when: {}"),
        ("when: {model: gpt-4o}", "when: {model: 'gpt*'}"),
        ("when: {model: 'a*'}", "when: {model: '*b'}"),
        ("when: {model: 'a[b]*'}", "when: {model: ab}"),
        ("when: {last_user: {contains: a, ignore_case: true}}", "when: {last_user: {starts_with: b}}"),
        ("when: {not: {model: a}}", "when: {model: b}"),
        ("when: {}", "when: {path: /v1/models}"),
        ("when: {body: '*'}", "when: {body: user}"),
    ],
)
def test_no_remark_without_proof(earlier: str, later: str) -> None:
    assert remarks(earlier, later) == []


def test_a_pattern_between_slashes_is_compared_as_it_is() -> None:
    why = ['r0 compares last_user with "/weather in \\\\w+/i", slashes and all']
    assert remarks("when: {any: [{last_user: '/weather in \\w+/i'}]}") == why
    assert remarks("when: {last_user: /weather}", "when: {last_user: {contains: /a/}}", "when: {path: /a/}") == []


@pytest.mark.parametrize(
    ("then", "shadows"),
    [
        ("{faults: [cut]}", False),
        ("{steps: [{text: a}, {faults: [cut]}]}", False),
        ("{steps: [{text: a}, {text: b}]}", True),
        ("{one_of: [{then: {text: a}}, {then: {timing: {first_token: 1s}}}]}", False),
    ],
)
def test_a_rule_that_leaves_the_answer_to_others_shadows_none(then: str, shadows: bool) -> None:
    found = review(local(f"rules: [{{then: {then}}}, {{then: {{text: x}}}}]").live.engine.rules)
    assert [remark.text.partition(":")[0] for remark in found] == ["never answers"] * shadows


def test_a_state_that_a_rule_needs_and_another_misspells() -> None:
    bill = "state: {becomes: billed}, when: {model: a}"
    found = remarks(bill, "state: {is: biled, becomes: start}, when: {model: b}")
    assert found[1] == 'r1 needs the state "biled", to which no rule leads'
    for known in ("billed", "start", "set by hand"):  # a program can set any state
        assert len(remarks(bill, f"state: {{is: {known}}}, when: {{model: b}}")) == 2
    assert len(remarks("state: {is: billed}", "state: {is: biled}, when: {model: b}")) == 2


def test_everything_that_counts_is_named() -> None:
    state = "state: {is: a, becomes: b}, times: 2, when: {attempt: 1}"
    assert remarks(state) == ["r0 depends on the order of calls: it uses times, state, attempt"]


def test_faults_that_count_are_named() -> None:
    then = "{text: a, faults: [cut, {reset: {probability: 30%, times: 2}}]}"
    (remark,) = review(local(f"rules: [{{then: {then}}}]").live.engine.rules)
    why = "probability of the fault reset, times of the fault reset"
    assert remark.text == f"depends on the order of calls: it uses {why}"


CALL: dict[str, Any] = {"tool_calls": [{"name": "get_weather", "arguments": {}}]}
WEATHER = {"last_user": "*weather*"}
ASKS = {"name": "asks", "when": WEATHER, "then": CALL}
ANSWERS: dict[str, Any] = {"when": {"tool_result": {"name": "get_weather"}}, "then": {"text": "told"}}
TOOL = {"name": "get_weather", "arguments": "{}"}
CONVERSATION = [
    {"role": "user", "content": "How is the weather in Oslo?"},
    {"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": TOOL}]},
    {"role": "tool", "tool_call_id": "c", "content": "rain"},
]
REQUEST = {"model": "gpt-4o", "tools": [{"type": "function", "function": {"name": "get_weather"}}]}


def misses(*rules: Mapping[str, Any]) -> list[str]:
    """The remarks on rules that miss a tool's result; where there are some, the tool is called again and again."""
    here = local(json.dumps({"rules": rules}))
    found = [remark.text for remark in review(here.live.engine.rules) if remark.text.startswith("misses")]
    for messages in (CONVERSATION[:1], CONVERSATION) if found else ():
        answer = here.ask("/v1/chat/completions", {**REQUEST, "messages": messages}).json
        assert answer["choices"][0]["finish_reason"] == "tool_calls"
    return found


@pytest.mark.parametrize(
    "when",
    [
        {"last_user": "*weather*"},
        {
            "last_user": {"regex": "weather in (?P<city>.*)"},
            "tools": "get_weather",
            "model": "gpt*",
            "operation": "chat",
        },
        {"any": [WEATHER, {"system": "*weather*"}], "not": {"stream": True}},
    ],
)
def test_a_rule_for_a_result_behind_the_rule_that_calls_the_tool_misses_it(when: Mapping[str, Any]) -> None:
    wrong_key = {"when": {"key": "no", "param.temperature": {"gt": 1}}, "then": {"error": 401}}
    (remark,) = misses(wrong_key, {**ASKS, "when": when}, ANSWERS)
    before, _, after = remark.partition(" (")
    assert before == 'misses the result of "get_weather": the earlier rule "asks"'
    assert after.endswith(
        "rules.yaml:1) calls it, and still matches when the same request comes with the result; "
        "put this rule first, or add tool_result: {exists: false} to the earlier one"
    )


@pytest.mark.parametrize(
    ("then", "when"),
    [
        (CALL, {"tool_result": {"exists": True}}),
        (CALL, {"tool_result": {"name": "get*", "text": "rain"}}),
        (CALL, {"last_user": "*weather*", "tool_result": {"name": "get_weather", "text": "rain"}}),
        ({"steps": [{"text": "Well."}, CALL]}, ANSWERS["when"]),
        ({"parts": [{"text": "Well."}, {"tool_call": {"name": "get_weather"}}]}, ANSWERS["when"]),
        ({"one_of": [{"then": CALL}, {"then": CALL}]}, ANSWERS["when"]),
    ],
)
def test_whatever_the_call_and_the_result_look_like(then: Mapping[str, Any], when: Mapping[str, Any]) -> None:
    asks, answers = load_rule_text(json.dumps({"rules": [{**ASKS, "then": then}, {**ANSWERS, "when": when}]}))
    (remark,) = find_repeated_calls((asks, answers))
    assert (remark.rule, remark.before) == (answers, asks)


@pytest.mark.parametrize(
    "more",
    [
        {"when": {**WEATHER, "tool_result": {"exists": False}}},
        {"when": {**WEATHER, "turn": 0}},
        {"when": {"last_message": "*weather*"}},
        {"when": {**WEATHER, "tool_choice": "auto"}},
        {"when": {"param.messages": {"length": 1}}},
        {"when": {"header.x-step": "first"}},
        {"when": {**WEATHER, "attempt": 1}},
        {"times": 1},
        {"state": {"is": "start", "becomes": "asked"}},
        {"then": {"steps": [CALL, {"text": "told"}]}},
        {"then": {"one_of": [{"then": CALL}, {"then": {"text": "no"}}]}},
        {"then": {**CALL, "faults": ["bad_tool_arguments"]}},
        {"then": {"tool_calls": [{"name": "get_time"}]}},
        {"then": {"tool_calls": [{"name": "get_weather"}, {"name": "get_time"}]}},
    ],
)
def test_no_remark_if_the_rule_that_calls_the_tool_may_not_answer_again(more: Mapping[str, Any]) -> None:
    assert misses({**ASKS, **more}, ANSWERS) == []


@pytest.mark.parametrize(
    "when",
    [
        {"last_user": "*order*", "tool_result": {"exists": True}},
        {"any": [{"turn": 1}, {"tool_result": {"exists": True}}]},
        {"not": {"tool_result": {"name": "get_time"}}},
        {"operation": "embeddings"},
    ],
)
def test_no_remark_on_rules_for_other_requests(when: Mapping[str, Any]) -> None:
    then = {"embedding": [1]} if "operation" in when else {"text": "told"}
    assert misses(ASKS, {"when": when, "then": then}) == []


@pytest.mark.parametrize(
    "rules",
    [
        [ANSWERS, ASKS],
        [ANSWERS, ASKS, {"when": {"tool_result": {"exists": True}}, "then": {"text": "any"}}],
        [{"when": {"turn": 1}, "then": {"text": "told"}}, ASKS, ANSWERS],
        [{"when": WEATHER, "then": {"text": "no"}}, ASKS, ANSWERS],
    ],
)
def test_no_remark_if_an_earlier_rule_answers(rules: Sequence[Mapping[str, Any]]) -> None:
    assert misses(*rules) == []


def test_many_rules_are_reviewed_quickly() -> None:
    asks = [{"when": {"last_user": f"q{at}"}, "then": CALL} for at in range(2000)]
    answers = [{"when": {**each["when"], **ANSWERS["when"]}, "then": {"text": "x"}} for each in asks]
    rules = load_rule_text(json.dumps({"rules": [rule for pair in zip(answers, asks, strict=True) for rule in pair]}))
    began = process_time()
    assert review(rules) == ()
    assert process_time() - began < 3
