"""The cassettes that a server has read, by name, each once; and the one way in which more is recorded into them."""

from collections.abc import Iterable, Iterator, Mapping

from mockserver.cassettes.files import SUFFIX
from mockserver.cassettes.library import Library
from mockserver.core.call import Json
from mockserver.core.episode import Episode
from mockserver.core.errors import CassetteError, Mistake, RuleError
from mockserver.engine.rules import Rule
from mockserver.kinds.cassettes import Match
from mockserver.server.hearing import heard
from mockserver.server.reels import Reels

_RECORD = "to record it, start with --record once and --upstream DIALECT=URL"


class Libraries:
    """All of them. To read and to record take their time: both are done on threads, one at a time."""

    def __init__(self, reels: Reels, match: Match) -> None:
        self.reels, self._match = reels, match
        self._loaded: dict[str, Library] = {}

    def exists(self, name: str) -> bool:
        """Whether there is such a cassette. Raises CassetteError for a name that none can have."""
        return self.reels.exists(_plain(name))

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
        with self.reels.lock:
            if name not in self._loaded:
                there = self.reels.exists(name)
                if not there and not new:
                    raise CassetteError(self.missing(name))
                empty = Library(file_of(name), heard, self._match)
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
