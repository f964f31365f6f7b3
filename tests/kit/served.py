"""A server in a process of its own, as a user starts it: rules as text, a free port, and the log that it writes."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from tempfile import TemporaryDirectory
from threading import Thread
from typing import IO, Any

from mockserver.dialects import discover_all

ROOT = Path(__file__).parents[2]
PATIENCE = 60  # seconds for what takes far less than one on an idle machine


class Lines(Thread):
    """The lines of a pipe, read as they come, so that the process never waits for us."""

    def __init__(self, pipe: IO[str]) -> None:
        super().__init__(daemon=True)
        self._pipe = pipe
        self._lines: SimpleQueue[str | None] = SimpleQueue()
        self.start()

    def run(self) -> None:
        with self._pipe:
            for line in self._pipe:
                self._lines.put(line)
        self._lines.put(None)

    def next(self) -> str | None:
        try:
            return self._lines.get(timeout=PATIENCE)
        except Empty:
            raise AssertionError(f"the server said nothing for {PATIENCE} s") from None


@dataclass(frozen=True)
class Served:
    address: str  # http://127.0.0.1:port
    pid: int
    log: Lines  # what it writes, a line for each request
    said: Lines  # what it says beside: where it listens, and what goes wrong
    _exchanges: dict[int, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def open_files(self) -> int:
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def memory(self, what: str) -> int:
        """Bytes that are resident: `VmRSS` now, `VmHWM` at most."""
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith(what)).split()[1]) * 1024

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    def base(self, dialect: str, namespace: str | None = None) -> str:
        """What a client of this dialect takes as its base URL; a namespace of one's own keeps counters apart."""
        front = f"/ns/{namespace}" if namespace else ""
        return self.address + front + discover_all()[dialect].mounts[0]

    def says(self, part: str) -> str:
        """The next line with this in it of what it says beside the log of requests."""
        while (line := self.said.next()) is not None:
            if part in line:
                return line
        raise AssertionError(f"the server ended and never said {part!r}")

    def logged(self, number: int) -> Mapping[str, Any]:
        """What the server noted about the call of this number, once that call is over."""
        while number not in self._exchanges:
            line = self.log.next()
            assert line is not None, f"the server ended before call {number} did"
            exchange = json.loads(line)
            self._exchanges[exchange["seq"]] = exchange
        return self._exchanges[number]


@contextmanager
def served(
    rules: str = "version: 1\n",
    log: str = "json",
    flags: Sequence[str] = (),
    environ: Mapping[str, str] | None = None,
    files: Mapping[str, bytes] | None = None,
) -> Iterator[Served]:
    """`mockserver serve` with these rules (the text of a rules file), log, flags and variables, killed at the end.

    `files` are beside the rules.
    """
    with TemporaryDirectory() as folder:
        for name, data in (files or {}).items():
            (Path(folder) / name).write_bytes(data)
        file = Path(folder) / "rules.yaml"
        file.write_text(rules)
        common = ("--port", "0", "--log", log, "--no-reload")
        process = subprocess.Popen(
            [sys.executable, "-m", "mockserver", "serve", str(file), *common, *flags],
            cwd=folder,
            env={**_environment(), **(environ or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout
        assert process.stderr
        said, written = Lines(process.stderr), Lines(process.stdout)
        try:
            yield Served(_address(said), process.pid, written, said)
        finally:
            process.kill()
            process.wait()
            said.join()
            written.join()


def _environment() -> dict[str, str]:
    """This process's own, without what would change the server or stand between it and another."""
    kept = {name: value for name, value in os.environ.items() if not _changes(name)}
    return {**kept, "PYTHONPATH": str(ROOT)}


def _changes(name: str) -> bool:
    return name.startswith("MOCKSERVER_") or name.lower().endswith("_proxy")


def _address(said: Lines) -> str:
    """Where the server listens, by its own words. The port is bound before they are said, so nobody has to knock."""
    received = []
    while (line := said.next()) is not None:
        if found := re.match(r"mockserver listens on (http://\S+)", line):
            return found[1]
        received.append(line)
    raise AssertionError("the server did not start:\n" + "".join(received))
