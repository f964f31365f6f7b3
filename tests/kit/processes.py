"""The program `mockserver serve` as a process of its own: its port, its workers, its signals."""

import http.client
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PATIENCE = 60  # seconds for what takes far less than one on an idle machine


class Served:
    def __init__(self, process: "subprocess.Popen[str]", errors: Path) -> None:
        self.process, self._errors = process, errors
        wait_until_true(lambda: "http://" in self.errors or process.poll() is not None)
        assert process.poll() is None, self.errors
        self.port = int(self.errors.split("http://", 1)[1].split(":", 1)[1].split()[0])

    @property
    def errors(self) -> str:
        """What the program has written to standard error."""
        return self._errors.read_text()

    @property
    def workers(self) -> set[int]:
        """The process ids of the workers."""
        listed = subprocess.run(
            ["pgrep", "-P", str(self.process.pid), "-f", "spawn_main"], capture_output=True, text=True, check=False
        )
        return set(map(int, listed.stdout.split()))

    def ask(self, path: str, body: Any = None, method: str | None = None) -> tuple[int, Any]:
        """One request on a connection of its own: the status, and the JSON that answers it."""
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            content = None if body is None else json.dumps(body)
            verb = method or ("GET" if body is None else "POST")
            line.request(verb, path, content, {"content-type": "application/json"})
            response = line.getresponse()
            return response.status, json.loads(response.read())
        finally:
            line.close()

    def chat(self, text: str, namespace: str = "") -> Any:
        """The text that answers a message."""
        path = f"/ns/{namespace}/v1/chat/completions" if namespace else "/v1/chat/completions"
        status, body = self.ask(path, {"model": "m", "messages": [{"role": "user", "content": text}]})
        return body["choices"][0]["message"]["content"] if status == 200 else status

    def control(self, path: str, body: Any = None, method: str | None = None) -> Any:
        return self.ask(f"/__mockserver__/api/{path}", body, method)[1]

    def numbers(self, count: int) -> set[int]:
        """The numbers of `count` workers that answer."""
        found = set[int]()
        wait_until_true(lambda: len(found) >= count or found.add(self.control("ready").get("worker", 0)))
        return found


def wait_until_true(true: Callable[[], Any], seconds: float = PATIENCE) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "this took too long"
        time.sleep(0.02)


@contextmanager
def serving(folder: Path, rules: str = "rules: []", *flags: object) -> Iterator[Served]:
    """A server on a free port with these rules, its own process group."""
    (folder / "rules.yaml").write_text(rules)
    errors = folder / "errors.txt"
    command = [sys.executable, "-m", "mockserver", "serve", "rules.yaml", "--port", "0", *map(str, flags)]
    with errors.open("w") as file:
        process = subprocess.Popen(command, cwd=folder, stderr=file, stdout=file, text=True, start_new_session=True)
    try:
        yield Served(process, errors)
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE)
        finally:
            process.kill()
            process.wait()
