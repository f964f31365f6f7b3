"""A row of the journal as JSON: whole, in short, and told where it is not whole."""

from gzip import compress
from pathlib import Path
from typing import Any

import pytest

from mockserver.core.exchange import MOST_KEPT, Exchange
from mockserver.server.control.calls import attempts, bodies, summary
from tests.kit.watched import Watched, watched

RULES = """
rules:
  - {name: steps, when: {last_user: step}, then: {steps: [{text: One}]}}
  - {name: hi, when: {last_user: hi}, then: {text: Hello there, headers: {x-a: b}}}
"""
TOOL = {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object", "properties": {}}}}


@pytest.fixture
def server(tmp_path: Path) -> Watched:
    return watched(tmp_path, RULES)


def test_a_summary_has_no_bodies(server: Watched) -> None:
    server.chat("hi")
    (call,) = server.calls()
    assert call.pop("at").endswith("Z")
    assert 0 < call.pop("first_byte_ms") <= call.pop("elapsed_ms")
    assert call.pop("source").endswith("rules.yaml:4 hi")
    assert call.pop("usage")["completion_tokens"] == 2
    assert call == {
        "call": 1,
        "namespace": "default",
        "method": "POST",
        "path": "/v1/chat/completions",
        "dialect": "openai",
        "operation": "chat",
        "model": "gpt-4o",
        "attempt": 1,
        "status": 200,
        "faults": [],
        "ended": "complete",
    }


def test_a_summary_says_which_step_answered(server: Watched) -> None:
    for _ in range(2):  # the second time it is remembered
        server.chat("step")
    told = [call["through"] for call in server.calls()]
    assert [[path.split("rules.yaml:")[1] for path in paths] for paths in told] == [["3 steps: steps[0]"]] * 2


def test_request_and_reply_are_shown_as_they_were(server: Watched) -> None:
    server.app.ask(
        "/v1/chat/completions?a=1&b=%26",
        {"model": "m", "messages": [{"role": "user", "content": "hi"}]},
        headers={"X-Team": "red"},
    )
    call = server.get("calls/1")
    assert call["request"]["query"] == {"a": "1", "b": "&"}
    assert call["request"]["headers"] == {"x-team": "red"}
    assert call["reply"]["status"] == 200
    assert call["reply"]["headers"]["x-a"] == "b"


def test_a_coded_body_is_read_and_shown_in_plain(server: Watched) -> None:
    body = b'{"model": "m", "api_key": "sk-0123456789", "messages": [{"role": "user", "content": "hi"}]}'
    server.app.ask("/v1/chat/completions", compress(body), headers={"content-encoding": "gzip"})
    call = server.get("calls/1")
    assert (call["request"]["body"]["api_key"], call["request"]["body"]["model"]) == ("sk-...(masked)", "m")
    assert call["asked"]["messages"] == [{"role": "user", "text": "hi"}]
    assert [finding["ok"] for finding in call["findings"]] == [True]
    assert server.post("explain", {"call": 1})["answered_by"].endswith(" hi")


def test_a_body_that_is_not_coded_as_it_says_is_shown_as_it_came(server: Watched) -> None:
    server.app.ask("/v1/chat/completions", b"nothing", headers={"content-encoding": "gzip"})
    call = server.get("calls/1")
    assert (call["status"], call["request"]["body"], call["asked"]) == (400, "nothing", None)


def test_the_call_is_told_in_short(server: Watched) -> None:
    used: Any = {"id": "c", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
    messages: Any = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "w" * 2_000},
        {"role": "assistant", "content": None, "tool_calls": [used]},
        {"role": "tool", "tool_call_id": "c", "content": "sunny"},
    ]
    server.app.ask("/v1/chat/completions", {"model": "m", "messages": messages, "tools": [TOOL], "stream": True})
    asked = server.get("calls/1")["asked"]
    assert (asked["tools"], asked["stream"], len(asked["fingerprint"])) == (["get_weather"], True, 32)
    system, user, assistant, tool = asked["messages"]
    assert system == {"role": "system", "text": "Be brief."}
    assert user["text"] == "w" * 1_000 + "…"
    assert assistant == {"role": "assistant", "text": "", "tool_calls": ["get_weather"]}
    assert tool["text"] == "sunny"


def test_prompts_are_told(server: Watched) -> None:
    server.app.ask("/v1/completions", {"model": "m", "prompt": ["a", "b"]})
    assert server.get("calls/1")["asked"]["prompts"] == ["a", "b"]


def test_events_have_names_and_times(server: Watched) -> None:
    server.app.ask("/v1/responses", {"model": "m", "input": "hi", "stream": True})
    frames = server.get("calls/1")["reply"]["frames"]
    assert (frames[0]["event"], frames[0]["data"]["type"]) == ("response.created", "response.created")
    assert frames[-1]["event"] == "response.completed"
    assert all(frame["at_ms"] >= 0 for frame in frames)


def test_what_was_too_large_to_keep_is_told(server: Watched) -> None:
    server.chat("x" * (MOST_KEPT + 5))
    request = server.get("calls/1")["request"]
    whole = MOST_KEPT + 5 + len('{"model": "gpt-4o", "messages": [{"role": "user", "content": ""}]}')
    assert request["cut_off"] == f"after {MOST_KEPT} of {whole} bytes"
    assert server.get("calls/1")["asked"] is None


class Book:
    """Has room for everything."""

    def weigh(self, exchange: Exchange) -> None: ...

    def close(self, exchange: Exchange) -> None: ...


def row(**fields: Any) -> Exchange:
    made = Exchange(1, "POST", "/v1/chat/completions", "openai", "default", Book())
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def test_a_frame_that_broke_off_is_told() -> None:
    broken = row(reply_headers=(("content-type", "text/event-stream"),))
    for piece in (b'data: {"a": 1}\n\n', b": ping\n\nda"):
        broken.note(piece)
    frames: Any = bodies(broken)["reply"]["frames"]
    assert [frame["data"] for frame in frames] == [{"a": 1}, ": ping", "da"]
    assert [frame.get("whole", True) for frame in frames] == [True, True, False]


def test_bytes_that_are_no_text_are_shown_as_text() -> None:
    broken = row(body=b"\xff{", received=2)
    broken.note(b"\x00")
    shown: Any = bodies(broken)
    assert (shown["request"]["body"], shown["reply"]["body"]) == ("�{", "\x00")


def test_what_is_open_says_so() -> None:
    shown = summary(row(), 1)
    assert (shown["ended"], shown["elapsed_ms"], shown["status"], shown["source"]) == ("open", None, None, None)


def test_tries_are_counted_by_equal_requests() -> None:
    rows = [
        row(body=b"a"),
        row(body=b"b"),
        row(body=b"a"),
        row(body=b"a", headers=[(b"x-stainless-retry-count", b"7")]),
    ]
    rows += [row(body=b"a", headers=[(b"x-stainless-retry-count", b"9" * 9_999)]), row(body=b"a", namespace="mine")]
    for seq, each in enumerate(rows, 1):
        each.seq = seq
    assert attempts(rows) == {1: 1, 2: 1, 3: 2, 4: 8, 5: 4, 6: 1}


def test_a_conversation_is_told_as_the_rule_saw_it(tmp_path: Path) -> None:
    server = watched(
        tmp_path, "rules: [{name: second, when: {turn: 1, attempt: 2}, then: {text: again}}, {then: {text: once}}]"
    )
    first = server.app.ask("/v1/responses", {"model": "m", "input": "a"}).json
    for _ in range(2):
        server.app.ask("/v1/responses", {"model": "m", "input": "b", "previous_response_id": first["id"]})
    call = server.get("calls/3")
    assert call["source"].endswith("second")
    assert [(finding["field"], finding["ok"]) for finding in call["findings"]] == [("turn", True), ("attempt", True)]
    assert [message["text"] for message in call["asked"]["messages"]] == ["a", "once", "b"]
