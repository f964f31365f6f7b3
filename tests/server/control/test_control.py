"""Control requests: paths, methods, bodies and namespaces; health, state and metrics."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from mockserver import __version__
from mockserver.config.errors import explain_extra
from mockserver.core.plan import Failure
from mockserver.server.access import OPEN
from mockserver.server.compose import start
from mockserver.server.control import ROUTES, Control
from mockserver.server.control.requests import ControlRequest, RefusedError, parse_number
from mockserver.server.sources import Sources
from tests.kit.control import API, ControlledServer, controlled_server, rule

RULES = """
rules:
  - {name: hi, when: {last_user: hi}, then: {text: Hello}}
  - {name: busy, when: {last_user: busy}, then: {error: 429}}
  - {name: paid, when: {last_user: x}, state: {is: paid, becomes: done}, then: {text: Thanks}}
  - {name: once, when: {last_user: x}, times: 1, then: {text: once}}
  - {name: again, when: {last_user: x, attempt: 2}, then: {text: again}}
"""


@pytest.fixture
def server(tmp_path: Path) -> ControlledServer:
    return controlled_server(tmp_path, RULES, max_body="10KB")


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("call", "did you mean /__mockserver__/api/calls?"),
        ("calls/", "did you mean /__mockserver__/api/calls?"),
        ("helth", "did you mean /__mockserver__/api/health?"),
        ("healthz", "did you mean /__mockserver__/api/health?"),
        ("requests", "did you mean /__mockserver__/api/calls?"),
        ("", "paths below /__mockserver__: /api/health, /api/ready, /api/calls,"),
    ],
)
def test_an_unknown_path_gets_the_nearest(server: ControlledServer, path: str, hint: str) -> None:
    got = server.api(path)
    assert (got.status, hint in got.json["error"]) == (404, True), got.json


def test_wrong_methods(server: ControlledServer) -> None:
    for path, routes in ROUTES.items():
        if path != "/metrics":
            got = server.api(re.sub("{.*}", "1", path.removeprefix("/api/")), method="PATCH")
            assert (got.status, set(routes) <= set(got.headers["allow"].split(", "))) == (405, True)
    assert server.api("health", method="HEAD").status == 200


async def test_bodies_that_are_too_large_or_never_come(server: ControlledServer) -> None:
    heads = list[int]()

    async def receive() -> Any:
        raise Failure("bad_parameter", "It took too long.", status=408)

    async def send(message: Any) -> None:
        heads.append(message.get("status", 0))

    scope = {"type": "http", "method": "POST", "path": "/api/rules", "query_string": b"", "headers": ()}
    await Control(server.live)(scope, receive, send)
    assert heads == [408, 0]


def test_a_body_is_bounded(server: ControlledServer) -> None:
    got = server.api("rules", b"x" * 10_001)
    assert (got.status, got.json["error"]) == (
        413,
        "The request body is larger than 10000 bytes; the setting max_body allows more.",
    )


@pytest.mark.parametrize("path", ["state?namespace=", "rules?namespace=%0a", "calls?namespace=" + "x" * 101])
def test_invalid_namespaces(server: ControlledServer, path: str) -> None:
    got = server.api(path)
    assert got.status == 400
    assert got.json["error"].startswith("the name of a namespace must have 1 to 100 printable characters")


def test_what_changes_something_needs_one_namespace(server: ControlledServer) -> None:
    for path, body in (("state", {"state": "a"}), ("timing", {"on": True}), ("rules", {})):
        assert server.api(f"{path}?namespace=*", body).status == 400


def test_control_requests_are_in_no_journal_and_of_no_dialect(server: ControlledServer, tmp_path: Path) -> None:
    assert server.get("health") == {"status": "ok"}
    got = server.app.ask("//__mockserver__//api/health", method="GET", headers={"host": "127.0.0.1"})
    assert (got.json, server.calls()) == ({"status": "ok"}, [])
    for dialect in ("azure", "azure_openai", "fireworks"):
        assert controlled_server(tmp_path, dialect=dialect).get("health") == {"status": "ok"}


def asked(body: bytes = b"", namespace: str = "default", **query: str) -> ControlRequest:
    return ControlRequest(start(Sources()), namespace, query, body=body)


def test_values_of_the_query() -> None:
    for word, on in (("true", True), ("1", True), ("", True), ("False", False), ("0", False)):
        assert asked(replace=word).read_switch("replace") is on
    assert not asked().read_switch("replace")
    with pytest.raises(RefusedError, match=r'\?replace= must be true or false, not "maybe"'):
        asked(replace="maybe").read_switch("replace")
    assert (asked().read_number("limit"), asked(limit="07").read_number("limit")) == (None, 7)
    for word in ("", "-1", "1.5", "x", "²", "9" * 30):
        with pytest.raises(RefusedError, match="the limit must be a whole number, not"):
            parse_number(word, "the limit")
    assert (asked(namespace="a").namespaces, asked(namespace="*").namespaces) == (("a",), ("default",))


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"\xff", "the body is not JSON: "),
        (b"[" * 100_000, "the body is not JSON: "),
        (rb'{"on": "\ud800"}', "the body is not JSON: unexpected end of hex escape"),
        (b"[]", 'the body must be a JSON object with "on"'),
        (b'{"of": true}', 'unknown key "of"; this takes "on"'),
    ],
)
def test_bodies_that_are_no_such_table(body: bytes, error: str) -> None:
    with pytest.raises(RefusedError, match=error):
        asked(body).read_table("on")


# --- state


def test_ready_says_with_what(server: ControlledServer, tmp_path: Path) -> None:
    known = {
        "status": "ready",
        "version": __version__,
        "dialect": "openai",
        "unmatched": "generate",
        "files": [str(tmp_path / "rules.yaml")],
        "rules": 5,
        "state": "memory",
    }
    ready = server.get("ready")
    assert {name: ready[name] for name in known} == known


@pytest.mark.parametrize("path", sorted(OPEN))
def test_without_the_token_nothing_is_said_of_this_machine(path: str, tmp_path: Path) -> None:
    server = controlled_server(tmp_path, control_token="open-sesame-1234")
    path = path.removeprefix("/__mockserver__/api/")
    anybody, owner = server.api(path), server.api(path, headers={"x-mockserver-token": "open-sesame-1234"})
    assert (anybody.status, owner.status) == (200, 200)
    assert str(tmp_path) not in anybody.body.decode()
    if path == "ready":
        assert (anybody.json["files"], owner.json["files"]) == (["rules.yaml"], [str(tmp_path / "rules.yaml")])


def test_state_shows_what_is_counted(server: ControlledServer, tmp_path: Path) -> None:
    server.chat("x")
    server.chat("x")
    server.app.ask("/v1/responses", {"model": "m", "input": "y"})
    server.post("rules", rule("mine", "x", when={"last_user": "never"}))
    (state,) = server.get("state")["namespaces"]
    assert list(state.pop("attempts").values()) == [2, 1]
    assert state == {
        "namespace": "default",
        "state": "start",
        "times": {"once": 2},
        "hits": {f"rule {tmp_path}/rules.yaml:6 once": 1, f"rule {tmp_path}/rules.yaml:7 again": 1},
        "rules_added": 1,
        "timing": True,
        "calls": 3,
        "open": 0,
        "stored_answers": 1,
    }


def test_the_state_of_a_scenario_can_be_set(server: ControlledServer) -> None:
    assert server.post("state?namespace=mine", {"state": "paid"})["state"] == "paid"
    assert server.chat("x", namespace="mine").source.endswith("paid")
    assert server.get("state?namespace=mine")["namespaces"][0]["state"] == "done"
    assert server.chat("x").source.endswith("once")
    for body in ({}, {"state": ""}, {"state": 3}, {"state": "a", "other": 1}, []):
        assert server.api("state", body).status == 400


def test_timing_is_switched_for_a_namespace(server: ControlledServer) -> None:
    assert server.post("timing?namespace=mine", {"on": False}) == {"namespace": "mine", "timing": False}
    assert tuple(server.live.namespaces.get(name).timed for name in ("mine", "default")) == (False, True)
    assert server.api("timing", {"on": "no"}).json["error"] == 'the body must be {"on": true} or {"on": false}'


def fill(server: ControlledServer, namespace: str) -> None:
    query = f"?namespace={namespace}"
    server.post("rules" + query, rule("mine", "x", when={"last_user": "never"}))
    server.post("timing" + query, {"on": False})
    server.chat("x", namespace=namespace)
    server.app.ask(f"/ns/{namespace}/v1/responses", {"model": "m", "input": "y"})
    server.post("state" + query, {"state": "asked"})


def is_fresh(server: ControlledServer, namespace: str) -> bool:
    (state,) = server.get(f"state?namespace={namespace}")["namespaces"]
    fresh = {"state": "start", "times": {}, "attempts": {}, "hits": {}, "rules_added": 0, "timing": True, "calls": 0}
    return bool(state == {"namespace": namespace, **fresh, "open": 0, "stored_answers": 0})


def test_reset(server: ControlledServer) -> None:
    fill(server, "mine")
    fill(server, "default")
    assert not is_fresh(server, "mine")
    assert server.post("reset?namespace=mine") == {"reset": ["mine"]}
    assert (is_fresh(server, "mine"), is_fresh(server, "default")) == (True, False)
    assert server.chat("x", namespace="mine").source.endswith("once")
    assert server.post("reset?namespace=*") == {"reset": ["default", "mine"]}
    assert is_fresh(server, "default")
    assert [state["namespace"] for state in server.get("state?namespace=*")["namespaces"]] == ["default"]
    server.chat("x")
    assert [call["call"] for call in server.calls()] == [6], "numbers of calls are not used again"


def test_reload(server: ControlledServer, tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text("rules: [{then: {txt: a}}]")
    got = server.api("reload", b"")
    assert got.status == 400
    assert got.json["mistakes"][0].startswith(f'{file}:1:17: unknown key "txt"; did you mean "text"?')
    assert got.json["error"].startswith("not reloaded; the previous rules stay in effect: ")
    assert server.get("ready")["rules"] == 5
    file.write_text("settings: {journal_calls: 3, seed: 4}")
    assert server.post("reload") == {"rules": 0, "at_next_start": ["journal_calls"]}


# --- metrics


def scraped(server: ControlledServer) -> Any:
    return server.app.ask(API.replace("api/", "metrics"), method="GET", headers={"host": "localhost"})


def samples(server: ControlledServer) -> dict[tuple[str, ...], float]:
    """Every sample by its name and the values of its labels, in the order of their names."""
    got = scraped(server)
    assert (got.status, got.headers["content-type"].startswith("text/plain")) == (200, True)
    return {
        (sample.name.removeprefix("mockserver_"), *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(got.body.decode())
        for sample in family.samples
    }


def test_metrics_count_requests(server: ControlledServer, tmp_path: Path) -> None:
    assert samples(server)["journal_calls",] == 0
    for text in ("hi", "hi", "busy", "else"):
        server.chat(text)
    server.chat("hi", namespace="secret-1", model="secret-2")
    server.app.ask("/azure/secret-3", {})
    found = samples(server)
    assert {key[1:]: value for key, value in found.items() if key[0] == "requests_total"} == {
        ("openai", "chat", "rule", "200"): 3,
        ("openai", "chat", "rule", "429"): 1,
        ("openai", "chat", "generated", "200"): 1,
        ("azure", "none", "invalid", "404"): 1,
    }
    assert (found["ended_total", "complete"], found["rule_hits_total", f"{tmp_path}/rules.yaml:3 hi"]) == (6, 3)
    assert found["tokens_total", "completion"] > found["tokens_total", "prompt"] > 0
    assert (found["open_requests",], found["journal_calls",], found["journal_bytes",] > 6000) == (0, 6, True)
    assert b"secret" not in scraped(server).body, "no name of a request becomes a label"
    for name in ("request_seconds", "first_byte_seconds"):
        buckets = [value for key, value in found.items() if key[0] == f"{name}_bucket" and "openai" in key]
        assert (buckets == sorted(buckets), buckets[-1], found[f"{name}_count", "openai", "chat"]) == (True, 5, 5)
        assert 0 < found[f"{name}_sum", "openai", "chat"] < 30


def test_metrics_need_an_extra(server: ControlledServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    got = scraped(server)
    assert got.status == 501
    assert got.json["error"] == f"the package prometheus-client is missing; {explain_extra('metrics')}"
