"""What more processes and shared state cost and give, as ratios within one run: `python benchmarks/scale.py`.

The load takes a share of the same processors, so that on two cores two workers cannot be twice as fast. Needs
`redis-server`.
"""

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from math import inf
from pathlib import Path

from chats import chat
from load import ask, cpu_seconds, free_port, server
from open_streams import Watch, open_streams
from rules_file import write_many

COUNT, TURNS = 1_000, 4
IN_FLIGHT = (1, 32, 256)
_RULES = """version: 1
rules:
  - {when: {last_user: "*counted*"}, times: 1000000000, then: {text: Hello! How can I help you today?}}
  - {when: {last_user: "*fixed*"}, then: {text: Hello! How can I help you today?}}
"""
_TEXTS = {"fixed text": "hello {}", "generated": "on the topic of {}"}


def state() -> Mapping[str, float]:
    """CPU of requests that count nothing and of those that count, with Redis and in memory, by turns."""
    rows, path = dict[str, float](), Path(tempfile.mkdtemp()) / "rules.yaml"
    path.write_text(_RULES)
    with ExitStack() as running:
        url, redis_pid = running.enter_context(redis())
        ports = {where: free_port() for where in ("memory", url)}
        pids = {where: running.enter_context(_keeping(where, path, port)) for where, port in ports.items()}
        for in_flight in IN_FLIGHT:
            for what in ("fixed", "counted"):
                least, of_redis = dict.fromkeys(ports, inf), inf
                for turn in range(TURNS + 1):
                    for where, port in ports.items():
                        requests = [chat(f"{what} {in_flight} {n}") for n in range(turn * COUNT, (turn + 1) * COUNT)]
                        before = cpu_seconds(pids[where]), cpu_seconds(redis_pid)
                        ask(port, requests, COUNT, connections=in_flight)
                        if turn:  # the first warms up
                            least[where] = min(least[where], cpu_seconds(pids[where]) - before[0])
                            of_redis = min(of_redis, cpu_seconds(redis_pid) - before[1]) if where == url else of_redis
                rows[f"{what}, {in_flight} in flight: with Redis / in memory"] = least[url] / least["memory"]
            rows[f"counted, {in_flight} in flight: full servers that fill one Redis"] = least[url] / of_redis
    return rows


def _keeping(where: str, path: Path, port: int) -> AbstractContextManager[int]:
    return server(
        "-m", "mockserver", "serve", str(path), f"--port={port}", "--no-reload", f"--state={where}", port=port
    )


@contextmanager
def redis() -> Iterator[tuple[str, int]]:
    """A Redis that keeps nothing: its URL and its process id."""
    with tempfile.TemporaryDirectory(prefix="redis-") as folder:
        options = ("--port", "0", "--unixsocket", f"{folder}/s", "--save", "", "--appendonly", "no", "--dir", folder)
        process = subprocess.Popen(["redis-server", *options], stdout=subprocess.DEVNULL)
        try:
            while not Path(folder, "s").exists() and process.poll() is None:
                time.sleep(0.01)
            yield f"unix://{folder}/s", process.pid
        finally:
            process.kill()
            process.wait()


def workers() -> Mapping[str, float]:
    """Two workers against one: requests a second, CPU a request, and the memory that they take more."""
    found, held = dict[str, float](), dict[int, float]()
    for what, text in _TEXTS.items():
        cpu, rate = {1: inf, 2: inf}, {1: 0.0, 2: 0.0}
        for count in (1, 2) * TURNS:
            seconds, took, held[count] = _measured(count, text)
            cpu[count], rate[count] = min(cpu[count], seconds), max(rate[count], COUNT / took)
        found[f"{what}: requests/s of 2 workers / 1"] = rate[2] / rate[1]
        found[f"{what}: CPU a request of 2 workers / 1"] = cpu[2] / cpu[1]
    return found | {"MB of 2 workers and their parent more than of 1": held[2] - held[1]}


def _measured(count: int, text: str) -> tuple[float, float, float]:
    """Seconds of CPU a request, seconds in all, and MB that are not shared, with so many workers."""
    port = free_port()
    command = ["-m", "mockserver", "serve", str(write_many(10)), "--port", str(port), "--no-reload"]
    requests = [chat(text.format(number)) for number in range(2 * COUNT)]
    with server(*command, "--workers", str(count), port=port, pinned=False) as pid:
        ask(port, requests[COUNT:], COUNT // 2)  # warm up
        watch = Watch(pid)
        cpu, began = watch.cpu(), time.perf_counter()
        ask(port, requests[:COUNT], COUNT)
        took = time.perf_counter() - began
        return (watch.cpu() - cpu) / COUNT, took, watch.held() / 1024


def streams() -> Mapping[str, float]:
    """10,000 open streams on one worker and on two."""
    return {
        f"workers {count}: {what}": value for count in (1, 2) for what, value in open_streams(workers=count).items()
    }


def main() -> None:
    """Answer all questions."""
    for question in (state, workers, streams):
        for what, value in question().items():
            print(f"{question.__name__:<8} {what:<60} {value:10.2f}", flush=True)
    print(f"{os.cpu_count()} processors, wanted by {os.getloadavg()[0]:.1f} processes in the last minute")


if __name__ == "__main__":
    main()
