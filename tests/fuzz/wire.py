"""A connection that is used again and again, read by the letter: every request must get one complete HTTP answer."""

import re
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

PATIENCE = 60.0  # seconds until a server that says nothing counts as hanging; what takes longest here takes one or two
Headers = Sequence[tuple[bytes, bytes]]

_STATUS = re.compile(rb"HTTP/1\.1 ([1-5][0-9]{2}) [ -~]*")
_FIELD = re.compile(rb"([!#-'*+.0-9A-Z^-z|~-]+): ?([\t -~\x80-\xff]*)")
_CHUNK = re.compile(rb"([0-9a-fA-F]+)(?:;[^\r\n]*)?")


@dataclass(frozen=True)
class Answer:
    """What came back, as it came."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def header(self, name: str) -> str:
        """The one value of a header; empty where there is none."""
        values = [value for key, value in self.headers if key == name]
        assert len(values) < 2, f"{name} stands there twice: {self.headers}"
        return values[0] if values else ""


@dataclass(frozen=True)
class Request:
    """What is asked; it goes out with a host, and with a length where it has a body."""

    method: str
    target: bytes
    headers: Headers = ()
    body: bytes | None = None

    @property
    def sent(self) -> bytes:
        """Its bytes."""
        lines = [self.method.encode() + b" " + self.target + b" HTTP/1.1", b"host: 127.0.0.1"]
        lines += [name + b": " + value for name, value in self.headers]
        if self.body is not None:
            lines.append(b"content-length: %d" % len(self.body))
        return b"\r\n".join(lines) + b"\r\n\r\n" + (self.body or b"")


@dataclass
class Connection:
    """One connection to a server; a new one only after the server has said that this is the last answer on it."""

    address: str
    _socket: socket.socket | None = None
    _buffer: bytearray = field(default_factory=bytearray)
    opened: int = 0

    def ask(self, request: Request) -> Answer:
        """Send a request and read its answer to the end. Raises AssertionError unless it is whole and well-formed."""
        self.send(request.sent)
        return self.answer(request.method)

    def send(self, data: bytes) -> None:
        """Put bytes on the connection, opening it where need be."""
        if self._socket is None:
            url = urlsplit(self.address)
            self._socket = socket.create_connection((url.hostname, url.port), timeout=PATIENCE)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.opened += 1
        self._socket.sendall(data)

    def answer(self, method: str = "GET") -> Answer:
        """Read one answer to a request of this method."""
        status, headers = self._head()
        found = Answer(status, headers, b"")
        if method == "HEAD" or status in (204, 304):
            body = b""
        elif found.header("transfer-encoding"):
            assert found.header("transfer-encoding") == "chunked"
            assert not found.header("content-length"), "two lengths"
            body = b"".join(iter(self._chunk, b""))
        else:
            assert found.header("content-length").isdecimal(), f"nobody knows where this ends: {headers}"
            body = self._exactly(int(found.header("content-length")))
        assert not self._buffer, f"bytes after the end of an answer: {bytes(self._buffer[:200])!r}"
        if found.header("connection").lower() == "close":
            self.close()
        return Answer(status, headers, body)

    def close(self) -> None:
        """Leave."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
            self._buffer.clear()

    def _head(self) -> tuple[int, tuple[tuple[str, str], ...]]:
        first, *lines = self._until(b"\r\n\r\n").split(b"\r\n")
        status = _STATUS.fullmatch(first)
        assert status, f"no status line: {first!r}"
        fields = [_FIELD.fullmatch(line) for line in lines]
        assert all(fields), f"no headers: {lines}"
        named = tuple((field[1].decode().lower(), field[2].decode("latin-1")) for field in fields if field)
        return int(status[1]), named

    def _chunk(self) -> bytes:
        size = _CHUNK.fullmatch(self._until(b"\r\n"))
        assert size, "no chunk"
        data = self._exactly(int(size[1], 16))
        assert self._exactly(2) == b"\r\n"
        return data

    def _until(self, end: bytes) -> bytes:
        while (at := self._buffer.find(end)) < 0:
            self._more()
        found = bytes(self._buffer[:at])
        del self._buffer[: at + len(end)]
        return found

    def _exactly(self, length: int) -> bytes:
        while len(self._buffer) < length:
            self._more()
        found = bytes(self._buffer[:length])
        del self._buffer[:length]
        return found

    def _more(self) -> None:
        assert self._socket
        piece = self._socket.recv(1 << 18)
        assert piece, f"the connection was dropped within an answer, after {bytes(self._buffer[:300])!r}"
        self._buffer += piece
