"""The cassettes of a folder in one run of a server: loaded once, recorded into, watched for changes by others.

Threads load and record, one at a time. Recorded requests are parsed by the dialect that they were sent to.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from threading import RLock

from mockserver.cassettes.match import EpisodeIndex
from mockserver.cassettes.store import SUFFIX, CassetteFile, absent, named
from mockserver.config.errors import CassetteError, Mistake, RuleError
from mockserver.config.recording import MatchSettings
from mockserver.core.call import Call
from mockserver.core.episode import Episode, Sent
from mockserver.core.http import HttpRequest
from mockserver.core.json import Json
from mockserver.core.plan import Failure
from mockserver.dialects import discover
from mockserver.rules.load import Rule
from mockserver.server.routes import Endpoint, find, operation_for, places
from mockserver.server.snapshot import query_from

_RECORD = "to record it, start with --record once and --upstream DIALECT=URL"


class CassetteStore:
    """Cassettes by name, with or without the suffix; a name that no cassette can have raises CassetteError."""

    def __init__(self, folder: str | Path, match: MatchSettings) -> None:
        self._folder, self._match = Path(folder), match
        self._lock = RLock()
        self._files: dict[Path, CassetteFile] = {}  # each knows what it has read before
        self._stamps: dict[str, object] = {}  # of each file, when it was last read or written here
        self._stale: dict[str, set[Episode]] = {}  # episodes that are replaced when they are recorded again
        self._loaded: dict[str, EpisodeIndex] = {}

    def reloaded(self, match: MatchSettings) -> "CassetteStore":
        """The same files with nothing loaded; what this run knows of them stays."""
        store = CassetteStore(self._folder, match)
        store._lock, store._files = self._lock, self._files
        store._stamps, store._stale = self._stamps, self._stale
        return store

    def exists(self, name: str) -> bool:
        """Whether there is such a cassette."""
        with self._lock:
            file = self._file(name)
            self._stamps.setdefault(_plain(name), file.stamp)
            return file.exists

    def get(self, name: str) -> EpisodeIndex | None:
        """A cassette if it is loaded."""
        return self._loaded.get(_plain(name))

    @property
    def sizes(self) -> Mapping[str, int]:
        """The number of episodes of each loaded cassette, by its file."""
        return {index.file: index.size for index in self._loaded.values()}

    def load(self, name: str, *, new: bool = False) -> EpisodeIndex:
        """A cassette, read unless it is loaded; `new`: a missing one is empty. Raises CassetteError."""
        name = _plain(name)
        with self._lock:
            if name not in self._loaded:
                index = EpisodeIndex(file_of(name), parse_episode, self._match)
                if self.exists(name):
                    file = self._file(name)
                    self._stamps[name] = file.stamp
                    index = index.again(file.load())
                elif not new:
                    raise CassetteError(self.missing(name))
                self._loaded[name] = index
            return self._loaded[name]

    def refresh(self, name: str) -> None:
        """Unload a cassette that others have changed."""
        name = _plain(name)
        with self._lock:
            if name in self._stamps and self._stamp(name) != self._stamps[name]:
                self._loaded.pop(name, None)

    def changed(self) -> tuple[str, ...]:
        """The names of the cassettes that others have changed since the last time."""
        with self._lock:
            now = {name: self._stamp(name) for name in self._stamps}
            names = tuple(name for name, stamp in now.items() if stamp != self._stamps[name])
            self._stamps.update(now)
            return names

    def missing(self, name: str, cure: str = _RECORD) -> str:
        """The message about a cassette that does not exist."""
        message = absent(self._folder, name)
        return f"{message} {cure[0].upper()}{cure[1:]}" if message.endswith("?") else f"{message}; {cure}"

    def renew(self, name: str) -> None:
        """Mark existing episodes stale, once in a run; re-recording replaces them. Raises CassetteError."""
        with self._lock:
            index = self.load(name, new=True)
            self._stale.setdefault(_plain(name), {entry.episode for entry in index.entries})

    def save(self, name: str, episode: Episode) -> int:
        """Record an episode, which is played from now on; stale ones give way. Return its number, from 1.

        Raises CassetteError.
        """
        name = _plain(name)
        with self._lock:
            index, file, stale = self.load(name, new=True), self._file(name), self._stale.get(name)
            replaced = {entry.episode for entry in index.alike(episode) if entry.episode in stale} if stale else set()
            if replaced:
                return self._replace(name, replaced, episode)
            known = self._stamps.get(name) == file.stamp
            number = file.append(episode)
            if known and number == index.size + 1:  # nobody else has written meanwhile: this is no change
                self._stamps[name] = file.left
            index.add(episode, number)
            return number

    def _replace(self, name: str, replaced: set[Episode], episode: Episode) -> int:
        def change(there: tuple[Episode, ...]) -> tuple[Episode, ...]:
            at = next((at for at, each in enumerate(there) if each in replaced), len(there))
            return (*there[:at], episode, *(each for each in there[at:] if each not in replaced))

        file = self._file(name)
        now = file.rewrite(change)
        self._stamps[name] = file.left
        self._stale[name] -= replaced
        self._loaded[name] = self._loaded[name].again(now)
        return next(number for number, each in enumerate(now, 1) if each is episode)

    def _file(self, name: str) -> CassetteFile:
        path = named(self._folder, _plain(name))  # each time: the path may be a link to elsewhere by now
        return self._files.setdefault(path, CassetteFile(path))

    def _stamp(self, name: str) -> object:
        try:
            return self._file(name).stamp
        except CassetteError as error:  # it is something else by now
            return str(error)


def check(rules: Iterable[Rule], cassettes: CassetteStore) -> None:
    """Load the cassettes that rules name. Raises RuleError if one is missing, CassetteError if one is broken."""
    mistakes = []
    for rule in rules:
        for name in named_in(rule.spec["then"]):
            try:
                there = cassettes.exists(name)
            except CassetteError as error:
                mistakes += [Mistake(mistake.message, rule.place) for mistake in error.mistakes]
                continue
            if there:
                cassettes.load(name)
            else:
                mistakes.append(Mistake(f'rule "{rule.name}": {cassettes.missing(name)}', rule.place))
    if mistakes:
        raise RuleError(*mistakes)


def named_in(then: Mapping[str, Json]) -> Iterator[str]:
    """The cassettes in a `then`, its steps and its branches."""
    if "cassette" in then:
        yield then["cassette"]
    for inner in (*then.get("steps", ()), *(branch["then"] for branch in then.get("one_of", ()))):
        yield from named_in(inner)


def file_of(name: str) -> str:
    """The file of a cassette: `chat.yaml`."""
    return _plain(name) + SUFFIX


def _plain(name: str) -> str:
    return name.removesuffix(SUFFIX)


def parse_episode(episode: Episode) -> Call | None:
    """The call of an episode's request; None if its dialect would refuse it, or has no such path."""
    return parse_sent(episode.dialect, episode.request)


def parse_sent(dialect: str, sent: Sent) -> Call | None:
    """The same of a request by itself."""
    try:
        return parse_sent_strictly(dialect, sent)
    except Failure:
        return None


def parse_sent_strictly(dialect: str, sent: Sent) -> Call | None:
    """The same; None if the dialect has no such path. Raises Failure if it refuses the request."""
    found = find(sent.path, _places(dialect))
    operation = operation_for(sent.method, found[0].operations) if found is not None else None
    if found is None or operation is None:
        return None
    headers = [(name.lower(), value) for name, value in sent.headers]
    http = HttpRequest(
        method=sent.method,
        path=sent.path,
        query=query_from(sent.query.encode("utf-8", "replace")),
        headers=tuple([(n.encode("latin-1", "replace"), v.encode("latin-1", "replace")) for n, v in headers]),
        body=sent.body,
        path_params=found[1],
    )
    return operation.parse(http, False)


@cache
def _places(dialect: str) -> tuple[Endpoint, ...]:
    spoken = discover().get(dialect)
    return () if spoken is None else places({dialect: spoken}, dialect)
