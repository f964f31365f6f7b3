"""What recorded answers cost: beside those of rules, and beside vcrpy, which plays the very same 1,000 episodes.

vcrpy looks through its episodes within the client's process, comparing method, address and JSON body: the CPU of
that is held against what a server spends on a request under load. On the clock of a client that asks one request at a
time, which both have, most is the client's own.
"""

import http.client
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import vcr
from load import Cost, free_port, measure, server
from vcr.cassette import Cassette

from mockserver.config.settings import MatchSettings
from mockserver.server.recording.cassette_store import CassetteStore

EPISODES, STEP, TURNS = 1_000, 100, 5
PATH = "/v1/chat/completions"
FIELDS = {"content-type": "application/json", "authorization": "Bearer sk-test"}
RULES = 'version: 1\nrules:\n  - {when: {last_user: "*hello*"}, then: {text: Hello! How can I help you today?}}\n'
ORDER = {"type": "string", "description": "The number of the order, as it stands on the bill."}
WORDS = {"name": "tool", "description": "Looks up an order by its number, and tells where it is and when it comes."}
SHAPE = {"parameters": {"type": "object", "properties": {"order": ORDER}, "required": ["order"]}}
TOOLS = [{"type": "function", "function": {**WORDS, **SHAPE, "name": f"tool_{number}"}} for number in range(4)]


@dataclass(frozen=True)
class Recordings:
    """A cassette of vcrpy, the address it was recorded from, and the folder with the same as one of ours."""

    theirs: Path
    port: int

    @property
    def folder(self) -> str:
        return str(self.theirs.parent / "cassettes")

    def load(self, name: str) -> None:
        """Read ours, or a copy of it, until everything is there to be played."""
        size = CassetteStore(self.folder, MatchSettings()).load(name).size
        if size != EPISODES:
            raise RuntimeError(f"{size} episodes were loaded, not {EPISODES}")


def replaying(chat: Callable[..., bytes]) -> Mapping[str, float]:
    """Each of 1,000 chats, short ones and ones with four tools."""
    found = dict[str, float]()
    for kind, more in {"short": {}, "with tools": {"tools": TOOLS}}.items():
        requests = [chat(f"hello {number}", **more) for number in range(EPISODES)]
        with TemporaryDirectory() as folder:
            rules = Path(folder) / "rules.yaml"
            rules.write_text(RULES)
            recordings = _recorded(rules, requests)
            told = _played(recordings, rules, requests) | _loaded(recordings)
        found |= {f"{kind}: {what}": value for what, value in told.items()}
    return found


def _recorded(rules: Path, requests: Sequence[bytes]) -> Recordings:
    """vcrpy's recording of what a rule says to all of them, and what `cassette import` makes of it."""
    recordings = Recordings(rules.with_name("chat.yaml"), free_port())
    with (
        server(*_serve(rules, recordings.port), port=recordings.port),
        vcr.use_cassette(str(recordings.theirs), record_mode="all"),
    ):
        _one_by_one(recordings.port, requests)
    words = ("cassette", "import", str(recordings.theirs), "--dialect", "openai", "--cassettes", recordings.folder)
    subprocess.run([sys.executable, "-m", "mockserver", *words], check=True, stdout=subprocess.DEVNULL)
    return recordings


def _played(recordings: Recordings, rules: Path, requests: Sequence[bytes]) -> dict[str, float]:
    """vcrpy on requests from all over its cassette; then two servers by turns, of which the least disturbed count."""
    with vcr.use_cassette(str(recordings.theirs), record_mode="none", match_on=("method", "uri", "body")):
        theirs = _one_by_one(recordings.port, requests[STEP // 2 :: STEP])
    none, ports = rules.with_name("none.yaml"), (free_port(), free_port())
    none.write_text("version: 1\n")
    flags = ("--cassette", "chat", "--cassettes", recordings.folder)
    with (
        server(*_serve(none, ports[0]), *flags, port=ports[0]) as played,
        server(*_serve(rules, ports[1]), port=ports[1]) as ruled,
    ):
        pairs = ((played, ports[0]), (ruled, ports[1]))
        costs = [[measure(*pair, requests, count=EPISODES).cpu for pair in pairs] for _ in range(TURNS)]
        ours = min(_one_by_one(ports[0], requests).wall for _ in range(TURNS))
    cassette, rule = (min(column) for column in zip(*costs, strict=True))
    return {
        "vcrpy, milliseconds of CPU": 1e3 * theirs.cpu,
        "cassette, milliseconds of server CPU": 1e3 * cassette,
        "vcrpy / cassette, CPU": theirs.cpu / cassette,
        "vcrpy / cassette, on the client's clock": theirs.wall / ours,
        "cassette / rule, server CPU": cassette / rule,
    }


def _loaded(recordings: Recordings) -> dict[str, float]:
    """What it takes until everything is there to be played: the first time in a process, and the next times.

    Of some times the least disturbed count; each first time is that of another copy.
    """
    copies = [f"copy-{number}" for number in range(TURNS)]
    for name in copies:
        shutil.copy(Path(recordings.folder) / "chat.yaml", Path(recordings.folder) / f"{name}.yaml")
    first = min(_seconds(lambda name=name: recordings.load(name)) for name in copies)
    again = min(_seconds(lambda: recordings.load(copies[-1])) for _ in copies)
    theirs = min(_seconds(lambda: Cassette.load(path=str(recordings.theirs))) for _ in copies)
    return {
        "load, seconds of CPU": first,
        "load again, seconds of CPU": again,
        "vcrpy / load": theirs / first,
        "vcrpy / load again": theirs / again,
    }


def _seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def _serve(rules: Path, port: int) -> tuple[str, ...]:
    return "-m", "mockserver", "serve", str(rules), "--port", str(port), "--no-reload"


def _one_by_one(port: int, requests: Sequence[bytes]) -> Cost:
    """What each of these requests costs this process, over one connection."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    bodies = [request.partition(b"\r\n\r\n")[2] for request in requests]
    cpu, wall = time.process_time(), time.perf_counter()
    for body in bodies:
        connection.request("POST", PATH, body, FIELDS)
        answer = connection.getresponse()
        if answer.status != 200 or not answer.read():
            raise RuntimeError(f"unexpected answer: {answer.status}")
    connection.close()
    return Cost((time.process_time() - cpu) / len(bodies), (time.perf_counter() - wall) / len(bodies))
