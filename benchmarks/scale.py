"""What a shared state costs: CPU of the server per request, in memory and in Redis, with so many requests at once.

`python benchmarks/scale.py`; it starts a `redis-server`. Compare rows of one run only: the servers take turns, and the
least of each counts.
"""

import json
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from load import ask, cpu_seconds, free_port, post, server

COUNT, TURNS = 3_000, 4
AT_ONCE = (1, 32, 256)
ALONE = """
import mockserver.state.redis.line as line
line.MAX_BATCH = 1
from mockserver.cli import main
main()
"""
RULES = {
    "stateless": {"rules": [{"when": {"last_user": "hello"}, "then": {"text": "word " * 120}}]},
    "counting": {"rules": [{"times": 10**9, "then": {"text": "word " * 120}}]},
}
REQUEST = post(
    "/v1/chat/completions", json.dumps({"model": "m", "messages": [{"role": "user", "content": "hello"}]}).encode()
)


def main() -> None:
    redis = Path(tempfile.mkdtemp()) / "s"
    options = ["--port", "0", "--unixsocket", str(redis), "--save", "", "--appendonly", "no"]
    process = subprocess.Popen(["redis-server", *options], stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    try:
        print(f"CPU of the server per request in microseconds; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
        for name, rules in RULES.items():
            file = redis.parent / f"{name}.json"
            file.write_text(json.dumps(rules))
            _compare(name, file, f"unix://{redis}")
    finally:
        process.terminate()


def _compare(name: str, file: Path, url: str) -> None:
    shared = ("--state", url)
    commands = {
        "memory": ("-m", "mockserver", "serve", str(file)),
        "redis": ("-m", "mockserver", "serve", str(file), *shared),
    }
    if name == "counting":
        commands["redis, one by one"] = ("-c", ALONE, "serve", str(file), *shared)
    with ExitStack() as stack:
        started = {}
        for kind, command in commands.items():
            port = free_port()
            started[kind] = stack.enter_context(server(*command, "--port", str(port), port=port)), port
        for at_once in AT_ONCE:
            found = dict.fromkeys(started, float("inf"))
            for _ in range(TURNS):
                for kind, (pid, port) in started.items():
                    ask(port, [REQUEST], 500, connections=at_once)
                    before = cpu_seconds(pid)
                    ask(port, [REQUEST], COUNT, connections=at_once)
                    found[kind] = min(found[kind], (cpu_seconds(pid) - before) / COUNT)
            row = "  ".join(f"{kind} {cost * 1e6:.0f} ({cost / found['memory']:.2f})" for kind, cost in found.items())
            print(f"{name}, {at_once} at once: {row}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
