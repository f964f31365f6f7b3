"""The socket and the process: a port in use, signals, the first lines."""

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mockserver.config.errors import ConfigError
from mockserver.server.run import bind


def test_a_port_in_use_is_told_with_the_way_out() -> None:
    with bind("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError) as error:
            bind("127.0.0.1", port)
    assert str(error.value) == (
        f"cannot listen on 127.0.0.1:{port}: another program uses this port; "
        "stop it, or choose another with --port (0 picks a free one)"
    )


@pytest.mark.parametrize("host", ["a..é", "a\0b"])
def test_a_host_that_cannot_be_is_told(host: str) -> None:
    with pytest.raises(ConfigError) as error:
        bind(host, 0)
    assert str(error.value) == f"cannot listen on {host}:0: this is not the name of a host"


@contextmanager
def serving(*arguments: str) -> Iterator[tuple["subprocess.Popen[str]", int]]:
    command = [sys.executable, "-m", "mockserver", "serve", "--port", "0", *arguments]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        first = process.stderr.readline()
        yield process, int(first.split("http://127.0.0.1:")[1].split()[0])
    finally:
        process.kill()
        process.communicate()


def await_it(port: int) -> None:
    """Return when the server answers: its first line tells of the socket alone."""
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(b"GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n")
        assert client.recv(100).startswith(b"HTTP/1.1 200 OK\r\n")


def asked(body: bytes) -> bytes:
    """A request for a chat, as bytes."""
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


@pytest.fixture
def endless(tmp_path: Path) -> str:
    """Rules whose answers do not end in our time."""
    rules = tmp_path / "rules.yaml"
    rules.write_text("rules: [{then: {text: a b c, timing: {per_token: 1h}}}]")
    return str(rules)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_that_comes_before_it_serves_is_not_lost(number: signal.Signals) -> None:
    script = """
import gc, os, signal, sys
from mockserver.server.live import Sources, start
from mockserver.server.run import bind, serve
gc.freeze = lambda: os.kill(os.getpid(), int(sys.argv[1]))  # the last thing before it serves
serve(start(Sources()), Sources(), bind("127.0.0.1", 0), print)
"""
    command = [sys.executable, "-c", script, str(int(number))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "sent", [asked(b'{"model":"m","messages":[{"role":"user","content":"x"}]}'), asked(b"{}")[:-1]]
)
def test_who_still_waits_when_it_stops_is_told_so(sent: bytes, endless: str) -> None:
    with serving(endless) as (process, port), socket.create_connection(("127.0.0.1", port)) as client:
        await_it(port)
        client.sendall(sent)
        client.settimeout(0.3)
        with pytest.raises(TimeoutError):
            client.recv(1)
        process.send_signal(signal.SIGTERM)
        client.settimeout(10)
        got = client.makefile("rb").read()
        assert process.wait(timeout=10) == 0
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()
    assert got.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
    assert b'{"error":{"message":"The server is stopping.","type":"server_error"' in got
