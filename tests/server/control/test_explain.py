"""What explain says is what happens, and saying it changes nothing."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.kit.watched import Watched, rule, watched

RULES = """
rules:
  - {name: twice, when: {last_user: "*twice*"}, times: 2, then: {error: 503}}
  - {name: third, when: {last_user: "*third*", attempt: 3}, then: {text: third}}
  - {name: ask, when: {last_user: "*ask*"}, state: {is: start, becomes: asked}, then: {text: who}}
  - {name: thank, when: {last_user: "*ask*"}, state: {is: asked}, then: {text: thanks}}
  - {name: first, when: {turn: 0, model: gpt-4o}, then: {text: first}}
"""


@pytest.fixture
def server(tmp_path: Path) -> Watched:
    return watched(tmp_path, RULES)


def body(text: str, model: str = "gpt-4o") -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": text}]}


ASKED = st.lists(
    st.tuples(st.sampled_from(("twice", "third", "ask", "twice ask", "else")), st.sampled_from(("gpt-4o", "o3"))),
    min_size=1,
    max_size=12,
)


@given(ASKED)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_what_is_explained_happens(server: Watched, asked: list[tuple[str, str]]) -> None:
    server.post("reset?namespace=*")
    for text, model in asked:
        told = server.post("explain", {"body": body(text, model)})
        again = server.post("explain", {"body": body(text, model)})
        got = server.app.ask("/v1/chat/completions", body(text, model))
        assert told["answered_by"] == again["answered_by"] == got.source
        holding = [each["source"] for each in told["rules"] if each["verdict"] == "holds"]
        assert got.source == (holding[0] if holding else "generated")


def test_every_rule_is_told_and_the_text_that_the_command_prints(server: Watched) -> None:
    told = server.post("explain", {"body": body("twice")})
    assert [(each["name"], each["verdict"]) for each in told["rules"]] == [
        ("twice", "holds"),
        ("third", "does not hold"),
        ("ask", "does not hold"),
        ("thank", "does not hold"),
        ("first", "holds"),
    ]
    assert told["rules"][0]["findings"] == [
        {"field": "last_user", "predicate": "glob", "expected": "*twice*", "actual": "twice", "ok": True},
        {"field": "times", "predicate": "lte", "expected": 2, "actual": 1, "ok": True},
    ]
    assert 'rules.yaml:3 "twice" holds\n  ok    last_user glob "*twice*"\n  ok    times 2: got 1' in told["text"]


def test_a_call_of_the_journal_is_explained_in_its_namespace(server: Watched) -> None:
    server.post("rules?namespace=mine", rule("mine", "x", times=1))
    server.chat("else", namespace="mine")
    told = server.post("explain", {"call": 1})
    assert (told["call"], told["answered_then"]) == (1, "rule api mine")
    assert told["answered_by"].endswith("first")
    assert told["rules"][0]["findings"][-1]["ok"] is False


def test_a_described_request_is_explained_in_the_namespace_that_is_asked_for(server: Watched) -> None:
    server.post("rules?namespace=mine", rule("mine", "x"))
    assert server.post("explain?namespace=mine", body("x"))["answered_by"] == "rule api mine"
    assert server.post("explain", body("x"))["answered_by"].endswith("first")


def test_another_dialect_path_and_headers(server: Watched) -> None:
    server.post("rules", rule("azure", "x", when={"dialect": "azure", "header.x-team": "red"}))
    put = {"dialect": "azure", "headers": {"X-Team": "red"}, "body": body("x")}
    assert server.post("explain", put)["answered_by"] == "rule api azure"
    put = {
        "path": "/azure/chat/completions?api-version=2024-05-01-preview",
        "headers": {"X-Team": "red"},
        "body": body("x"),
    }
    assert server.post("explain", put)["answered_by"] == "rule api azure"


def test_prompts_are_explained_one_by_one(server: Watched) -> None:
    told = server.post("explain", {"path": "/v1/completions", "body": {"model": "m", "prompt": ["ask", "else"]}})
    assert [(each["prompt"], len(each["rules"])) for each in told["prompts"]] == [('"ask"', 5), ('"else"', 5)]


@pytest.mark.parametrize(
    ("content", "status", "error"),
    [
        ({"call": "7"}, 400, 'the body must be {"call": 7}, with the number of a call in the journal'),
        ({"call": 7}, 404, "there is no call 7 in the journal"),
        ({"dialect": "opena", "body": {}}, 400, 'unknown dialect "opena"; known: azure,'),
        ({"path": "/v1/chat", "body": {}}, 400, "no operation at /v1/chat; nearest: POST /v1/chat/completions"),
        ({"model": "m"}, 400, "the provider would refuse this request to /openai/v1/chat/completions: "),
        ({"headers": 3, "body": {}}, 400, "the body: headers must be an object of names and values"),
        ([], 400, "the body: expected a JSON object"),
    ],
)
def test_what_cannot_be_explained(server: Watched, content: object, status: int, error: str) -> None:
    got = server.api("explain", content)
    assert (got.status, got.json["error"][: len(error)]) == (status, error)


def test_a_call_that_reached_nothing_cannot_be_explained(server: Watched) -> None:
    server.app.ask("/v1/nothing", {})
    assert server.api("explain", {"call": 1}).json["error"] == "call 1 cannot be explained: no operation is at its path"


def test_a_call_that_is_not_kept_whole_cannot_be_explained(server: Watched) -> None:
    server.chat("x" * 1_100_000)
    got = server.api("explain", {"call": 1})
    assert got.json["error"].startswith("call 1 cannot be explained: its body is not kept whole (11000")


def test_to_explain_leaves_no_call_and_no_answer(server: Watched) -> None:
    server.post("explain", {"path": "/v1/responses", "body": {"model": "m", "input": "x"}})
    (state,) = server.get("state")["namespaces"]
    assert (state["calls"], state["stored_answers"], state["times"], state["attempts"]) == (0, 0, {}, {})


@pytest.mark.parametrize("path", ["http://[", "//[::1"])
def test_a_path_that_is_none_is_refused(server: Watched, path: str) -> None:
    got = server.api("explain", {"method": "POST", "path": path, "body": body("x")})
    assert got.status == 400
    assert "invalid path" in got.json["error"]


def test_half_a_character_in_a_header_does_no_harm(server: Watched) -> None:
    sent = b'{"path": "/v1/chat/completions", "headers": {"a\\ud800": "\\ud800"}, "body": {"model": "m", "messages": '
    assert server.api("explain", sent + b'[{"role": "user", "content": "x"}]}}').status == 200
