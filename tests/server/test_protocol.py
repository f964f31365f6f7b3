"""The door over real sockets: what it lends the driver, how far it reads ahead, and how it sees that a client left."""

import asyncio
import socket
import threading
from typing import Any

import pytest

from mockserver.core.action import Action, Cut, Head, Write
from mockserver.delivery.drive import WIRE, Line, drive
from tests.kit.door import behind_the_door
from tests.kit.raw import GET, Raw, post

HEAD = Head(200, (("content-length", "10"),))


@pytest.mark.parametrize(
    ("actions", "error"),
    [([HEAD, Write(b"12345"), Cut("close")], None), ([HEAD, Write(b"12345"), Cut("reset")], ConnectionResetError)],
)
def test_an_answer_is_cut(actions: list[Action], error: type[Exception] | None) -> None:
    async def app(scope, receive, send) -> None:  # type: ignore[no-untyped-def]
        await drive(actions, Line(receive, send, scope["extensions"][WIRE]))

    with behind_the_door(app) as port, socket.create_connection(("127.0.0.1", port), timeout=5) as client:
        client.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        received, ended = b"", None
        try:
            while piece := client.recv(4096):
                received += piece
        except ConnectionResetError as reset:
            ended = type(reset)
    assert ended is error
    assert error is not None or received.endswith(b"\r\n\r\n12345")


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
@pytest.mark.parametrize("behind", [b"", GET * 3, GET * 5_000])
def test_who_leaves_is_seen_to_leave(size: int, behind: bytes) -> None:
    app = Waiting()
    with behind_the_door(app) as port, Raw(port) as line:
        line.send(post(b"x" * size) + behind)
        assert app.begun.wait(10)
        line.socket.close()
        assert app.left.wait(10)


def test_requests_are_read_only_so_far_ahead() -> None:
    with behind_the_door(Waiting()) as port, Raw(port) as line:
        line.socket.settimeout(1)
        with pytest.raises(TimeoutError):
            line.send(GET * 1_000_000)


def test_an_application_that_does_not_see_its_client_leave_is_stopped() -> None:
    begun, stopped = threading.Event(), threading.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        begun.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            stopped.set()
            raise

    with behind_the_door(app) as port, Raw(port) as line:
        line.send(GET)
        assert begun.wait(10)
        line.socket.close()
        assert stopped.wait(10)
