"""Every rule is held against a call, and nothing is counted by that."""

import asyncio
from typing import Any

from mockserver.core.action import Fault
from mockserver.core.call import Call
from mockserver.server.explain import Explanation, RequestFile, as_json, explain_call, reach
from mockserver.server.live import Live
from tests.kit.local import local

RULES = """
rules:
  - {name: paid, state: {is: paid}, when: {last_user: pay}, then: {text: a}}
  - {name: twice, times: 2, when: {last_user: hi}, then: {text: b}}
  - {name: third, when: {attempt: 3}, then: {text: c}}
"""
CHAT = "/v1/chat/completions"


def call_of(text: str, path: str = CHAT, **more: Any) -> Call:
    body = {"model": "m", "messages": [{"role": "user", "content": text}], **more}
    return reach(RequestFile(path, body), "openai").call(strict=False)


def told(live: Live, call: Call) -> str:
    """The explanation without the names of files."""
    return "\n".join(
        line.replace(line.partition("rules.yaml")[0], "") if "rules.yaml" in line else line
        for line in asyncio.run(explain_call(live.engine, call)).text.splitlines()
    )


def test_rules_conditions_and_counters_are_told_as_they_are_now() -> None:
    server = local(RULES)
    server.ask(CHAT, {"model": "m", "messages": [{"role": "user", "content": "hi"}]})
    for _ in range(3):  # to explain counts nothing
        explanation = asyncio.run(explain_call(server.live.engine, call_of("hi")))
    assert explanation.source.endswith(":4 twice")
    ((prompt, held),) = explanation.prompts
    assert (prompt, [rule.verdict for rule in held]) == ('"hi"', ["does not hold", "holds", "does not hold"])
    assert [list(rule.lines) for rule in held] == [
        ['MISS  last_user equals "pay": got "hi"', 'MISS  state "paid": got "start"'],
        ['ok    last_user equals "hi"', "ok    times 2: got 2"],
        ["MISS  attempt equals 3: got 2"],
    ]


def test_what_is_used_up_does_not_hold() -> None:
    server = local(RULES)
    for _ in range(2):
        server.ask(CHAT, {"model": "m", "messages": [{"role": "user", "content": "hi"}]})
    explanation = asyncio.run(explain_call(server.live.engine, call_of("hi")))
    assert explanation.source.endswith(":5 third")
    assert [list(rule.lines)[-1] for rule in explanation.prompts[0][1]][1] == "MISS  times 2: got 3"


def test_each_prompt_is_explained() -> None:
    body = {"model": "m", "prompt": ["hi", "pay"]}
    call = reach(RequestFile("/v1/completions", body), "openai").call(strict=False)
    text = told(local("rules: [{name: greet, when: {last_user: hi}, then: {text: x}}]").live, call)
    assert "(at /v1/completions)" in text
    assert '\nprompt 0: "hi"\n' in text
    assert '\nprompt 1: "pay"\n' in text


def test_a_refusal_of_the_engine_is_told() -> None:
    text = told(local(models=["other"]).live, call_of("x"))
    assert text.startswith("answered by: invalid: ")


def test_a_conversation_that_goes_on_is_explained_as_a_whole() -> None:
    server = local("rules: [{name: second, when: {turn: 1}, then: {text: again}}, {then: {text: once}}]")
    first = server.ask("/v1/responses", {"model": "m", "input": "a"}).json
    more = RequestFile("/v1/responses", {"model": "m", "input": "b", "previous_response_id": first["id"]})
    explanation = asyncio.run(explain_call(server.live.engine, reach(more, "openai").call(strict=False)))
    assert explanation.source.endswith("second")
    assert explanation.prompts[0][1][0].verdict == "holds"
    stored = asyncio.run(server.live.engine.memory.shelf.values("default"))
    assert len(stored) == 1


def test_findings_are_told_to_programs_and_long_ones_cut() -> None:
    live = local(
        f"rules: [{{name: a, when: {{last_user: {{equals: {'y' * 200}}}, model: m}}, then: {{text: x}}}}]"
    ).live
    (held,) = asyncio.run(explain_call(live.engine, call_of("x" * 500))).prompts[0][1]
    shown = as_json(held)
    assert (shown["name"], shown["verdict"]) == ("a", "does not hold")
    long, short = shown["findings"]
    assert len(long["actual"]) < 100 > len(long["expected"])
    assert short == {"field": "model", "predicate": "equals", "expected": "m", "actual": "m", "ok": True}


def test_a_pattern_that_takes_too_long_fails() -> None:
    rules = "rules: [{name: slow, when: {last_user: {regex: '(a|aa)+$'}}, then: {text: x}}]"
    text = told(local(rules).live, call_of("a" * 5000 + "b"))
    assert 'rules.yaml:1 "slow" fails: ' in text


def test_faults_are_told_as_nothing_is_sent() -> None:
    faults = (Fault("cut", lambda actions, scene: iter(())), Fault("slow", lambda actions, scene: iter(())))
    explanation = Explanation(call_of("x"), "rule a", "", (), faults)
    assert explanation.text == "answered by: rule a; faults when served: cut, slow"
