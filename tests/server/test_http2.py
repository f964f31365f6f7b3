"""HTTP/2, with which some clients begin unasked: requests side by side, whole bodies both ways, and their ends."""

import asyncio
import json
import socket
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from typing import Any

import httpx2
import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    Event,
    InformationalResponseReceived,
    PingAckReceived,
    ResponseReceived,
    StreamEnded,
    StreamReset,
)
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes

from mockserver.delivery.connection import WIRE
from mockserver.server.app import Site
from mockserver.server.http import http2
from mockserver.server.http.deadlines import Deadlines
from mockserver.server.http.http2 import MAX_CYCLES, MAX_FRAME, MAX_READ, MAX_STREAMS, MAX_WASTE, Http2Protocol
from mockserver.server.live import Live
from mockserver.testing import MockServer
from tests.kit.app_server import serve_app
from tests.kit.local import local
from tests.kit.processes import wait_until_true

RULES = """
rules:
  - {when: {last_user: cut}, then: {text: One two three, faults: [{disconnect: {after_tokens: 1}}]}}
  - {when: {last_user: reset}, then: {text: One two three, faults: [{reset: {after_tokens: 1}}]}}
  - {when: {last_user: long}, then: {text: "{{ 'sea ' * 100000 }}"}}
  - {when: {last_user: slow}, then: {text: Late, timing: {first_token: 30s}}}
  - {when: {last_user: "*"}, then: {text: "You said {{ last_user }}"}}
"""
PATH = "/v1/chat/completions"
START = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
GOODBYE = b"\0\0\x08\7\0\0\0\0\0" + bytes(8)
PATIENCE = 60  # seconds for what takes far less than one on an idle machine
SHORT = Deadlines(first=1.5, head=0.6, body=0.6, idle=1.2, farewell=0.4, linger=0.4, look=0.02)
SHORT_FAREWELL = Deadlines(farewell=0.2, look=0.02)


def ask(text: str, **more: Any) -> dict[str, Any]:
    return {"model": "gpt-4o", "messages": [{"role": "user", "content": text}]} | more


@pytest.fixture
def live() -> Live:
    return local(RULES).live


@pytest.fixture
def port(live: Live) -> Iterator[int]:
    with serve(live) as listening:
        yield listening


def serve(live: Live, **more: Any) -> AbstractContextManager[int]:
    site = Site(live)
    return serve_app(site, refuse=site.directory.refuse_unread, **more)


class Line:
    """A client's connection, frame by frame."""

    def __init__(self, port: int) -> None:
        self.h2 = H2Connection(H2Configuration(header_encoding="utf-8"))
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        self._come = deque[Event]()  # that nobody has taken
        self.h2.initiate_connection()
        self.flush()

    def flush(self) -> None:
        self.socket.sendall(self.h2.data_to_send())

    def begin(
        self,
        method: str = "POST",
        path: str = PATH,
        *,
        end: bool = False,
        headers: Mapping[str, str] = {},
        flush: bool = True,
    ) -> int:
        """Send the head of a request, and return its stream."""
        stream = self.h2.get_next_available_stream_id()
        head = {":method": method, ":path": path, ":scheme": "http", ":authority": "x"}
        self.h2.send_headers(stream, [*head.items(), *headers.items()], end_stream=end)
        if flush:
            self.flush()
        return stream

    def send(self, stream: int, data: bytes) -> None:
        self.h2.send_data(stream, data, end_stream=True)
        self.flush()

    def events(self) -> Iterator[Event]:
        """Yield what the server says until it closes."""
        while self._come or (data := self.socket.recv(65_536)):
            if not self._come:
                self._come.extend(self.h2.receive_data(data))
                for event in self._come:
                    if isinstance(event, DataReceived):
                        self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                if not any(isinstance(event, ConnectionTerminated) for event in self._come):
                    self.flush()
            while self._come:
                yield self._come.popleft()

    def receive(self, stream: int) -> tuple[dict[str, str], bytes]:
        """Return the headers and the body of an answer."""
        headers = dict[str, str]()
        body = b""
        for event in self.events():
            match event:
                case ResponseReceived(stream_id=at) if at == stream:
                    headers = {str(name): str(value) for name, value in event.headers}
                case DataReceived(stream_id=at) if at == stream:
                    body += event.data
                case StreamEnded(stream_id=at) if at == stream:
                    return headers, body
        raise AssertionError("the connection was closed")

    def settle(self) -> list[Event]:
        """Return what the server has said, when both ends have read what the other has sent."""
        self.h2.ping(bytes(8))
        self.flush()
        said = list[Event]()
        for event in self.events():
            if isinstance(event, PingAckReceived):
                return said
            said.append(event)
        raise AssertionError("the connection was closed")

    def receive_reset(self) -> tuple[int, ErrorCodes | int | None]:
        """Return the next stream that the server ends early, and why."""
        end = next(event for event in self.events() if isinstance(event, StreamReset))
        return end.stream_id, end.error_code


@contextmanager
def open_line(port: int) -> Iterator[Line]:
    line = Line(port)
    with line.socket:
        yield line


def frame(kind: int, *, stream: int = 0, data: bytes = b"") -> bytes:
    """Return a frame without flags."""
    return len(data).to_bytes(3) + bytes((kind, 0)) + stream.to_bytes(4) + data


_DATA, _HEADERS, _PRIORITY, _RESET, _SETTINGS, _PING, _WINDOW, _CONTINUATION = 0, 1, 2, 3, 4, 6, 8, 9


def find_end(line: Line) -> ErrorCodes | int | None:
    """Return why the server ends a connection, which must not be by a break."""
    (end,) = [event for event in line.events() if isinstance(event, ConnectionTerminated)]
    return end.error_code


async def answer(send: Any, body: bytes) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


def test_requests_are_answered_side_by_side(live: Live, port: int) -> None:
    async def chat() -> list[httpx2.Response]:
        async with httpx2.AsyncClient(http1=False, http2=True, base_url=f"http://127.0.0.1:{port}") as client:
            return await asyncio.gather(*(client.post(PATH, json=ask(str(n), stream=n % 2 == 1)) for n in range(40)))

    for number, answered in enumerate(asyncio.run(chat())):
        assert (answered.status_code, answered.http_version) == (200, "HTTP/2")
        assert "date" in answered.headers
        assert "transfer-encoding" not in answered.headers
        if number % 2:
            assert answered.text.endswith("data: [DONE]\n\n")
        else:
            assert answered.json()["choices"][0]["message"]["content"] == f"You said {number}"
    assert {(row.status, row.ended) for row in live.journal} == {(200, "complete")}


def test_large_bodies_pass_the_windows_of_both_ends(port: int) -> None:
    with httpx2.Client(http1=False, http2=True, base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE) as client:
        said = "sea " * 200_000
        answered = client.post(PATH, json=ask(said, model="gpt-4.1")).json()
        assert answered["choices"][0]["message"]["content"] == f"You said {said}"
        assert client.post(PATH, json=ask("long")).json()["choices"][0]["message"]["content"] == "sea " * 100_000


@pytest.mark.parametrize(
    ("method", "path", "status", "said"),
    [
        ("GET", "/v1/nothing", 404, "Invalid URL (GET /v1/nothing)"),
        ("PUT", "/v1/models", 405, "Not allowed to PUT"),
        ("GET", "/v1/models#part", 400, "contains a #"),
        ("GET", "http://x/v1/models", 400, "is not a path"),
        ("GET", "/v1/a model", 400, "percent-encoded"),
        ("GET", "/v1/mod\u00e9l", 400, "percent-encoded"),
        ("G ET", "/v1/models", 400, "method of the request is not valid"),
        ("GET", f"/v1/{'x' * 40_000}", 414, "longer than"),
        ("GET", "/v1/%6dodels", 200, "gpt-4o"),
    ],
)
def test_heads_are_judged_as_in_http_1(method: str, path: str, status: int, said: str, port: int) -> None:
    with open_line(port) as line:
        headers, body = line.receive(line.begin(method, path, end=True))
        assert headers[":status"] == str(status)
        assert said in body.decode()
        assert line.receive(line.begin("GET", "/v1/models", end=True))[0][":status"] == "200"  # the connection stays


def test_an_answer_to_head_has_no_body(port: int, caplog: pytest.LogCaptureFixture) -> None:
    with open_line(port) as line:
        headers, body = line.receive(line.begin("HEAD", "/v1/models", end=True))
        assert (headers[":status"], body) == ("200", b"")
        assert line.receive(line.begin("GET", "/v1/models", end=True))[0][":status"] == "200"
    assert not caplog.records  # the body that the application has sent is no error


def test_who_waits_is_told_to_send_the_body(port: int) -> None:
    with open_line(port) as line:
        stream = line.begin(headers={"expect": "100-continue"})
        assert any(isinstance(event, InformationalResponseReceived) for event in line.events())
        line.send(stream, json.dumps(ask("hi")).encode())
        assert b"You said hi" in line.receive(stream)[1]


def test_an_upload_that_is_too_large_is_refused_before_it_has_come() -> None:
    with serve(local("settings: {max_body: 1000}\n").live) as port, open_line(port) as line:
        stream = line.begin(headers={"content-length": "5000"})
        headers, body = line.receive(stream)
        assert (headers[":status"], b"max_body" in body) == ("413", True)
        line.send(stream, b"x" * 5000)  # no reset has overtaken the answer
        headers, _ = line.receive(line.begin("GET", "/v1/models", end=True))
        assert headers[":status"] == "200"


def test_the_rest_of_each_refused_upload_is_dropped_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http2, "MAX_DRAINED", 7_000)
    with serve(local("settings: {max_body: 1000}\n").live) as port, open_line(port) as line:
        for _ in range(3):
            stream = line.begin(headers={"content-length": "10000"})
            assert line.receive(stream)[0][":status"] == "413"
            line.h2.send_data(stream, b"x" * 5_000)
            assert not any(isinstance(event, StreamReset) for event in line.settle())
        line.h2.send_data(stream, b"x" * 5_000)
        line.flush()
        assert line.receive_reset() == (stream, ErrorCodes.NO_ERROR)


@pytest.mark.parametrize("streams", [False, True])
def test_a_fault_breaks_off_one_answer(streams: bool, live: Live, port: int) -> None:
    with httpx2.Client(http1=False, http2=True, base_url=f"http://127.0.0.1:{port}") as client:
        with pytest.raises(httpx2.RemoteProtocolError):
            client.post(PATH, json=ask("cut", stream=streams))
        assert client.post(PATH, json=ask("hi")).status_code == 200
        with pytest.raises((httpx2.ReadError, httpx2.RemoteProtocolError)):
            client.post(PATH, json=ask("reset", stream=streams))
    *_, cut, _, reset = live.journal
    assert (cut.ended, reset.ended) == ("disconnected", "reset")


def test_a_client_that_waits_no_longer_is_noticed(live: Live, port: int) -> None:
    with open_line(port) as line:
        stream = line.begin()
        line.send(stream, json.dumps(ask("slow")).encode())
        line.receive(line.begin("GET", "/v1/models", end=True))
        line.h2.reset_stream(stream, ErrorCodes.CANCEL)
        line.flush()
        line.receive(line.begin("GET", "/v1/models", end=True))
    wait_until_true(lambda: [row.ended for row in live.journal if row.ended != "complete"] == ["client left"])


@pytest.mark.parametrize(
    "sent",
    [b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n", START + b"\0\0\0\1\4\0\0\0\0", START + b"\xff" * 3 + bytes(300_000)],
    ids=["another preface", "a head without a stream", "a frame without an end"],
)
def test_what_is_not_http_2_ends_the_connection(sent: bytes, port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as line:
        line.sendall(sent)
        while line.recv(65_536):  # what the server has not read is no reset
            pass


def test_a_flood_of_frames_leaves_others_their_turns(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = list[int]()

    def read_slowly(protocol: Http2Protocol, data: bytes, read: Any = Http2Protocol._read) -> None:
        time.sleep(0.005)
        sizes.append(len(data))
        read(protocol, data)

    def send() -> None:
        with suppress(OSError):  # the test has ended
            line.socket.sendall(flood)

    monkeypatch.setattr(http2, "MAX_WASTE", 1_000_000)
    flood = b"\0\0\x04\x08\0\0\0\0\0\0\0\0\1" * 400_000  # a byte more for the window each
    with open_line(port) as other:
        with open_line(port) as line:
            line.settle()
            other.settle()
            monkeypatch.setattr(Http2Protocol, "_read", read_slowly)
            sending = threading.Thread(target=send)
            sending.start()
            wait_until_true(lambda: len(sizes) > 20)
            assert other.receive(other.begin("GET", "/v1/models", end=True))[0][":status"] == "200"
            assert (max(sizes), sum(sizes) < len(flood)) == (MAX_READ, True)
        sending.join()


def test_a_client_that_stops_sending_and_does_not_read_is_not_waited_for() -> None:
    has_begun, has_noticed = threading.Event(), threading.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        has_begun.set()
        await answer(send, bytes(20_000_000))
        assert scope["extensions"][WIRE].gone
        has_noticed.set()

    with serve_app(app, deadlines=SHORT) as port, open_line(port) as line:
        line.h2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 1 << 30})
        line.h2.increment_flow_control_window(1 << 30)
        line.begin("GET", "/", end=True)
        assert has_begun.wait(PATIENCE)
        time.sleep(0.3)
        line.socket.shutdown(socket.SHUT_WR)
        assert has_noticed.wait(PATIENCE)


def test_an_answer_that_has_no_room_counts_as_unread() -> None:
    wires = list[Any]()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        wires.append(scope["extensions"][WIRE])
        await answer(send, bytes(300_000))

    with serve_app(app) as port, open_line(port) as line:
        line.h2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 1_000})
        stream = line.begin("GET", "/", end=True)
        wait_until_true(lambda: bool(wires) and wires[0].held == 299_000)
        assert line.receive(stream)[1] == bytes(300_000)
        wait_until_true(lambda: wires[0].held == 0)


def test_a_request_beyond_the_limit_is_refused_alone() -> None:
    may_answer = threading.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        while not may_answer.is_set():
            await asyncio.sleep(0.01)
        await answer(send, b"done")

    with serve_app(app) as port, open_line(port) as line:
        line.h2.remote_settings.max_concurrent_streams = 2 * MAX_STREAMS  # it has not heard of the limit yet
        line.h2.remote_settings.acknowledge()
        streams = [line.begin(end=True) for _ in range(MAX_STREAMS + 1)]
        assert line.receive_reset() == (streams[-1], ErrorCodes.REFUSED_STREAM)
        may_answer.set()
        assert line.receive(streams[0])[1] == b"done"


def test_a_new_request_may_follow_an_answer_whose_task_goes_on() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/wait":
            await asyncio.sleep(PATIENCE)
        await answer(send, b"done")
        await asyncio.sleep(0.2)

    with serve_app(app) as port, open_line(port) as line:
        for _ in range(MAX_STREAMS - 1):
            line.begin("GET", "/wait", end=True)
        for _ in range(3):
            assert line.receive(line.begin("GET", "/", end=True))[1] == b"done"


def test_requests_that_are_left_at_once_do_not_heap_up() -> None:
    async def never(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(PATIENCE)

    with serve_app(never) as port, open_line(port) as line:
        line.settle()
        for _ in range(MAX_CYCLES):
            line.h2.reset_stream(line.begin(flush=False), ErrorCodes.CANCEL)
        line.begin()
        (end,) = [event for event in line.events() if isinstance(event, ConnectionTerminated)]
        assert end.error_code is ErrorCodes.ENHANCE_YOUR_CALM


@pytest.mark.parametrize(
    "frames",
    [
        frame(_PING, data=bytes(8)),
        frame(_SETTINGS),
        frame(_SETTINGS, data=b"\0\4\0\1\0\0" * 20),
        frame(_PRIORITY, stream=3, data=b"\0\0\0\0\x10"),
        frame(_WINDOW, data=b"\0\0\0\1"),
        frame(0x99),  # of an extension that nobody has
        frame(_DATA, stream=1),  # of a body that goes on
        frame(_RESET, stream=1, data=bytes(4)),
    ],
)
def test_frames_that_bring_nothing_are_not_taken_for_ever(frames: bytes, port: int) -> None:
    with open_line(port) as line:
        line.begin()
        line.settle()
        line.socket.sendall(frames * (MAX_WASTE - 100))
        line.settle()
        with suppress(OSError):  # it is closed
            line.socket.sendall(frames * 200)
        assert find_end(line) is ErrorCodes.ENHANCE_YOUR_CALM


@pytest.mark.parametrize("by", ["client", "server"])
def test_requests_that_are_reset_are_not_taken_for_ever(by: str, port: int) -> None:
    """However slowly they come: each is over before the next (CVE-2023-44487, CVE-2025-8671)."""
    with open_line(port) as line, suppress(AssertionError, OSError, ProtocolError):  # the connection is closed
        for sent in range(3 * MAX_WASTE):
            stream = line.begin("GET", "/v1/models", end=by == "server", flush=False)
            if by == "client":
                line.h2.reset_stream(stream, ErrorCodes.CANCEL)
            line.flush()
            if by == "server":
                line.socket.sendall(frame(_WINDOW, stream=stream, data=bytes(4)))  # which is wrong
            if sent % 50 == 0:
                line.settle()
    assert sent < 3 * MAX_WASTE - 1


@pytest.mark.parametrize("kind", [_CONTINUATION, _HEADERS])
def test_a_head_without_end_is_not_kept(kind: int, port: int) -> None:
    """CVE-2024-27316."""
    with open_line(port) as line:
        line.settle()
        line.socket.sendall(frame(_HEADERS, stream=1, data=b"\0\1a\1b"))
        with suppress(OSError):  # it is closed
            for _ in range(64):
                line.socket.sendall(frame(kind, stream=1, data=b"\0\1a\1b" * 3000))
        assert find_end(line) is not ErrorCodes.NO_ERROR


def test_ordinary_clients_are_not_cut(port: int) -> None:
    with open_line(port) as line:
        for number in range(3 * MAX_WASTE // 2):
            answer = line.begin("GET", "/v1/models", end=True)
            assert line.receive(answer)[0][":status"] == "200"  # and the windows are given back
            line.h2.increment_flow_control_window(1)
            if number % 4 == 0:
                line.settle()


def test_what_takes_too_long_ends(live: Live) -> None:
    with serve(live, deadlines=SHORT) as port, open_line(port) as line:
        headers, body = line.receive(line.begin())
        assert (headers[":status"], b"took too long" in body) == ("408", True)
        assert any(isinstance(event, ConnectionTerminated) for event in line.events())  # nobody uses it


def test_a_head_that_trickles_ends_the_connection() -> None:
    deadlines = Deadlines(head=0.3, look=0.02)
    with serve(local(RULES).live, deadlines=deadlines) as port, open_line(port) as line:
        line.settle()
        line.socket.sendall(b"\0\0\x09\1\4")
        assert any(isinstance(event, ConnectionTerminated) for event in line.events())


def test_few_headers_are_kept_to_be_referred_to(port: int) -> None:
    with open_line(port) as line:
        line.h2.update_settings({SettingCodes.HEADER_TABLE_SIZE: 1 << 20})
        line.receive(line.begin("GET", "/v1/models", end=True))
        assert line.h2.decoder.header_table_size == 4096


def test_a_server_that_stops_answers_what_has_begun() -> None:
    begun = threading.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        begun.set()
        await asyncio.sleep(0.2)
        await answer(send, b"done")

    with ExitStack() as stack:
        with serve_app(app) as port:
            line = stack.enter_context(open_line(port))
            stream = line.begin(end=True)
            assert begun.wait(PATIENCE)
        assert line.receive(stream)[1] == b"done"
        assert any(isinstance(event, ConnectionTerminated) for event in line.events())


def test_a_request_that_comes_and_goes_does_not_disturb_a_server_that_stops() -> None:
    begun = threading.Event()
    stopping = threading.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        begun.set()
        while not scope["extensions"][WIRE].stopping:
            await asyncio.sleep(0.01)
        stopping.set()
        while (await receive())["more_body"]:
            pass
        await answer(send, b"done")

    received = list[bytes]()

    def talk() -> None:
        assert stopping.wait(PATIENCE)
        left = line.begin("GET", "/", flush=False)
        line.h2.reset_stream(left, ErrorCodes.CANCEL)
        line.flush()
        time.sleep(0.1)  # or all comes at once
        line.send(stream, b"body")
        received.append(line.receive(stream)[1])

    talking = threading.Thread(target=talk)
    with ExitStack() as stack:
        with serve_app(app) as port:
            line = stack.enter_context(open_line(port))
            stream = line.begin()
            assert begun.wait(PATIENCE)
            talking.start()
        talking.join()
    assert received == [b"done"]


def test_a_client_that_says_goodbye_gets_its_answers() -> None:
    begun = threading.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        begun.set()
        while (await receive())["more_body"]:
            pass
        await answer(send, b"x" * 100_000)

    with serve_app(app, deadlines=SHORT_FAREWELL) as port:
        with open_line(port) as line:
            stream = line.begin()
            assert begun.wait(PATIENCE)
            line.socket.sendall(GOODBYE)
            late = line.begin(flush=False)
            line.h2.send_data(late, b"body", end_stream=True)
            line.flush()
            assert line.receive(late)[1] == b"x" * 100_000  # Node sends what it was asked for before
            line.send(stream, b"body")
            assert line.receive(stream)[1] == b"x" * 100_000
            assert any(isinstance(event, ConnectionTerminated) for event in line.events())
        with open_line(port) as line:  # that waits for nothing
            line.socket.sendall(GOODBYE)
            assert any(isinstance(event, ConnectionTerminated) for event in line.events())


def test_large_answers_wait_for_a_client_that_pauses() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await answer(send, bytes(300_000))

    with serve_app(app) as port, open_line(port) as line:
        line.h2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 1 << 30, SettingCodes.MAX_FRAME_SIZE: 1 << 20})
        line.h2.increment_flow_control_window(1 << 30)
        waiting = {line.begin("GET", "/", end=True) for _ in range(MAX_STREAMS)}
        time.sleep(0.5)
        sizes = list[int]()
        for event in line.events():
            if isinstance(event, DataReceived):
                sizes.append(len(event.data))
            elif isinstance(event, StreamEnded):
                waiting.remove(event.stream_id)
                if not waiting:
                    break
        assert (sum(sizes), max(sizes)) == (MAX_STREAMS * 300_000, MAX_FRAME)


def test_the_server_of_a_test_speaks_it_too() -> None:
    with MockServer() as server, httpx2.Client(http1=False, http2=True, base_url=server.url) as client:
        server.on(last_user="hi").reply("Hello")
        assert client.post(PATH, json=ask("hi")).json()["choices"][0]["message"]["content"] == "Hello"
