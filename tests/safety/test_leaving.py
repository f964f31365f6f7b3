"""A client that leaves frees everything within 5 s, whatever was waited for; one that does not read holds up nobody."""

import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from starlette.types import Receive, Scope, Send

from mockserver.core.action import Action, Head, Write
from mockserver.delivery.connection import WIRE, ClientConnection
from mockserver.delivery.drive import drive
from tests.kit.app_server import serve_app
from tests.kit.raw import GET, HI, STREAM, Raw, post
from tests.kit.served import Served, served

RULES = f"""\
version: 1
rules:
  - when: {{last_user: "*soon*"}}
    then: {{text: "one", timing: {{first_token: 1ms}}}}
  - when: {{last_user: "*never*"}}
    then: {{text: "one two three", timing: {{first_token: 1h}}}}
  - when: {{last_user: "*slowly*"}}
    then: {{text: "one two three", timing: {{per_token: 1h}}}}
  - when: {{last_user: "*ticking*"}}
    then: {{text: "{"tick " * 5000}", timing: {{per_token: 50ms}}}}
  - when: {{last_user: "*much*"}}
    then: {{text: "{"word " * 60_000}"}}
"""
FREED = 5.0  # seconds
STEP = 0.02


def asked(word: bytes, body: bytes = HI) -> bytes:
    return post(body.replace(b"Hello", word))


WAITS: dict[str, bytes] = {
    "a head": GET[:20],
    "a body": post(b"{", "content-length: 1000"),
    "a chunk": post(b"5\r\nab", "transfer-encoding: chunked"),
    "a plain answer": asked(b"never"),
    "a stream's first token": asked(b"never", STREAM),
    "a stream's next token": asked(b"slowly", STREAM),
    "a stream that goes on": asked(b"ticking", STREAM),
    "a reader": asked(b"much", STREAM),
    "a turn": asked(b"never") + GET * 10,
    "a turn, too far ahead": asked(b"never") + GET * 5000,
}


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served(RULES) as running:
        with Raw(running.port) as line:
            line.send(asked(b"soon")).receive()  # the first wait opens the timer of all
        yield running


def closed(line: Raw) -> None:
    line.socket.close()


def reset(line: Raw) -> None:
    line.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    line.socket.close()


@pytest.mark.parametrize("leave", [closed, pytest.param(reset, marks=pytest.mark.slow)])
@pytest.mark.parametrize("wait", WAITS)
def test_who_leaves_frees_everything(wait: str, leave: Callable[[Raw], None], server: Served) -> None:
    with Raw(server.port) as line:
        number = int(line.send(GET).receive().headers["x-mockserver-call"])
    eventually(lambda: server.logged(number) is not None)
    before = cacheable(server)
    line = Raw(server.port, receive_buffer=4096)
    line.send(WAITS[wait])
    eventually(lambda: server.open_files == before + 1)
    time.sleep(0.3)  # until what can be done is done
    leave(line)
    left = time.monotonic()
    eventually(lambda: server.open_files == before)
    if wait != "a head":
        assert server.logged(number + 1)["ended"] == "client left"
    assert time.monotonic() - left < FREED


def test_who_reads_nothing_holds_up_nobody_and_misses_nothing(server: Served) -> None:
    request = asked(b"much", STREAM)
    with ExitStack() as opened:
        lines = [opened.enter_context(Raw(server.port)) for _ in range(4)]
        for line in lines:
            line.send(request)
        with Raw(server.port) as other:
            assert all(other.is_open() for _ in range(20))
        for line in lines:
            assert line.receive().body.endswith(b"data: [DONE]\n\n")


def test_an_endless_answer_is_made_only_as_far_as_it_is_read() -> None:
    made = 0

    def endless() -> Iterator[Action]:
        nonlocal made
        yield Head(200, ())
        while True:
            made += 65_536
            yield Write(bytes(65_536))

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await drive(endless(), ClientConnection(receive, send, scope["extensions"][WIRE]))

    with serve_app(app) as port, Raw(port, receive_buffer=4096) as line:
        line.send(GET)
        eventually(lambda: made > 0)
        time.sleep(1)
        before = made
        time.sleep(0.5)
        assert before == made < 10_000_000


def cacheable(server: Served) -> int:
    counts = [server.open_files]
    while len(counts) < 5 or len(set(counts[-5:])) > 1:
        time.sleep(STEP)
        counts.append(server.open_files)
    return counts[-1]


def eventually(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 4 * FREED
    while not holds():
        assert time.monotonic() < until
        time.sleep(STEP)
