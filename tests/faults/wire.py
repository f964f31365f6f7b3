"""A client that is nothing but a socket: what it was sent, to the byte, and how the connection ended."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

PATIENCE = 20.0  # seconds for what must come
SOON = 0.3  # for what must not


@dataclass
class RawResponse:
    """A response: its head, the pieces of its body as the framing has them, and how it ended."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    pieces: list[bytes] = field(default_factory=list)
    ended: str = ""  # whole | FIN | RST | waiting
    rest: bytes = b""  # what came behind the message

    @property
    def body(self) -> bytes:
        """The bytes of the body that came."""
        return b"".join(self.pieces)


class Socket:
    """A connection that is kept as long as it can be."""

    def __init__(self, address: str) -> None:
        host, port = address.removeprefix("http://").split(":")
        self._socket = socket.create_connection((host, int(port)), timeout=PATIENCE)
        self._buffer = b""

    def ask(self, path: str, body: Any, case: str = "", patience: float = PATIENCE) -> RawResponse:
        """Ask by POST, and hear what can be received."""
        return self.request("POST", path, body, case, patience)

    def request(
        self, method: str, path: str, body: Any = None, case: str = "", patience: float = PATIENCE
    ) -> RawResponse:
        """The same by any method; None is no body."""
        data = b"" if body is None else json.dumps(body).encode()
        lines = (
            f"{method} {path} HTTP/1.1",
            "host: x",
            f"content-length: {len(data)}",
            *([f"x-case: {case}"] if case else []),
        )
        self._socket.sendall("\r\n".join((*lines, "", "")).encode() + data)
        self._socket.settimeout(patience)
        received = RawResponse()
        try:
            self._hear(received, bodiless=method == "HEAD")
            received.ended = "whole"
            self._socket.settimeout(0.02)
            self._buffer += self._socket.recv(1 << 16)
        except ConnectionResetError:
            received.ended = "RST"
        except EOFError:
            received.ended = "FIN"
        except TimeoutError:
            received.ended = received.ended or "waiting"
        received.rest = self._buffer
        return received

    def _hear(self, received: RawResponse, *, bodiless: bool) -> None:
        status, *fields = self._until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        received.status = int(status.split()[1])
        received.headers = {name: value for name, _, value in (line.partition(": ") for line in fields)}
        if bodiless or received.status in (204, 304):
            return
        if "content-length" in received.headers:
            self._exactly(int(received.headers["content-length"]), received)
            return
        while size := int(self._until(b"\r\n"), 16):
            self._exactly(size, received)
            self._until(b"\r\n")
        self._until(b"\r\n")

    def _exactly(self, size: int, received: RawResponse) -> None:
        received.pieces.append(b"")
        while size:
            if not self._buffer:
                self._more()
            piece, self._buffer = self._buffer[:size], self._buffer[size:]
            received.pieces[-1] += piece
            size -= len(piece)

    def _until(self, end: bytes) -> bytes:
        while end not in self._buffer:
            self._more()
        found, _, self._buffer = self._buffer.partition(end)
        return found

    def _more(self) -> None:
        piece = self._socket.recv(1 << 16)
        if not piece:
            raise EOFError
        self._buffer += piece

    def close(self) -> None:
        """Leave."""
        self._socket.close()


@contextmanager
def connected(address: str) -> Iterator[Socket]:
    """A connection of one's own."""
    opened = Socket(address)
    try:
        yield opened
    finally:
        opened.close()
