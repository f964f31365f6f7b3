"""Thousands of open, slow streams: `python benchmarks/open_streams.py [STREAMS [WORKERS]]`.

The server must lose none, and afterwards have as many files open as before and no more memory after the second round
than after the first. The load runs on the same processors, so with one of them busy the lateness is partly its own.
"""

import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread

from load import cpu_seconds, free_port, post, server
from streams import SPARE, Stream, allow, read

STREAMS = 10_000
FIRST, EACH, TOKENS = 4.0, 0.4, 10  # seconds until the first token, as all are to be open at once; seconds a token
APART = 0.0003  # seconds between the starts of two streams
_RULES = f"""version: 1
rules:
  - when: {{last_user: "warm *"}}
    then: {{text: warm}}
  - then: {{text: "a{" a" * (TOKENS - 1)}", timing: {{first_token: {FIRST}s, per_token: {EACH}s}}}}
"""


@dataclass
class Watch:
    """A server with its workers: what they have open and hold, now and at most while somebody watches."""

    pid: int
    files: int = 0
    memory: int = 0
    _over: Event = field(default_factory=Event)

    def __enter__(self) -> "Watch":
        self._thread = Thread(target=self._look)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(0.5):
            self.files, self.memory = max(self.files, self.open_files()), max(self.memory, self.held())

    def processes(self, pid: int | None = None) -> Iterator[int]:
        """The process and those that it has started."""
        yield (pid := pid or self.pid)
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            yield from self.processes(int(child))

    def open_files(self) -> int:
        return sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in self.processes())

    def held(self) -> int:
        """KB of memory that is not shared with others."""
        status = [Path(f"/proc/{pid}/status").read_text() for pid in self.processes()]
        return sum(int(text.split("RssAnon:")[1].split()[0]) for text in status)

    def cpu(self) -> float:
        return sum(cpu_seconds(pid) for pid in self.processes())

    def settled(self, files: int) -> int:
        """The memory that it holds once it has let go of its connections."""
        deadline = time.monotonic() + 10
        while self.open_files() > files and time.monotonic() < deadline:
            time.sleep(0.1)
        return self.held()


def open_streams(streams: int = STREAMS, workers: int = 1) -> Mapping[str, float]:
    """Two rounds of so many streams at once: what was lost, how late tokens were, what the server needs for them."""
    allow(streams + SPARE)
    path, port = Path(tempfile.mkdtemp()) / "rules.yaml", free_port()
    path.write_text(_RULES)
    command = ["-m", "mockserver", "serve", str(path), "--port", str(port), "--no-reload", "--journal-calls", "100"]
    command += ["--workers", str(workers)] if workers > 1 else []
    with server(*command, port=port, pinned=workers == 1) as pid:
        read(port, [_request(f"warm {number}") for number in range(500)])
        time.sleep(0.5)  # until it has closed those connections
        now = Watch(pid)
        files, memory, cpu = now.open_files(), now.held(), now.cpu()
        with Watch(pid) as most:
            read_ones = _round(port, streams)
        cpu = now.cpu() - cpu
        first = now.settled(files)
        read_ones += _round(port, streams)
        second = now.settled(files)
        late = sorted(1000 * each for stream in read_ones for each in stream.late(FIRST, EACH))
        return {
            "lost": sum(not one.whole or len(one.came) != TOKENS for one in read_ones),
            "ms late, median": late[len(late) // 2],
            "ms late, 99th percentile": late[len(late) * 99 // 100],
            "us of CPU a stream": 1e6 * cpu / streams,
            "KB of memory a stream": (most.memory - memory) / streams,
            "files open at most": most.files,
            "files left open": now.open_files() - files,
            "MB more after the second round": (second - first) / 1024,
        }


def _round(port: int, streams: int) -> list[Stream]:
    requests: Sequence[bytes] = [_request(f"stream {number}") for number in range(streams)]
    return read(port, requests, apart=APART, connected=False)


def _request(text: str) -> bytes:
    messages = [{"role": "user", "content": text}]
    return post("/v1/chat/completions", json.dumps({"model": "m", "messages": messages, "stream": True}).encode())


if __name__ == "__main__":
    for what, value in open_streams(*map(int, sys.argv[1:])).items():
        print(f"{what:<40} {value:10.2f}")
