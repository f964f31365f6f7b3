"""A connection that is used again and again: every request must get one complete HTTP answer."""

from collections.abc import Sequence
from dataclasses import dataclass

from tests.kit.raw import Raw, RawResponse

PATIENCE = 60.0  # seconds until a server that says nothing counts as hanging; what takes longest here takes one or two


@dataclass(frozen=True)
class Request:
    """A request; it is sent with a host, and with a length where it has a body."""

    method: str
    target: bytes
    headers: Sequence[tuple[bytes, bytes]] = ()
    body: bytes | None = None

    @property
    def sent(self) -> bytes:
        lines = [self.method.encode() + b" " + self.target + b" HTTP/1.1", b"host: 127.0.0.1"]
        lines += [name + b": " + value for name, value in self.headers]
        if self.body is not None:
            lines.append(b"content-length: %d" % len(self.body))
        return b"\r\n".join(lines) + b"\r\n\r\n" + (self.body or b"")


@dataclass
class Connection:
    """One connection to a server; a new one only after the server has said that this is the last answer on it."""

    port: int
    _raw: Raw | None = None

    def ask(self, request: Request) -> RawResponse:
        """Send a request and read its answer to the end. Raises AssertionError unless it is whole and well-formed."""
        if self._raw is None:
            self._raw = Raw(self.port)
            self._raw.socket.settimeout(PATIENCE)
        answer = self._raw.send(request.sent).receive(to=request.method)
        assert 100 <= answer.status < 600
        if request.method != "HEAD" and answer.status not in (204, 304):
            framed = {"content-length", "transfer-encoding"} & answer.headers.keys()
            assert len(framed) == 1, f"nobody knows where this ends: {answer.headers}"
        assert self._raw.is_empty(), "bytes after the end of an answer"
        if answer.headers.get("connection", "").lower() == "close":
            self.close()
        return answer

    def close(self) -> None:
        if self._raw is not None:
            self._raw.socket.close()
            self._raw = None
