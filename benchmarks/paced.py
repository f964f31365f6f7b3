"""Paced streams opened at once: their cost and lateness beside those of a bare timer wheel that writes the same bytes.

The load is one process with raw sockets that does nothing but read and look at the clock.
"""

import json
import os
import resource
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from load import cpu_seconds, free_port, post, server
from streams import CONTENT, Stream, read, rules, unchunked

FIRST, EACH, CHUNKS = 20, 5, 50  # milliseconds, milliseconds, frames with content
ROUNDS = 5


@dataclass(frozen=True)
class Found:
    """Seconds of CPU for each stream; sorted milliseconds of lateness, and until each first frame; streams cut off."""

    cpu: float
    late: list[float]
    first: list[float]
    cut: int

    def at(self, share: float) -> float:
        """The lateness of this share of the frames or less."""
        return self.late[int(len(self.late) * share)] if self.late else float("nan")


def run(pid: int, open_all: Callable[[Sequence[bytes]], list[Stream]], requests: Sequence[bytes], rounds: int) -> Found:
    """Open these streams at once, several times."""
    open_all(requests[:10])
    before, streams = cpu_seconds(pid), list[Stream]()
    for _ in range(rounds):
        streams += open_all(requests)
    cpu = (cpu_seconds(pid) - before) / len(streams)
    late = sorted(1000 * each for stream in streams for each in stream.late(FIRST / 1000, EACH / 1000))
    first = sorted(1000 * (stream.came[0] - stream.asked) for stream in streams if stream.came)
    return Found(cpu, late, first, sum(not stream.whole or len(stream.came) != CHUNKS for stream in streams))


def request(text: str) -> bytes:
    """A chat that wants a stream."""
    messages = [{"role": "user", "content": text}]
    body = {"model": "gpt-4o", "messages": messages, "stream": True}
    return post("/v1/chat/completions", json.dumps(body).encode())


def pieces(port: int, path: Path) -> None:
    """Write to this file what the server on this port writes for a stream: its head, then each frame in a chunk."""
    with socket.create_connection(("127.0.0.1", port)) as sock:
        sock.sendall(request("go"))
        data = b""
        while not data.endswith(b"0\r\n\r\n"):
            data += sock.recv(1 << 16)
    head, _, body = data.partition(b"\r\n\r\n")
    frames, content = [frame + b"\n\n" for frame in unchunked(body).split(b"\n\n")[:-1]], list[bytes]()
    for frame in frames:
        if CONTENT in frame and (content and CONTENT in content[-1]):
            content.append(frame)
        elif content:
            content[-1] += frame
        else:
            content.append(frame)
    chunks = [b"%x\r\n%b\r\n" % (len(each), each) for each in content]
    chunks[-1] += b"0\r\n\r\n"
    path.write_text(json.dumps([each.decode("latin-1") for each in (head + b"\r\n\r\n", *chunks)]))


def paced(count: int = 200, rounds: int = ROUNDS, *, connected: bool = True) -> Mapping[str, float]:
    """So many streams at once from mockserver, equal and distinct, and from the wheel."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    file = rules(FIRST / 1000, EACH / 1000, "a" + " a" * (CHUNKS - 1))
    found: dict[str, Found] = {}
    port, kept = free_port(), file.with_name("pieces.json")
    with server("-m", "mockserver", "serve", str(file), "--port", str(port), "--no-reload", port=port) as pid:
        pieces(port, kept)
        found["equal"] = run(pid, partial(read, port, connected=connected), [request("go")] * count, rounds)
        distinct = [request(f"go {n}") for n in range(count)]
        found["distinct"] = run(pid, partial(read, port, connected=connected), distinct, rounds)
    port, env = free_port(), {"PIECES": str(kept), "FIRST": str(FIRST), "EACH": str(EACH)}
    with server(str(Path(__file__).parent / "servers.py"), "wheel", str(port), port=port, env=env) as pid:
        found["wheel"] = run(pid, partial(read, port, connected=connected), [request("go")] * count, rounds)
    lines = dict[str, float]()
    for name, each in found.items():
        if name != "wheel":
            lines[f"{count} {name} paced streams, CPU / wheel"] = each.cpu / found["wheel"].cpu
        lines[f"{count} {name}: us of CPU a stream"] = each.cpu * 1e6
        lines[f"{count} {name}: ms late, earliest"] = each.late[0]
        lines[f"{count} {name}: ms late, median"] = each.at(0.5)
        lines[f"{count} {name}: ms late, 99th percentile"] = each.at(0.99)
        lines[f"{count} {name}: ms to the first frame, median"] = each.first[len(each.first) // 2]
        lines[f"{count} {name}: streams cut off"] = each.cut
    return lines


if __name__ == "__main__":
    count, rounds = int(sys.argv[1]), int(sys.argv[2])
    for what, value in paced(count, rounds, connected=not os.environ.get("FRESH")).items():
        print(f"{what:<60} {value:10.2f}")
