"""What a server keeps after many requests of every kind: memory, file descriptors, threads.

Requests are plain and streamed, equal and distinct, sound and refused; some clients leave before they have read all.
Told are ratios, so that 1.00 is what is wanted: nothing may grow once the journal and what is kept are full.
"""

import json
import os
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

from load import free_port, is_whole, post, server

REQUESTS = 100_000
SPACES = ("", "/ns/one", "/ns/two", "/ns/three")
CONNECTIONS = 8
_SOON_FULL = {"MOCKSERVER_STORED_ANSWERS": "100"}  # so that what is kept is full early on


def endurance(count: int = REQUESTS) -> Mapping[str, float]:
    """The server's memory after all these requests against that after the first fifth, and what it has open."""
    port = free_port()
    with server("-m", "mockserver", "serve", "--port", str(port), "--no-reload", port=port, env=_SOON_FULL) as pid:
        asking = requests()
        _ask(port, islice(asking, 500))
        files, threads = _count(pid, "fd"), _count(pid, "task")
        _ask(port, islice(asking, count // 5 - 500))
        early = resident(pid)
        _ask(port, islice(asking, count - count // 5))
        late = resident(pid)
        return {
            f"memory after {count:,} requests / after {count // 5:,}": late / early,
            "MB resident": late / 1e6,
            "file descriptors more than after 500": _settled(pid, files) - files,
            "threads more than after 500": _count(pid, "task") - threads,
        }


def requests() -> Iterator[tuple[bytes, bool]]:
    """Requests without end, and whether the client leaves before the answer is there."""
    number = 0
    while True:
        space = SPACES[number // len(_KINDS) % len(SPACES)]
        for kind, (path, body) in enumerate(_KINDS):
            filled = json.dumps(body).replace("NUMBER", str(number))
            yield post(space + path, filled.encode()), kind == number % 97
            number += 1


def resident(pid: int) -> int:
    """Bytes of memory that a process takes."""
    told = Path(f"/proc/{pid}/status").read_text().split("VmRSS:")[1].split()[0]
    return int(told) * 1024


def _settled(pid: int, before: int) -> int:
    """How many files a process has open once it has let go of the last clients, which takes it up to 5 s."""
    until = time.monotonic() + 5
    while (count := _count(pid, "fd")) > before and time.monotonic() < until:
        time.sleep(0.05)
    return count


def _count(pid: int, what: str) -> int:
    return len(os.listdir(f"/proc/{pid}/{what}"))


def _ask(port: int, asked: Iterator[tuple[bytes, bool]]) -> None:
    """Send them one after the other over a few connections, and read every answer to its end."""
    open_ones = [socket.create_connection(("127.0.0.1", port)) for _ in range(CONNECTIONS)]
    for number, (request, leaves) in enumerate(asked):
        connection = open_ones[number % CONNECTIONS]
        connection.sendall(request)
        if leaves:
            connection.close()
            open_ones[number % CONNECTIONS] = socket.create_connection(("127.0.0.1", port))
        else:
            _read(connection)
    for connection in open_ones:
        connection.close()


def _read(connection: socket.socket) -> None:
    heard = b""
    while not is_whole(heard):
        piece = connection.recv(1 << 18)
        if not piece:
            raise RuntimeError(f"the connection was closed after {heard[:300]!r}")
        heard += piece
    if int(heard[9:12]) >= 500:
        raise RuntimeError(f"unexpected answer: {heard[:300]!r}")


def _said(text: str) -> list[Mapping[str, str]]:
    return [{"role": "user", "content": text}]


_CITY = {"type": "object", "properties": {"city": {"type": "string"}, "NUMBER": {"type": "integer"}}}
_TOOLS = [{"type": "function", "function": {"name": "look_NUMBER", "parameters": _CITY}}]
_FORM = {"type": "json_schema", "json_schema": {"name": "s", "schema": {**_CITY, "required": ["city", "NUMBER"]}}}
_KINDS: tuple[tuple[str, Mapping[str, object]], ...] = (
    ("/v1/chat/completions", {"model": "gpt-4o", "messages": _said("hello")}),
    ("/v1/chat/completions", {"model": "gpt-4o", "messages": _said("Tell me of the NUMBER seas.")}),
    ("/v1/chat/completions", {"model": "m-NUMBER", "messages": _said("Tell me more."), "stream": True}),
    ("/v1/chat/completions", {"model": "m", "messages": _said("NUMBER"), "tools": _TOOLS, "tool_choice": "required"}),
    ("/v1/chat/completions", {"model": "m", "messages": _said("NUMBER"), "response_format": _FORM}),
    ("/v1/chat/completions", {"model": "m", "messages": _said("NUMBER"), "temperature": "hot NUMBER"}),
    ("/v1/chat/completions", {"model": "m", "messages": _said("x" * 9_000 + "NUMBER"), "logprobs": True}),
    ("/v1/responses", {"model": "gpt-5", "input": "Say NUMBER things."}),
    ("/v1/responses", {"model": "gpt-5", "input": "Say NUMBER things.", "stream": True}),
    ("/v1/embeddings", {"model": "text-embedding-3-small", "input": "text NUMBER", "dimensions": 64}),
    ("/azure/chat/completions?api-version=2024-05-01-preview", {"messages": _said("hello NUMBER")}),
    ("/fireworks/inference/v1/completions", {"model": "m", "prompt": "hello NUMBER", "stream": True}),
    ("/skytells/v1/nowhere/NUMBER", {}),
)


def main() -> None:
    """Print what so many requests left behind."""
    for what, value in endurance(int(sys.argv[1]) if len(sys.argv) > 1 else REQUESTS).items():
        print(f"{what:<60} {value:8.2f}")


if __name__ == "__main__":
    main()
