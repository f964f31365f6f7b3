"""An exchange over ASGI: headers that say where an answer came from, limits, the journal, clients that leave."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from mockserver.server.app import build_app
from mockserver.server.handler import Handler
from mockserver.server.live import Live
from tests.kit.local import local
from tests.kit.through import BODY, CHAT, request

RULES = """
rules:
  - {name: hi, when: {last_user: hi, namespace: default}, then: {text: Hello}}
  - {name: "naïve ☃", when: {last_user: snow}, then: {text: Hello}}
"""


@pytest.fixture
def live() -> Live:
    return local(RULES).live


def test_an_answer_says_where_it_came_from(live: Live) -> None:
    first, second = request(live, CHAT), request(live, "/v1/models", method="GET")
    assert first.headers["x-mockserver-source"].endswith("rules.yaml:3 hi")
    assert (first.headers["x-mockserver-call"], second.headers["x-mockserver-call"]) == ("1", "2")
    assert second.headers["x-mockserver-source"] == "generated"


def test_these_headers_can_be_turned_off() -> None:
    got = request(local(RULES, source_headers=False).live, CHAT)
    assert not [name for name in got.headers if name.startswith("x-mockserver")]


def test_any_name_of_a_rule_fits_into_a_header(live: Live) -> None:
    body = BODY.replace(b'"hi"', b'"snow"')
    assert request(live, CHAT, body).headers["x-mockserver-source"].endswith(r"na\xefve \u2603")


def test_a_stream_without_timing_is_one_send(live: Live) -> None:
    got = request(live, CHAT, BODY.replace(b'"model"', b'"stream": true, "model"'))
    assert got.sends == 1
    assert got.body.count(b"\n\n") > 3
    assert got.body.endswith(b"data: [DONE]\n\n")


def test_the_journal_notes_what_was_served(live: Live) -> None:
    request(live, CHAT)
    request(live, "/azure/nope")
    rows = [(row.path, row.dialect, row.status, row.ended) for row in live.journal]
    assert rows == [(CHAT, "openai", 200, "complete"), ("/azure/nope", "azure", 404, "complete")]


def test_a_head_asks_for_the_operation_of_get(live: Live) -> None:
    request(live, "/v1/models", method="HEAD")
    request(live, "/v1/embeddings", method="HEAD")
    assert [(row.operation, row.status) for row in live.journal] == [("models", 200), ("", 405)]


async def test_a_client_that_leaves_early_is_noted(live: Live) -> None:
    async def receive() -> Any:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        raise AssertionError(message)

    scope = {"type": "http", "method": "POST", "path": CHAT, "root_path": "", "query_string": b"", "headers": ()}
    await build_app(live)(scope, receive, send)
    assert [row.ended for row in live.journal] == ["client left"]


class Wire:
    """An ASGI connection whose client sends one body, and which takes one head only."""

    def __init__(self, body: bytes = BODY) -> None:
        self.heads = list[int]()
        self.sent = asyncio.Event()
        self._body: bytes | None = body

    async def receive(self) -> Any:
        if self._body is None:
            await asyncio.Future()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body}

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            if self.heads:
                raise RuntimeError("there was a head already")
            self.heads.append(message["status"])
        self.sent.set()

    async def ask(self, live: Live) -> None:
        scope = {"type": "http", "method": "POST", "path": CHAT, "root_path": "", "query_string": b"", "headers": ()}
        await build_app(live)(scope, self.receive, self.send)


STREAM = BODY.replace(b'"model"', b'"stream": true, "model"')


async def test_what_has_begun_when_the_server_stops_stays_in_the_journal_as_it_was() -> None:
    live, wire = local("rules: [{then: {text: a b, timing: {first_token: 0s, per_token: 1h}}}]").live, Wire(STREAM)
    task = asyncio.create_task(wire.ask(live))
    await wire.sent.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    (row,) = live.journal
    assert (wire.heads, row.status, row.source.split()[0], row.ended) == ([200], 200, "rule", "server stopped")


async def test_what_has_not_begun_when_the_server_stops_is_turned_away() -> None:
    live, wire = local("rules: [{then: {text: a b, timing: {total: 1h}}}]").live, Wire()
    task = asyncio.create_task(wire.ask(live))
    while not any(row.status for row in live.journal):
        await asyncio.sleep(0)
    task.cancel()
    await task
    (row,) = live.journal
    assert (wire.heads, row.status, row.source, row.ended) == ([503], 503, "invalid", "server stopped")


async def test_a_fault_of_our_own_amid_an_answer_is_no_leaving_of_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> Iterator[object]:
        raise ZeroDivisionError
        yield

    monkeypatch.setattr(Handler, "_actions", broken)
    live = local("rules: [{then: {text: a b, timing: {total: 1ms}}}]").live
    with pytest.raises(ZeroDivisionError):
        await Wire().ask(live)
    assert [row.ended for row in live.journal] == ["disconnected"]
