"""Requests and answers on a connection: what a head must be, what an application sees, and what becomes of an answer.

Malformed requests over sockets: tests/safety.
"""

import asyncio
import json
import logging
import socket
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.core.eager import MustWait, run_at_once
from mockserver.core.http import tabulate
from mockserver.core.plan import Failure
from mockserver.delivery.connection import WIRE
from mockserver.server.app import Site
from mockserver.server.http.parser import (
    RequestHead,
    RequestParser,
    RequestPart,
    check_framing,
    check_target,
    read_path,
    replace_host,
)
from mockserver.server.http.tcp import count_unsent, is_abandoned, reset
from mockserver.server.visit import Visit
from mockserver.testing import MockServer
from tests.kit.app_server import serve_app
from tests.kit.local import local
from tests.kit.raw import GET, HI, Raw, RawResponse, post, write_chunked

App = Callable[[Any, Any, Any], Awaitable[None]]
Field = tuple[bytes, bytes]
HOST = (b"host", b"x")
KEY = b"sk-proj-0a1b2c3d"
UPGRADE = post(b"abc", "connection: Upgrade, HTTP2-Settings", "upgrade: h2c", "http2-settings: AAMAAABkAAQAAP__")


# --- heads


@pytest.mark.parametrize(
    ("version", "headers", "status"),
    [
        ("1.1", [(b"host", b"[::1]:8000")], None),
        ("1.1", [(b"transfer-encoding", b"Chunked"), HOST, (b"expect", b"100-Continue")], None),
        ("1.0", [], None),
        ("1.0", [HOST, (b"expect", b"unknown to an old server")], None),
        ("2.0", [HOST], 400),
        ("1.1", [], 400),
        ("1.0", [HOST, HOST], 400),
        ("1.1", [(b"host", b"a@b")], 400),
        ("1.1", [HOST, (b"transfer-encoding", b"gzip, chunked")], 400),
        ("1.0", [HOST, (b"transfer-encoding", b"chunked")], 400),
        ("1.1", [HOST, *[(b"expect", b"100-continue")] * 2], 417),
    ],
)
def test_ambiguous_heads_are_refused(version: str, headers: list[Field], status: int | None) -> None:
    if status is None:
        check_framing(version, headers)
        return
    with pytest.raises(Failure) as refused:
        check_framing(version, headers)
    assert refused.value.status == status


@pytest.mark.parametrize(
    ("target", "path", "host"),
    [(b"/a?b", b"/a?b", b"x"), (b"http://y:1/a", b"/a", b"y:1"), (b"HTTPS://y?a", b"/?a", b"y")],
)
def test_a_target_has_a_path(target: bytes, path: bytes, host: bytes) -> None:
    check_target("GET", target)
    assert replace_host(target, [(b"a", b"b"), HOST]) == (path, [(b"a", b"b"), (b"host", host)])


@pytest.mark.parametrize(
    ("target", "headers", "path"),
    [
        (b"/v1/%6dodels?a=b", [], "/v1/models"),
        (b"http://user:%b@host/v1/models" % KEY, [], "/v1/models"),
        (b"user:%b@host:443" % KEY, [], "/"),
        (b"", [], "/"),
        (b"/v1/" + KEY, [(b"authorization", b"Bearer " + KEY)], "/v1/sk-p...(masked)"),
        (b"/v1/%b?key=%b" % (KEY, KEY), [], "/v1/sk-p...(masked)"),
    ],
)
def test_the_reported_path_has_no_credentials(target: bytes, headers: list[Field], path: str) -> None:
    assert read_path(target, headers) == path


@pytest.mark.parametrize(
    ("path", "dialect", "namespace", "inner"),
    [
        ("/azure/info", "azure", "default", "/azure/info"),
        ("/ns/mine/tzafon/v1/models", "tzafon", "mine", "/tzafon/v1/models"),
        ("/ns/mine", "openai", "mine", "/"),
        ("/ns/*/v1/models", "openai", "default", "/ns/*/v1/models"),
        (f"/ns/{'x' * 101}/v1", "openai", "default", f"/ns/{'x' * 101}/v1"),
    ],
)
def test_a_refused_head_gets_its_dialect_s_error(path: str, dialect: str, namespace: str, inner: str) -> None:
    live = local().live
    reply = Site(live).directory.refuse_unread(Failure("bad_parameter", "No.", status=431), "GET", path)
    assert (reply.status, "No." in json.dumps(json.loads(reply.body))) == (431, True)
    (row,) = live.journal
    assert (row.path, row.dialect, row.namespace, row.status) == (inner, dialect, namespace, 431)
    assert (row.source, row.ended) == ("invalid", "complete")


class Reader:
    """Notes the requests that a parser finds, and why it refuses more; it remembers heads, or reads each anew."""

    def __init__(self, *, remembers: bool = True) -> None:
        self.parser, self.remembers, self.refused = RequestParser(), remembers, False
        self.heads, self.heard = list[RequestHead](), list[object]()

    def receive(self, data: bytes) -> None:
        if self.refused:
            return
        if self.remembers and (known := self.parser.recall(data)) is not None:
            self.note(RequestPart(known.head, data[known.end :], is_last=True))
            return
        try:
            for part in self.parser.read(data):
                self.note(part)
        except Failure as failure:
            self.refused = True
            self.heard.append((failure.reason, failure.message, failure.status))

    def note(self, part: RequestPart) -> None:
        head = part.head
        if part.is_first:
            self.heads.append(head)
        self.heard.append((part.is_first, head.make_scope(), head.keep_alive, head.expects, part.body, part.is_last))


def test_blanks_around_a_value_are_no_part_of_it() -> None:
    reader = Reader()
    reader.receive(post(b"{}", "x-a: \t b c\t "))
    assert reader.heads[-1].table.by_name[b"x-a"] == b"b c"


def test_a_client_that_repeats_a_head_has_it_read_once() -> None:
    reader = Reader()
    reader.receive(post(b"{}", "x-a: b"))
    for body in (b"[]", b"x" * 100, b"", b"{}"):
        sent = post(body, "x-a: b")
        known = reader.parser.recall(sent) or pytest.fail("it is not known")
        table = known.head.table
        assert (sent[known.end :], table) == (body, tabulate(table.headers))
        assert (table == reader.heads[0].table) is (len(body) == 2)
    assert reader.parser.recall(post(b"{}", "x-a: c")) is None
    reader.receive(post(b"{}", "x-a: c"))
    assert reader.heads[-1].table.by_name[b"x-a"] == b"c"


HELLO = post(b"hello")
SEGMENTS = [
    *[post(body) for body in (b"", b"hello", b"bye", b"\r\n", b"\r\n\r\n", HELLO)],
    *[HELLO.replace(b": 5", stated) for stated in (b": 05", b":5", b": 5 ", b": +5", b": 4", b": 6", b": ", b": 5, 5")],
    *[HELLO + more for more in (b"\r\n", b"\r\n\r\n", b"x", HELLO, HELLO[:40], GET)],
    *[b"\r\n" + HELLO, HELLO.replace(b"\r\n", b"\n"), HELLO[:-5].replace(b"\r\n", b"\n") + HELLO, HELLO[:-2], b"lo"],
    *[
        HELLO[:40],
        HELLO[40:],
        HELLO.lower().replace(b"post", b"POST").replace(b"http", b"HTTP"),
        GET,
        b"\r\n",
        b"hello",
    ],
    *[post(b"hello", more) for more in ("connection: close", "x-a: b", "content-length: 5", "expect: 100-continue")],
    post(b"hello", version="1.0"),
    post(write_chunked(b"hello"), "transfer-encoding: chunked"),
    UPGRADE,
    post(b"hello", "x-a: \r\n content-length: 5"),
]


@given(st.lists(st.sampled_from(SEGMENTS), max_size=8))
def test_a_remembered_head_changes_nothing(segments: list[bytes]) -> None:
    remembers, forgets = Reader(), Reader(remembers=False)
    for segment in segments:
        remembers.receive(segment)
        forgets.receive(segment)
        assert (remembers.heard, remembers.parser.stage) == (forgets.heard, forgets.parser.stage)


# --- requests


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Answer with the body, the request line, and the names of the headers."""
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message["body"], message["more_body"]
    names = b",".join([name for name, _ in scope["headers"]])
    line = f"{scope['method']} {scope['path']} {scope['query_string'].decode()} {scope['http_version']}".encode()
    seen = b"|".join((body, line, names))
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(seen))]})
    await send({"type": "http.response.body", "body": seen})


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with serve_app(echo) as listening:
        yield listening


@pytest.fixture
def line(port: int) -> Iterator[Raw]:
    with Raw(port) as connection:
        yield connection


@pytest.mark.parametrize(
    ("sent", "seen"),
    [
        (GET, b"|GET /v1/models  1.1|host"),
        (post(b"abc", path="/%41/b%3Fc?d=%41&?"), b"abc|POST /A/b?c d=%41&? 1.1|host,content-type,content-length"),
        (post(b"abc", path="http://y:1?q"), b"abc|POST / q 1.1|host,content-type,content-length"),
        (UPGRADE, b"abc|POST /v1/chat/completions  1.1|host,content-type,connection,content-length"),
        (
            post(b"3;a=b\r\nabc\r\n0\r\nx-trailer: 1\r\n\r\n", "transfer-encoding: chunked"),
            b"abc|POST /v1/chat/completions  1.1|host,content-type,transfer-encoding",
        ),
    ],
)
@pytest.mark.parametrize("step", [1, 7, 100_000])
def test_what_an_application_sees_of_a_request(sent: bytes, seen: bytes, step: int, line: Raw) -> None:
    for _ in range(2):
        line.send(*(sent[at : at + step] for at in range(0, len(sent), step)))
        assert line.receive().body == seen


def test_many_upgrades_are_ignored(line: Raw) -> None:
    line.send(UPGRADE * 1000)
    assert {line.receive().body[:4] for _ in range(1000)} == {b"abc|"}


@pytest.mark.parametrize("before", [b"", GET * 3])
def test_a_refusal_follows_the_earlier_answers(before: bytes, line: Raw) -> None:
    line.send(before + b"GET / HTTP/1.1\r\n\r\n" + GET)
    statuses = [line.receive().status for _ in range(1 + before.count(b"host"))]
    assert statuses == [200] * before.count(b"host") + [400]
    assert line.rest() == b""


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (write_chunked(*[b"12345678"] * 50_000), 200),
        (write_chunked(*[b"x"] * 50_000), 400),
        (b"1;%b\r\nx\r\n" % (b"a" * 400) * 1000 + b"0\r\n\r\n", 400),
        (write_chunked(b"x").removesuffix(b"\r\n") + b"a: %b\r\n\r\n" % (b"b" * 8_000), 200),
        (write_chunked(b"x").removesuffix(b"\r\n") + b"a: b\r\n" * 100_000 + b"\r\n", 400),
    ],
)
def test_the_framing_of_a_body_may_not_outweigh_it(body: bytes, status: int, line: Raw) -> None:
    head, _, _ = post(b"", "transfer-encoding: chunked").partition(b"\r\n\r\n")
    line.send(head + b"\r\n\r\n", body)
    assert line.receive().status == status


def test_a_large_body_does_not_count_as_head(line: Raw) -> None:
    for _ in range(3):
        line.send(post(b"x" * 1_000_000, "x-a: " + "a" * 60_000))
        assert line.receive().status == 200


class Waiting:
    """An application that reads the body, then waits until its client has left."""

    def __init__(self) -> None:
        self.begun, self.left = threading.Event(), threading.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body"):
            pass
        self.begun.set()
        if (await receive())["type"] == "http.disconnect":
            self.left.set()


@pytest.mark.parametrize("size", [0, 300_000])
@pytest.mark.parametrize("behind", [b"", GET * 5_000])
def test_a_client_that_leaves_is_noticed(size: int, behind: bytes) -> None:
    app = Waiting()
    with serve_app(app) as port, Raw(port) as line:
        line.send(post(b"x" * size) + behind)
        assert app.begun.wait(10)
        line.socket.close()
        assert app.left.wait(10)


def test_requests_are_read_only_so_far_ahead() -> None:
    with serve_app(Waiting()) as port, Raw(port) as line:
        line.socket.settimeout(1)
        with pytest.raises(TimeoutError):
            line.send(GET * 1_000_000)


def test_an_application_that_does_not_notice_is_stopped() -> None:
    begun, stopped = threading.Event(), threading.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            stopped.set()

    with serve_app(app) as port, Raw(port) as line:
        line.send(GET)
        assert begun.wait(10)
        line.socket.close()
        assert stopped.wait(10)


# --- answers


def ask(app: App, sent: bytes = GET) -> tuple[RawResponse, bytes]:
    with serve_app(app) as port, Raw(port) as line:
        received = line.send(sent).receive()
        line.socket.shutdown(1)
        return received, line.rest()


def everything(app: App) -> bytes:
    with serve_app(app) as port, Raw(port) as line:
        return line.send(GET).rest()


async def begin(send: Any, *headers: Field) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": headers})


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (ValueError("planted"), 500, "mockserver failed on this request; its log says how."),
        (None, 500, "The request was left without an answer."),
        (Failure("conflict", "planted"), 409, "planted"),
    ],
)
def test_a_failing_application_gets_an_error_sent(
    error: Exception | None, status: int, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        if error is not None:
            raise error

    with caplog.at_level(logging.ERROR):
        received, rest = ask(app)
    assert (received.status, received.headers["connection"], rest) == (status, "close", b"")
    assert message in json.dumps(received.json)
    assert ("planted" in caplog.text) is isinstance(error, ValueError)


@pytest.mark.parametrize("pieces", [1, 2])  # at once, and by the application
def test_a_request_on_which_the_server_fails_ends_and_gives_back_what_it_holds(
    pieces: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ValueError("planted")

    def ask(port: int) -> RawResponse:
        sent = post(HI)
        with Raw(port) as line:
            if pieces == 2:
                line.send(sent[:-1])
                time.sleep(0.05)  # so that the rest comes by itself
                sent = sent[-1:]
            return line.send(sent).receive()

    limits = {"concurrent_requests": 1, "queue": 0}
    with MockServer(unmatched="generate", limits=limits) as server:
        port = urlsplit(server.url).port
        assert port is not None
        assert ask(port).status == 200
        with monkeypatch.context() as patched, caplog.at_level(logging.ERROR):
            patched.setattr(Visit, "finish", fail)
            failed = ask(port)
        assert (failed.status, "planted" in caplog.text) == (500, True)
        assert server.local.live.journal.open_calls == 0
        assert ask(port).status == 200
        assert "ValueError: planted at mockserver/server/" in server.problems()[0].headline
        server.reset()  # or its end would fail, too


def test_a_body_without_a_head_is_not_sent(caplog: pytest.LogCaptureFixture) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.body", "body": b"abc"})

    with caplog.at_level(logging.ERROR):
        received, _ = ask(app)
    assert received.status == 500
    assert "http.response.body was sent where http.response.start was due" in caplog.text


@pytest.mark.parametrize(("status", "length"), [(204, None), (304, b"3")])
def test_an_answer_without_a_body_leaves_its_connection_open(status: int, length: bytes | None) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        headers = [(b"content-length", length)] if length else []
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"abc"})

    with serve_app(app) as port, Raw(port) as line:
        assert [line.send(GET).receive().status for _ in range(2)] == [status, status]


def test_an_unfinished_answer_breaks_off() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await begin(send)
        await send({"type": "http.response.body", "body": b"abc", "more_body": True})

    assert everything(app).endswith(b"\r\n\r\n3\r\nabc\r\n")


@pytest.mark.parametrize("length", [b"2", b"5"])
def test_a_wrong_length_is_sent_and_ends_the_connection(length: bytes) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await begin(send, (b"content-length", length))
        await send({"type": "http.response.body", "body": b"abc"})

    assert everything(app).endswith(b"\r\n\r\nabc")


def test_the_wire_writes_past_all_framing() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        wire = scope["extensions"][WIRE]
        wire.write(b"not HTTP at all")
        while wire.unsent:
            await asyncio.sleep(0.001)
        wire.close()

    assert everything(app) == b"not HTTP at all"


@pytest.mark.parametrize(
    ("sent", "whole"),
    [
        (GET, True),
        (GET.replace(b"1.1", b"1.0"), False),
        (GET.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n"), False),
    ],
)
def test_whole_answers_pass_asgi_by_if_they_are_simple(sent: bytes, whole: bool) -> None:
    taken = list[bool]()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        taken.append(scope["extensions"][WIRE].send_whole(201, b"x-one: 1\r\ncontent-length: 2\r\n\r\nok"))
        if not taken[-1]:
            await begin(send, (b"x-one", b"1"), (b"content-length", b"2"))
            await send({"type": "http.response.body", "body": b"ok"})

    received, _ = ask(app, sent)
    assert (taken, received.status) == ([whole], 201 if whole else 200)
    assert (received.headers["x-one"], received.headers["content-length"], "date" in received.headers) == (
        "1",
        "2",
        True,
    )


# --- what is begun at once


async def wait_for(future: "asyncio.Future[int]") -> int:
    """Return what a future returns, twice; less than 0 if it is cancelled meanwhile."""
    try:
        return await future + await future
    except asyncio.CancelledError:
        return -1


async def test_what_waits_for_nothing_needs_no_task() -> None:
    done = asyncio.get_running_loop().create_future()
    done.set_result(1)
    assert run_at_once(wait_for(done)) == 2
    with pytest.raises(ZeroDivisionError):
        run_at_once(divide())


async def divide() -> float:
    return 1 / 0


@pytest.mark.parametrize("is_cancelled", [False, True])
async def test_what_has_to_wait_goes_on_in_a_task(is_cancelled: bool) -> None:
    future = asyncio.get_running_loop().create_future()
    with pytest.raises(MustWait) as begun:
        run_at_once(wait_for(future))
    rest = begun.value.rest

    async def go_on() -> Any:
        return await rest

    task = asyncio.create_task(go_on())
    await asyncio.sleep(0)
    if is_cancelled:
        task.cancel()
    else:
        future.set_result(1)
    assert await task == (-1 if is_cancelled else 2)


# --- the socket


@asynccontextmanager
async def connected() -> AsyncIterator[tuple[asyncio.Transport, socket.socket]]:
    """A transport and the client at its other end, which reads nothing by itself."""
    made = asyncio.get_running_loop().create_future()

    class Protocol(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            made.set_result(transport)

    server = await asyncio.get_running_loop().create_server(Protocol, "127.0.0.1", 0)
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(server.sockets[0].getsockname())
        transport = await made
        yield transport, client
        transport.abort()
    server.close()


async def test_bytes_that_a_client_has_not_received_are_unsent() -> None:
    async with connected() as (transport, client):
        assert count_unsent(transport) == 0
        transport.write(b"x" * 1_000_000)
        assert count_unsent(transport) > 500_000
        client.settimeout(10)
        while count_unsent(transport):
            await asyncio.to_thread(client.recv, 65536)


async def test_a_client_that_stops_sending_is_noticed_before_all_is_read() -> None:
    async with connected() as (transport, client):
        transport.pause_reading()
        client.sendall(b"unread")
        assert not is_abandoned(transport)
        client.shutdown(socket.SHUT_WR)
        assert is_abandoned(transport)
        reset(transport)
        reset(transport)  # once is enough
        await asyncio.sleep(0)
        with pytest.raises(ConnectionResetError):
            await asyncio.to_thread(client.recv, 1)
        assert not is_abandoned(transport)
