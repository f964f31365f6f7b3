"""What explain says is what happens, and saying it changes nothing; requests as people describe them."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mockserver.config.errors import ConfigError
from mockserver.config.settings import Settings
from mockserver.core.action import Fault
from mockserver.core.call import Call
from mockserver.core.plan import Plan
from mockserver.core.row import Row
from mockserver.server.explain import (
    Explanation,
    RequestFile,
    explain_call,
    find_path,
    find_target,
    find_usual_path,
    is_unmatched,
    make_usual_request,
    read_request,
)
from mockserver.server.routes import find_routes
from tests.kit.control import ControlledServer, controlled_server, rule
from tests.kit.local import Local, local

RULES = """
rules:
  - {name: twice, when: {last_user: "*twice*"}, times: 2, then: {error: 503}}
  - {name: third, when: {last_user: "*third*", attempt: 3}, then: {text: third}}
  - {name: ask, when: {last_user: "*ask*"}, state: {is: start, becomes: asked}, then: {text: who}}
  - {name: thank, when: {last_user: "*ask*"}, state: {is: asked}, then: {text: thanks}}
  - {name: first, when: {turn: 0, model: gpt-4o}, then: {text: first}}
"""
CHAT = "/v1/chat/completions"


@pytest.fixture
def server(tmp_path: Path) -> ControlledServer:
    return controlled_server(tmp_path, RULES)


def body(text: str, model: str = "gpt-4o") -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": text}]}


REQUESTS = st.lists(
    st.tuples(st.sampled_from(("twice", "third", "ask", "twice ask", "else")), st.sampled_from(("gpt-4o", "o3"))),
    min_size=1,
    max_size=12,
)


@given(REQUESTS)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_what_is_explained_happens(server: ControlledServer, requests: list[tuple[str, str]]) -> None:
    server.post("reset?namespace=*")
    for text, model in requests:
        explained = server.post("explain", {"body": body(text, model)})
        again = server.post("explain", {"body": body(text, model)})
        got = server.app.ask(CHAT, body(text, model))
        assert explained["answered_by"] == again["answered_by"] == got.source
        holding = [each["source"] for each in explained["rules"] if each["verdict"] == "holds"]
        assert got.source == (holding[0] if holding else "generated")


def test_every_rule_with_its_conditions_and_counters(server: ControlledServer) -> None:
    explained = server.post("explain", {"body": body("twice")})
    assert [(each["name"], each["verdict"]) for each in explained["rules"]] == [
        ("twice", "holds"),
        ("third", "does not hold"),
        ("ask", "does not hold"),
        ("thank", "does not hold"),
        ("first", "holds"),
    ]
    assert explained["rules"][0]["findings"] == [
        {"field": "last_user", "predicate": "glob", "expected": "*twice*", "actual": "twice", "ok": True},
        {"field": "times", "predicate": "lte", "expected": 2, "actual": 1, "ok": True},
    ]
    assert 'rules.yaml:3 "twice" holds\n  ok    last_user glob "*twice*"\n  ok    times 2: got 1' in explained["text"]
    for _ in range(2):
        server.chat("twice")
    explained = server.post("explain", {"body": body("twice ask")})
    verdicts = {each["name"]: each["verdict"] for each in explained["rules"]}
    assert verdicts["twice"] == "matches, but it is used up: it has answered its 2 calls in this namespace"
    assert verdicts["thank"] == 'matches, but the state of this namespace is "start", not "asked"'
    assert "MISS  times 2: got 3" in explained["text"]
    assert 'MISS  state "asked": got "start"' in explained["text"]


def test_a_call_of_the_journal_is_explained_in_its_namespace(server: ControlledServer) -> None:
    server.post("rules?namespace=mine", rule("mine", "x", times=1))
    server.chat("else", namespace="mine")
    explained = server.post("explain", {"call": 1})
    assert (explained["call"], explained["answered_then"]) == (1, "rule api mine")
    assert explained["answered_by"].endswith("first")
    assert server.post("explain", body("x"))["answered_by"].endswith("first")
    server.post("reset?namespace=mine")
    server.post("rules?namespace=mine", rule("mine", "x"))
    assert server.post("explain?namespace=mine", body("x"))["answered_by"] == "rule api mine"


def test_another_dialect_path_and_headers(server: ControlledServer) -> None:
    server.post("rules", rule("azure", "x", when={"dialect": "azure", "header.x-team": "red"}))
    path = "/azure/chat/completions?api-version=2024-05-01-preview"
    for where in ({"dialect": "azure"}, {"path": path}):
        described = {**where, "headers": {"X-Team": "red"}, "body": body("x")}
        assert server.post("explain", described)["answered_by"] == "rule api azure"
    server.post("rules", rule("claude", "x", when={"dialect": "anthropic"}))
    described = {"path": "/anthropic/messages", "body": {**body("x"), "max_tokens": 9}}
    assert server.post("explain", described)["answered_by"] == "rule api claude"
    described = {"path": "/v1/chat/completions", "headers": {"aß": "世"}, "body": body("x")}
    assert "answered_by" in server.post("explain", described)


def test_prompts_are_explained_one_by_one_and_leave_nothing(server: ControlledServer) -> None:
    described = {"path": "/v1/completions", "body": {"model": "m", "prompt": ["ask", "else"]}}
    explained = server.post("explain", described)
    assert [(each["prompt"], len(each["rules"])) for each in explained["prompts"]] == [('"ask"', 5), ('"else"', 5)]
    assert "(at /v1/completions)" in explained["text"]
    assert '\nprompt 1: "else"\n' in explained["text"]
    server.post("explain", {"path": "/v1/responses", "body": {"model": "m", "input": "x"}})
    (state,) = server.get("state")["namespaces"]
    assert (state["calls"], state["stored_answers"], state["times"], state["attempts"]) == (0, 0, {}, {})


@pytest.mark.parametrize(
    ("content", "status", "error"),
    [
        ({"call": "7"}, 400, 'the body must be {"call": 7}, with the number of a call in the journal'),
        ({"call": 7}, 404, "there is no call 7 in the journal"),
        ({"call": 1}, 400, "call 1 cannot be explained: there is no operation at its path"),
        ({"call": 2}, 400, "call 2 cannot be explained: its body was too large to be kept whole (11000"),
        ({"dialect": "opena", "body": {}}, 400, 'unknown dialect "opena"; known: anthropic,'),
        ({"path": "/v1/chat/c", "body": {}}, 400, "no operation at /v1/chat/c; nearest: POST /v1/chat/completions"),
        ({"path": "http://[", "body": {}}, 400, "invalid path http://["),
        (
            {"model": "m"},
            400,
            "the provider would refuse this request to /openai/v1/chat/completions: Missing",
        ),
        ({"headers": 3, "body": {}}, 400, "the body: headers must be an object of names and values"),
        ([], 400, "the body: expected a JSON object"),
    ],
)
def test_mistakes(server: ControlledServer, content: object, status: int, error: str) -> None:
    server.app.ask("/v1/nothing", {})
    server.chat("x" * 1_100_000)
    got = server.api("explain", content)
    assert (got.status, got.json["error"][: len(error)]) == (status, error)


# --- without the control API


def call_of(text: str) -> Call:
    return find_target(RequestFile(CHAT, body(text, "m")), find_routes("openai")).parse_call(Settings())


def explained(server: Local, call: Call) -> Explanation:
    return asyncio.run(explain_call(server.live.engine, call))


def test_a_conversation_is_explained_as_a_whole() -> None:
    server = local("rules: [{name: second, when: {turn: 1}, then: {text: again}}, {then: {text: once}}]")
    first = server.ask("/v1/responses", {"model": "m", "input": "a"}).json
    more = RequestFile("/v1/responses", {"model": "m", "input": "b", "previous_response_id": first["id"]})
    assert explained(server, find_target(more, find_routes("openai")).parse_call(Settings())).source.endswith("second")
    assert asyncio.run(server.live.engine.memory.store.count("default")) == 1


def test_a_kept_conversation_is_explained_as_a_whole() -> None:
    server = local("rules: [{name: second, when: {turn: 1}, then: {text: again}}, {then: {text: once}}]")
    made = server.ask("/v1/conversations", {"items": [{"role": "assistant", "content": "a"}]}).json
    more = RequestFile("/v1/responses", {"model": "m", "input": "b", "conversation": made["id"]})
    assert explained(server, find_target(more, find_routes("openai")).parse_call(Settings())).source.endswith("second")
    strict = local("rules: [{then: {text: once}}]", unmatched="error")
    assert (
        "Conversation with id"
        in explained(strict, find_target(more, find_routes("openai")).parse_call(Settings())).text
    )


def test_refusals_failures_and_faults() -> None:
    assert explained(local(models=["other"]), call_of("x")).text.startswith("answered by: invalid: ")
    slow = local("rules: [{name: slow, when: {last_user: {regex: '(a|aa)+$'}}, then: {text: x}}]")
    assert 'rules.yaml:1 "slow" fails: ' in explained(slow, call_of("a" * 5000 + "b")).text
    faults = (Fault("cut", lambda actions, context: iter(())), Fault("slow", lambda actions, context: iter(())))
    assert (
        Explanation(call_of("x"), "rule a", "", (), faults).text == "answered by: rule a; faults when served: cut, slow"
    )


@pytest.mark.parametrize(
    ("source", "operation", "unmatched"),
    [
        ("generated", "chat", True),
        ("generated", "models", False),
        ("generated", "", False),
        ("unmatched", "response", True),
        ("rule r.yaml:1", "chat", False),
        ("invalid", "chat", False),
    ],
)
def test_only_what_models_are_asked_can_be_unmatched(source: str, operation: str, unmatched: bool) -> None:
    row = Row(1, "POST", "/", "openai", "default")
    row.plan, row.operation = Plan(None, source), operation
    assert is_unmatched(row) is unmatched


def test_usual_paths() -> None:
    assert find_usual_path("azure") == "/azure/chat/completions?api-version=2024-05-01-preview"
    with pytest.raises(ConfigError, match=r'unknown dialect "x"; known: anthropic, .*, openai, skytells'):
        find_usual_path("x")
    with pytest.raises(ConfigError, match=r'"crazyrouter" has no operation "responses"; it has chat$'):
        make_usual_request("crazyrouter", "responses", "gpt-4o", "Hi")


@pytest.mark.parametrize(
    ("dialect", "content", "path"),
    [
        ("openai", {"input": "x"}, "/openai/v1/responses"),
        ("openai", {"input": "x", "model": "text-embedding-3-small"}, "/openai/v1/embeddings"),
        ("openai", {"input": "x", "model": "omni-moderation-latest"}, "/openai/v1/moderations"),
        ("openai", {"prompt": "x"}, "/openai/v1/completions"),
        ("openai", {"prompt": {"id": "p"}, "messages": []}, "/openai/v1/chat/completions"),
        ("openai", [], "/openai/v1/chat/completions"),
        ("azure", {"input": ["x"], "model": "m"}, "/azure/embeddings?api-version=2024-05-01-preview"),
        ("crazyrouter", {"input": "x"}, "/crazyrouter/v1/chat/completions"),
    ],
)
def test_a_body_tells_where_it_goes(dialect: str, content: object, path: str) -> None:
    assert find_path(content, dialect) == path


@pytest.mark.parametrize(
    ("text", "described"),
    [
        ('{"model": "m"}', RequestFile("/p", {"model": "m"})),
        ('{"body": {"model": "m"}}', RequestFile("/p", {"model": "m"})),
        ('{"path": "/v1/responses/resp_1"}', RequestFile("/v1/responses/resp_1", {}, "GET")),
        ('{"body": {}, "path": "/q", "method": "GET", "headers": {"A": 1}}', RequestFile("/q", {}, "GET", {"A": 1})),  # type: ignore[dict-item]
    ],
)
def test_a_file_is_a_body_or_a_whole_request(text: str, described: RequestFile) -> None:
    assert read_request(text, "r.json", "openai", "/p") == described


def test_a_described_request_reaches_its_operation() -> None:
    described = RequestFile(find_usual_path("azure"), body("x"), headers={"Api-Key": "k"}, namespace="mine")
    target = find_target(described, find_routes("openai"))
    assert (target.endpoint.dialect.name, target.operation.name) == ("azure", "chat")
    assert (target.http.find_header("api-key"), target.http.namespace) == ("k", "mine")
    assert find_target(RequestFile(CHAT, b"{ }"), find_routes("openai")).http.body == b"{ }"
