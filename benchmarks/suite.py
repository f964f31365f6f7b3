"""What a test costs that declares one rule and makes one call with OpenAI's client, beside what people do without us.

One run of pytest has 1,000 tests of each kind, by turns, so that whatever else the machine does befalls all of them;
half have a client of their own, as an app has that makes one when it is asked, half share one. What counts is a test's
setup, call and teardown, in the median of all.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).parent / "suites"
TESTS, TURNS = 500, 10
ALONE = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:asyncio")


def suites() -> Mapping[str, float]:
    """Our fixture over a socket beside a bare uvicorn in a thread, its transport beside others; one unused."""
    with TemporaryDirectory() as folder:
        told = Path(folder) / "told.json"
        options = ("-c", str(HERE / "pytest.ini"), f"--count={TESTS}", f"--told={told}")
        _ran(*ALONE, *options, str(HERE))
        cost = json.loads(told.read_text())
        idle = _idle(Path(folder))
    found = dict[str, float]()
    for client in ("own", "shared"):
        socket, transport = cost[f"socket {client}"], cost[f"transport {client}"]
        found |= {
            f"{client} client: over the socket / bare uvicorn thread": socket / cost[f"uvicorn {client}"],
            f"{client} client: through transport() / respx": transport / cost[f"respx {client}"],
            f"{client} client: through transport() / httpx.MockTransport": transport / cost[f"mock {client}"],
            f"{client} client: milliseconds over the socket": 1e3 * socket,
            f"{client} client: milliseconds through transport()": 1e3 * transport,
        }
    return {**found, "milliseconds that an unused plugin costs": 1e3 * idle}


def _idle(folder: Path) -> float:
    """Seconds that the plugin takes in a run of tests that do not use it; the least of several."""
    (folder / "test_it.py").write_text("\n".join(f"def test_{number}(): pass" for number in range(100)))
    (folder / "pytest.ini").write_text("[pytest]\n")
    said = [_ran(str(HERE.with_name("idle.py")), str(folder)) for _ in range(TURNS)]
    return min(float(one.splitlines()[-1]) for one in said)


def _ran(*words: str) -> str:
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return subprocess.run([sys.executable, *words], check=True, capture_output=True, text=True, env=environ).stdout
