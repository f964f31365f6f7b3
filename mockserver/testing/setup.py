"""What a test wants of its server, and the settings and rules that this comes to; those of files are read once."""

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Unpack

from mockserver.config.cassettes import UPSTREAM_KEY
from mockserver.config.settings import Keywords, Settings
from mockserver.config.timing import Profiles
from mockserver.core.json import Json
from mockserver.core.plan import Stored
from mockserver.engine.engine import Engine, remembering
from mockserver.engine.memory import Memory
from mockserver.reports.calls import line
from mockserver.reports.failures import Tape
from mockserver.rules.load import Rule
from mockserver.server.live import Live, Sources, compiled, compose
from mockserver.state.memory import MemoryShelf, MemoryStore
from mockserver.testing.calls import Call
from mockserver.testing.options import Options, near


class MockServerWarning(UserWarning):
    """Something that a test has left undone."""


def left_open(calls: Iterable[Call]) -> Iterator[MockServerWarning]:
    """What to say of calls whose answers were still going out when the test was over."""
    for call in calls:
        yield MockServerWarning(
            f"the test has left an answer open, {line(call)}: read the stream to its end or close it, and wait for"
            " what runs beside the test"
        )


def unrecorded(calls: Iterable[Call]) -> Iterator[MockServerWarning]:
    """What to say of calls whose answers should have been recorded and were not, once for each reason."""
    lost: dict[str, list[Call]] = {}
    for call in calls:
        if call.row.unrecorded:
            lost.setdefault(call.secrets.text(call.row.unrecorded), []).append(call)
    for why, (first, *others) in lost.items():
        head = f"{len(others) + 1} answers are not recorded, the first to" if others else "an answer is not recorded,"
        yield MockServerWarning(f"{head} {line(first)}: {why}")


def warn_of(calls: Iterable[Call]) -> None:
    """Say it where nobody reports on tests, in the line that called who calls this."""
    for warning in left_open(calls):
        warnings.warn(warning, stacklevel=3)


@dataclass(frozen=True, slots=True)
class Held:
    """What a cassette held: its name among calls, its file, how many episodes."""

    name: str
    file: Path
    size: int

    @classmethod
    def of(cls, live: Live) -> "Held | None":
        """What the cassette of the settings holds now; None where there is none, or all is recorded anew."""
        library = live.player.loaded
        if library is None or live.player.choice.record == "all":
            return None
        return cls(library.file, Path(live.settings.cassettes, library.file), library.size)

    def played(self, calls: Iterable[Call]) -> Tape:
        """What these calls have played of it."""
        head = f"cassette {self.name}#"
        numbers = {int(call.source.removeprefix(head)) for call in calls if call.source.startswith(head)}
        return Tape(near(self.file), self.size, tuple(sorted(numbers)))


DEFAULTS: Mapping[str, Json] = {"unmatched": "error", "port": 0, "reload": False, "journal_calls": 10_000}
MOST_KEPT = 100  # setups


@dataclass(frozen=True, slots=True)
class Setup:
    """Rules files, settings, and whether answers take their time."""

    rules: tuple[Path, ...] = ()
    settings: Mapping[str, Json] = field(default_factory=dict)
    timed: bool = False

    @classmethod
    def of(cls, *rules: str | Path, **options: Unpack[Options]) -> "Setup":
        """The setup that options state."""
        settings: dict[str, Any] = {**options}
        timing = settings.pop("timing", False)
        if not isinstance(timing, bool):
            settings["timing"] = timing
        return cls(tuple(map(Path, rules)), {**DEFAULTS, **settings}, timing is not False)

    @property
    def sources(self) -> Sources:
        """Where it comes from. The environment's settings would make a test another one elsewhere; its keys do not."""
        ours = {name for name in os.environ if name.startswith("MOCKSERVER_") and not name.startswith(UPSTREAM_KEY)}
        environ = {name: value for name, value in os.environ.items() if name not in ours}
        return Sources(self.rules, Keywords(self.settings), environ, shown=near)

    @property
    def stated(self) -> Mapping[str, Any]:
        """What it says, by the names of options and `rules`, wherever it is read."""
        said = {"timing": self.timed, **self.settings, "rules": [path.absolute() for path in self.rules]}
        if not self.lasts or "cassettes" in said:
            said["cassettes"] = os.path.abspath(said.get("cassettes", "cassettes"))
        return said

    @property
    def key(self) -> object:
        """What tells it from others: what it says, and when its files were written."""
        return repr((self.settings, [(path, _written(path)) for path in self.rules]))

    @property
    def lasts(self) -> bool:
        """Whether what it comes to stays the same: cassettes are written to."""
        return self.settings.get("cassette") is None


class Setups:
    """What setups come to."""

    def __init__(self) -> None:
        self._kept: dict[object, tuple[Settings, Engine]] = {}

    def composed(self, setup: Setup) -> tuple[Settings, Engine]:
        """Settings, and an engine that remembers nothing yet. Raises MockserverError."""
        key = setup.key
        if key not in self._kept or not setup.lasts:
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            self._kept[key] = compose(setup.sources, MemoryStore())
        settings, engine = self._kept[key]
        shelf: MemoryShelf[Stored] = MemoryShelf(count=settings.stored_answers, size=settings.stored_bytes)
        return settings, remembering(engine, MemoryStore(), Memory(shelf, settings.background_polls))


def more(path: Path, profiles: Profiles | None) -> tuple[Rule, ...]:
    """The rules of one more file, for a server whose settings stand already. Raises MockserverError."""
    documents = Setup((path,)).sources.documents()
    for document in documents:
        if isinstance(document.data, Mapping) and document.data.get("settings"):
            why = "the server has its own; have the mark name the file, rules=..., or MockServer(...)"
            warnings.warn(MockServerWarning(f"the settings of {document.file} do not count: {why}"), stacklevel=3)
    return compiled(documents, profiles)


def _written(path: Path) -> object:
    try:
        told = path.stat()
    except OSError:
        return None
    return told.st_mtime_ns, told.st_size
