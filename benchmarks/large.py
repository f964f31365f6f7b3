"""Large prompts, each different, beside an application that joins their texts; what rules cost to load."""

import json
import random
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median

from load import cpu_seconds, free_port, measure, post, server

WORDS = ("quick ", "brown ", "fox ", "jumps ", "over ", "the ", "lazy ", "dog, ", "and ", "others ", "follow.\n")
SIZES = (1_000_000, 9_000_000)  # bytes
TRIED = 8  # prompts of each size


def prompt(size: int, seed: int) -> bytes:
    """A chat of one message with a text of this size, which no other seed gives; its end matches a rule."""
    draw = random.Random(seed)
    text = "".join(draw.choices(WORDS, k=size // 4))
    messages = [{"role": "user", "content": f"{text[:size]} hello"}]
    return post("/v1/chat/completions", json.dumps({"model": "m", "messages": messages}).encode())


def large(rules: Path) -> Mapping[str, float]:
    """What a large prompt costs with rules and without, against the bare application."""
    found: dict[str, float] = {}
    for size in SIZES:
        bare = _usual(size, str(Path(__file__).parent / "servers.py"), "join", "{port}")
        matched = _usual(size, "-m", "mockserver", "serve", str(rules), "--port", "{port}", "--no-reload")
        made = _usual(size, "-m", "mockserver", "serve", "--port", "{port}", "--no-reload")
        found[f"{size // 1_000_000} MB, ms that a rule's answer takes"] = matched * 1000
        found[f"{size // 1_000_000} MB, CPU / bare: a rule answers"] = matched / bare
        found[f"{size // 1_000_000} MB, CPU / bare: generated"] = made / bare
    return found


def _usual(size: int, *command: str) -> float:
    """Seconds of CPU that a prompt takes: the median of several."""
    port, costs = free_port(), list[float]()
    with server(*(word.format(port=port) for word in command), port=port) as pid:
        measure(pid, port, [prompt(1000, seed) for seed in range(10)], count=10)
        for seed in range(TRIED):
            request, before = prompt(size, seed), cpu_seconds(pid)
            _ask(port, request)
            time.sleep(0.05)  # until all of it is counted
            costs.append(cpu_seconds(pid) - before)
    return median(costs)


def _ask(port: int, request: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port)) as sock:
        sock.sendall(request)
        answer = sock.recv(1 << 16)
        if not answer.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(f"unexpected answer: {answer[:300]!r}")


_LOAD = """
import sys, time
from pathlib import Path
from mockserver.server.compose import start
from mockserver.server.sources import Sources
began = time.process_time()
start(Sources((Path(sys.argv[1]),)))
print(time.process_time() - began)
"""


def seconds_to_load(file: Path) -> float:
    """Seconds of CPU that a new process takes to load a file of rules."""
    done = subprocess.run([sys.executable, "-c", _LOAD, str(file)], stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout)
