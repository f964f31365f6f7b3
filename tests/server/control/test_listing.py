"""Lists of calls: compact, in pieces, with what was said and answered; credentials masked, closed calls kept."""

import json
from pathlib import Path
from typing import Any

import pytest

from mockserver.server.control import rows
from tests.kit.control import API, ControlledServer, controlled_server

RULES = """
rules:
  - {name: hi, when: {last_user: hi}, then: {text: Hello there}}
  - {name: busy, when: {last_user: busy}, then: {error: 429}}
  - {name: tool, when: {last_user: tool}, then: {tool_calls: [{name: get_weather, arguments: {city: Oslo}}]}}
  - {name: slow, when: {last_user: story}, then: {timing: {first_token: 1ms}}}
  - {name: story, when: {last_user: story}, then: {text: Once upon a time}}
"""


@pytest.fixture
def server(tmp_path: Path) -> ControlledServer:
    server = controlled_server(tmp_path, RULES, lint="off")
    for text in ("hi", "busy", "busy", "tool"):
        server.chat(text)
    server.chat("story", stream=True)
    server.chat("else")
    server.app.ask("/v1/chat/completions", b"{")
    server.app.ask("/v1/nowhere", b"x")
    return server


def numbers(server: ControlledServer, query: str) -> list[int]:
    return [call["call"] for call in server.calls(query)]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("?before=3", [1, 2]),
        ("?before=6&limit=2", [4, 5]),
        ("?numbers=2,5,99", [2, 5]),
        ("?numbers=", []),
        ("?rule=busy", [2, 3]),
        ("?rule=slow", [5]),  # it only changed the answer
        ("?rule=us", []),
        ("?ended=complete&since=6", [7, 8]),
        ("?ended=open", []),
        ("?contains=hello", [1]),
        ("?contains=HI&rule=hi", [1]),
        ("?contains=upon%20a%20time", [5]),
        ("?contains=oslo", [4]),
        ("?contains=busy&limit=1", [3]),
        ("?contains=sk-very-secret", []),
        ("?contains=&rule=hi", [1]),
    ],
)
def test_filters_of_lists(server: ControlledServer, query: str, found: list[int]) -> None:
    for _ in range(2):  # worked out, and kept
        assert numbers(server, query) == found


def test_a_rule_by_its_place(server: ControlledServer) -> None:
    source = server.calls("?numbers=2")[0]["source"].removeprefix("rule ")
    assert numbers(server, f"?rule={source}") == numbers(server, f"?rule={source.partition(' ')[0]}") == [2, 3]


def test_mistakes_of_lists(server: ControlledServer) -> None:
    many = ",".join(map(str, range(101)))
    for query, error in (
        ("numbers=1,x", 'each of ?numbers= must be a whole number, not "x"'),
        (f"numbers={many}", "?numbers= takes at most 100 numbers of calls"),
        ("before=x", '?before= must be a whole number, not "x"'),
        ("compakt=true", 'unknown filter "compakt"; did you mean "compact"?'),
    ):
        got = server.api(f"calls?{query}")
        assert (got.status, got.json["error"]) == (400, error)


def test_what_rows_say_of_streams_attempts_and_misses(server: ControlledServer) -> None:
    calls = server.calls()
    assert [call["streamed"] for call in calls] == [False] * 4 + [True] + [False] * 3
    assert [call.get("frames") for call in calls][3:6] == [None, len(server.get("calls/5")["reply"]["frames"]), None]
    assert [call.get("retry_of") for call in calls][:4] == [None, None, 2, None]
    assert [call["call"] for call in calls if call.get("unmatched")] == [6]
    assert all(call["bytes"] > 0 for call in calls)
    assert server.get("calls/3")["retry_of"] == 2


def test_compact_rows_leave_out_what_is_usual(server: ControlledServer) -> None:
    whole, compact = server.calls(), server.calls("?compact=true")
    usual: dict[str, Any] = {"namespace": "default", "method": "POST", "attempt": 1, "ended": "complete"}
    for one, other in zip(whole, compact, strict=True):
        path = {"path": "/v1/chat/completions"} if one["operation"] else {}
        assert {name: value for name, value in one.items() if value} == {**path, **usual, **other} | {
            name: one[name] for name in ("namespace", "attempt") if name in one
        }
    sent = server.api("calls?compact=true").body
    assert b"\n" not in sent[:-1]
    places = sum(len(call["source"]) - len("rule rules.yaml:12 order") for call in compact)  # of a temporary folder
    assert (len(sent) - places) / len(compact) <= 260


def test_digests(server: ControlledServer) -> None:
    for _ in range(2):
        found = server.calls("?digest=true&numbers=1,2,4,5,7,8")
        assert [call["said"] for call in found] == ["hi", "busy", "tool", "story", "", ""]
        hello, error, tool, story, *_ = [call["answered"] for call in found]
        assert (hello, tool, story) == ("Hello there", 'get_weather({"city":"Oslo"})', "Once upon a time")
        assert "Rate limit" in error
        assert [call["tools"] for call in found] == [[], [], ["get_weather"], [], [], []]
    one, other, _, *more = [call["conversation"] for call in server.calls("?digest=true")]
    assert one != other
    assert more[-2:] == [None, None]
    assert len(server.calls("?compact=true&digest=true&numbers=1")[0]["conversation"]) == 32


def test_a_digest_is_short_and_on_one_line(server: ControlledServer) -> None:
    server.chat("a\n  b " + "c" * 2_000)
    (call,) = server.calls("?digest=true&since=8")
    assert (call["said"][:4], len(call["said"])) == ("a b ", 160)


def test_credentials_are_masked_in_rows_and_digests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHER_API_KEY", 'my-"quoted"-secret')
    server = controlled_server(tmp_path)
    key = {"authorization": "Bearer sk-very-secret-key-1", "host": "localhost"}
    messages = [{"role": "user", "content": 'say sk-very-secret-key-1 and my-"quoted"-secret'}]
    for name in ("sk-very-secret-key-1", 'my-"quoted"-secret'):
        server.app.ask("/v1/chat/completions", {"model": name, "messages": messages}, headers=key)
    for query in ("", "?compact=true", "?digest=true", "?compact=true&digest=true", "?contains=very-secret"):
        sent = server.api(f"calls{query}").body
        assert b"very-secret" not in sent
        assert b"quoted" not in sent
        assert (b"masked" in sent) == ("contains" not in query)


def test_half_a_character_is_escaped() -> None:
    assert (rows.encode({"a": "\ud800"}), rows.encode({"a": "é"})) == (b'{"a":"\\ud800"}', '{"a":"é"}'.encode())


def test_closed_rows_are_kept_as_long_as_they_say_the_same(
    server: ControlledServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = list[int]()
    encode = rows.encode

    def counted(content: Any) -> bytes:
        made.append(content["call"])
        return encode(content)

    monkeypatch.setattr(rows, "encode", counted)
    for _ in range(3):
        server.calls()
        server.calls("?compact=true")
    assert sorted(made) == sorted([*range(1, 9)] * 2)
    row = server.live.journal.list_rows("default")[0]
    row.recorded = "cassette a.yaml#1"
    assert server.calls()[0]["recorded"] == "cassette a.yaml#1"
    server.api("calls", method="DELETE")
    server.chat("hi")
    assert [(call["call"], call["attempt"]) for call in server.calls()] == [(9, 1)]


def test_rows_of_calls_that_are_gone_are_let_go(server: ControlledServer) -> None:
    server.calls()
    server.api("calls", method="DELETE")
    for number in range(110):
        server.chat(f"{number}")
        server.calls("?limit=1&compact=true")
    server.api("calls", method="DELETE")
    for _ in range(2):
        server.chat("hi")
        server.calls()
    server.calls("?namespace=*")
    control = server.app.site.control.app
    assert len(control.cache.find_rows(server.live.journal)._encoded) <= 2 * 2 + 100


def test_a_list_is_as_it_was_written_before(server: ControlledServer) -> None:
    sent = server.api("calls").body.decode()
    assert sent == json.dumps(json.loads(sent), indent=2, ensure_ascii=False) + "\n"
    assert server.api("calls?limit=0").body == b'{\n  "calls": []\n}\n'
    assert server.app.ask(f"{API}calls?limit=0&compact=1", headers={"host": "localhost"}, method="GET").body == (
        b'{"calls":[]}\n'
    )
