"""A provider's WebSocket that answers as a test says, and a proxy on the way to it."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Thread
from typing import Any

from websockets.sync.server import ServerConnection, serve

from tests.kit.raw import PATIENCE

Answer = Callable[[ServerConnection, str], None]


@dataclass
class SocketUpstream:
    port: int
    handshakes: list[Any] = field(default_factory=list)  # the requests
    frames: list[str] = field(default_factory=list)  # that it got

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"


@contextmanager
def socket_upstream(answer: Answer) -> Iterator[SocketUpstream]:
    """A server of WebSockets, which does this for each message of a client."""

    def handle(connection: ServerConnection) -> None:
        upstream.handshakes.append(connection.request)
        for message in connection:
            upstream.frames.append(str(message))
            answer(connection, str(message))

    with serve(handle, "127.0.0.1", 0) as server:
        upstream = SocketUpstream(server.socket.getsockname()[1])
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield upstream
        finally:
            server.shutdown()
            thread.join(PATIENCE)


@contextmanager
def connect_proxy() -> Iterator[tuple[str, list[str]]]:
    """An HTTP proxy for tunnels: its URL, and the targets to which it has opened one."""
    targets = list[str]()
    listener = socket.create_server(("127.0.0.1", 0))

    def pump(source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        with suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    def accept() -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                Thread(target=tunnel, args=(client,), daemon=True).start()

    def tunnel(client: socket.socket) -> None:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += client.recv(1)
        method, target, _ = head.split(b" ", 2)
        if method != b"CONNECT":
            client.sendall(b"HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\n\r\n")
            client.close()
            return
        targets.append(target.decode())
        host, _, port = target.decode().rpartition(":")
        with client, socket.create_connection((host, int(port))) as server:
            client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            there = Thread(target=pump, args=(client, server), daemon=True)
            there.start()
            pump(server, client)
            there.join(PATIENCE)

    Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", targets
    finally:
        listener.close()
