"""How true a server is to the schedule of its streams: many at once, each frame against the moment it was due.

The load is one process with raw sockets that does nothing but read and look at the clock.
"""

import gc
import selectors
import socket
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from load import free_port, server

FIRST, EACH = 0.020, 0.005  # seconds
STREAMS, TOKENS = 200, 300
APART = 0.0071  # seconds between the starts of two streams: users do not come in step
_CONTENT = b'"delta":{"content"'
_RULES = """version: 1
rules:
  - then: {{text: "{text}", timing: {{first_token: {first}ms, per_token: {each}ms}}}}
"""


@dataclass
class Stream:
    """One stream as its client sees it: when it was asked for, and when each token came."""

    asked: float
    came: list[float] = field(default_factory=list)
    tail: bytes = b""
    ended: bool = False

    def takes(self, data: bytes, now: float) -> None:
        """Note how many tokens have come; what may be half a frame is looked at again."""
        data = self.tail + data
        end = data.rfind(b"\n\n") + 2 if b"\n\n" in data else 0
        self.came += [now] * data.count(_CONTENT, 0, end)
        self.ended = self.ended or data.endswith(b"0\r\n\r\n")
        self.tail = data[end:]

    def deviations(self) -> list[float]:
        """By how many seconds each token was late."""
        return [at - self.asked - FIRST - number * EACH for number, at in enumerate(self.came)]


def rules(first: float, each: float, text: str) -> Path:
    """A file whose one rule streams this text at this pace (in seconds)."""
    path = Path(tempfile.mkdtemp()) / "rules.yaml"
    path.write_text(_RULES.format(text=text, first=first * 1000, each=each * 1000))
    return path


def timing(request: Callable[..., bytes]) -> Mapping[str, float]:
    """Streams of 20 ms to the first token and 5 ms a token; milliseconds by which tokens were late."""
    port = free_port()
    file = rules(FIRST, EACH, "a" + " a" * (TOKENS - 1))
    with server("-m", "mockserver", "serve", str(file), "--port", str(port), "--no-reload", port=port):
        read(port, [request("go", stream=True)] * 10)  # warm up
        streams = read(port, [request("go", stream=True)] * STREAMS)
    late = sorted(deviation for stream in streams for deviation in stream.deviations())
    if len(late) != STREAMS * TOKENS:
        raise RuntimeError(f"{len(late)} tokens came, not {STREAMS * TOKENS}")
    return {
        "streams: ms late, earliest": late[0] * 1000,
        "streams: ms late, median": late[len(late) // 2] * 1000,
        "streams: ms late, 99th percentile": late[len(late) * 99 // 100] * 1000,
        "streams: ms of drift from first to last tenth": _drift(streams) * 1000,
    }


def _drift(streams: Sequence[Stream]) -> float:
    """How much later the last tokens of streams are than their first ones, in the middle."""
    tenth = TOKENS // 10
    first = sorted(at for stream in streams for at in stream.deviations()[:tenth])
    last = sorted(at for stream in streams for at in stream.deviations()[-tenth:])
    return last[len(last) // 2] - first[len(first) // 2]


def read(port: int, requests: Sequence[bytes]) -> list[Stream]:
    """Ask on a connection for each request, one shortly after the other, and read all to the end."""
    selector, streams = selectors.DefaultSelector(), list[Stream]()
    sockets = [socket.create_connection(("127.0.0.1", port)) for _ in requests]
    began = time.perf_counter()
    gc.disable()
    try:
        while len(streams) < len(requests) or selector.get_map():
            while len(streams) < len(requests) and time.perf_counter() >= began + len(streams) * APART:
                at = len(streams)
                streams.append(Stream(time.perf_counter()))
                sockets[at].sendall(requests[at])
                selector.register(sockets[at], selectors.EVENT_READ, streams[at])
            starting = len(streams) < len(requests)
            for key, _ in selector.select(0.001 if starting else 10):
                data = key.fileobj.recv(1 << 16)  # type: ignore[union-attr]
                key.data.takes(data, time.perf_counter())
                if not data:
                    raise RuntimeError("the server has closed a stream")
                if key.data.ended:
                    selector.unregister(key.fileobj)
    finally:
        gc.enable()
        for each in sockets:
            each.close()
    return streams
