"""The journal, looked at from outside."""

from pathlib import Path
from typing import Any

import pytest

from tests.kit.served import served
from tests.kit.watched import Watched, watched

RULES = """
rules:
  - {name: hi, when: {last_user: hi}, then: {text: Hello there}}
  - {name: busy, when: {last_user: busy}, then: {error: 429}}
"""


@pytest.fixture
def server(tmp_path: Path) -> Watched:
    server = watched(tmp_path, RULES, unmatched="error")
    server.chat("hi")
    server.chat("busy")
    server.chat("else", namespace="mine")
    server.chat("hi", stream=True)
    server.app.ask("/v1/completions", {"model": "text-1", "prompt": "bye"})
    server.app.ask("/v1/chat/completions", b"{")
    return server


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", [1, 2, 4, 5, 6]),
        ("?namespace=mine", [3]),
        ("?namespace=*", [1, 2, 3, 4, 5, 6]),
        ("?namespace=nobody", []),
        ("?model=text-1", [5]),
        ("?operation=chat", [1, 2, 4, 6]),
        ("?operation=chat&status=200", [1, 4]),
        ("?dialect=azure", []),
        ("?source=rule", [1, 2, 4]),
        ("?source=invalid", [6]),
        ("?status=429", [2]),
        ("?since=2", [4, 5, 6]),
        ("?limit=2", [5, 6]),
        ("?limit=0", []),
        ("?unmatched=true&namespace=*", [3, 5]),
        ("?unmatched=false", [1, 2, 4, 6]),
    ],
)
def test_calls_are_listed_by_what_is_asked_for(server: Watched, query: str, found: list[int]) -> None:
    assert [call["call"] for call in server.calls(query)] == found


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("?modle=x", 'unknown filter "modle"; did you mean "model"?'),
        ("?since=x", '?since= must be a whole number, not "x"'),
        ("?bodies=perhaps", '?bodies= must be true or false, not "perhaps"'),
    ],
)
def test_what_cannot_be_asked_for_is_told(server: Watched, query: str, error: str) -> None:
    got = server.api("calls" + query)
    assert (got.status, got.json["error"]) == (400, error)


def test_bodies_come_when_they_are_wanted(server: Watched) -> None:
    assert "request" not in server.calls("?limit=1")[0]
    (call,) = server.calls("?bodies=true&since=0&limit=1&status=200&model=gpt-4o&source=rule")
    assert call["request"]["body"]["messages"][0]["content"] == "hi"
    assert call["reply"]["frames"][-1]["data"] == "[DONE]"


def test_one_call_is_told_in_full(server: Watched) -> None:
    call = server.get("calls/1")
    assert call["findings"] == [
        {"field": "last_user", "predicate": "equals", "expected": "hi", "actual": "hi", "ok": True}
    ]
    assert call["asked"]["messages"] == [{"role": "user", "text": "hi"}]
    assert call["reply"]["body"]["choices"][0]["message"]["content"] == "Hello there"
    assert call["usage"].items() <= call["reply"]["body"]["usage"].items()


def test_what_no_rule_answered_is_told_the_nearest(server: Watched) -> None:
    call = server.get("calls/3")
    assert [rule["name"] for rule in call["nearest"]] == ["busy", "hi"]
    assert call["nearest"][0]["findings"][0]["ok"] is False


def test_what_no_call_was_is_shown_as_it_came(server: Watched) -> None:
    call = server.get("calls/6")
    assert (call["asked"], call["request"]["body"], call["status"]) == (None, "{", 400)
    assert "nearest" not in call


@pytest.mark.parametrize(
    ("path", "status", "error"),
    [
        ("calls/99", 404, "there is no call 99 in the journal; the latest is 6, and the oldest are forgotten"),
        (
            "calls/1?namespace=mine",
            404,
            "there is no call 1 in the journal; the latest is 6, and the oldest are forgotten",
        ),
        ("calls/x", 400, 'the number of a call must be a whole number, not "x"'),
    ],
)
def test_a_call_that_is_not_there(server: Watched, path: str, status: int, error: str) -> None:
    got = server.api(path)
    assert (got.status, got.json["error"]) == (status, error)


def test_calls_are_forgotten_and_counters_stay(server: Watched) -> None:
    assert server.api("calls", method="DELETE").json == {"forgotten": 5}
    assert server.calls() == []
    assert len(server.calls("?namespace=mine")) == 1
    assert server.get("rules")["rules"][0]["hits"] == 2
    assert (
        server.api("calls/1").json["error"]
        == "there is no call 1 in the journal; the latest is 3, and the oldest are forgotten"
    )
    server.api("calls?namespace=*", method="DELETE")
    assert "the journal is empty" in server.api("calls/1").json["error"]


def test_retries_are_seen(tmp_path: Path) -> None:
    server = watched(tmp_path, "rules: [{name: twice, times: 2, then: {error: 503}}, {then: {text: well}}]")
    for _ in range(3):
        server.chat("x")
    server.chat("y")
    assert [(call["attempt"], call["status"]) for call in server.calls()] == [(1, 503), (2, 503), (3, 200), (1, 200)]
    assert server.get("calls/3")["attempt"] == 3


def test_a_client_tells_which_try_it_is(tmp_path: Path) -> None:
    server = watched(tmp_path)
    body = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
    server.app.ask("/v1/chat/completions", body, headers={"x-stainless-retry-count": "2"})
    assert server.calls()[0]["attempt"] == 3


SLOW = """
rules:
  - name: slow
    then: {text: one two three four five six seven, chunks: word, timing: {first_token: 0, per_token: 200ms}}
  - name: never
    then: {text: x}
"""


def test_a_client_that_leaves_is_told_with_what_it_got() -> None:
    import socket
    import urllib.request

    with served(SLOW) as running:
        host, port = running.address.removeprefix("http://").split(":")
        body = b'{"model":"m","stream":true,"messages":[{"role":"user","content":"x"}]}'
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n"
        with socket.create_connection((host, int(port))) as client:
            client.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            heard = b""
            while heard.count(b"\n\n") < 3:
                heard += client.recv(65_536)
        running.logged(1)
        with urllib.request.urlopen(f"{running.address}/__mockserver__/api/calls/1") as got:
            import json

            call: Any = json.load(got)
    frames = call["reply"]["frames"]
    assert call["ended"] == f"client left after {len(frames)} frames"
    assert 3 <= len(frames) < 8
    times = [frame["at_ms"] for frame in frames]
    assert times == sorted(times)
    assert times[-1] - times[0] >= 20
