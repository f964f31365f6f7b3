"""A client that asks for responses over a WebSocket, frame by frame."""

import json
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from websockets.sync.client import ClientConnection, connect

from tests.kit.raw import PATIENCE, Raw

LAST = ("response.completed", "response.failed", "response.incomplete", "error")


def create(text: str, **more: Any) -> dict[str, Any]:
    """The event that asks a text; nothing is stored unless it says so."""
    return {"type": "response.create", "model": "gpt-4o", "input": text, "store": False, **more}


@dataclass(frozen=True)
class Socket:
    connection: ClientConnection

    def send(self, *events: Any) -> "Socket":
        """Send events, or texts and bytes as they are."""
        for event in events:
            self.connection.send(event if isinstance(event, str | bytes) else json.dumps(event))
        return self

    def receive(self) -> Any:
        """The next frame, parsed."""
        return json.loads(self.connection.recv(timeout=PATIENCE))

    def answer(self) -> list[Any]:
        """The next frames, up to the last one of an answer."""
        frames = [self.receive()]
        while frames[-1]["type"] not in LAST:
            frames.append(self.receive())
        return frames

    def ask(self, text: str, **more: Any) -> list[Any]:
        return self.send(create(text, **more)).answer()


@contextmanager
def socket(url: str, path: str = "/v1/responses", key: str = "sk-test", **options: Any) -> Iterator[Socket]:
    """A connection to a server at `http://…`."""
    headers = {"Authorization": f"Bearer {key}", **options.pop("headers", {})}
    with connect(f"ws{url.removeprefix('http')}{path}", additional_headers=headers, **options) as connection:
        yield Socket(connection)


def join_deltas_of(frames: list[Any]) -> str:
    """The text that an answer's deltas add up to."""
    return "".join(frame["delta"] for frame in frames if frame["type"] == "response.output_text.delta")


TEXT, BINARY, CONTINUATION, CLOSE, PING, PONG = 1, 2, 0, 8, 9, 10  # opcodes (RFC 6455, 5.2)
HANDSHAKE = (
    "host: localhost",
    "connection: Upgrade",
    "upgrade: websocket",
    "sec-websocket-version: 13",
    "sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==",
)


def handshake(*more: str, path: str = "/v1/responses", without: str = "-") -> bytes:
    """The bytes of a handshake, without the headers whose name begins so."""
    kept = [line for line in HANDSHAKE if not line.startswith(without)]
    return "\r\n".join((f"GET {path} HTTP/1.1", *kept, *more, "", "")).encode()


def write_frame(opcode: int, data: bytes | str, *, fin: bool = True, reserved: int = 0, masked: bool = True) -> bytes:
    """The bytes of a client's frame; its mask is 0, which leaves the data as they are."""
    data = data.encode() if isinstance(data, str) else data
    size = len(data)
    length = b"\x7f" + struct.pack("!Q", size)
    if size < 65_536:
        length = bytes([size]) if size < 126 else b"\x7e" + struct.pack("!H", size)
    head = bytes([fin << 7 | reserved | opcode, length[0] | masked << 7]) + length[1:]
    return head + (bytes(4) if masked else b"") + data


@dataclass
class RawSocket:
    """A client of a WebSocket that sends any bytes, and does nothing by itself."""

    line: Raw
    held: bytes = b""

    def send(self, *pieces: bytes) -> "RawSocket":
        self.line.send(*pieces)
        return self

    def receive(self) -> tuple[int, bytes]:
        """The next frame: its opcode and its data. Raises EOFError at the end of the connection."""
        while (ends := _find_ends(self.held)) is None or ends[1] > len(self.held):
            if not (piece := self.line.socket.recv(65536)):
                raise EOFError
            self.held += piece
        frame, self.held = self.held[: ends[1]], self.held[ends[1] :]
        assert frame[0] & 0x80, "the server splits no message"
        return frame[0] & 0x0F, frame[ends[0] :]

    def receive_text(self) -> bytes:
        """The next message; pings before it are answered."""
        while (frame := self.receive())[0] != TEXT:
            assert frame[0] in (PING, PONG), frame
            if frame[0] == PING:
                self.send(write_frame(PONG, frame[1]))
        return frame[1]

    def answer_pings(self) -> None:
        """Answer the pings that have come by now, and keep what else has."""
        self.line.socket.setblocking(False)
        with suppress(BlockingIOError):
            while piece := self.line.socket.recv(65536):
                self.held += piece
        self.line.socket.settimeout(PATIENCE)
        kept, rest = b"", self.held
        while (ends := _find_ends(rest)) is not None and ends[1] <= len(rest):
            frame, rest = rest[: ends[1]], rest[ends[1] :]
            if frame[0] & 0x0F == PING:
                self.send(write_frame(PONG, frame[ends[0] :]))
            else:
                kept += frame
        self.held = kept + rest

    def receive_close(self) -> int:
        """The code of the close frame, which comes next, before the connection ends."""
        opcode, data = self.receive()
        assert opcode == CLOSE, data
        with suppress(EOFError):
            raise AssertionError(self.receive())
        return int.from_bytes(data[:2], "big")


def _find_ends(data: bytes) -> tuple[int, int] | None:
    """Where the head of the first frame ends, and where all of it; None if more of its head is to come."""
    if len(data) < 2:
        return None
    head = 2 + {126: 2, 127: 8}.get(data[1], 0)
    if len(data) < head:
        return None
    return head, head + (data[1] if head == 2 else int.from_bytes(data[2:head], "big"))


@contextmanager
def raw_socket(url: str, *more: str, early: bytes = b"", receive_buffer: int = 0) -> Iterator[RawSocket]:
    """An open WebSocket; `more` headers of its handshake, and `early` bytes that follow that at once."""
    with Raw(int(url.rpartition(":")[2]), receive_buffer=receive_buffer) as line:
        line.send(handshake(*more) + early)
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += line.socket.recv(1)
        assert head.startswith(b"HTTP/1.1 101 "), head
        yield RawSocket(line)
