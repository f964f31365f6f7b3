"""An upstream that sends exactly what a script says, over raw sockets, in a process of its own.

The first segment of a path names the script. Each request, and each client that leaves early, is reported to the test.
A script is a row of steps: bytes to send, seconds to wait, `close` or `reset`. In bytes, `{{NAME}}` stands for a
request's header.
"""

import asyncio
import json
import re
import socket
import ssl
import struct
import subprocess
import sys
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.kit.served import ROOT, Lines, _environment

_HANDSHAKE = b"\x16"  # how TLS begins, which is not spoken here
Script = Sequence[bytes | float | str]


@dataclass(frozen=True)
class Asked:
    script: str
    method: str
    target: str  # without the segment of the script
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def header(self, name: str) -> str | None:
        found = [value for key, value in self.headers if key.lower() == name.lower()]
        assert len(found) < 2, f"{name} came twice: {found}"
        return found[0] if found else None


@dataclass
class Upstream:
    port: int
    _lines: Lines
    _pending: list[Mapping[str, Any]] = field(default_factory=list)

    def base(self, script: str, scheme: str = "http") -> str:
        """The address under which every request gets this script."""
        return f"{scheme}://127.0.0.1:{self.port}/{_segment(script)}"

    def forget(self) -> None:
        with socket.create_connection(("127.0.0.1", self.port)) as knocking:
            knocking.sendall(b"MARK\r\n\r\n")
            self._next("mark")
        self._pending.clear()

    def asked(self) -> Asked:
        """The next request that it got."""
        event = self._next("asked")
        headers = tuple((name, value) for name, value in event["headers"])
        return Asked(event["script"], event["method"], event["target"], headers, b64decode(event["body"]))

    def left(self) -> str:
        """The script amid which somebody has left, once that has happened."""
        script: str = self._next("left")["script"]
        return script

    def connection(self) -> int:
        number: int = self._next("asked")["connection"]
        return number

    def _next(self, what: str) -> Mapping[str, Any]:
        for event in self._pending:
            if event["what"] == what:
                self._pending.remove(event)
                return event
        while True:
            line = self._lines.next()
            assert line is not None, "the upstream has ended"
            event = json.loads(line)
            if event["what"] == what:
                return event
            self._pending.append(event)


@contextmanager
def upstream(scripts: Mapping[str, Script], *shown: Path) -> Iterator[Upstream]:
    """An upstream with these scripts, ended at the end; it speaks TLS if it has a certificate and its key to show."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.kit.upstream", *map(str, shown)],
        cwd=ROOT,
        env=_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin
    assert process.stdout
    written = {_segment(name): [_write_scripted(step) for step in script] for name, script in scripts.items()}
    lines = Lines(process.stdout)
    try:
        with process.stdin as pipe:
            pipe.write(json.dumps(written))
        line = lines.next()
        assert line is not None, "the upstream did not start"
        yield Upstream(json.loads(line)["port"], lines)
    finally:
        process.kill()
        process.wait()
        lines.join()


def plain(body: bytes, *headers: str, status: str = "200 OK") -> Script:
    return (_head(status, (f"content-length: {len(body)}", *headers)) + body,)


def stream(*events: bytes, gap: float = 0.0, headers: Sequence[str] = (), end: bool = True) -> Script:
    """Server-sent events in chunks, each after a gap."""
    steps: list[bytes | float | str] = [
        _head("200 OK", ("content-type: text/event-stream", "transfer-encoding: chunked", *headers), kind=False)
    ]
    for event in events:
        steps += [gap, chunk(event)] if gap else [chunk(event)]
    return (*steps, b"0\r\n\r\n") if end else tuple(steps)


def write_response_head(*headers: str, status: str = "200 OK") -> bytes:
    """A head, to which a script adds what it likes."""
    return _head(status, headers)


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def _head(status: str, headers: Sequence[str], *, kind: bool = True) -> bytes:
    named = any(line.lower().startswith("content-type") for line in headers)
    lines = [*(["content-type: application/json"] if kind and not named else []), *headers]
    return f"HTTP/1.1 {status}\r\n{''.join(line + chr(13) + chr(10) for line in lines)}\r\n".encode()


def _segment(script: str) -> str:
    return script.replace(" ", "-")


def _write_scripted(step: bytes | float | str) -> Any:
    return {"send": b64encode(step).decode()} if isinstance(step, bytes) else step


# What runs in the process of its own.


class _Server:
    """Serves the scripts and reports on standard output what happens."""

    def __init__(self, scripts: Mapping[str, list[Any]], shown: Sequence[str]) -> None:
        self._scripts, self._shown = scripts, shown
        self._connections = 0

    async def run(self) -> None:
        secured = None
        if self._shown:
            secured = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            secured.load_cert_chain(*self._shown)
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=1 << 20, ssl=secured)
        _report(port=server.sockets[0].getsockname()[1])
        await server.serve_forever()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        number, open_ = self._connections, True
        try:
            while open_ and (asked := await _request(reader)) is not None:
                _report(what="asked", connection=number, **asked)
                playing = asyncio.create_task(self._play(asked, writer))
                watching = asyncio.create_task(_wait_until_gone(reader))
                await asyncio.wait((playing, watching), return_when=asyncio.FIRST_COMPLETED)
                watching.cancel()
                await asyncio.wait((watching,))
                if not playing.done():
                    playing.cancel()
                    _report(what="left", script=asked["script"])
                    return
                open_ = playing.result()
        except ConnectionError:
            _report(what="left", script="")
        finally:
            writer.close()

    async def _play(self, asked: Mapping[str, Any], writer: asyncio.StreamWriter) -> bool:
        """Whether the connection is still open after the script."""
        headers = {name.lower(): value for name, value in asked["headers"]}
        for step in self._scripts[asked["script"]]:
            if isinstance(step, dict):
                said = re.sub(
                    rb"\{\{([\w-]+)\}\}", lambda m: headers.get(m[1].decode(), "").encode(), b64decode(step["send"])
                )
                writer.write(said)
                await writer.drain()
            elif isinstance(step, float | int):
                await asyncio.sleep(step)
            else:
                if step == "reset":
                    held = writer.get_extra_info("socket")
                    held.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    writer.transport.abort()
                return False
        return True


async def _request(reader: asyncio.StreamReader) -> dict[str, Any] | None:
    try:
        head = await reader.readexactly(1)
        if head == _HANDSHAKE:
            return None
        head += await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    if head == b"MARK\r\n\r\n":
        _report(what="mark")
        return None
    first, *lines = head[:-4].decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ")
    headers = [line.split(": ", 1) if ": " in line else (line.rstrip(":"), "") for line in lines]
    named = {name.lower(): value for name, value in headers}
    body = await reader.readexactly(int(named.get("content-length", 0)))
    if target.startswith("http://"):  # as one asks a proxy
        target = target[target.index("/", len("http://")) :]
    _, script, rest = target.split("/", 2)
    shown = b64encode(body).decode()
    return {"script": script, "method": method, "target": f"/{rest}", "headers": headers, "body": shown}


async def _wait_until_gone(reader: asyncio.StreamReader) -> None:
    """Return once the other side has closed; nothing else may come amid a script."""
    assert not await reader.read(1)


def _report(**what: Any) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    asyncio.run(_Server(json.load(sys.stdin), sys.argv[1:]).run())
