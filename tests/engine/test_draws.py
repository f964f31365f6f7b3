"""Which calls a fault befalls: seeded, by attempt, so many times in a namespace."""

import asyncio
from collections.abc import Mapping

import pytest

from mockserver.core.plan import Plan
from tests.kit.calls import Web, call
from tests.kit.local import Local, local


def server(*faults: str, seed: int = 0) -> Local:
    return local(f"rules: [{{name: r, then: {{text: a, faults: [{', '.join(faults)}]}}}}]", seed=seed)


def plan(server: Local, text: str = "hello", *, attempt: int | None = None, namespace: str = "default") -> Plan:
    headers: Mapping[str, str] = {} if attempt is None else {"x-stainless-retry-count": str(attempt - 1)}
    asked = call(text, web=Web(headers, namespace=namespace), meaning=text)
    return asyncio.run(server.live.engine.plan(asked))


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


@pytest.mark.parametrize(("share", "found"), [("100%", ["cut"]), ("0%", [])])
def test_always_and_never(share: str, found: list[str]) -> None:
    asked = server(f"{{cut: {{probability: {share}}}}}")
    assert [befallen(plan(asked, str(n))) for n in range(20)] == [found] * 20


def test_only_what_befalls_is_counted() -> None:
    asked = server("{cut: {probability: 50%, times: 3}}")
    assert sum(bool(plan(asked, str(n)).faults) for n in range(50)) == 3


@pytest.mark.parametrize(
    ("fault", "cacheable"),
    [
        ("cut", True),
        ("{cut: {after_tokens: 1}}", True),
        ("{cut: {times: 1}}", False),
        ("{cut: {probability: 0}}", False),
    ],
)
def test_what_may_fare_otherwise_next_time_is_not_settled(fault: str, cacheable: bool) -> None:
    assert plan(server(fault)).cacheable is cacheable


@pytest.mark.parametrize("fault", ["bad_tool_arguments", "unknown_tool"])
def test_faults_of_what_is_said_are_in_the_answer(fault: str) -> None:
    asked = local(f"rules: [{{then: {{tool_calls: [{{name: get_weather, arguments: {{a: 1}}}}], faults: [{fault}]}}}}]")
    tool = {"type": "function", "function": {"name": "get_weather"}}
    body = {"model": "m", "messages": [{"role": "user", "content": "x"}], "tools": [tool]}
    (made,) = asked.ask("/v1/chat/completions", body).json["choices"][0]["message"]["tool_calls"]
    expected = {"bad_tool_arguments": ("get_weather", '{"a":1'), "unknown_tool": ("get_weather_2", '{"a":1}')}
    assert (made["function"]["name"], made["function"]["arguments"]) == expected[fault]


def test_faults_alone_bend_what_there_would_be_anyway() -> None:
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hello"}]}
    alone, nobody = local("rules: [{then: {faults: [cut]}}]"), local()
    answered = alone.ask("/v1/chat/completions", body)
    assert answered.body == nobody.ask("/v1/chat/completions", body).body
    assert answered.source == "generated"


@pytest.mark.parametrize(
    ("operation", "method", "path", "body"),
    [
        ("embeddings", "POST", "/v1/embeddings", {"model": "m", "input": "a"}),
        ("models", "GET", "/v1/models", None),
        ("response", "GET", "/v1/responses/resp_1", None),
        ("input_tokens", "POST", "/v1/responses/input_tokens", {"model": "m", "input": "a"}),
    ],
)
def test_faults_alone_of_every_operation(operation: str, method: str, path: str, body: object) -> None:
    rules = f"rules: [{{when: {{operation: {operation}}}, then: {{faults: [cut]}}}}]"
    answered, plain = (server.ask(path, body, method=method) for server in (local(rules), local()))
    assert (answered.status, answered.body, answered.source) == (plain.status, plain.body, plain.source)
