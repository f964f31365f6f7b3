"""SIGTERM and SIGINT end the process within 5 s and with exit code 0, whatever it is in the middle of."""

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.kit.raw import GET, Raw
from tests.safety.test_leaving import RULES, WAITS

pytestmark = pytest.mark.slow

STOPPED = 5.0  # seconds
HANDSHAKE = (
    b"GET /openai/v1/responses HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: upgrade\r\nupgrade: websocket\r\n"
    b"sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


@contextmanager
def serving(folder: Path) -> Iterator[tuple["subprocess.Popen[str]", int]]:
    (folder / "rules.yaml").write_text(RULES)
    command = [sys.executable, "-m", "mockserver", "serve", str(folder / "rules.yaml"), "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stderr
        port = int(process.stderr.readline().split("http://127.0.0.1:")[1].split()[0])
        with Raw(port) as line:
            assert line.is_open()
        yield process, port
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("twice", [False, True])
def test_it_ends_with_everything_open(number: signal.Signals, twice: bool, tmp_path: Path) -> None:
    with serving(tmp_path) as (process, port), ExitStack() as opened:
        lines = [opened.enter_context(Raw(port, receive_buffer=4096)) for _ in range(2 * len(WAITS) + 2)]
        lines[-1].send(GET).receive()  # and this one is idle
        for line, sent in zip(lines, [*WAITS.values()] * 2, strict=False):
            line.send(sent)
        time.sleep(0.5)
        process.send_signal(number)
        began = time.monotonic()
        if twice:
            time.sleep(0.3)
            process.send_signal(number)
        assert process.wait(timeout=4 * STOPPED) == 0
        assert time.monotonic() - began < (2.0 if twice else STOPPED)
        assert process.stderr
        assert process.stderr.read().count("Traceback") == 0
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port))


def test_a_socket_that_begins_while_it_stops_does_not_hold_it_up(tmp_path: Path) -> None:
    with serving(tmp_path) as (process, port), Raw(port) as line:
        time.sleep(0.1)  # the connection is known
        process.send_signal(signal.SIGTERM)
        time.sleep(0.1)  # it stops, and waits for what quiet connections may still ask
        line.send(HANDSHAKE)
        began = time.monotonic()
        assert process.wait(timeout=STOPPED) == 0
        assert time.monotonic() - began < 2.0  # it waits 3 s for sessions


def test_a_second_signal_ends_streams_that_go_on_by_themselves(tmp_path: Path) -> None:
    with serving(tmp_path) as (process, port), ExitStack() as opened:
        for _ in range(3):
            line = opened.enter_context(Raw(port))
            line.send(WAITS["a stream's next token"])
            time.sleep(0.3)
        process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=4 * STOPPED) == 0
        assert process.stderr
        assert "cut off" not in process.stderr.read()  # it would, after it has waited for streams that are over


def test_a_stream_breaks_off_and_does_not_seem_whole(tmp_path: Path) -> None:
    with serving(tmp_path) as (process, port), Raw(port) as line:
        line.send(WAITS["a stream that goes on"])
        time.sleep(0.3)
        process.send_signal(signal.SIGTERM)
        received = line.rest()
        assert received.startswith(b"HTTP/1.1 200 OK")
        assert not received.endswith(b"0\r\n\r\n")
        assert b"[DONE]" not in received
