"""Rules that can never answer, and rules that count: found by reading alone."""

import pytest

from mockserver.rules.load import review
from tests.kit.local import local


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


def test_everything_that_counts_is_named() -> None:
    state = "state: {is: a, becomes: b}, times: 2, when: {attempt: 1}"
    assert remarks(state) == ["r0 depends on the order of calls: it uses times, state, attempt"]


def test_faults_that_count_are_named() -> None:
    then = "{text: a, faults: [cut, {reset: {probability: 30%, times: 2}}]}"
    (remark,) = review(local(f"rules: [{{then: {then}}}]").live.engine.rules)
    why = "probability of the fault reset, times of the fault reset"
    assert remark.text == f"depends on the order of calls: it uses {why}"
