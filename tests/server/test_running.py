"""A server in a thread: it is there when `start` returns, and gone when `stop` does."""

import os
import signal
import socket
import threading
import warnings
from time import monotonic
from urllib.request import urlopen

import pytest

from mockserver.config.errors import ConfigError
from mockserver.server.run import Running
from tests.kit.local import local

ENDLESS = "rules: [{then: {text: a b c, timing: {per_token: 1h}}}]"


def test_it_answers_at_its_address_and_is_gone_afterwards() -> None:
    before = set(threading.enumerate())
    with Running(local(port=0).live) as running:
        assert running.address.startswith("http://127.0.0.1:")
        assert urlopen(f"{running.address}/v1/models").status == 200
    assert set(threading.enumerate()) == before
    with pytest.raises(OSError, match="refused"):
        urlopen(f"{running.address}/v1/models")


def test_it_takes_no_signals() -> None:
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with Running(local(port=0).live):
        assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers


def test_an_open_stream_does_not_hold_it_long() -> None:
    body = b'{"model":"m","stream":true,"messages":[{"role":"user","content":"x"}]}'
    running = Running(local(ENDLESS, port=0).live)
    running.start()
    host, port = running.address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as client:
        client.sendall(
            b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)
        )
        assert client.recv(100).startswith(b"HTTP/1.1 200")
        start = monotonic()
        running.stop()
        assert monotonic() - start < 20


def test_clients_that_have_said_goodbye_are_let_go_and_the_others_if_that_is_wanted() -> None:
    body = b'{"model":"m","stream":true,"messages":[{"role":"user","content":"x"}]}'
    with Running(local(ENDLESS, port=0).live) as running:
        host, port = running.address.removeprefix("http://").split(":")
        clients = [socket.create_connection((host, int(port))) for _ in range(2)]
        for client in clients:
            client.sendall(
                b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)
            )
            assert client.recv(100).startswith(b"HTTP/1.1 200")
        clients[0].close()
        running.hang_up(all_of_them=False)
        assert [row.ended for row in running.live.journal] == ["client left", ""]
        running.hang_up()
        assert [row.ended for row in running.live.journal] == ["client left", "client left"]
        clients[1].close()


@pytest.mark.parametrize("host", ["0.0.0.0", "127.0.0.1", "localhost"])
def test_the_address_can_be_reached_from_here(host: str) -> None:
    with Running(local(port=0, host=host).live) as running:
        assert urlopen(f"{running.address}/v1/models").status == 200


def test_one_that_never_started_can_be_stopped() -> None:
    Running(local(port=0).live).stop()


def test_a_fork_is_told_where_the_server_is() -> None:
    with Running(local(port=0).live) as running:
        running.check_here()
        reading, writing = os.pipe()
        with warnings.catch_warnings(action="ignore"):  # threads are what this is about
            child = os.fork()
        if child == 0:
            try:
                running.stop()  # does nothing here
                running.check_here()
            except ConfigError as error:
                os.write(writing, str(error).encode())
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        os.close(writing)
        with os.fdopen(reading) as told:
            assert told.read().startswith("the server runs in the process that this one was forked from")
        assert urlopen(f"{running.address}/v1/models").status == 200
