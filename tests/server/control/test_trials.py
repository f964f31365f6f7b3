"""Requests that are rehearsed, drafts of rules, and calls that are sent again."""

import asyncio
import json
from gzip import compress
from pathlib import Path
from typing import Any

import pytest

from mockserver.core.http import HttpRequest
from mockserver.core.row import Row
from mockserver.server.control import trials
from mockserver.server.control.requests import ControlRequest
from tests.kit.control import ControlledServer, controlled_server, rule

RULES = """
settings: {timing: {first_token: 100ms, per_token: 10ms}}
rules:
  - {name: busy, when: {last_user: "*order*"}, times: 1, then: {error: 503}}
  - {name: order, when: {last_user: "*order*"}, then: {text: It has left.}}
  - {name: weather, when: {last_user: "*weather in Oslo*"}, then: {text: Sunny}}
  - {name: broken, when: {last_user: cut}, then: {text: one two three four, faults: [{cut: {after_frames: 2}}]}}
"""
CHAT = "/v1/chat/completions"


@pytest.fixture
def server(tmp_path: Path) -> ControlledServer:
    server = controlled_server(tmp_path, RULES)
    server.post("timing", {"on": False})
    return server


def body(text: str, **more: Any) -> dict[str, Any]:
    return {"model": "gpt-4o", "messages": [{"role": "user", "content": text}], **more}


def remembered(server: ControlledServer) -> tuple[Any, int]:
    return server.get("state")["namespaces"], len(server.calls())


def test_a_request_is_rehearsed_and_nothing_is_counted(server: ControlledServer) -> None:
    before = remembered(server)
    for _ in range(2):
        got = server.post("try", {"body": body("my order")})
        assert (got["answered_by"].split()[-1], got["reply"]["status"]) == ("busy", 503)
    got = server.post("try", {"body": body("weather in Oslo"), "path": CHAT})
    assert got["reply"]["body"]["choices"][0]["message"]["content"] == "Sunny"
    assert (got["usage"]["completion_tokens"], got["reply"]["due_ms"]) == (1, 0)
    assert remembered(server) == before


def test_a_stream_is_rehearsed_at_the_times_that_are_due(server: ControlledServer) -> None:
    server.post("timing", {"on": True})
    reply = server.post("try", {"body": body("weather in Oslo", stream=True)})["reply"]
    assert [frame["at_ms"] for frame in reply["frames"]][:2] == [100.0, 100.0]
    assert "".join(frame.get("adds", "") for frame in reply["frames"]) == "Sunny"
    assert reply["due_ms"] >= 100
    broken = server.post("try", {"body": body("cut", stream=True)})["reply"]
    assert len(broken["frames"]) == 2


def test_a_call_with_a_draft(server: ControlledServer) -> None:
    server.chat("weather in Bergen")
    draft = '- name: weather\n  when: {last_user: "*weather*"}\n  then: {text: Rain}\n'
    got = server.post("try", {"call": 1, "rules": draft, "instead_of": "weather"})
    assert (got["call"], got["answered_then"], got["answered_by"]) == (1, "generated", "rule api:2 weather")
    assert server.post("try", {"call": 1})["answered_by"] == "generated"
    in_front = server.post("try", {"body": body("my order"), "rules": "{when: {last_user: '*'}, then: {text: a}}"})
    assert in_front["answered_by"].startswith("rule api")


def test_a_call_with_a_compressed_body(server: ControlledServer) -> None:
    sent = compress(json.dumps(body("weather in Oslo")).encode())
    server.app.ask(CHAT, sent, headers={"content-encoding": "gzip", "content-type": "application/json"})
    assert server.post("try", {"call": 1})["answered_by"].endswith("weather")
    assert server.post("calls/1/again", {})["source"].endswith("weather")


def test_what_would_go_upstream_does_not(tmp_path: Path) -> None:
    settings = {"cassette": "new", "record": "all", "upstream": {"openai": "http://127.0.0.1:1/v1"}}
    server = controlled_server(tmp_path, cassettes=str(tmp_path), **settings)
    got = server.post("try", {"body": body("hi")})
    assert (got["answered_by"], got["why"], got["reply"]) == ("forwarded", "it would be sent upstream", None)


@pytest.mark.parametrize(
    ("content", "status", "error"),
    [
        ({"call": 9}, 404, "there is no call 9 in the journal; the journal is empty"),
        ({"body": {}, "path": "/nowhere"}, 400, "no operation at /nowhere"),
        ({"body": body("a"), "rules": 3}, 400, '"rules" must be a text: rules in YAML'),
        ({"body": body("a"), "rules": "- {when: {last_user: {contain: a}}}"}, 400, "nothing was added: api:2"),
        ({"body": body("a"), "rules": "{then: {text: a}}", "instead_of": "x"}, 404, "there is no rule 'x' for"),
    ],
)
def test_mistakes_of_rehearsals(server: ControlledServer, content: Any, status: int, error: str) -> None:
    got = server.api("try", content)
    assert (got.status, got.json["error"][: len(error)]) == (status, error)


def test_a_look_at_the_server_is_no_call(tmp_path: Path) -> None:
    server = controlled_server(tmp_path, "rules: [{when: {path: /mine}, then: {raw: {body: a}}}]")
    assert server.post("try", {"path": "/mine", "method": "GET"})["reply"]["body"] == "a"
    got = server.api("try", {"path": "/", "method": "GET"})
    assert (got.status, got.json["error"]) == (400, "there is no operation at /")


def test_credentials_are_masked(server: ControlledServer) -> None:
    headers = {"authorization": "Bearer sk-very-secret-key-1"}
    server.post("rules", rule("echo", "", then={"text": "{{ last_user }}"}))
    got = server.api("try", {"path": CHAT, "headers": headers, "body": body("say sk-very-secret-key-1")})
    assert (got.status, b"very-secret" in got.body) == (200, False)


# --- drafts of rules


def tried(server: ControlledServer, rules: str, **more: Any) -> Any:
    return server.post("rules/try", {"rules": rules, **more})


def test_which_calls_a_draft_would_answer(server: ControlledServer) -> None:
    for text in ("my order", "my order", "weather in Oslo", "the weather", "else"):
        server.chat(text)
    server.app.ask(CHAT, b"{")
    before = remembered(server)
    found = tried(server, '- {name: any, when: {last_user: "*weather*"}, then: {text: Rain}}')
    assert (found["looked_at"], found["of"], found["mistakes"], found["lost"], found["hidden"]) == (6, 6, [], [], [])
    assert [(each["call"], each["was"].split()[-1], each["now"]) for each in found["answers"]] == [
        (4, "generated", "rule api:2 any"),
        (3, "weather", "rule api:2 any"),
    ]
    assert remembered(server) == before
    assert tried(server, "rules: [{then: {text: a}}]", calls=2)["looked_at"] == 2


def test_what_the_replaced_rule_loses_and_what_hides_the_draft(server: ControlledServer) -> None:
    for text in ("my order", "my order", "weather in Oslo"):
        server.chat(text)
    found = tried(server, "{name: weather, when: {last_user: '*wether*'}, then: {text: a}}", instead_of="weather")
    assert (found["answers"], [each["call"] for each in found["lost"]], found["lost"][0]["now"]) == (
        [],
        [3],
        "generated",
    )
    found = tried(server, "{name: weather, when: {last_user: '*order*'}, then: {text: a}}", instead_of="weather")
    hidden = [(each["call"], each["by"].split()[-1]) for each in found["hidden"]]
    assert hidden == [(2, "order"), (1, "busy")]


def test_mistakes_of_a_draft_have_their_lines(server: ControlledServer) -> None:
    draft = "# mine\n- name: a\n  when: {last_user: {contain: x}}\n  then: {text: a}\n"
    (mistake,) = tried(server, draft)["mistakes"]
    assert (mistake["line"], mistake["column"]) == (3, 22)
    assert mistake["message"] == 'unknown predicate "contain"; did you mean "contains"?'
    (mistake,) = tried(server, "rules: [{when: {last_user: {contain: x}}, then: {text: a}}]")["mistakes"]
    assert mistake["line"] == 1
    assert tried(server, "- {")["mistakes"]
    assert server.api("rules/try", {"rules": "{then: {text: a}}", "calls": "x"}).status == 400


def test_a_draft_is_tried_for_half_a_second(server: ControlledServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "SECONDS", 0.0)
    for number in range(30):
        server.chat(f"{number}")
    found = tried(server, "{then: {text: a}}")
    assert (found["looked_at"], found["of"], found["answers"][0]["call"]) == (20, 30, 30)


def test_a_rule_may_be_called_try(server: ControlledServer) -> None:
    server.post("rules", rule("try", "x"))
    assert server.api("rules/try", method="DELETE").json == {"removed": ["try"]}


# --- again


def test_a_call_is_sent_again(server: ControlledServer) -> None:
    key = {"authorization": "Bearer sk-very-secret-key-1", "host": "localhost"}
    server.app.ask(f"/ns/mine{CHAT}?a=1", body("my order"), headers=key)
    assert server.post("calls/1/again", {"forward": False})["call"] == 2
    new = server.get("calls/2")
    assert (new["again_of"], new["namespace"], new["attempt"], new["status"]) == (1, "mine", 2, 200)
    assert new["source"].endswith("order")
    assert server.live.journal.find(2).headers == server.live.journal.find(1).headers  # type: ignore[union-attr]
    assert server.calls("?namespace=mine&compact=true")[1]["again_of"] == 1
    assert server.api("calls/2/again", b"").json["call"] == 3


def test_it_is_sent_upstream_only_if_that_is_asked_for(tmp_path: Path) -> None:
    settings = {"cassette": "new", "record": "all", "upstream": {"openai": "http://127.0.0.1:1/v1"}}
    server = controlled_server(tmp_path, cassettes=str(tmp_path), **settings)
    server.chat("hi")
    for content in ({}, {"forward": False}):
        got = server.api("calls/1/again", content)
        assert (got.status, got.json["error"]) == (
            409,
            'call 1 would be sent upstream; to allow that, send {"forward": true}',
        )
    assert len(server.calls()) == 1
    found = server.post("calls/1/again", {"forward": True})
    assert (found["call"], found["source"], found["status"]) == (2, "forwarded", 502)


async def test_rules_that_change_meanwhile_send_nothing_upstream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"cassette": "new", "record": "all", "upstream": {"openai": "http://127.0.0.1:1/v1"}}
    server = await asyncio.to_thread(controlled_server, tmp_path, cassettes=str(tmp_path), **settings)
    await asyncio.to_thread(server.chat, "hi")

    async def rehearse(*_: Any) -> trials.Rehearsal:
        return trials.Rehearsal(Row(1, "POST", "/", dialect="openai", namespace="default"))

    monkeypatch.setattr(trials, "_rehearse", rehearse)
    got = await asyncio.to_thread(server.api, "calls/1/again", {})
    assert (got.status, len(await asyncio.to_thread(server.calls))) == (409, 1)


def test_calls_that_cannot_be_sent_again(server: ControlledServer) -> None:
    server.app.ask("/v1/nowhere", {})
    assert server.api("calls/1/again", {}).status == 409
    assert server.api("calls/9/again", {}).status == 404
    assert server.api("calls/1/again", {"forward": "x"}).status == 400
    assert server.api("calls/1/again", method="GET").status == 405
    assert server.api("calls/1/nothing", method="GET").status == 404


def test_an_answer_without_an_end_is_left_after_a_while(
    server: ControlledServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trials, "PATIENCE", 0.01)
    stalls = {"text": "one two", "faults": [{"stall": {"after_frames": 1}}]}
    server.post("rules", rule("stalls", "", then=stalls))
    server.live.journal.close(server.live.journal.open(HttpRequest("GET", "/"), "openai"), "complete")

    async def scenario() -> str:
        cache = ControlRequest(server.live, "default", item="1").cache
        row = server.live.journal.find(1)
        assert row is not None
        row.method, row.path, row.operation = "POST", CHAT, "chat"
        row.body, row.received = json.dumps(body("hi", stream=True)).encode(), 1
        await trials.send_again(ControlRequest(server.live, "default", item="1", cache=cache))
        await asyncio.wait(cache.tasks, timeout=30)
        return server.live.journal.list_rows("default")[-1].ended

    assert asyncio.run(scenario()) == "client left"
