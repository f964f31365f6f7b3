"""Whether cores add up: requests a second, and CPU a request, of one worker and of two, by turns.

The load takes a share of the same processors, so that on two cores two workers cannot be twice as fast.
"""

import os
import time
from collections.abc import Mapping
from math import inf

from costs import chat, rules
from load import ask, free_port, server
from open_streams import Watch

COUNT, TURNS = 2_000, 3
_TEXTS = {"fixed text": "hello {}", "generated": "on the topic of {}"}


def workers() -> Mapping[str, float]:
    """Two workers against one: requests a second, CPU a request, and memory of a second worker in MB."""
    found, held = dict[str, float](), dict[int, float]()
    for what, text in _TEXTS.items():
        cpu, rate = {1: inf, 2: inf}, {1: 0.0, 2: 0.0}
        for count in (1, 2) * TURNS:
            seconds, took, held[count] = _measured(count, text)
            cpu[count], rate[count] = min(cpu[count], seconds), max(rate[count], COUNT / took)
        found[f"{what}: requests/s of 2 workers / 1"] = rate[2] / rate[1]
        found[f"{what}: CPU a request of 2 workers / 1"] = cpu[2] / cpu[1]
    return found | {
        "MB of 2 workers and their parent more than of 1": held[2] - held[1],
        "processors": os.cpu_count() or 1,
        "processes that wanted them, last minute": os.getloadavg()[0],
    }


def _measured(count: int, text: str) -> tuple[float, float, float]:
    """Seconds of CPU a request, seconds in all, and MB that are not shared, with so many workers."""
    port = free_port()
    command = ["-m", "mockserver", "serve", str(rules(10)), "--port", str(port), "--no-reload"]
    command += ["--workers", str(count)] if count > 1 else []
    requests = [chat(text.format(number)) for number in range(2 * COUNT)]
    with server(*command, port=port, pinned=False) as pid:
        ask(port, requests[COUNT:], COUNT // 2)  # warm up
        watch = Watch(pid)
        cpu, began = watch.cpu(), time.perf_counter()
        ask(port, requests[:COUNT], COUNT)
        took = time.perf_counter() - began
        return (watch.cpu() - cpu) / COUNT, took, watch.held() / 1024
