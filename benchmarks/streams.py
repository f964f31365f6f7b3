"""Streams as their clients see them, many at once: when each token came, and how late that was.

The load is one process with raw sockets that does nothing but read and look at the clock.
"""

import gc
import resource
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
CONTENT = b'"delta":{"content"'
PATIENCE = 120  # seconds for all streams that are read at once
SPARE = 200  # files that a process has open besides
_RULES = """version: 1
rules:
  - then: {{text: "{text}", timing: {{first_token: {first}ms, per_token: {each}ms}}}}
"""


@dataclass(eq=False)
class Stream:
    """One stream: its connection, when it was asked for, when each token came, and whether it ended as it should."""

    sock: socket.socket
    asked: float = 0.0
    came: list[float] = field(default_factory=list)
    tail: bytes = b""
    whole: bool = False

    def ask(self, request: bytes) -> None:
        self.asked = time.perf_counter()
        self.sock.send(request)

    def take(self) -> bool:
        """Note the tokens that have come; what may be half a frame is looked at again. False at the end."""
        data = self.sock.recv(1 << 16)
        now, read = time.perf_counter(), self.tail + data
        end = read.rfind(b"\n\n") + 2 if b"\n\n" in read else 0
        self.came += [now] * read.count(CONTENT, 0, end)
        self.whole = read.endswith(b"0\r\n\r\n")
        self.tail = read[end:]
        return bool(data) and not self.whole

    def late(self, first: float, each: float) -> list[float]:
        """By how many seconds each token was late, at this pace in seconds."""
        return [at - self.asked - first - number * each for number, at in enumerate(self.came)]


def read(port: int, requests: Sequence[bytes], *, apart: float = 0.0, connected: bool = True) -> list[Stream]:
    """Ask for each, over connections that are there already or are made now, and read all to their ends.

    A stream that breaks off, or is not there in time, is not `whole`.
    """
    selector, streams = selectors.DefaultSelector(), [Stream(socket.socket()) for _ in requests]
    for stream in streams:
        if connected:
            stream.sock.connect(("127.0.0.1", port))
        stream.sock.setblocking(False)
    time.sleep(0.05 if connected else 0)  # until the server has accepted them
    begun, began = 0, time.perf_counter()
    gc.disable()
    try:
        while (begun < len(streams) or selector.get_map()) and time.perf_counter() < began + PATIENCE:
            while begun < len(streams) and time.perf_counter() >= began + begun * apart:
                sock = streams[begun].sock
                sock.connect_ex(("127.0.0.1", port))
                selector.register(sock, selectors.EVENT_WRITE, (streams[begun], requests[begun]))
                begun += 1
            for key, awaited in selector.select(0.001 if begun < len(streams) else 1):
                _step(selector, key, awaited)
    finally:
        gc.enable()
        for stream in streams:
            stream.sock.close()
    return streams


def _step(selector: selectors.BaseSelector, key: selectors.SelectorKey, awaited: int) -> None:
    stream, request = key.data
    try:
        if awaited == selectors.EVENT_WRITE:
            stream.ask(request)
            selector.modify(key.fileobj, selectors.EVENT_READ, key.data)
        elif not stream.take():
            selector.unregister(key.fileobj)
    except OSError:
        selector.unregister(key.fileobj)


def rules(first: float, each: float, text: str) -> Path:
    """A file whose one rule streams this text at this pace (in seconds)."""
    path = Path(tempfile.mkdtemp()) / "rules.yaml"
    path.write_text(_RULES.format(text=text, first=first * 1000, each=each * 1000))
    return path


def allow(files: int) -> None:
    """Let this process, and the server that it starts, have so many files open."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < files:
        raise SystemExit(f"this needs {files} open files, and {most} are allowed: ulimit -Hn")
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, most))


def unchunked(body: bytes) -> bytes:
    """A chunked body without its framing."""
    pieces = list[bytes]()
    while body:
        size, _, rest = body.partition(b"\r\n")
        length = int(size, 16)
        if rest[length : length + 2] != b"\r\n":
            raise ValueError("a chunk does not end where it should")
        pieces.append(rest[:length])
        body = rest[length + 2 :]
    return b"".join(pieces)


def timing(request: Callable[..., bytes]) -> Mapping[str, float]:
    """Streams of 20 ms to the first token and 5 ms a token; milliseconds by which tokens were late."""
    port = free_port()
    file = rules(FIRST, EACH, "a" + " a" * (TOKENS - 1))
    with server("-m", "mockserver", "serve", str(file), "--port", str(port), "--no-reload", port=port):
        read(port, [request("go", stream=True)] * 10)  # warm up
        streams = read(port, [request("go", stream=True)] * STREAMS, apart=APART)
    late = sorted(each for stream in streams for each in stream.late(FIRST, EACH))
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
    late = [stream.late(FIRST, EACH) for stream in streams]
    first = sorted(each for one in late for each in one[:tenth])
    last = sorted(each for one in late for each in one[-tenth:])
    return last[len(last) // 2] - first[len(first) // 2]
