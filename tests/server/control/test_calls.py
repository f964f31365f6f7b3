"""The journal as the control API shows it: filters, one call in full, and no credentials."""

import json
from gzip import compress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mockserver.core.http import HttpRequest
from mockserver.core.row import MAX_KEPT, Row
from mockserver.engine.counters import Attempts
from mockserver.server.control import calls
from mockserver.server.control.detail import show_bodies
from mockserver.server.control.rows import Rows
from mockserver.state.journal import Journal
from tests.kit.asgi import App, app
from tests.kit.control import ControlledServer, controlled_server

RULES = """
rules:
  - {name: hi, when: {last_user: hi}, then: {text: Hello there, headers: {x-a: b}}}
  - {name: busy, when: {last_user: busy}, then: {error: 429}}
  - {name: steps, when: {last_user: step}, then: {steps: [{text: One}]}}
"""
CHAT = "/v1/chat/completions"


@pytest.fixture
def server(tmp_path: Path) -> ControlledServer:
    server = controlled_server(tmp_path, RULES, unmatched="error")
    server.chat("hi")
    server.chat("busy")
    server.chat("else", namespace="mine")
    server.chat("hi", stream=True)
    server.app.ask("/v1/completions", {"model": "text-1", "prompt": ["a", "b"]})
    server.app.ask(CHAT, b"{")
    return server


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", [1, 2, 4, 5, 6]),
        ("?namespace=mine", [3]),
        ("?namespace=*", [1, 2, 3, 4, 5, 6]),
        ("?model=text-1", [5]),
        ("?operation=chat&status=200", [1, 4]),
        ("?dialect=azure", []),
        ("?source=rule", [1, 2, 4]),
        ("?since=2", [4, 5, 6]),
        ("?limit=2", [5, 6]),
        ("?limit=0", []),
        ("?unmatched=true&namespace=*", [3, 5]),
        ("?unmatched=false", [1, 2, 4, 6]),
    ],
)
def test_filters(server: ControlledServer, query: str, found: list[int]) -> None:
    assert [call["call"] for call in server.calls(query)] == found


@pytest.mark.parametrize(
    ("path", "status", "error"),
    [
        ("calls?modle=x", 400, 'unknown filter "modle"; did you mean "model"?'),
        ("calls?foo=x", 400, 'unknown filter "foo"; choose one of model, operation, dialect, '),
        ("calls?since=x", 400, '?since= must be a whole number, not "x"'),
        ("calls?bodies=perhaps", 400, '?bodies= must be true or false, not "perhaps"'),
        ("calls/x", 400, 'the number of a call must be a whole number, not "x"'),
        ("calls/99", 404, "there is no call 99 in the journal; the latest is 6"),
        ("calls/1?namespace=mine", 404, "there is no call 1 in the journal; the latest is 6, and"),
    ],
)
def test_mistakes(server: ControlledServer, path: str, status: int, error: str) -> None:
    got = server.api(path)
    assert (got.status, got.json["error"][: len(error)]) == (status, error)


def test_remarks_are_in_the_journal(tmp_path: Path) -> None:
    server = controlled_server(tmp_path, "rules: [{then: {tool_calls: [{name: get_weather}]}}]")
    server.chat("hi")
    server.chat("hi")  # the same answer, from memory
    for call in server.calls():
        (remark,) = call["remarks"]
        assert remark.endswith(':1: the answer calls "get_weather", a tool that the request does not offer')
    quiet = controlled_server(tmp_path, "rules: [{then: {tool_calls: [{name: get_weather}]}}]", lint="off")
    quiet.chat("hi")
    assert "remarks" not in quiet.calls()[0]


def test_what_a_rule_failed_for_is_in_the_journal(tmp_path: Path) -> None:
    server = controlled_server(tmp_path, "rules: [{then: {text: '{{ body.nothing.at }}'}}]")
    server.chat("hi")
    server.app.ask(CHAT, b"{")
    (call,) = server.calls("?defect=true")
    assert (call["source"].startswith("rule "), call["status"]) == (True, 500)
    assert call["defect"].partition("yaml")[2].startswith(":1: the template of this rule failed: `body.nothing` is")
    assert [call["call"] for call in server.calls("?defect=false")] == [2]


def test_remarks_on_histories_are_in_the_journal(tmp_path: Path) -> None:
    changed = {"model": "gpt-4o", "messages": [{"role": "assistant", "content": "a", "tool_calls": []}]}
    server = controlled_server(tmp_path)
    server.app.ask(CHAT, changed)
    server.app.ask(CHAT, changed)  # the same answer, from memory
    server.chat("hi")
    told = "messages[0].tool_calls: the live provider refuses this history with 400 \"Invalid 'messages[0].tool_calls'"
    for call in (*server.calls()[:2], server.get("calls/1")):
        (remark,) = call["remarks"]
        assert remark.startswith(told)
    assert "remarks" not in server.calls()[2]
    refusing = controlled_server(tmp_path, replay="error")
    assert refusing.app.ask(CHAT, changed).status == 400
    (call,) = refusing.calls()
    assert (call["source"], call["status"], "remarks" in call) == ("invalid", 400, False)


def test_a_summary_has_no_bodies(server: ControlledServer) -> None:
    call = server.calls()[0]
    assert call.pop("at").endswith("Z")
    assert 0 < call.pop("first_byte_ms") <= call.pop("elapsed_ms")
    assert call.pop("source").endswith("rules.yaml:3 hi")
    assert call.pop("usage")["completion_tokens"] == 2
    assert call == {
        "call": 1,
        "namespace": "default",
        "method": "POST",
        "path": CHAT,
        "dialect": "openai",
        "operation": "chat",
        "model": "gpt-4o",
        "attempt": 1,
        "status": 200,
        "faults": [],
        "ended": "complete",
        "streamed": False,
        "bytes": len(json.dumps(server.get("calls/1")["reply"]["body"], separators=(",", ":"))),
    }
    (call,) = server.calls("?bodies=true&since=0&limit=1&status=200&model=gpt-4o&source=rule")
    assert call["request"]["body"]["messages"][0]["content"] == "hi"
    assert call["reply"]["frames"][-1]["data"] == "[DONE]"


def test_a_summary_says_which_step_answered(server: ControlledServer) -> None:
    for _ in range(2):  # the second time it is remembered
        server.chat("step")
    for call in server.calls("?since=6"):
        assert [path.split("rules.yaml:")[1] for path in call["through"]] == ["5 steps: steps[0]"]


def test_one_call_in_full(server: ControlledServer) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    server.app.ask(f"{CHAT}?a=1&b=%26", body, headers={"X-Team": "red"})
    call = server.get("calls/7")
    condition = {"field": "last_user", "predicate": "equals", "expected": "hi", "actual": "hi", "ok": True}
    assert call["findings"] == [condition]
    assert call["asked"]["messages"] == [{"role": "user", "text": "hi"}]
    assert (call["request"]["query"], call["request"]["headers"]) == ({"a": "1", "b": "&"}, {"x-team": "red"})
    assert (call["reply"]["status"], call["reply"]["headers"]["x-a"]) == (200, "b")
    assert call["reply"]["body"]["choices"][0]["message"]["content"] == "Hello there"
    assert call["usage"].items() <= call["reply"]["body"]["usage"].items()


def test_unmatched_and_invalid_calls(server: ControlledServer) -> None:
    unmatched, prompts, invalid = (server.get(f"calls/{number}") for number in (3, 5, 6))
    assert {"busy", "hi"} <= {rule["name"] for rule in unmatched["nearest"]}
    assert unmatched["nearest"][0]["findings"][0]["ok"] is False
    assert prompts["asked"]["prompts"] == ["a", "b"]
    assert (invalid["asked"], invalid["request"]["body"], invalid["status"]) == (None, "{", 400)
    assert "nearest" not in invalid


def test_the_call_in_short(server: ControlledServer) -> None:
    used: Any = {"id": "c", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
    messages: Any = [
        {"role": "user", "content": "w" * 30_000},
        {"role": "assistant", "content": None, "tool_calls": [used]},
        {"role": "tool", "tool_call_id": "c", "content": "sunny"},
    ]
    tool = {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}
    server.app.ask(CHAT, {"model": "m", "messages": messages, "tools": [tool], "stream": True})
    asked = server.get("calls/7")["asked"]
    assert ([tool["name"] for tool in asked["tools"]], asked["stream"]) == (["get_weather"], True)
    assert len(asked["fingerprint"]) == 32
    calls = [{"id": "c", "name": "get_weather", "arguments": "{}"}]
    assert asked["messages"] == [
        {"role": "user", "text": "w" * 20_000 + "…", "cut": True},
        {"role": "assistant", "text": "", "tool_calls": ["get_weather"], "calls": calls},
        {"role": "tool", "text": "sunny", "tool_call_id": "c"},
    ]


def test_a_call_that_continues_a_conversation(tmp_path: Path) -> None:
    rules = "rules: [{name: second, when: {turn: 1, attempt: 2}, then: {text: again}}, {then: {text: once}}]"
    server = controlled_server(tmp_path, rules)
    first = server.app.ask("/v1/responses", {"model": "m", "input": "a"}).json
    for _ in range(2):
        server.app.ask("/v1/responses", {"model": "m", "input": "b", "previous_response_id": first["id"]})
    call = server.get("calls/3")
    assert call["source"].endswith("second")
    assert [(found["field"], found["ok"]) for found in call["findings"]] == [("turn", True), ("attempt", True)]
    assert [message["text"] for message in call["asked"]["messages"]] == ["a", "once", "b"]


def test_events_have_names_and_times(server: ControlledServer) -> None:
    server.app.ask("/v1/responses", {"model": "m", "input": "hi", "stream": True})
    frames = server.get("calls/7")["reply"]["frames"]
    assert (frames[0]["event"], frames[0]["data"]["type"]) == ("response.created", "response.created")
    assert all(frame["at_ms"] >= 0 for frame in frames)


def test_bodies_that_are_too_large_or_wrongly_coded(server: ControlledServer) -> None:
    server.chat("x" * (MAX_KEPT + 5))
    whole = MAX_KEPT + 5 + len('{"model": "gpt-4o", "messages": [{"role": "user", "content": ""}]}')
    call = server.get("calls/7")
    assert (call["request"]["cut_off"], call["asked"]) == (f"after {MAX_KEPT} of {whole} bytes", None)
    server.app.ask(CHAT, b"nothing", headers={"content-encoding": "gzip"})
    call = server.get("calls/8")
    assert (call["status"], call["request"]["body"], call["asked"]) == (400, "nothing", None)


def row(**fields: Any) -> Row:
    made = Row(1, "POST", CHAT, "openai", "default")
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def test_rows_that_are_open_or_broken() -> None:
    broken = row(reply_headers=(("content-type", "text/event-stream"),), body=b"\xff{", received=2)
    for piece in (b'data: {"a": 1}\n\n', b": ping\n\nda"):
        broken.note_sent(piece)
    shown: Any = show_bodies(broken)
    assert [frame["data"] for frame in shown["reply"]["frames"]] == [{"a": 1}, ": ping", "da"]
    assert [frame.get("whole", True) for frame in shown["reply"]["frames"]] == [True, True, False]
    assert shown["request"]["body"] == "�{"
    said = Rows(Journal()).summarize(row())
    assert (said["ended"], said["elapsed_ms"], said["status"], said["source"]) == ("open", None, None, None)


def test_attempts_are_told_by_the_client_or_counted_by_equal_requests() -> None:
    rows = [row(body=b"a"), row(body=b"b"), row(body=b"a")]
    rows += [row(body=b"a", headers=[(b"x-stainless-retry-count", count)]) for count in (b"7", b"9" * 9_999)]
    rows += [row(body=b"a", namespace="mine")]
    for seq, each in enumerate(rows, 1):
        each.seq = seq
    every = Attempts()
    every.update(rows)
    assert {seq: attempt for seq, (attempt, _) in every.found.items()} == {1: 1, 2: 1, 3: 2, 4: 8, 5: 4, 6: 1}
    counted = Attempts()
    for end in range(1, 6):  # as they come
        counted.update(rows[:end])
    assert counted.found == {1: (1, None), 2: (1, None), 3: (2, 1), 4: (8, 1), 5: (4, 1)}
    counted.update(rows[3:5])  # the oldest were forgotten
    assert counted.found[5] == (4, 1)


def test_nothing_is_kept_of_namespaces_whose_calls_were_forgotten() -> None:
    journal = Journal()
    rows = Rows(journal)
    for number in range(50):
        name = f"test-{number}"
        journal.open(HttpRequest("POST", CHAT, namespace=name), "openai")
        assert len(rows.select((name,))) == 1
        journal.forget_namespace(name)
    assert rows.select(("default",)) == []
    assert not rows._attempts


def test_an_attempt_is_counted_anew_once_its_request_is_complete() -> None:
    rows = [row(body=b"a", seq=1, received=1), row(seq=2), row(body=b"a", seq=3, received=1)]
    counted = Attempts()
    counted.update(rows)
    assert counted.found == {1: (1, None), 2: (1, None), 3: (2, 1)}
    rows[1].note_body(b"a", 0.0)
    counted.update(rows)
    assert counted.found == {1: (1, None), 2: (2, 1), 3: (3, 1)}


def test_calls_are_forgotten_and_counters_stay(server: ControlledServer) -> None:
    assert server.api("calls", method="DELETE").json == {"forgotten": 5}
    assert (server.calls(), len(server.calls("?namespace=mine"))) == ([], 1)
    assert server.get("rules")["rules"][0]["hits"] == 2
    server.api("calls?namespace=*", method="DELETE")
    assert "the journal is empty" in server.api("calls/1").json["error"]


# --- credentials

KEY = "sk-proj-0a1b2c3d4e5f"
CONTROL = {"host": "localhost", "content-type": "application/json"}
ECHO = "rules: [{when: {header.authorization: 'Bearer sk-other*'}, then: {text: never}}, {then: {echo: true}}]"


def ask(made: App, text: str, *, key: str = KEY, path: str = CHAT, **more: Any) -> int:
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": text}], **more}
    return made.ask(path, body, headers={"authorization": f"Bearer {key}", "cookie": "session=abc"}).status


def shown(made: App, path: str, body: Any = None) -> tuple[str, Any]:
    got = made.ask(f"/__mockserver__/api/{path}", body, headers=CONTROL, method="POST" if body else "GET")
    return got.body.decode(), json.loads(got.body)


def test_no_credential_of_a_request_is_shown() -> None:
    made = app(ECHO)
    text = f"my key is {KEY}, in the URL {KEY}%2F and more"
    assert ask(made, text, path=f"{CHAT}?code={KEY}", metadata={"token": "tiny"}) == 200
    views = [("calls", None), ("calls?bodies=true", None), ("calls/1", None), ("explain", {"call": 1})]
    for path, body in views:
        found, _ = shown(made, path, body)
        assert not any(secret in found for secret in (KEY, "tiny", "session=abc")), path
    _, call = shown(made, "calls/1")
    assert call["request"]["headers"]["authorization"] == "Bearer sk-p...(masked)"
    assert call["request"]["query"] == {"code": "sk-p...(masked)"}
    assert call["request"]["body"]["metadata"] == {"token": "t...(masked)"}
    assert call["reply"]["body"]["choices"][0]["message"]["content"].startswith("my key is sk-p...(masked), in")


def test_errors_of_explanations_have_no_credentials() -> None:
    made = app(ECHO)
    assert ask(made, "hi", temperature=KEY) == 400
    text, _ = shown(made, "explain", {"call": 1})
    assert "refuse" in text
    assert KEY not in text


def test_credentials_in_coded_bodies_and_in_pieces() -> None:
    made = app(ECHO)
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": f"my key is {KEY}"}], "api_key": KEY}
    assert made.ask(CHAT, compress(json.dumps(body).encode()), headers={"content-encoding": "gzip"}).status == 200
    assert ask(made, f"it is {KEY} or {KEY.upper()}!", stream=True) == 200
    for path in ("calls?bodies=true", "calls/1", "calls/2"):
        text, _ = shown(made, path)
        assert KEY not in text
    frames = [frame["data"] for frame in shown(made, "calls/2")[1]["reply"]["frames"]]
    deltas = [frame["choices"][0]["delta"].get("content") or "" for frame in frames[:-1] if frame["choices"]]
    assert "".join(deltas) == "it is sk-p...(masked) or sk-p...(masked)!"


def test_a_comparison_stops_at_the_most_differences(monkeypatch: pytest.MonkeyPatch) -> None:
    found = list[str]()
    monkeypatch.setattr(calls, "MAX_DIFFERENCES", 3)
    monkeypatch.setattr(calls, "_cut_texts", lambda one, other: found.append(one) or {})
    parts = [{"head": {}, "answer": {}, "request": [f"{side} {at}" for at in range(20)]} for side in "ab"]
    monkeypatch.setattr(calls, "_read_parts", lambda row, _: parts[row.seq])
    asked: Any = SimpleNamespace(rows=SimpleNamespace(summarize=lambda row: {"first_byte_ms": 1, "elapsed_ms": 1}))
    compared: Any = calls._compare([row(seq=0), row(seq=1)], asked)
    assert len(compared["request"]) == len(found) == 3


def test_a_call_to_a_host_of_the_settings_is_read_and_found(tmp_path: Path) -> None:
    server = controlled_server(tmp_path, RULES, hosts={"acme": {}})
    server.app.ask("/acme/chat/completions", {"model": "m", "messages": [{"role": "user", "content": "of a host"}]})
    assert [call["call"] for call in server.calls("?contains=of+a+host")] == [1]
