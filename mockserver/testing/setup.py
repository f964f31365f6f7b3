"""What a test wants of its server, and the settings and rules that this comes to; those of files are read once."""

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Unpack

from mockserver.core.call import Json
from mockserver.core.plan import Stored
from mockserver.engine.engine import Engine
from mockserver.engine.memory import Memory
from mockserver.engine.rules import Rule
from mockserver.engine.variants import remembering
from mockserver.kinds.cassettes import UPSTREAM_KEY
from mockserver.kinds.timing import Profiles
from mockserver.server.live import Sources, compiled, compose
from mockserver.settings import Keywords, Settings
from mockserver.state.memory import MemoryStore
from mockserver.state.shelf import MemoryShelf
from mockserver.testing.leftovers import MockServerWarning
from mockserver.testing.options import Options
from mockserver.testing.places import near

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
