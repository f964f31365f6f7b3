"""The feed: what it tells of new, open, closed and forgotten calls, of rules and reloads; how it ends."""

import asyncio
import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mockserver.core.http import HttpRequest
from mockserver.core.row import Row
from mockserver.server.compose import compose, start
from mockserver.server.control import feed as feeds
from mockserver.server.control.feed import MAX_FEEDS, MAX_ROWS, Feed
from mockserver.server.control.requests import ControlRequest
from mockserver.server.namespaces import ALL
from mockserver.server.run import Running
from mockserver.server.sources import Sources
from mockserver.state.journal import Journal
from tests.kit.control import API, ControlledServer, controlled_server, rule

RULES = "rules: [{name: hi, when: {last_user: hi}, then: {text: Hello}}]"
Events = list[tuple[str, Any]]


@pytest.fixture
def server(tmp_path: Path) -> ControlledServer:
    return controlled_server(tmp_path, RULES, journal_calls=100)


@pytest.fixture
def asked(server: ControlledServer) -> ControlRequest:
    return ControlRequest(server.live, ALL)


def events(data: bytes) -> Events:
    found = [event.split("\n") for event in data.decode().split("\n\n") if event.startswith("event: ")]
    return [(name.removeprefix("event: "), json.loads(content.removeprefix("data: "))) for name, content in found]


def told(feed: Feed) -> Events:
    return events(b"".join(feed.look()))


def numbers(event: tuple[str, Any]) -> list[int]:
    name, content = event
    assert name == "calls"
    return [row["call"] for row in content["rows"]]


def opened(server: ControlledServer) -> Row:
    return server.live.journal.open(HttpRequest("POST", "/v1/chat/completions"), "openai")


def test_it_begins_with_hello_and_tells_only_what_is_new(server: ControlledServer, asked: ControlRequest) -> None:
    server.chat("hi")
    row = opened(server)
    feed = Feed(asked, 0)
    ((name, hello),) = told(feed)
    assert (name, hello["since"], hello["last"], hello["first"], hello["open"]) == ("hello", 2, 2, 1, [row.seq])
    assert hello["rules"] == len(server.get("rules")["rules"])
    assert told(feed) == []
    server.chat("hi", namespace="mine")
    server.chat("else")
    (calls,) = told(feed)
    assert numbers(calls) == [3, 4]
    assert calls[1]["rows"][0] == server.calls("?namespace=mine&compact=true")[0]
    assert told(feed) == []


def test_open_calls_are_told_again_when_they_grow_and_end(server: ControlledServer, asked: ControlRequest) -> None:
    before, feed = opened(server), Feed(asked, 0)
    told(feed)
    row = opened(server)
    (calls,) = told(feed)
    assert (numbers(calls), calls[1]["rows"][0]["ended"]) == ([row.seq], "open")
    assert told(feed) == []
    row.note_sent(b"abc")
    (calls,) = told(feed)
    assert calls[1]["rows"][0]["bytes"] == 3
    for each in (row, before):
        server.live.journal.close(each, "complete")
    (calls,) = told(feed)
    assert sorted(numbers(calls)) == [before.seq, row.seq]
    assert all("ended" not in each for each in calls[1]["rows"])
    assert told(feed) == []


def test_of_many_calls_that_grow_each_has_its_turn(server: ControlledServer, asked: ControlRequest) -> None:
    feed = Feed(asked, 0)
    told(feed)
    rows = [opened(server) for _ in range(MAX_ROWS)]
    told(feed)
    found = set[int]()
    for _ in range(2):
        for row in rows:
            row.note_sent(b"more")
        (calls,) = told(feed)
        found |= set(numbers(calls))
    assert found == {row.seq for row in rows}


def test_of_many_calls_the_newest_are_told(server: ControlledServer, asked: ControlRequest) -> None:
    feed = Feed(asked, 0)
    told(feed)
    rows = [opened(server) for _ in range(60)]
    (calls,) = told(feed)
    assert (numbers(calls), calls[1]["more"]) == ([row.seq for row in rows[-MAX_ROWS:]], [1, 40])
    for row in rows:
        server.live.journal.close(row, "complete")
    found = set[int]()
    for _ in range(6):
        ((_, content),) = told(feed)
        assert len(content["rows"]) <= MAX_ROWS
        found |= {row["call"] for row in content["rows"]}
    assert (found, told(feed)) == ({row.seq for row in rows}, [])


def test_it_resumes_after_a_call(server: ControlledServer, asked: ControlRequest) -> None:
    for _ in range(5):
        server.chat("hi")
    server.api("calls?namespace=default", method="DELETE")
    server.chat("hi")
    (_, hello), gone, calls = told(Feed(asked, 3))
    assert (hello["since"], gone, numbers(calls)) == (3, ("gone", {"namespace": "default", "before": 6}), [6])
    assert [name for name, _ in told(Feed(asked, 9))] == ["hello"]  # of another server


def test_calls_that_are_no_longer_kept(server: ControlledServer, asked: ControlRequest) -> None:
    feed = Feed(asked, 0)
    for name in ("", "mine"):
        server.chat("hi", namespace=name)
    told(feed)
    for _ in range(101):
        server.chat("hi")
    _, gone = sorted(told(feed))
    assert gone == ("gone", {"namespace": "default", "before": 4})
    server.api("reset?namespace=mine", b"")
    server.api("calls", method="DELETE")
    gone = [each for each in told(feed) if each[0] == "gone"]
    assert gone == [("gone", {"namespace": name, "before": 104}) for name in ("default", "mine")]
    row = opened(server)
    told(feed)
    server.api("calls", method="DELETE")  # while it is open
    row.note_sent(b"abc")
    assert [name for name, _ in told(feed)] == ["gone", "calls"]
    assert told(feed) == []


def test_rules_and_reloads(server: ControlledServer, asked: ControlRequest, tmp_path: Path) -> None:
    feed, file = Feed(asked, 0), tmp_path / "rules.yaml"
    told(feed)
    server.post("rules", rule("mine", "x"))
    assert told(feed) == [("rules", {"count": 2})]
    file.write_text("rules:\n  - {when: {last_user: {contain: x}}, then: {text: a}}\n")
    assert server.api("reload", b"").status == 400
    ((name, content),) = told(feed)
    (mistake,) = content["mistakes"]
    assert (name, mistake["line"], mistake["column"]) == ("problem", 2, 25)
    assert (mistake["message"], mistake["file"]) == (
        'unknown predicate "contain"; did you mean "contains"?',
        str(file),
    )
    file.write_text(RULES)
    server.post("reload")
    assert told(feed) == [("rules", {"count": 2}), ("problem", None)]


def test_another_journal_is_another_boot(server: ControlledServer, asked: ControlRequest) -> None:
    feed = Feed(asked, 0)
    server.chat("hi")
    ((_, first),) = told(feed)
    server.live.renew(*compose(Sources(), server.live.counters), Journal())
    ((name, again),) = told(feed)
    assert (name, again["last"]) == ("hello", 0)
    assert again["boot"] != first["boot"]
    server.live.journal.open(HttpRequest("GET", "/"), "openai")
    assert [numbers(each) for each in told(feed)] == [[1]]


def test_a_look_at_the_head_alone_ends(server: ControlledServer) -> None:
    got = server.api("feed", method="HEAD")
    assert (got.status, got.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")


# --- over a socket


@contextmanager
def running() -> Iterator[Running]:
    with Running(start(Sources(flags={"port": 0, "reload": False}))) as server:
        yield server


def opened_feed(server: Running, more: str = "") -> socket.socket:
    host, _, port = server.address.removeprefix("http://").partition(":")
    line = socket.create_connection((host, int(port)), timeout=30)
    line.sendall(f"GET {API}feed{more} HTTP/1.1\r\nhost: {host}\r\n\r\n".encode())
    return line


def received(line: socket.socket, until: bytes) -> bytes:
    data = b""
    while until not in data and (piece := line.recv(65_536)):
        data += piece
    return data


def test_a_feed_ends_with_the_server() -> None:
    with running() as server:
        line = opened_feed(server)
        assert b"content-type: text/event-stream; charset=utf-8\r\n" in received(line, b"hello")
        began = time.monotonic()
    assert time.monotonic() - began < 0.5
    assert received(line, b"never").endswith(b"0\r\n\r\n")
    line.close()


def test_so_many_feeds_and_no_more_until_a_client_leaves() -> None:
    with running() as server:
        lines = [opened_feed(server) for _ in range(MAX_FEEDS)]
        for line in lines:
            received(line, b"hello")
        with opened_feed(server) as refused:
            assert b"HTTP/1.1 429 " in received(refused, b"\r\n\r\n")
        for line in lines:
            line.close()
        for _ in range(50):
            with opened_feed(server) as line:
                if b"200 OK" in received(line, b"\r\n\r\n"):
                    break
            time.sleep(0.05)
        else:
            raise AssertionError("the feeds of clients that left are still counted")


def test_a_call_is_told_within_a_moment() -> None:
    with running() as server, opened_feed(server, "?namespace=*&since=0") as line:
        received(line, b"hello")
        with socket.create_connection(line.getpeername(), timeout=30) as client:
            client.sendall(b"GET /v1/models HTTP/1.1\r\nhost: localhost\r\n\r\n")
            began = time.monotonic()
            assert b'"operation":"models"' in received(line, b"event: calls")
            assert time.monotonic() - began < 1


def test_a_slow_reader_holds_nothing_back(asked: ControlRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """While nothing can be sent, nothing is looked at: what was missed comes with the next look."""
    monkeypatch.setattr(feeds, "LOOK", 0.0)
    journal, sent, taken = asked.live.journal, list[bytes](), asyncio.Event()

    async def send(message: Any) -> None:
        sent.append(message.get("body", b""))
        if len(sent) == 2:
            await taken.wait()

    async def scenario() -> None:
        response = await feeds.open_feed(asked)
        task = asyncio.create_task(response({"type": "http"}, asyncio.Event().wait, send))  # type: ignore[arg-type]
        while len(sent) < 2:
            await asyncio.sleep(0)
        for _ in range(3):
            journal.close(journal.open(HttpRequest("GET", "/"), "openai"), "complete")
        taken.set()
        while len(sent) < 3:
            await asyncio.sleep(0)
        task.cancel()

    asyncio.run(scenario())
    assert [numbers(each) for each in events(sent[2])] == [[1, 2, 3]]
    assert asked.cache.open_feeds == 0


def test_a_quiet_feed_says_that_it_is_alive(asked: ControlRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "LOOK", 0.0)
    monkeypatch.setattr(feeds, "QUIET", 0.0)
    sent = list[bytes]()

    async def send(message: Any) -> None:
        sent.append(message.get("body", b""))

    async def receive() -> Any:
        while len(sent) < 4:
            await asyncio.sleep(0)
        return {"type": "http.disconnect"}

    async def scenario() -> None:
        await (await feeds.open_feed(asked))({"type": "http"}, receive, send)

    asyncio.run(scenario())
    assert sent[2:4] == [b": nothing new\n\n"] * 2
