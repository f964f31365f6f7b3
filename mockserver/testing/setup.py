"""The setup of a test: rules, settings and cassette, and the engine made from them."""

import os
import re
import warnings
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Unpack

from msgspec import Struct
from msgspec.structs import replace

from mockserver.config.errors import ConfigError
from mockserver.config.settings import UPSTREAM_KEY, Settings
from mockserver.config.spelling import KEYWORDS, Spelling
from mockserver.core.json import Json
from mockserver.engine.memory import Memory
from mockserver.reports.calls import ReceivedCall
from mockserver.reports.failures import PlayedCassette
from mockserver.rules.load import Rule
from mockserver.server.compose import Composed, compose, make_value_store
from mockserver.server.live import Live
from mockserver.server.sources import Sources, compile_rules
from mockserver.state.in_memory import MemoryCounters
from mockserver.testing.callers import shorten_path
from mockserver.testing.connections import check_hosts
from mockserver.testing.options import ServerOptions


class MockServerWarning(UserWarning):
    """Something that a test left unfinished."""


class LoadedCassette(Struct, frozen=True):
    """A cassette to replay: its name in calls' sources, its file, its number of episodes."""

    name: str
    file: Path
    size: int

    @classmethod
    def find(cls, live: Live) -> "LoadedCassette | None":
        """Return the cassette of the settings; None if there is none, or if it is recorded from scratch."""
        cassette = live.player.cassette
        if cassette is None or live.player.choice.record == "all":
            return None
        return cls(cassette.file, Path(live.settings.cassettes, cassette.file), cassette.size)

    def count_played(self, calls: Iterable[ReceivedCall]) -> PlayedCassette:
        """Return what these calls played of it."""
        head = f"cassette {self.name}#"
        numbers = {int(call.source.removeprefix(head)) for call in calls if call.source.startswith(head)}
        return PlayedCassette(shorten_path(self.file), self.size, tuple(sorted(numbers)))


def name_cassette(parts: Iterable[str]) -> str:
    """Return the cassette of a test, such as `test_app/TestChat.test_greets[gpt-4o]`.

    A part that file systems might reject, or confuse with another, gets a hash suffix.
    """
    return "/".join(map(_make_safe, parts))


def _make_safe(part: str) -> str:
    kept = _LEADING.sub("", _UNSAFE.sub("-", part)).encode()[:_MAX_PART].decode(errors="ignore").rstrip(" .")
    if kept and kept == part and not _AMBIGUOUS.search(part):
        return part
    return f"{kept or '_'}~{sha256(part.encode(errors='backslashreplace')).hexdigest()[:8]}"


_UNSAFE = re.compile(r"[^\w .@+=,()\[\]~-]")
_LEADING = re.compile(r"^[^\w\[]+")
# Case-insensitive file systems confuse parameters that differ only in case; functions hardly ever do.
_AMBIGUOUS = re.compile(r"\[.*[A-Z]|\.yaml$")
_MAX_PART = 150  # bytes


DEFAULTS: Mapping[str, Json] = {"unmatched": "error", "port": 0, "reload": False, "journal_calls": 10_000}
_MAX_CACHED = 100  # setups


class Setup(Struct, frozen=True):
    """Rules files, settings, whether answers take time (`timed`), and the providers that clients may connect to.

    `spelling`: how messages write a setting.
    """

    rules: tuple[Path, ...] = ()
    settings: Mapping[str, Json] = {}
    timed: bool = False
    allow_hosts: tuple[str, ...] = ()
    spelling: Spelling = KEYWORDS

    @classmethod
    def make(cls, *rules: str | Path, **options: Unpack[ServerOptions]) -> "Setup":
        """Return a setup from rules files and options. Raises ConfigError for files that a keyword names."""
        settings: dict[str, Any] = {
            name: str(value) if isinstance(value, Path) else value for name, value in options.items()
        }
        if "rules" in settings:
            raise ConfigError(f"rules files come without a keyword: MockServer({settings['rules']!r})")
        timing = settings.pop("timing", False)
        allowed = check_hosts(settings.pop("allow_hosts", ()))
        if not isinstance(timing, bool):
            settings["timing"] = timing
        return cls(tuple(map(Path, rules)), {**DEFAULTS, **settings}, timing is not False, allowed)

    @property
    def sources(self) -> Sources:
        """Its sources, with the environment's upstream keys but not its settings, which would change tests."""
        ours = {name for name in os.environ if name.startswith("MOCKSERVER_") and not name.startswith(UPSTREAM_KEY)}
        environ = {name: value for name, value in os.environ.items() if name not in ours}
        return Sources(self.rules, self.settings, environ, shown=shorten_path, spelling=self.spelling)

    @property
    def options(self) -> Mapping[str, Any]:
        """Its options and `rules`, with absolute paths."""
        found = {"timing": self.timed, "allow_hosts": self.allow_hosts, **self.settings}
        found["rules"] = [path.absolute() for path in self.rules]
        if not self.cacheable or "cassettes" in found:
            found["cassettes"] = os.path.abspath(found.get("cassettes", "cassettes"))
        return found

    @property
    def key(self) -> object:
        """A cache key: its settings, and when its files were written."""
        return repr((self.settings, self.spelling, [(path, _find_version(path)) for path in self.rules]))

    @property
    def cacheable(self) -> bool:
        """Whether it has no cassette, which can change."""
        return self.settings.get("cassette") is None


class Composer:
    """Makes settings and engines from setups, and caches them."""

    def __init__(self) -> None:
        self._cached: dict[object, Composed] = {}

    def compose(self, setup: Setup) -> Composed:
        """Return the settings, and an engine with empty memory. Raises MockserverError."""
        key = setup.key
        if key not in self._cached or not setup.cacheable:
            if len(self._cached) >= _MAX_CACHED:
                self._cached.clear()
            self._cached[key] = compose(setup.sources, MemoryCounters())
        settings, engine = self._cached[key]
        memory = Memory(make_value_store(settings), settings.polls)
        return Composed(settings, replace(engine, counters=MemoryCounters(), memory=memory))


def load_rules(path: Path, settings: Settings | None) -> tuple[Rule, ...]:
    """Return the rules of an additional file, without its settings. Raises MockserverError."""
    documents = Setup((path,)).sources.read_documents()
    for document in documents:
        if isinstance(document.data, Mapping) and document.data.get("settings"):
            why = "the server has its own; to use these, name the file in the mark (rules=...) or in MockServer(...)"
            warnings.warn(MockServerWarning(f"the settings of {document.file} are ignored: {why}"), stacklevel=3)
    return compile_rules(documents, settings)


def _find_version(path: Path) -> object:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
