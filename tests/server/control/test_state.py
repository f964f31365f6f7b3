"""What is remembered, and how to begin anew."""

from pathlib import Path

import pytest

from mockserver import __version__
from tests.kit.watched import Watched, rule, watched

RULES = """
rules:
  - {name: paid, state: {is: paid, becomes: done}, then: {text: Thanks}}
  - {name: once, times: 1, then: {text: once}}
  - {name: again, when: {attempt: 2}, then: {text: again}}
"""


@pytest.fixture
def server(tmp_path: Path) -> Watched:
    return watched(tmp_path, RULES)


def test_it_lives_and_is_ready(server: Watched, tmp_path: Path) -> None:
    assert server.get("health") == {"status": "ok"}
    assert server.get("ready") == {
        "status": "ready",
        "version": __version__,
        "dialect": "openai",
        "unmatched": "generate",
        "files": [str(tmp_path / "rules.yaml")],
        "rules": 3,
    }


def test_state_tells_what_is_counted(server: Watched, tmp_path: Path) -> None:
    server.chat("x")
    server.chat("x")
    server.app.ask("/v1/responses", {"model": "m", "input": "y"})
    server.post("rules", rule("mine", "x", when={"last_user": "never"}))
    (state,) = server.get("state")["namespaces"]
    assert list(state.pop("attempts").values()) == [2, 1]
    assert state == {
        "namespace": "default",
        "state": "start",
        "times": {"once": 3},
        "hits": {f"rule {tmp_path}/rules.yaml:4 once": 1, f"rule {tmp_path}/rules.yaml:5 again": 1},
        "rules_added": 1,
        "timing": True,
        "calls": 3,
        "open": 0,
        "stored_answers": 1,
    }


def test_a_scenario_is_put_into_a_state(server: Watched) -> None:
    assert server.post("state?namespace=mine", {"state": "paid"})["state"] == "paid"
    assert server.chat("x", namespace="mine").source.endswith("paid")
    assert server.get("state?namespace=mine")["namespaces"][0]["state"] == "done"
    assert server.chat("x").source.endswith("once")


@pytest.mark.parametrize("body", [{}, {"state": ""}, {"state": 3}, {"state": "a", "other": 1}, []])
def test_a_state_is_a_text(server: Watched, body: object) -> None:
    assert server.api("state", body).status == 400


def test_timing_is_switched_for_a_namespace(server: Watched) -> None:
    assert server.post("timing?namespace=mine", {"on": False}) == {"namespace": "mine", "timing": False}
    assert (server.live.timed("mine"), server.live.timed("default")) == (False, True)
    server.post("timing?namespace=mine", {"on": True})
    assert server.live.timed("mine")
    assert server.api("timing", {"on": "no"}).json["error"] == 'the body must be {"on": true} or {"on": false}'


def fill(server: Watched, namespace: str) -> None:
    query = f"?namespace={namespace}"
    server.post("rules" + query, rule("mine", "x", when={"last_user": "never"}))
    server.post("timing" + query, {"on": False})
    server.chat("x", namespace=namespace)
    server.app.ask(f"/ns/{namespace}/v1/responses", {"model": "m", "input": "y"})
    server.post("state" + query, {"state": "asked"})


FRESH = {"state": "start", "times": {}, "attempts": {}, "hits": {}, "rules_added": 0, "timing": True, "calls": 0}


def fresh(server: Watched, namespace: str) -> bool:
    (state,) = server.get(f"state?namespace={namespace}")["namespaces"]
    return state == {"namespace": namespace, **FRESH, "open": 0, "stored_answers": 0}


def test_reset_forgets_all_of_one_namespace(server: Watched) -> None:
    fill(server, "mine")
    fill(server, "yours")
    assert not fresh(server, "mine")
    assert server.post("reset?namespace=mine") == {"reset": ["mine"]}
    assert fresh(server, "mine")
    assert not fresh(server, "yours")
    assert server.chat("x", namespace="mine").source.endswith("once")


def test_reset_of_all(server: Watched) -> None:
    fill(server, "mine")
    fill(server, "default")
    assert server.post("reset?namespace=*") == {"reset": ["default", "mine"]}
    assert fresh(server, "mine")
    assert fresh(server, "default")
    assert [state["namespace"] for state in server.get("state?namespace=*")["namespaces"]] == ["default"]


def test_numbers_of_calls_never_come_again(server: Watched) -> None:
    server.chat("x")
    server.post("reset")
    server.chat("x")
    assert [call["call"] for call in server.calls()] == [2]


def test_a_broken_file_changes_nothing(server: Watched, tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text("rules: [{then: {txt: a}}]")
    got = server.api("reload", b"")
    assert got.status == 400
    assert got.json["mistakes"][0].startswith(f'{file}:1:17: unknown key "txt"; did you mean "text"?')
    assert got.json["error"].startswith("not reloaded, the rules before still hold: ")
    assert server.get("ready")["rules"] == 3


def test_settings_that_wait_for_the_next_start_are_named(server: Watched, tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text("settings: {journal_calls: 3, seed: 4}")
    assert server.post("reload") == {"rules": 0, "at_next_start": ["journal_calls"]}


def test_what_changes_wants_one_namespace(server: Watched) -> None:
    for path, body in (("state", {"state": "a"}), ("timing", {"on": True})):
        assert server.api(f"{path}?namespace=*", body).status == 400
