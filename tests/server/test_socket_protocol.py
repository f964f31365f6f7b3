"""The protocol beneath a WebSocket: handshakes, frames that break the rules, clients that do not read or are gone."""

import asyncio
import json
import socket as sockets
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest
from websockets.exceptions import ConnectionClosedError, ConnectionClosedOK

from mockserver.server.http import socket_protocol
from mockserver.server.sockets import socket_session
from mockserver.testing import MockServer
from tests.kit.raw import GET, PATIENCE, Raw
from tests.kit.served import served
from tests.kit.sockets import (
    BINARY,
    CLOSE,
    CONTINUATION,
    PING,
    PONG,
    TEXT,
    RawSocket,
    create,
    handshake,
    join_deltas_of,
    raw_socket,
    socket,
    write_frame,
)

HELLO = json.dumps(create("hello"))


@pytest.fixture
def server() -> Iterator[MockServer]:
    with MockServer(timing=True, lint="off") as running:
        running.on(last_user="slow").reply("one two three", timing={"per_token": "200ms"})
        running.on(last_user="long").reply("word " * 2_000, chunks="word")
        running.on(last_user="hello").reply("Hello there")
        yield running


def receive_answer(client: RawSocket) -> str:
    frames = [json.loads(client.receive_text())]
    while frames[-1]["type"] != "response.completed":
        frames.append(json.loads(client.receive_text()))
    return join_deltas_of(frames)


REFUSED = {
    "no key": (handshake(without="sec-websocket-key"), 400, "Sec-WebSocket-Key"),
    "a short key": (handshake("sec-websocket-key: AAAA", without="sec-websocket-key"), 400, "Sec-WebSocket-Key"),
    "two keys": (handshake("sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA=="), 400, "Sec-WebSocket-Key"),
    "no version": (handshake(without="sec-websocket-version"), 426, "Sec-WebSocket-Version is missing"),
    "an old version": (
        handshake("sec-websocket-version: 8", without="sec-websocket-version"),
        426,
        "Sec-WebSocket-Version must be 13",
    ),
    "no list of protocols": (handshake("sec-websocket-protocol: ,;"), 400, "invalid Sec-WebSocket-Protocol header"),
    "no list of extensions": (handshake("sec-websocket-extensions: ;"), 400, "invalid Sec-WebSocket-Extensions"),
    "a page": (handshake("origin: https://a.example"), 403, "Requests from pages"),
    "a wrong key": (handshake("authorization: Bearer sk-wrong"), 401, "Incorrect API key"),
    "no key for the API": (handshake(), 401, "You didn't provide an API key"),
    "an unknown path": (handshake("authorization: Bearer sk-right", path="/v1/x"), 404, "Invalid URL"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_handshake_is_an_error_of_the_provider_and_a_call(name: str) -> None:
    sent, status, words = REFUSED[name]
    if name not in ("a wrong key", "no key for the API"):
        sent = sent.replace(b"\r\n\r\n", b"\r\nauthorization: Bearer sk-right\r\n\r\n")
    with MockServer(keys=["sk-right"]) as server, Raw(int(server.url.rpartition(":")[2])) as line:
        refused = line.send(sent).receive()
        assert refused.status == status
        assert words in refused.json["error"]["message"]
        (call,) = server.calls
        assert (call.status, call.method, call.ended) == (status, "GET", "complete")
        assert line.send(GET).receive().status == 401, "the connection goes on"
    if status == 426:
        assert (refused.headers["upgrade"], refused.headers["sec-websocket-version"]) == ("websocket", "13")


@pytest.mark.parametrize("path", ["/v1/responses/", "//v1//responses", "/ns/mine//openai/v1/responses/"])
def test_a_path_with_too_many_slashes_is_the_path_that_it_means(path: str) -> None:
    with MockServer(unmatched="generate", lint="off") as server, socket(server.url, path) as client:
        assert client.ask("hello")[-1]["type"] == "response.completed"
    assert server.calls[-1].path == ("/openai/v1/responses" if "mine" in path else "/v1/responses")


def test_what_follows_the_handshake_at_once_is_read(server: MockServer) -> None:
    with raw_socket(server.url, early=write_frame(TEXT, HELLO)) as client:
        assert receive_answer(client) == "Hello there"


def test_a_message_may_come_in_fragments_with_pings_between_them(server: MockServer) -> None:
    with raw_socket(server.url) as client:
        client.send(write_frame(TEXT, HELLO[:9], fin=False), write_frame(PING, b"?"))
        client.send(write_frame(CONTINUATION, HELLO[9:20], fin=False), write_frame(CONTINUATION, HELLO[20:]))
        assert client.receive() == (PONG, b"?")
        assert receive_answer(client) == "Hello there"


def test_a_client_may_compress(server: MockServer) -> None:
    for compression in ("deflate", None):
        with socket(server.url, compression=compression) as client:
            assert join_deltas_of(client.ask("hello")) == "Hello there"
            assert bool(client.connection.protocol.extensions) is (compression is not None)


def test_a_message_has_no_more_fragments_than_it_can_need(server: MockServer) -> None:
    with raw_socket(server.url) as client:
        client.send(write_frame(TEXT, "", fin=False), write_frame(CONTINUATION, "", fin=False) * 20_000)
        assert client.receive_close() == 1009
    assert not server.calls


def test_what_is_huge_only_once_it_is_unpacked_is_too_large() -> None:
    with MockServer(max_body="150kB") as server, socket(server.url, compression="deflate") as client:
        client.send(create("x" * 10_000_000))
        with pytest.raises(ConnectionClosedError, match="1009"):
            client.receive()


def test_keys_of_a_handshake_are_not_shown(server: MockServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    more = ("sec-websocket-protocol: realtime, openai-insecure-api-key.sk-in-a-protocol", "origin: https://a.example")
    with Raw(int(server.url.rpartition(":")[2])) as line:
        assert line.send(handshake(*more, path="/v1/responses?api-key=in-a-query")).receive().status == 403
    with socket(server.url, "/v1/responses?api-key=in-a-query") as client:
        assert join_deltas_of(client.ask("hello")) == "Hello there"
    shown = httpx.get(f"{server.url}/__mockserver__/api/calls?bodies=true").text + caplog.text
    assert "sec-websocket-protocol" in shown
    assert "in-a-" not in shown


def test_no_subprotocol_is_chosen(server: MockServer) -> None:
    with socket(server.url, subprotocols=["realtime", "other"]) as client:
        assert client.connection.subprotocol is None
        assert join_deltas_of(client.ask("hello")) == "Hello there"


BROKEN = {
    "no mask": (write_frame(TEXT, HELLO, masked=False), 1002),
    "reserved bits": (write_frame(TEXT, HELLO, reserved=0x40), 1002),
    "an unknown opcode": (write_frame(3, HELLO), 1002),
    "a continuation of nothing": (write_frame(CONTINUATION, HELLO), 1002),
    "a message within a message": (write_frame(TEXT, "{", fin=False) + write_frame(TEXT, HELLO), 1002),
    "a long ping": (write_frame(PING, b"x" * 126), 1002),
    "a split ping": (write_frame(PING, b"x", fin=False), 1002),
    "half a code": (write_frame(CLOSE, b"x"), 1002),
    "a code that is never sent": (write_frame(CLOSE, (1005).to_bytes(2, "big")), 1002),
    "no UTF-8": (write_frame(TEXT, b"\xff\xfe"), 1007),
    "no UTF-8 in two fragments": (write_frame(TEXT, b"\xc3", fin=False) + write_frame(CONTINUATION, b"x"), 1007),
    "a huge frame": (write_frame(TEXT, b"x" * 300_000), 1009),
    "huge fragments": (write_frame(TEXT, b"x" * 90_000, fin=False) + write_frame(CONTINUATION, b"x" * 90_000), 1009),
    "no frame": (b"GET /v1/models HTTP/1.1\r\n\r\n", 1002),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_breaks_the_protocol_gets_the_code_that_says_so(name: str, caplog: pytest.LogCaptureFixture) -> None:
    sent, code = BROKEN[name]
    rest = write_frame(TEXT, "x") * 100_000
    with MockServer(max_body="150kB") as server, raw_socket(server.url) as client:
        client.send(sent, rest)  # which nobody reads, and which must not keep the code from arriving
        assert client.receive_close() == code
        assert not server.calls
    assert not caplog.records


@pytest.mark.parametrize(("sent", "code"), [(b"", b""), (b"\x03\xe8", b"\x03\xe8"), (b"\x0f\xa0bye", b"\x0f\xa0bye")])
def test_a_close_frame_is_answered_by_the_same(sent: bytes, code: bytes, server: MockServer) -> None:
    with raw_socket(server.url) as client:
        assert client.send(write_frame(CLOSE, sent)).receive() == (CLOSE, code)
        with pytest.raises(EOFError):
            client.receive()


def test_a_binary_message_is_an_error_event(server: MockServer) -> None:
    with raw_socket(server.url) as client:
        opcode, data = client.send(write_frame(BINARY, b"\0")).receive()
        assert (opcode, json.loads(data)["error"]["code"]) == (TEXT, "invalid_json")


def test_a_client_that_answers_no_ping_is_gone(server: MockServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket_protocol, "PING_EVERY", 0.1)
    monkeypatch.setattr(socket_protocol, "PONG_WITHIN", 0.2)
    with raw_socket(server.url) as client:
        opcode, data = client.receive()
        assert (opcode, len(data)) == (PING, 4)
        assert client.receive_close() == 1011


def test_a_client_lives_whose_pongs_wait_behind_events_that_are_not_read_yet(
    server: MockServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mockserver.server.sockets import responses_session

    made = list[socket_protocol.SocketProtocol]()
    loops = list[asyncio.AbstractEventLoop]()
    begin = socket_protocol.SocketProtocol.begin

    def note(protocol: socket_protocol.SocketProtocol, rest: bytes) -> None:
        made.append(protocol)
        loops.append(asyncio.get_running_loop())
        begin(protocol, rest)

    monkeypatch.setattr(socket_protocol.SocketProtocol, "begin", note)
    monkeypatch.setattr(responses_session, "MAX_WAITING", 1)
    gate, is_late = threading.Event(), threading.Event()
    server.on(last_user="gate").reply(lambda call: "opened" if gate.wait(PATIENCE) else "")
    with socket(server.url) as client:
        client.send(*[create("gate")] * 3)
        while not (made and made[0].flow.read_paused):
            time.sleep(0.01)
        loop = loops[0]
        loop.call_soon_threadsafe(made[0]._end_silence)
        loop.call_soon_threadsafe(is_late.set)
        assert is_late.wait(PATIENCE)
        gate.set()
        assert [join_deltas_of(client.answer()) for _ in range(3)] == ["opened"] * 3


def test_a_client_that_is_killed_ends_its_answers_though_nothing_of_it_is_read(
    server: MockServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mockserver.server.sockets import responses_session

    monkeypatch.setattr(responses_session, "MAX_WAITING", 1)
    server.on(last_user="stall").reply("one", faults=["stall"])
    with raw_socket(server.url) as client:
        client.send(*[write_frame(TEXT, json.dumps(create("stall")))] * 4)
        while not server.calls:
            time.sleep(0.01)
    deadline = time.monotonic() + PATIENCE
    while any(call.ended in ("", "open") for call in server.calls) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert {call.ended.partition(" after")[0] for call in server.calls} == {"client left"}


def test_a_session_ends_after_an_hour(server: MockServer) -> None:
    with socket(server.url) as client:
        assert join_deltas_of(client.ask("hello")) == "Hello there"
        server.clock.advance(socket_session.MAX_SESSION)
        (error,) = client.ask("hello")
        assert (error["status"], error["error"]["code"]) == (400, "websocket_connection_limit_reached")
        with pytest.raises(ConnectionClosedOK, match="1001"):
            client.receive()
    assert len(server.calls) == 1


def test_a_server_stops_soon_although_a_client_answers_nothing() -> None:
    with MockServer() as server, raw_socket(server.url) as client:
        began = time.monotonic()
        server.stop()
        assert time.monotonic() - began < PATIENCE
        assert client.receive() == (CLOSE, (1012).to_bytes(2, "big"))
        server.start()


@pytest.mark.slow
def test_clients_that_do_not_read_cost_little_and_count_against_max_unsent() -> None:
    rules = "rules: [{then: {text: '" + "word " * 20_000 + "'}}]"
    with served(rules, log="none", flags=["--max-unsent", "2MB"]) as server:
        with sockets.create_connection(("localhost", server.port)):
            before = server.memory("VmRSS")
        opened, refused = ExitStack(), 0
        for _ in range(30):
            client = opened.enter_context(raw_socket(server.address, receive_buffer=4096))
            client.send(*[write_frame(TEXT, HELLO)] * 3, *[write_frame(PING, b"x" * 125)] * 2000)
            refused += b'"status":503' in client.receive_text()
        assert refused, "nobody was told that too much waits"
        assert server.memory("VmHWM") - before < 130_000_000
        opened.close()
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            with raw_socket(server.address) as client:
                if b'"status":503' not in client.send(write_frame(TEXT, HELLO)).receive_text():
                    return
            time.sleep(0.1)
        raise AssertionError("what clients held that have left still counts")


@pytest.mark.slow
def test_a_thousand_sockets_are_open_at_once_and_none_is_lost() -> None:
    rules = "rules: [{then: {text: one two three, timing: {first_token: 500ms, per_token: 100ms}}}]"
    with served(rules, log="none") as server, ExitStack() as opened:
        clients = list[RawSocket]()
        for number in range(1_000):
            clients.append(opened.enter_context(raw_socket(server.address)))
            answer_pings(clients, number)
        for _ in range(2):
            for client in clients:
                client.send(write_frame(TEXT, HELLO))
            for number, client in enumerate(clients):
                assert receive_answer(client) == "one two three"
                answer_pings(clients, number)
        files = server.open_files
        opened.close()
        deadline = time.monotonic() + PATIENCE
        while server.open_files > files - 1_000 and time.monotonic() < deadline:
            time.sleep(0.1)
        assert server.open_files <= files - 1_000


def answer_pings(clients: list[RawSocket], number: int) -> None:
    """Answer those of all once in a hundred times, as the server ends the connections of clients that do not."""
    if number % 100 == 99:
        for client in clients:
            client.answer_pings()
