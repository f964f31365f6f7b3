"""What a client and a recorder get of a relay, over real sockets; more of it stands in tests/record."""

import time
from collections.abc import Iterator
from itertools import pairwise

import pytest

from tests.kit.raw import GET, Raw, post
from tests.kit.raw import HI as BODY
from tests.kit.relaying import relaying
from tests.kit.scripts import (
    ANSWER,
    DONE,
    EVENTS,
    HELLO,
    HI,
    SCRIPTS,
    STREAM,
    THERE,
    base,
    ended,
    flush_events,
    received,
)
from tests.kit.upstream import Upstream, chunk, plain, stream, upstream

RESPONSE = post(b'{"model":"gpt-4o","input":"Hi","stream":true}', path="/v1/responses")
CODINGS = ("gzip", "deflate", "br", "zstd")
COMPLETED = b'data: {"type":"response.completed","response":{}}\n\n'
ENDINGS = {"responses": (COMPLETED, DONE), "chat": (HELLO, DONE, b": bye\n\n")}
RESULTS = b'{"results_url": "https://api.anthropic.com/v1/messages/batches/b/results"}'
OWN = {"batch": plain(RESULTS)}
SHARED = {"shared": plain(b"{}", "access-control-allow-origin: *", "vary: Accept", "x-ratelimit-remaining-requests: 7")}
MOVED = {"moved": plain(b"", "location: chat?a=1", status="307 Temporary Redirect")}
LATE = {  # what ends a stream comes after its last event, by itself
    **{
        f"late {coding}": stream(*start, last[:-1], last[-1:], gap=0.05, headers=(f"content-encoding: {coding}",))
        for coding in CODINGS
        for *start, last in (flush_events(coding),)
    },
    **{f"late {operation}": stream(*events, gap=0.05) for operation, events in ENDINGS.items()},
}


@pytest.fixture(scope="module")
def running() -> Iterator[Upstream]:
    with upstream({**SCRIPTS, **LATE, **MOVED, **OWN, **SHARED}) as process:
        yield process


@pytest.fixture(autouse=True)
def _no_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "*")


@pytest.fixture
def up(running: Upstream) -> Upstream:
    running.forget()
    return running


def test_a_stream_comes_as_it_is_sent(up: Upstream) -> None:
    moments, came = list[float](), b""
    with relaying(base(up, "stream")) as relay, Raw(relay.port) as raw:
        raw.send(STREAM)
        while not came.endswith(b"0\r\n\r\n"):
            came += raw.socket.recv(65536)
            moments.append(time.monotonic())
        assert ended(relay) == "complete"
        (row,) = relay.live.journal.list_rows("default")
    assert len(moments) >= 3
    assert all(0.1 < later - earlier < 1 for earlier, later in pairwise(moments[:4]))
    assert chunk(HELLO) in came
    frames = relay.episode.reply.frames
    assert frames is not None
    assert [data for _, data in frames] == [HELLO, THERE, DONE]
    assert [round(at / 0.15) for at, _ in frames] == [1, 2, 3]
    assert row.source == "forwarded"
    assert b"".join(data for _, data in row.sent) == EVENTS
    assert row.status == 200


@pytest.mark.parametrize("script", ["plain", "chunked", "stream", "to the close"])
def test_it_is_saved_before_the_client_sees_the_end(up: Upstream, script: str) -> None:
    with relaying(base(up, script)) as relay, Raw(relay.port) as raw:
        relay.kept.takes, came = 0.3, b""
        raw.send(STREAM if script == "stream" else HI)
        whole = DONE if script == "stream" else b"0\r\n\r\n" if script != "plain" else ANSWER
        while whole not in came:
            came += raw.socket.recv(65536)
        assert len(relay.episodes) == 1


@pytest.mark.parametrize("coding", CODINGS)
def test_the_end_of_a_coding_may_come_after_the_last_event(up: Upstream, coding: str) -> None:
    with relaying(up.base(f"late {coding}")) as relay:
        assert received(relay, STREAM).body == b"".join(flush_events(coding))
    assert relay.episode.reply.bytes == EVENTS


@pytest.mark.parametrize(("operation", "asked"), [("chat", STREAM), ("responses", RESPONSE)])
def test_what_follows_the_last_event_is_recorded(up: Upstream, operation: str, asked: bytes) -> None:
    with relaying(up.base(f"late {operation}")) as relay:
        assert received(relay, asked).body == b"".join(ENDINGS[operation])
    assert relay.episode.operation == operation
    assert relay.episode.reply.bytes == b"".join(ENDINGS[operation])


def test_look_ups(up: Upstream) -> None:
    with relaying(base(up, "models")) as relay:
        assert received(relay, GET).body == b'{"object":"list","data":[]}'
    assert (relay.episode.request.method, relay.episode.operation) == ("GET", "models")
    asked = up.asked()
    assert (asked.method, asked.target, asked.body) == ("GET", "/models", b"")
    assert asked.header("content-length") is None
    with relaying(base(up, "head")) as relay:
        got = received(relay, GET.replace(b"GET", b"HEAD"), to="HEAD")
    assert (got.status, got.headers["content-length"]) == (200, "27")
    assert up.asked().method == "HEAD"
    assert relay.episodes == []  # it would answer a GET with nothing


def test_a_redirect_within_the_upstream_leads_here(up: Upstream) -> None:
    with relaying(up.base("moved"), record_errors=True) as relay:
        assert received(relay, GET).headers["location"] == "/v1/chat?a=1"
    assert ("location", "/v1/chat?a=1") in relay.episode.reply.headers


BATCH = b"GET /anthropic/v1/messages/batches/b HTTP/1.1\r\nhost: x\r\naccept-encoding: gzip\r\n\r\n"


def test_urls_in_a_body_are_this_servers(up: Upstream) -> None:
    with relaying({"anthropic": up.base("batch")}) as relay:
        found = received(relay, BATCH)
    assert found.body == b'{"results_url": "http://x/anthropic/v1/messages/batches/b/results"}'
    assert found.headers["content-length"] == str(len(found.body))
    assert relay.episode.reply.bytes == RESULTS
    assert ("accept-encoding", "identity") in up.asked().headers


def test_a_body_whose_urls_are_wanted_breaks_off(up: Upstream) -> None:
    with relaying({"anthropic": up.base("too short")}) as relay:
        found = received(relay, BATCH)
    assert (found.status, found.json["error"]["type"]) == (502, "api_error")
    assert not relay.episodes


def test_limits_are_those_of_the_upstream_and_pages_those_of_this_server(up: Upstream) -> None:
    app = "https://app.example"
    request = post(BODY, f"origin: {app}")
    with relaying(up.base("shared"), cors=app, limits={"requests_per_day": 9}) as relay, Raw(relay.port) as raw:
        found = raw.send(request).receive()  # no header twice
    assert found.headers["access-control-allow-origin"] == app
    assert found.headers["vary"] == "Accept, Origin"
    assert found.headers["x-ratelimit-remaining-requests"] == "7"
    with relaying("http://127.0.0.1:9", limits={"requests_per_day": 9}) as relay, Raw(relay.port) as raw:
        unanswered = raw.send(post(BODY)).receive()
    assert unanswered.status == 502
    assert "x-ratelimit-remaining-requests" not in unanswered.headers
