"""How long large requests hold up everybody else: `python benchmarks/held.py [CASE…]`.

While a large request is answered on one connection, small ones are asked on another, one after the other; told is how
long the whole answer took, how long the slowest small one had to wait, and the share of the one in the other.
"""

import socket
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import median
from threading import Thread

from heavy import CASES, chat
from load import free_port, server

WORTH_TELLING = 0.05  # seconds that a large request takes


@dataclass(frozen=True)
class Held:
    """What one large request did."""

    size: int  # bytes of the request
    answer: int  # bytes of the answer
    status: int
    whole: float  # seconds until the last byte of the answer
    wait: float  # seconds that the slowest small request waited meanwhile


def held(port: int, large: bytes) -> Held:
    """Ask for something large, and for small things meanwhile."""
    found: list[tuple[int, int, float]] = []
    small = chat("hello")
    with socket.create_connection(("127.0.0.1", port)) as other, socket.create_connection(("127.0.0.1", port)) as one:
        asking = Thread(target=lambda: found.append(_asked(one, large)))
        asking.start()
        waits = []
        while asking.is_alive():
            waits.append(_asked(other, small)[2])
            time.sleep(0.001)
        waits.append(_asked(other, small)[2])
    ((status, answer, whole),) = found
    return Held(len(large), answer, status, whole, max(waits))


def _asked(connection: socket.socket, request: bytes) -> tuple[int, int, float]:
    """Status, bytes of the answer, and seconds that it took."""
    begun = time.perf_counter()
    connection.sendall(request)
    head, size = b"", 0
    while True:
        piece = connection.recv(1 << 20)
        if not piece:
            raise RuntimeError(f"the connection was closed after {head[:200]!r}")
        size += len(piece)
        head, tail = (head + piece)[:4096], piece[-64:] if len(piece) >= 64 else (head + piece)[-64:]
        if _is_whole(head, size, tail):
            return int(head[9:12]), size, time.perf_counter() - begun


def _is_whole(head: bytes, size: int, tail: bytes) -> bool:
    end = head.find(b"\r\n\r\n")
    if end < 0:
        return False
    at = head.find(b"content-length: ", 0, end)
    if at < 0:
        return tail.endswith(b"0\r\n\r\n")
    return size >= end + 4 + int(head[at + 16 : head.find(b"\r\n", at)])


def measured(names: tuple[str, ...], *flags: str) -> Iterator[tuple[str, Held]]:
    """Each of these cases, on a server that has answered such things before."""
    port = free_port()
    with server("-m", "mockserver", "serve", "--port", str(port), "--no-reload", *flags, port=port):
        for name in ("128 choices", "a tool's result that is deep", "2,048 moderations"):
            held(port, CASES[name]())
        for name in names:
            yield name, held(port, CASES[name]())


def holding() -> Mapping[str, float]:
    """How long a small request waits while a large one is answered: in the worst case, and in the one in the middle."""
    found = {name: one.wait for name, one in measured(tuple(CASES)) if one.whole > WORTH_TELLING}
    worst = max(found, key=lambda name: found[name])
    return {f"seconds waited for the worst: {worst}": found[worst], "median seconds": median(found.values())}


def main() -> None:
    """Measure the cases that are named, or all."""
    flags = tuple(one for one in sys.argv[1:] if one.startswith("--"))
    names = tuple(one for one in sys.argv[1:] if not one.startswith("--"))
    print(f"{'':<50} {'request':>10} {'answer':>10} {'':>4} {'whole':>7} {'wait':>7}")
    for name, found in measured(names or tuple(CASES), *flags):
        sizes = f"{found.size / 1e6:>7.1f} MB {found.answer / 1e6:>7.1f} MB"
        print(f"{name:<50} {sizes} {found.status:>4} {found.whole:>6.2f}s {found.wait:>6.3f}s", flush=True)


if __name__ == "__main__":
    main()
