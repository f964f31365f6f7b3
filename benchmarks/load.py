"""A raw HTTP/1.1 load over a few keep-alive connections, and the CPU time that a server spends on it."""

import os
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
CONNECTIONS = 8
WARM_UP = 500  # requests
SUCCESS = frozenset((200,))


@dataclass(frozen=True)
class Cost:
    """What one request costs: seconds of server CPU, and seconds on the clock under load."""

    cpu: float
    wall: float


@contextmanager
def server(*command: str, port: int, env: dict[str, str] | None = None, pinned: bool = True) -> Iterator[int]:
    """A server process on this port; its process id. It and the load each have a processor, if they are pinned.

    It runs the mockserver of this checkout, unless PYTHONPATH names another.
    """
    variables = {"PYTHONPATH": str(HERE.parent), **os.environ, **(env or {})}
    process = subprocess.Popen(
        [sys.executable, *command], env=variables, cwd=HERE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    if pinned:
        _pin(process.pid, 0)
        _pin(0, 1)
    try:
        _await(port, process)
        yield process.pid
    finally:
        process.terminate()
        process.communicate(timeout=10)


def post(path: str, body: bytes, **headers: str) -> bytes:
    """The bytes of a POST with a JSON body."""
    more = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
    head = (
        f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: application/json\r\ncontent-type: application/json\r\n"
        f"authorization: Bearer sk-test\r\nuser-agent: bench\r\ncontent-length: {len(body)}\r\n{more}\r\n"
    )
    return head.encode() + body


def free_port() -> int:
    """A port that nobody uses right now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def measure(pid: int, port: int, requests: Sequence[bytes], *, count: int, statuses: Collection[int] = SUCCESS) -> Cost:
    """Send `count` requests, cycling through the given ones; every answer has one of these statuses.

    Requests beyond those come first, to warm up.
    """
    ask(port, requests[count:] or requests, min(count, WARM_UP), statuses=statuses)
    cpu, wall = cpu_seconds(pid), time.perf_counter()
    ask(port, requests, count, statuses=statuses)
    return Cost((cpu_seconds(pid) - cpu) / count, (time.perf_counter() - wall) / count)


def cpu_seconds(pid: int) -> float:
    """The time that a process has spent on a processor, all threads together."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def ask(
    port: int,
    requests: Sequence[bytes],
    count: int,
    *,
    connections: int = CONNECTIONS,
    statuses: Collection[int] = SUCCESS,
) -> None:
    """Send so many requests, cycling through the given ones; every answer has one of these statuses.

    The load never sleeps: a server pays for waking it, which one that is slower than the load does more often.
    """
    selector = selectors.DefaultSelector()
    sent = done = 0
    for _ in range(min(connections, count)):
        sock = socket.create_connection(("127.0.0.1", port))
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.sendall(requests[sent % len(requests)])
        sent += 1
        selector.register(sock, selectors.EVENT_READ, bytearray())
    while done < count:
        for key, _ in selector.select(0):
            sock, buffer = key.fileobj, key.data
            assert isinstance(sock, socket.socket)
            buffer += sock.recv(1 << 18)
            if not is_whole(buffer):
                continue
            if int(buffer[9:12]) not in statuses:
                raise RuntimeError(f"unexpected answer: {bytes(buffer[:300])!r}")
            buffer.clear()
            done += 1
            if sent < count:
                sock.sendall(requests[sent % len(requests)])
                sent += 1
    for key in list(selector.get_map().values()):
        key.fileobj.close()  # type: ignore[union-attr]
    selector.close()


def is_whole(buffer: bytes | bytearray) -> bool:
    end = buffer.find(b"\r\n\r\n")
    if end < 0:
        return False
    at = buffer.find(b"content-length: ", 0, end)
    if at < 0:
        return buffer.endswith(b"0\r\n\r\n")
    length = int(buffer[at + 16 : buffer.find(b"\r\n", at)])
    return len(buffer) >= end + 4 + length


def _pin(pid: int, processor: int) -> None:
    if hasattr(os, "sched_setaffinity") and (os.cpu_count() or 1) > 1:
        os.sched_setaffinity(pid, {processor})


def _await(port: int, process: "subprocess.Popen[bytes]") -> None:
    for _ in range(1000):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if process.poll() is not None:
                raise RuntimeError(f"the server ended: {process.stderr.read().decode()}") from None  # type: ignore[union-attr]
            time.sleep(0.01)
    raise RuntimeError("the server does not listen")
