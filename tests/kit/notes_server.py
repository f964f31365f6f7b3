"""A real MCP server, by the official package, to record: `python -m tests.kit.notes_server PORT|stdio [json]`."""

import asyncio
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError

notes = MCPServer("notes", instructions="Keeps notes.")


@notes.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@notes.tool()
async def count(context: Context, steps: int = 2) -> str:
    """Report progress, then say that it is done."""
    for step in range(steps):
        await context.report_progress(step + 1, steps)
        await asyncio.sleep(0)
    return f"counted to {steps}"


@notes.tool()
def fail() -> str:
    """Fail."""
    raise ToolError("the disk is full")


@notes.tool()
def tell_secret() -> str:
    """Return what looks like a key."""
    return "sk-proj-8fK2qLmN0pR4sT6vX9zB1dF3"


@notes.resource("note://one")
def one() -> str:
    """The first note."""
    return "buy milk"


@notes.prompt()
def review(code: str) -> str:
    """Ask for a review."""
    return f"Review {code}"


@contextmanager
def serving_notes(*options: str) -> Iterator[str]:
    """Serve notes over HTTP in a process of its own; yield the URL."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.kit.notes_server", str(port), *options], stderr=subprocess.DEVNULL
    )
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                assert child.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        child.terminate()
        child.wait(10)


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        notes.run("stdio")
    else:
        notes.run("streamable-http", port=int(sys.argv[1]), json_response="json" in sys.argv)
