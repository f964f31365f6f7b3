"""Exact bytes over a real socket, and the answers that come back, taken apart by the book."""

import json
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any

_STATUS = re.compile(r"HTTP/1\.1 [0-9]{3} [ -~]*")
_FIELD = re.compile(r"[!#-'*+.0-9A-Z^-z|~-]+: ?[\t -~\x80-\xff]*")
PATIENCE = 60  # seconds for what takes far less than one on an idle machine


@dataclass(frozen=True)
class RawResponse:
    """An answer: status, headers by name in lower case, body without its framing."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    framed: bytes = b""  # the body as it came

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Raw:
    """A connection. With a small receive buffer and small segments, the system takes little of what is sent to it."""

    def __init__(self, port: int, *, receive_buffer: int = 0, segment: int = 0) -> None:
        self.socket = socket.socket()
        if segment:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, segment)
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(("127.0.0.1", port))
        self._held = b""

    def __enter__(self) -> "Raw":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.socket.close()

    def send(self, *pieces: bytes) -> "Raw":
        """Send these bytes, each piece in a packet of its own as far as the system lets it."""
        for piece in pieces:
            self.socket.sendall(piece)
        return self

    def receive(self, *, to: str = "GET") -> RawResponse:
        head, _, self._held = self._until(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        assert _STATUS.fullmatch(first), f"no status line: {first!r}"
        assert all(map(_FIELD.fullmatch, lines)), f"no headers: {lines}"
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        assert len(headers) == len(lines), f"a header twice: {lines}"
        status = int(first.split()[1])
        if to == "HEAD" or status in (204, 304) or status < 200:
            return RawResponse(status, headers, b"")
        if headers.get("transfer-encoding") == "chunked":
            return RawResponse(status, headers, *self._chunks())
        if "content-length" in headers:
            body = self._exactly(int(headers["content-length"]))
            return RawResponse(status, headers, body, body)
        body = self.rest()
        return RawResponse(status, headers, body, body)

    def rest(self) -> bytes:
        received, self._held = self._held, b""
        while piece := self.socket.recv(65536):
            received += piece
        return received

    def is_empty(self) -> bool:
        return not self._held

    def is_open(self) -> bool:
        return self.send(b"GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n").receive().status == 200

    def _chunks(self) -> tuple[bytes, bytes]:
        body = framed = b""
        while True:
            size, _, self._held = self._until(b"\r\n")
            piece = self._exactly(int(size, 16) + 2)
            assert piece.endswith(b"\r\n")
            framed += size + b"\r\n" + piece
            body += piece[:-2]
            if not int(size, 16):
                return body, framed

    def _until(self, mark: bytes) -> tuple[bytes, bytes, bytes]:
        while mark not in self._held:
            piece = self.socket.recv(65536)
            assert piece, f"the connection ended after {self._held[:200]!r}"
            self._held += piece
        return self._held.partition(mark)

    def _exactly(self, size: int) -> bytes:
        while len(self._held) < size:
            piece = self.socket.recv(65536)
            assert piece, f"the connection ended after {len(self._held)} of {size} bytes"
            self._held += piece
        found, self._held = self._held[:size], self._held[size:]
        return found


def post(body: bytes, *headers: str, path: str = "/v1/chat/completions", version: str = "1.1") -> bytes:
    """The bytes of a POST; a length unless the headers say how the body is framed."""
    framed = any(line.lower().startswith(("content-length", "transfer-encoding")) for line in headers)
    lines = ["host: x", "content-type: application/json", *headers]
    lines += [] if framed else [f"content-length: {len(body)}"]
    return f"POST {path} HTTP/{version}\r\n{''.join(line + chr(13) + chr(10) for line in lines)}\r\n".encode() + body


def write_chunked(*pieces: bytes) -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


HI = b'{"model":"m","messages":[{"role":"user","content":"Hello"}]}'
STREAM = b'{"model":"m","stream":true,"messages":[{"role":"user","content":"Hello"}]}'
GET = b"GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n"
