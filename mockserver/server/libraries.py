"""The cassettes that a server has read, by name, each once; and the one way in which more is recorded into them.

Knows files by a small protocol only.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from threading import RLock
from typing import Protocol

from mockserver.cassettes.files import SUFFIX, CassetteFile, named
from mockserver.cassettes.library import Library
from mockserver.core.call import Json
from mockserver.core.episode import Episode
from mockserver.core.errors import CassetteError, Mistake, RuleError
from mockserver.engine.rules import Rule
from mockserver.kinds.cassettes import Match
from mockserver.server.hearing import heard


class Reel(Protocol):
    """The file of a cassette."""

    @property
    def exists(self) -> bool:
        """Whether there is such a file."""

    def load(self) -> tuple[Episode, ...]:
        """What it holds. Raises CassetteError."""

    def append(self, episode: Episode) -> int:
        """Put one more behind the others; its number, from 1. Raises CassetteError."""


Opening = Callable[[str], Reel]  # by its name. Raises CassetteError for one that no cassette can have


class Libraries:
    """All of them. To read and to record take their time: both are done on threads, one at a time."""

    def __init__(self, opening: Opening, match: Match) -> None:
        self._open, self._match = opening, match
        self._loaded: dict[str, Library] = {}
        self._lock = RLock()

    def exists(self, name: str) -> bool:
        """Whether there is such a cassette. Raises CassetteError for a name that none can have."""
        return self._open(_plain(name)).exists

    def get(self, name: str) -> Library | None:
        """A cassette that has been read, or None."""
        return self._loaded.get(_plain(name))

    @property
    def sizes(self) -> Mapping[str, int]:
        """How many episodes each of those has that were read, by its file."""
        return {library.file: library.size for library in self._loaded.values()}

    def load(self, name: str, *, new: bool = False) -> Library:
        """A cassette, read if it was not; `new`: one that is not there is empty. Raises CassetteError."""
        name = _plain(name)
        with self._lock:
            if name not in self._loaded:
                reel = self._open(name)
                if not reel.exists and not new:
                    raise CassetteError(missing(name))
                library = Library(name + SUFFIX, heard, self._match)
                for number, episode in enumerate(reel.load() if reel.exists else (), 1):
                    library.add(episode, number)
                self._loaded[name] = library
            return self._loaded[name]

    def save(self, name: str, episode: Episode) -> int:
        """Record an episode, which is played from now on; its number. Raises CassetteError."""
        name = _plain(name)
        with self._lock:
            number = self._open(name).append(episode)
            if name in self._loaded:
                self._loaded[name].add(episode, number)
            return number


def missing(name: str) -> str:
    """What to say of a cassette that is not there."""
    return f'there is no cassette "{name[:120]}"; to record it, start with --record once and --upstream DIALECT=URL'


def check(rules: Iterable[Rule], libraries: Libraries) -> None:
    """Read the cassettes that rules name. Raises RuleError for one that is not there, CassetteError if it is broken."""
    mistakes = []
    for rule in rules:
        for name in _named(rule.spec["then"]):
            try:
                there = libraries.exists(name)
            except CassetteError as error:
                mistakes += [Mistake(mistake.message, rule.place) for mistake in error.mistakes]
                continue
            if there:
                libraries.load(name)
            else:
                mistakes.append(Mistake(f'rule "{rule.name}": {missing(name)}', rule.place))
    if mistakes:
        raise RuleError(*mistakes)


def _named(then: Mapping[str, Json]) -> Iterator[str]:
    """The cassettes that a `then` names, in whichever step or branch."""
    if "cassette" in then:
        yield then["cassette"]
    for inner in (*then.get("steps", ()), *(branch["then"] for branch in then.get("one_of", ()))):
        yield from _named(inner)


def in_folder(folder: str) -> Opening:
    """Opens the cassettes of a folder."""

    def opening(name: str) -> Reel:
        return CassetteFile(named(Path(folder), name))

    return opening


def _plain(name: str) -> str:
    return name.removesuffix(SUFFIX)
