"""Many connections at once while the server is busy: they are accepted, answered and begun before others go on."""

import asyncio
import selectors
import socket
import time
from collections.abc import Sequence
from typing import Any

import pytest

from mockserver.server.http.protocol import ConnectionProtocol
from mockserver.server.run import Running
from tests.kit.local import local
from tests.kit.raw import STREAM, post

CROWD, WORDS = 300, 20
SLOW = 0.001  # seconds
PATIENCE = 60  # seconds
PACED = f"rules: [{{then: {{text: '{'a ' * WORDS}', timing: {{first_token: 10ms, per_token: 10ms}}}}}}]"


def connect(running: Running) -> list[socket.socket]:
    host, port = running.address.removeprefix("http://").split(":")
    return [socket.create_connection((host, int(port))) for _ in range(CROWD)]


async def turns_until_accepted(running: Running, clients: Sequence[socket.socket]) -> int:
    turns = 0
    while len(running._server.server_state.connections) < len(clients):
        turns += 1
        await asyncio.sleep(0)
    return turns


def close(clients: Sequence[socket.socket]) -> None:
    for client in clients:
        client.close()


def test_all_that_wait_are_accepted_in_a_few_turns() -> None:
    async def crowd() -> int:
        clients = connect(running)  # while the loop does nothing else
        try:
            return await turns_until_accepted(running, clients)
        finally:
            close(clients)

    with Running(local(PACED, port=0).live) as running:
        assert running.wait_for(crowd()) < CROWD / 10


def test_answering_a_crowd_leaves_others_their_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = list[float]()

    def answer_slowly(protocol: ConnectionProtocol, *request: Any, real: Any = ConnectionProtocol._answer) -> None:
        time.sleep(SLOW)
        real(protocol, *request)
        answers.append(time.monotonic())

    async def most_in_a_turn() -> int:
        clients = connect(running)
        await turns_until_accepted(running, clients)
        for client in clients:
            client.sendall(post(STREAM))
        most = before = 0
        while before < CROWD:
            await asyncio.sleep(0)
            most, before = max(most, len(answers) - before), len(answers)
        close(clients)
        return most

    monkeypatch.setattr(ConnectionProtocol, "_answer", answer_slowly)
    with Running(local(PACED, port=0).live) as running:
        assert running.wait_for(most_in_a_turn()) < CROWD / 3


def test_all_streams_begin_before_others_go_on_and_none_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    def begin_slow(
        protocol: ConnectionProtocol,
        status: int,
        lines: bytes,
        stream: Any,
        real: Any = ConnectionProtocol.send_paced,
    ) -> bool:
        real(protocol, status, lines, stream)
        write = stream.write

        def write_slowly(chunk: bytes) -> None:
            time.sleep(SLOW)
            write(chunk)

        stream.write = write_slowly
        return True

    monkeypatch.setattr(ConnectionProtocol, "send_paced", begin_slow)
    with Running(local(PACED, port=0).live) as running:
        clients = connect(running)
        for client in clients:
            client.sendall(post(STREAM))
        assert all(answer.endswith(b"\r\n0\r\n\r\n") for answer in read_all(clients))
        running.wait_for_rows()
        times = [[at for at, _ in row.sent] for row in running.live.journal]
    assert len(times) == CROWD
    all_begun = max(each[0] for each in times)
    assert sum(at < all_begun for each in times for at in each[1:]) < CROWD * WORDS / 10


def read_all(clients: Sequence[socket.socket]) -> list[bytes]:
    """Return what each client received until its answer ended or the connection did."""
    selector, received = selectors.DefaultSelector(), [b""] * len(clients)
    for number, client in enumerate(clients):
        selector.register(client, selectors.EVENT_READ, number)
    deadline = time.monotonic() + PATIENCE
    while selector.get_map() and time.monotonic() < deadline:
        for key, _ in selector.select(1):
            client = clients[key.data]
            data = client.recv(65536)
            received[key.data] += data
            if not data or received[key.data].endswith(b"\r\n0\r\n\r\n"):
                selector.unregister(client)
                client.close()
    return received
