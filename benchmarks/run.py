"""The questions of this project's speed, each answered by a ratio measured in one run: `make bench`.

Every server runs in a process of its own; the load comes from this one. Cost is server CPU per request.
"""

import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from math import inf
from pathlib import Path
from shutil import which

from chats import chat
from endurance import endurance
from held import holding
from hostile import hostile
from kinds import kinds
from large import large, seconds_to_load
from load import Cost, free_port, measure, post, server
from open_streams import open_streams
from paced import paced
from relay import relaying
from replay import replaying
from rules_file import serve, write_many
from schemas import schemas
from soak import soak
from startup import startup
from streams import timing
from suite import suites

HERE = Path(__file__).parent
COUNT = 8_000
TURNS = 6


def mock(requests: list[bytes], *, count: int = COUNT, file: Path | None = None) -> Cost:
    """What these requests cost mockserver, with 10 rules if no file is given."""
    port = free_port()
    with server(*serve(file or write_many(10), port), port=port) as pid:
        return measure(pid, port, requests, count=count)


def other(name: str, requests: list[bytes], *, count: int = COUNT, env: dict[str, str] | None = None) -> Cost:
    """What these requests cost another server of servers.py."""
    port = free_port()
    with server(str(HERE / "servers.py"), name, str(port), port=port, env=env) as pid:
        return measure(pid, port, requests, count=count)


def protocol() -> Mapping[str, float]:
    """The same application behind uvicorn's own protocol and behind ours, by turns: the lowest CPU of each."""
    same = [chat("hello there")]
    varied = [post(f"/v1/chat/completions?{number}", b'{"a": 1}') for number in range(COUNT)]
    ports = {name: free_port() for name in ("bare", "protocol")}
    found: dict[str, float] = {}
    with ExitStack() as running:
        pids = {
            name: running.enter_context(server(str(HERE / "servers.py"), name, str(port), port=port))
            for name, port in ports.items()
        }
        for heads, requests in {"equal": same, "distinct": varied}.items():
            cpu = dict.fromkeys(ports, inf)
            for name in list(ports) * TURNS:
                cpu[name] = min(cpu[name], measure(pids[name], ports[name], requests, count=COUNT // 2).cpu)
            found[f"{heads} heads: our protocol / uvicorn's own, CPU"] = cpu["protocol"] / cpu["bare"]
            found[f"{heads} heads: microseconds that our protocol adds"] = 1e6 * (cpu["protocol"] - cpu["bare"])
    return found


def streams() -> Mapping[str, float]:
    """A stream of 50 chunks in one send against one send for each chunk, and against a plain chat."""
    request, file = [chat("fifty words", stream=True)], write_many(10)
    joined = mock(request, count=COUNT // 2, file=file)
    each = other("split", request, count=COUNT // 4, env={"RULES": str(file)})
    return {
        "50 chunks, one send each / one send for all": each.cpu / joined.cpu,
        "50 chunks in one send / plain chat": joined.cpu / mock([chat("hello there")]).cpu,
    }


def inspector() -> Mapping[str, float]:
    """The same chats while the inspector is open in a browser and while it is not, by turns: the lowest CPU of each."""
    from playwright.sync_api import sync_playwright

    requests = [chat(f"hello {number} of them") for number in range(COUNT)]
    cpu: dict[bool, list[float]] = {False: [], True: []}
    port = free_port()
    with (
        server(*serve(write_many(10), port), port=port) as pid,
        sync_playwright() as playwright,
        playwright.chromium.launch(executable_path=which("chromium"), args=["--no-sandbox"]) as browser,
    ):
        for _ in range(TURNS):
            for opened in cpu:
                page = browser.new_page()
                if opened:
                    page.goto(f"http://127.0.0.1:{port}/__mockserver__/")
                    page.wait_for_timeout(2_000)  # it has read what was there
                cpu[opened].append(measure(pid, port, requests, count=3 * COUNT).cpu)
                page.close()
    return {"throughput while the page is open / without": min(cpu[False]) / min(cpu[True])}


def many_rules() -> Mapping[str, float]:
    """A chat among 1,000 and 10,000 rules against one among 10."""
    requests = [chat(f"hello {number}, a word on topic 7 and on subject 3 of them") for number in range(1000)]
    costs = {count: mock(requests, file=write_many(count)).cpu for count in (10, 1_000, 10_000)}
    seconds = {count: seconds_to_load(write_many(count)) for count in (10, 10_000)}
    return {
        **{f"{count} rules / 10 rules": costs[count] / costs[10] for count in (1_000, 10_000)},
        "seconds that 10000 rules take longer to load than 10": seconds[10_000] - seconds[10],
    }


def start() -> Mapping[str, float]:
    """Seconds from the start of the process to the first answer, and resident memory in MB after 1,000 answers."""
    import socket
    import subprocess
    import time

    port, began = free_port(), time.perf_counter()
    command = [sys.executable, "-m", "mockserver", "serve", str(write_many(10)), "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while True:
            try:
                with socket.create_connection(("127.0.0.1", port)) as sock:
                    sock.sendall(chat("hello"))
                    sock.recv(1)
                    break
            except OSError:
                time.sleep(0.005)
        first = time.perf_counter() - began
        measure(process.pid, port, [chat("hello"), chat("a thing that no rule knows")], count=1000)
        status = Path(f"/proc/{process.pid}/status").read_text()
        resident = int(status.split("VmRSS:")[1].split()[0]) / 1024
    finally:
        process.terminate()
        process.wait()
    return {"seconds to the first answer": first, "MB resident": resident}


QUESTIONS: Mapping[str, Callable[[], Mapping[str, float]]] = {
    "kinds": kinds,
    "protocol": protocol,
    "streams": streams,
    "rules": many_rules,
    "start": start,
    "startup": startup,
    "schemas": schemas,
    "inspector": inspector,
    "large": lambda: large(write_many(10)),
    "paced": paced,
    "crowd": lambda: paced(10_000, 1, connected=False),
    "timing": lambda: timing(chat),
    "soak": lambda: soak(chat),
    "endurance": endurance,
    "open": open_streams,
    "held": holding,
    "relay": relaying,
    "replay": lambda: replaying(chat),
    "suites": suites,
    "hostile": hostile,
}


def main() -> None:
    """Answer the questions that are named, or all."""
    for name in sys.argv[1:] or QUESTIONS:
        for what, value in QUESTIONS[name]().items():
            print(f"{name:<12} {what:<72} {value:8.2f}", flush=True)


if __name__ == "__main__":
    main()
