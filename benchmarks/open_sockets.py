"""Thousands of open WebSockets: `python benchmarks/open_sockets.py [SOCKETS]`.

All are open at once, each asks for a slow response over and over, and the server must lose none: neither a connection
nor a frame. Afterwards it must have as many files open as before. The load runs on the same processors.
"""

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from load import free_port, server
from open_streams import Watch
from streams import SPARE, allow
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

SOCKETS = 5_000
TURNS = 3  # responses on each connection
TOGETHER = 100  # handshakes at once
PATIENCE = 120.0  # seconds
_RULES = """version: 1
rules:
  - then: {text: one two three four five, timing: {first_token: 1s, per_token: 500ms}}
"""
_ASK = json.dumps({"type": "response.create", "model": "gpt-5", "input": "hello", "store": False})


def open_sockets(sockets: int = SOCKETS) -> Mapping[str, float]:
    """One round of so many WebSockets: what was lost, how late it was, and what the server needs for them."""
    allow(2 * sockets + SPARE)
    path, port = Path(tempfile.mkdtemp()) / "rules.yaml", free_port()
    path.write_text(_RULES)
    command = ["-m", "mockserver", "serve", str(path), "--port", str(port), "--no-reload", "--journal-calls", "100"]
    with server(*command, port=port, pinned=True) as pid:
        asyncio.run(_ask_all(port, 1))  # a server opens some files for its first socket
        now = Watch(pid)
        files, memory, cpu = now.open_files(), now.held(), now.cpu()
        with Watch(pid) as most:
            lost, took = asyncio.run(_ask_all(port, sockets))
        cpu = now.cpu() - cpu
        now.settled(files)
        return {
            "lost": lost,
            "s for the slowest answer, which waits 3 s": max(took, default=0.0),
            "us of CPU an answer": 1e6 * cpu / (sockets * TURNS),
            "KB of memory a socket": (most.memory - memory) / sockets,
            "files open at most": most.files,
            "files left open": now.open_files() - files,
        }


async def _ask_all(port: int, sockets: int) -> tuple[int, list[float]]:
    """Open all sockets, then let all ask; return how many answers were lost, and how long the others took."""
    handshakes, are_open, took = asyncio.Semaphore(TOGETHER), asyncio.Barrier(sockets), list[float]()

    async def ask() -> int:
        try:
            async with handshakes:
                client = await connect(f"ws://127.0.0.1:{port}/v1/responses", open_timeout=PATIENCE, compression=None)
        except (OSError, WebSocketException):
            await are_open.wait()
            return TURNS
        await are_open.wait()
        async with client:
            for turn in range(TURNS):
                began = time.monotonic()
                try:
                    async with asyncio.timeout(PATIENCE):
                        await _ask_once(client)
                except (OSError, WebSocketException, TimeoutError):
                    return TURNS - turn
                took.append(time.monotonic() - began)
        return 0

    return sum(await asyncio.gather(*[ask() for _ in range(sockets)])), took


async def _ask_once(client: ClientConnection) -> None:
    await client.send(_ASK)
    while b'"response.completed"' not in await client.recv(decode=False):
        pass


if __name__ == "__main__":
    for what, value in open_sockets(*map(int, sys.argv[1:])).items():
        print(f"{value:10.1f}  {what}")
