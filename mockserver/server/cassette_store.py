"""The files of cassettes as one run of a server knows them: what of them is old, and what others have changed in them.

It outlasts what is reloaded, and knows files by a small protocol only.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from threading import RLock
from typing import Protocol

from mockserver.cassettes.match import EpisodeIndex
from mockserver.cassettes.store import SUFFIX, CassetteFile, absent, named
from mockserver.config.cassettes import Match
from mockserver.config.errors import CassetteError, Mistake, RuleError
from mockserver.core.episode import Episode
from mockserver.core.json import Json
from mockserver.rules.load import Rule
from mockserver.server.parse_recorded import heard

Change = Callable[[tuple[Episode, ...]], tuple[Episode, ...]]


class Reel(Protocol):
    """The file of a cassette."""

    @property
    def exists(self) -> bool:
        """Whether there is such a file."""

    @property
    def stamp(self) -> object:
        """How it stands now: another one after every change of it; None where there is no such file."""

    @property
    def left(self) -> object:
        """How it stood when it was last written by this object."""

    def load(self) -> tuple[Episode, ...]:
        """What it holds. Raises CassetteError."""

    def append(self, episode: Episode) -> int:
        """Put one more behind the others; its number, from 1. Raises CassetteError."""

    def rewrite(self, change: Change) -> tuple[Episode, ...]:
        """Put other episodes in place of its own, all at once, and give them. Raises CassetteError."""


class Opening(Protocol):
    """A folder of cassettes."""

    def __call__(self, name: str) -> Reel:
        """The one of a name. Raises CassetteError for one that no cassette can have."""

    def absent(self, name: str) -> str:
        """What to say of one that is not there."""


class Reels:
    """All of them. `lock` is held by whoever reads or writes them."""

    def __init__(self, opening: Opening) -> None:
        self.lock = RLock()
        self._open = opening  # each time anew: what stood there before may be a link to elsewhere by now
        self._seen: dict[str, object] = {}  # how each stood when it was looked at, or written here
        self._old: dict[str, set[Episode]] = {}

    def absent(self, name: str) -> str:
        """What to say of a cassette that is not there."""
        return self._open.absent(name)

    def exists(self, name: str) -> bool:
        """Whether there is such a cassette. Raises CassetteError for a name that none can have."""
        with self.lock:
            reel = self._open(name)
            self._seen.setdefault(name, reel.stamp)
            return reel.exists

    def load(self, name: str) -> tuple[Episode, ...]:
        """What a cassette holds. Raises CassetteError."""
        with self.lock:
            reel = self._open(name)
            self._seen[name] = reel.stamp
            return reel.load()

    def append(self, name: str, episode: Episode, behind: int = 0) -> int:
        """Put one more behind the others; its number. They were so many, as far as anybody here knows.

        That it was written is no news, unless others have written too.
        """
        with self.lock:
            reel = self._open(name)
            known = self._seen.get(name) == reel.stamp
            number = reel.append(episode)
            if known and number == behind + 1:
                self._seen[name] = reel.left
            return number

    def replace(self, name: str, gone: set[Episode], episode: Episode) -> tuple[Episode, ...]:
        """Put an episode where the first of those stands that go; all that there are now."""

        def change(there: tuple[Episode, ...]) -> tuple[Episode, ...]:
            at = next((at for at, each in enumerate(there) if each in gone), len(there))
            return (*there[:at], episode, *(each for each in there[at:] if each not in gone))

        with self.lock:
            reel = self._open(name)
            now = reel.rewrite(change)
            self._seen[name] = reel.left
            self._old[name] -= gone
            return now

    def age(self, name: str, there: set[Episode]) -> None:
        """What is there is old from now on: it goes as it is recorded anew. Once in a run."""
        with self.lock:
            self._old.setdefault(name, there)

    def old(self, name: str) -> set[Episode]:
        """What of a cassette is still old."""
        return self._old.get(name, set())

    def changed(self) -> tuple[str, ...]:
        """The names of those that others have changed since they were last looked at; now they have been."""
        with self.lock:
            now = {name: self._stamp(name) for name in self._seen}
            before, self._seen = self._seen, now
            return tuple(name for name, stamp in now.items() if stamp != before[name])

    def news(self, name: str) -> bool:
        """Whether others have changed this one since it was last looked at."""
        with self.lock:
            return name in self._seen and self._stamp(name) != self._seen[name]

    def _stamp(self, name: str) -> object:
        try:
            return self._open(name).stamp
        except CassetteError as error:  # something else stands there now, that nobody may open
            return str(error)


class _Folder:
    """Opens each cassette of a folder as the same object again: it knows what it has read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._opened: dict[Path, CassetteFile] = {}

    def __call__(self, name: str) -> Reel:
        path = named(self._path, name)
        return self._opened.setdefault(path, CassetteFile(path))

    def absent(self, name: str) -> str:
        """What to say of one that is not there."""
        return absent(self._path, name)


def in_folder(folder: str) -> Opening:
    """Opens the cassettes of a folder."""
    return _Folder(Path(folder))


_RECORD = "to record it, start with --record once and --upstream DIALECT=URL"


class Libraries:
    """All of them. To read and to record take their time: both are done on threads, one at a time."""

    def __init__(self, reels: Reels, match: Match) -> None:
        self.reels, self._match = reels, match
        self._loaded: dict[str, EpisodeIndex] = {}

    def exists(self, name: str) -> bool:
        """Whether there is such a cassette. Raises CassetteError for a name that none can have."""
        return self.reels.exists(_plain(name))

    def get(self, name: str) -> EpisodeIndex | None:
        """A cassette that has been read, or None."""
        return self._loaded.get(_plain(name))

    @property
    def sizes(self) -> Mapping[str, int]:
        """How many episodes each of those has that were read, by its file."""
        return {library.file: library.size for library in self._loaded.values()}

    def load(self, name: str, *, new: bool = False) -> EpisodeIndex:
        """A cassette, read if it was not; `new`: one that is not there is empty. Raises CassetteError."""
        name = _plain(name)
        with self.reels.lock:
            if name not in self._loaded:
                there = self.reels.exists(name)
                if not there and not new:
                    raise CassetteError(self.missing(name))
                empty = EpisodeIndex(file_of(name), heard, self._match)
                self._loaded[name] = empty.again(self.reels.load(name)) if there else empty
            return self._loaded[name]

    def refresh(self, name: str) -> None:
        """Have a cassette read anew where others have changed it since. Raises CassetteError."""
        name = _plain(name)
        with self.reels.lock:
            if name in self._loaded and self.reels.news(name):
                del self._loaded[name]

    def missing(self, name: str, cure: str = _RECORD) -> str:
        """What to say of a cassette that is not there."""
        told = self.reels.absent(name)
        return f"{told} {cure[0].upper()}{cure[1:]}" if told.endswith("?") else f"{told}; {cure}"

    def renew(self, name: str) -> None:
        """Have what a cassette holds now replaced by what is recorded from now on. Raises CassetteError."""
        with self.reels.lock:
            library = self.load(name, new=True)
            self.reels.age(_plain(name), {entry.episode for entry in library.entries})

    def save(self, name: str, episode: Episode) -> int:
        """Record an episode, which is played from now on, in place of old ones; its number. Raises CassetteError."""
        name = _plain(name)
        with self.reels.lock:
            if gone := self._replaced(name, episode):
                now = self.reels.replace(name, gone, episode)
                self._loaded[name] = self._loaded[name].again(now)
                return next(number for number, each in enumerate(now, 1) if each is episode)
            library = self.load(name, new=True)
            number = self.reels.append(name, episode, library.size)
            library.add(episode, number)
            return number

    def _replaced(self, name: str, episode: Episode) -> set[Episode]:
        """What is old in a cassette, and answers what this episode does."""
        old = self.reels.old(name)
        if not old:
            return set()
        return {entry.episode for entry in self.load(name, new=True).alike(episode) if entry.episode in old}


def check(rules: Iterable[Rule], libraries: Libraries) -> None:
    """Read the cassettes that rules name. Raises RuleError for one that is not there, CassetteError if it is broken."""
    mistakes = []
    for rule in rules:
        for name in named_in(rule.spec["then"]):
            try:
                there = libraries.exists(name)
            except CassetteError as error:
                mistakes += [Mistake(mistake.message, rule.place) for mistake in error.mistakes]
                continue
            if there:
                libraries.load(name)
            else:
                mistakes.append(Mistake(f'rule "{rule.name}": {libraries.missing(name)}', rule.place))
    if mistakes:
        raise RuleError(*mistakes)


def named_in(then: Mapping[str, Json]) -> Iterator[str]:
    """The cassettes that a `then` names, in whichever step or branch."""
    if "cassette" in then:
        yield then["cassette"]
    for inner in (*then.get("steps", ()), *(branch["then"] for branch in then.get("one_of", ()))):
        yield from named_in(inner)


def file_of(name: str) -> str:
    """What a cassette is called: `chat.yaml`."""
    return _plain(name) + SUFFIX


def _plain(name: str) -> str:
    return name.removesuffix(SUFFIX)
