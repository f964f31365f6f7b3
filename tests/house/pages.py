"""Runs a page of documentation as a reader would: files are written, commands and scripts run, output compared.

A fenced block whose info string ends in `title="NAME"` is a file; an `output` block after it is what the running server
says to the change. A `console` block holds commands after `$ ` and what they print; a command that ends in `&` runs
until the next such command for its port, or the end of the page. A `python` block is a script; an `output` block after
it is what it prints. A line of three dots stands for any lines. Ports 8000 and 8001 become free ones; any day on which
something was recorded is as good as another, and so is the time that tests took. Blocks of any other language are not
run.
"""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

# Plugins that readers need not have, and that a warm process has imported what pytest would rewrite.
PLAIN = "-p no:schemathesis -p no:hypothesispytest -p no:asyncio -W ignore::pytest.PytestAssertRewriteWarning"

PATIENCE = 60  # seconds for what takes far less than one on an idle machine

_FENCE = re.compile(r"^```(?P<info>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_TITLE = re.compile(r'title="?(?P<name>[^\s"]+)')
_EXAMPLE = re.compile(r"^<!-- example: (?P<name>\S+) -->$(?P<text>.*?)^<!-- end example -->$", re.MULTILINE | re.DOTALL)
_VARIES = re.compile(r"(?<=recorded )\d{4}-\d\d-\d\d|(?<= in )\d+\.\d\ds$", re.MULTILINE)
_PORT = re.compile(r"800([01])")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the file it is to be written to, its text and its line in the page."""

    language: str
    title: str | None
    body: str
    line: int


def find_blocks(text: str) -> Iterator[Block]:
    for found in _FENCE.finditer(text):
        info = found["info"].strip()
        title = _TITLE.search(info)
        line = text.count("\n", 0, found.start()) + 1
        yield Block(info.partition(" ")[0], title["name"] if title else None, found["body"], line)


def find_examples(page: str) -> dict[str, str]:
    """Return the parts of a page that follow an example, by its name, below as many lines, so that numbers stay."""
    return {
        found["name"]: "\n" * page.count("\n", 0, found.start("text")) + found["text"]
        for found in _EXAMPLE.finditer(page)
    }


def blank_examples(page: str) -> str:
    """Return the page with empty lines where it follows examples."""
    return _EXAMPLE.sub(lambda found: "\n" * found[0].count("\n"), page)


def is_as_expected(expected: str, actual: str) -> bool:
    """Return whether a text is as expected. A line of three dots stands for any lines, a date or time for any other."""
    expected, actual = _VARIES.sub("varies", expected), _VARIES.sub("varies", actual)
    pieces = re.split(r"^\.\.\.$\n?", expected.rstrip() + "\n", flags=re.MULTILINE)
    pattern = r"(?:.*\n)*?".join(re.escape(piece) for piece in pieces)
    lines = "\n".join(line.rstrip() for line in actual.rstrip().splitlines()) + "\n"
    return re.fullmatch(pattern, lines) is not None


@dataclass
class Reader:
    """Somebody who follows a page in an empty folder."""

    folder: Path
    ports: tuple[int, int] = field(
        default_factory=lambda: (_find_free_port(), _find_free_port())
    )  # those of 8000 and 8001
    running: list[tuple[int, "subprocess.Popen[bytes]"]] = field(default_factory=list)  # with their ports
    heard: int = 0  # how much of what the server says has been read
    patience: float = PATIENCE  # seconds that it may take to say something
    programs: Path = Path(sys.executable).parent  # where programs are looked for first

    def follow(self, text: str) -> list[str]:
        """Do what the page says, and return what did not come out as it says."""
        wrong: list[str] = []
        printed: str | None = None  # by a script; None after a file, where the server speaks next
        try:
            for block in find_blocks(_PORT.sub(lambda found: str(self.ports[int(found[1])]), text)):
                if block.title:
                    self.heard, printed = len(self._read_logs()), None
                    (self.folder / block.title).write_text(block.body)
                elif block.language == "console":
                    wrong += self._follow_session(block)
                elif block.language == "python":
                    printed = self._run(["python", "-c", block.body])
                elif block.language == "output" and printed is None:
                    wrong += self._listen(block.line, block.body)
                elif block.language == "output" and not is_as_expected(block.body, printed or ""):
                    wrong.append(f"line {block.line}: the script prints\n{printed}")
        finally:
            self._stop()
        return wrong

    def _read_logs(self) -> str:
        return "".join(log.read_text() for log in sorted(self.folder.glob("server-*.log")))

    def _listen(self, line: int, expected: str) -> Iterator[str]:
        deadline = time.monotonic() + self.patience
        while not is_as_expected(expected, said := self._read_logs()[self.heard :]):
            if time.monotonic() > deadline:
                yield f"line {line}: the server says\n{said}"
                return
            time.sleep(0.02)

    def _follow_session(self, block: Block) -> Iterator[str]:
        for step in re.split(r"^\$ ", block.body, flags=re.MULTILINE)[1:]:
            command, _, expected = step.partition("\n")
            while expected.startswith("> "):  # as the shell reads it: a backslash between quotes stays
                more, _, expected = expected.partition("\n")
                command += "\n" + more.removeprefix("> ")
            if command.endswith("&"):
                self._start(command[:-1])
                yield from self._listen(block.line, expected) if expected.strip() else ()
            elif not is_as_expected(expected, printed := self._run(["bash", "-c", command])):
                yield f"line {block.line}: `{command}` prints\n{printed}"

    def _run(self, command: list[str]) -> str:
        done = subprocess.run(
            command, cwd=self.folder, env=self._make_environment(), text=True, capture_output=True, check=False
        )
        return done.stdout + done.stderr

    def _start(self, command: str) -> None:
        port = next((port for port in self.ports if f"--port {port}" in command), self.ports[0])
        self._stop(port)
        self.heard = len(self._read_logs())
        with (self.folder / f"server-{len(self.running)}.log").open("wb") as log:
            process = subprocess.Popen(
                ["bash", "-c", f"exec {command}"],
                cwd=self.folder,
                env=self._make_environment() | {"MOCKSERVER_PORT": str(port)},
                stdout=subprocess.DEVNULL,
                stderr=log,
            )
        self.running.append((port, process))
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.02)
        raise AssertionError(f"`{command}` does not listen")

    def _make_environment(self) -> dict[str, str]:
        """Return the environment of a reader: this interpreter's programs before others, no keys, no proxies."""
        keys = ("OPENAI", "MOCKSERVER", "AZURE", "CI")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(keys)}
        path = (str(self.programs), str(Path(sys.executable).parent), kept.get("PATH", ""))
        return kept | {"PATH": os.pathsep.join(path), "NO_PROXY": "127.0.0.1,localhost", "PYTEST_ADDOPTS": PLAIN}

    def _stop(self, *ports: int) -> None:
        """Stop what listens on these ports, or on any."""
        for port, process in self.running:
            if port in (ports or self.ports) and process.poll() is None:
                process.send_signal(signal.SIGTERM)
                process.wait(PATIENCE)


def _find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
