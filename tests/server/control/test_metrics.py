"""What Prometheus collects."""

import sys
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.kit.watched import API, Watched, watched

RULES = """
rules:
  - {name: hi, when: {last_user: hi}, then: {text: Hello}}
  - {name: busy, when: {last_user: busy}, then: {error: 429}}
"""
METRICS = API.replace("api/", "metrics")


def samples(server: Watched) -> dict[tuple[str, ...], float]:
    """Every sample by its name and the values of its labels, in the order of their names."""
    got = server.app.ask(METRICS, method="GET", headers={"host": "localhost"})
    assert (got.status, got.headers["content-type"].startswith("text/plain")) == (200, True)
    return {
        (sample.name.removeprefix("mockserver_"), *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(got.body.decode())
        for sample in family.samples
    }


@pytest.fixture
def server(tmp_path: Path) -> Watched:
    return watched(tmp_path, RULES)


def test_what_was_served_is_counted(server: Watched, tmp_path: Path) -> None:
    for text in ("hi", "hi", "busy", "else"):
        server.chat(text)
    server.chat("hi", namespace="mine", model="any name of a model")
    server.app.ask("/azure/nothing", {})
    found = samples(server)
    assert {key[1:]: value for key, value in found.items() if key[0] == "requests_total"} == {
        ("openai", "chat", "rule", "200"): 3,
        ("openai", "chat", "rule", "429"): 1,
        ("openai", "chat", "generated", "200"): 1,
        ("azure", "none", "invalid", "404"): 1,
    }
    assert found["ended_total", "complete"] == 6
    assert found["rule_hits_total", f"{tmp_path}/rules.yaml:3 hi"] == 3
    assert found["tokens_total", "completion"] > found["tokens_total", "prompt"] > 0
    assert found["open_requests",] == 0
    assert (found["journal_calls",], found["journal_bytes",] > 6000) == (6, True)


def test_durations_are_cumulated(server: Watched) -> None:
    for _ in range(3):
        server.chat("hi")
    found = samples(server)
    for name in ("request_seconds", "first_byte_seconds"):
        buckets = [value for key, value in found.items() if key[0] == f"{name}_bucket"]
        assert (buckets == sorted(buckets), buckets[-1], found[f"{name}_count", "openai", "chat"]) == (True, 3, 3)
        assert 0 < found[f"{name}_sum", "openai", "chat"] < 30


def test_no_name_of_a_request_becomes_a_label(server: Watched) -> None:
    for at in range(20):
        server.chat("x", model=f"secret-{at}", namespace=f"secret-{at}")
        server.app.ask(f"/v1/secret-{at}", {})
    got = server.app.ask(METRICS, method="GET", headers={"host": "localhost"})
    assert b"secret" not in got.body
    assert sum(key[0] == "requests_total" for key in samples(server)) == 2


def test_an_empty_server_has_metrics_too(server: Watched) -> None:
    assert samples(server)["journal_calls",] == 0


def test_without_the_extra_it_is_named(server: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    got = server.app.ask(METRICS, method="GET", headers={"host": "localhost"})
    assert got.status == 501
    assert got.json["error"] == 'metrics need the extra "metrics": pip install "mockserver[metrics]"'
