"""The cassettes of a folder in one run of a server: loaded once, recorded into, watched for changes.

Threads load and record, one at a time. What reads and compares cassettes is imported when one is first used: most
servers have none.
"""

from collections.abc import Container, Mapping
from functools import partial
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING

from msgspec import Struct

from mockserver.config.errors import CassetteError
from mockserver.config.hosts import NO_HOSTS, HostTable
from mockserver.config.settings import MatchSettings
from mockserver.config.spelling import FLAGS, Spelling
from mockserver.core.episode import SUFFIX, Episode, name_file
from mockserver.core.mcp_messages import find_response
from mockserver.core.text import write_ranges
from mockserver.kinds.mcp import SESSION
from mockserver.server.recording.recorded_calls import parse_episode

if TYPE_CHECKING:
    from mockserver.cassettes.cassette import Cassette
    from mockserver.cassettes.cassette_file import CassetteFile


_CURE = "record it again or, if you meant to edit it, set `sha256: unknown`"


class _KnownFile(Struct):
    """What this run knows of a cassette's file."""

    stamp: object  # of its state when it was last read, written or asked for here
    had_episodes: bool = False
    stale: set[Episode] | None = None  # episodes that are replaced when they are recorded again; None: not marked yet


class CassetteStore:
    """Cassettes by name, with or without the suffix; a name that no cassette can have raises CassetteError."""

    def __init__(
        self, folder: str | Path, match: MatchSettings, hosts: HostTable = NO_HOSTS, *, spelling: Spelling = FLAGS
    ) -> None:
        self._folder = Path(folder)
        self._match = match
        self.hosts = hosts
        self._spelling = spelling
        self._lock = RLock()
        self._files: dict[Path, CassetteFile] = {}
        self._known: dict[str, _KnownFile] = {}
        self._loaded: dict[str, Cassette] = {}

    def copy_unloaded(self, match: MatchSettings, hosts: HostTable = NO_HOSTS) -> "CassetteStore":
        """Return a store of the same files with nothing loaded; it knows what this run has seen of them."""
        store = CassetteStore(self._folder, match, hosts, spelling=self._spelling)
        store._lock = self._lock
        store._files = self._files
        store._known = self._known
        return store

    @property
    def episode_counts(self) -> Mapping[str, int]:
        """How many episodes each loaded cassette has, by its file."""
        with self._lock:
            return {cassette.file: cassette.size for cassette in self._loaded.values()}

    def list_edited(self, played: Container[str] | None = None) -> tuple[str, ...]:
        """Return a line for each loaded cassette with episodes that were edited, and what to do.

        `played`: the sources of those that matter, such as `cassette chat.yaml#3`; None: all.
        """
        lines = list[str]()
        with self._lock:
            for cassette in self._loaded.values():
                source = f"cassette {cassette.file}"
                numbers = [at for at in cassette.edited if played is None or f"{source}#{at}" in played]
                if numbers:
                    lines.append(f"{source}: edited since it was recorded: {write_ranges(numbers)}; {_CURE}")
        return tuple(lines)

    def exists(self, name: str) -> bool:
        """Return whether a cassette has a file; from now on, changes of the file are noticed."""
        with self._lock:
            self._know(_remove_suffix(name))
            return self._find_file(name).exists

    def get(self, name: str) -> "Cassette | None":
        """Return a cassette that is loaded."""
        return self._loaded.get(_remove_suffix(name))

    def load(self, name: str, *, new: bool = False) -> "Cassette":
        """Return a cassette, read unless it is loaded; `new`: a missing one is empty. Raises CassetteError."""
        from mockserver.cassettes.cassette import Cassette

        name = _remove_suffix(name)
        with self._lock:
            if name not in self._loaded:
                cassette = Cassette(name_file(name), partial(parse_episode, hosts=self.hosts), self._match)
                if self.exists(name):
                    file = self._find_file(name)
                    known = self._know(name)
                    known.stamp = file.stamp
                    documents = file.load_documents()
                    cassette = cassette.copy_with([document.episode for document in documents])
                    cassette.edited = tuple(at for at, document in enumerate(documents, 1) if document.is_edited)
                    if known.had_episodes and not file.path.stat().st_size:  # it is being written, or was lost
                        raise CassetteError(
                            f"{file.path}: is empty; restore it, or restart the server to record it again"
                        )
                    known.had_episodes = cassette.size > 0
                elif not new:
                    raise CassetteError(self.explain_missing(name))
                self._loaded[name] = cassette
            return self._loaded[name]

    def refresh(self, name: str) -> None:
        """Unload a cassette whose file has changed."""
        name = _remove_suffix(name)
        with self._lock:
            known = self._known.get(name)
            if known is not None and self._find_stamp(name) != known.stamp:
                self._loaded.pop(name, None)

    def list_changed(self) -> tuple[str, ...]:
        """Return the cassettes whose files others have changed since this was last asked."""
        with self._lock:
            changed = list[str]()
            for name, known in self._known.items():
                before = known.stamp
                known.stamp = self._find_stamp(name)
                if known.stamp != before:
                    changed.append(name)
            return tuple(changed)

    def explain_missing(self, name: str, spelling: Spelling | None = None) -> str:
        """Return the message for a cassette that is not there: a name that it may be meant for, or how to record it."""
        from mockserver.cassettes.cassette_names import describe_missing

        spelling = spelling or self._spelling
        record = spelling.write("record", "once")
        cure = f"to record it, set {record} and {spelling.write('upstream', {'DIALECT': 'URL'})}"
        message = describe_missing(self._folder, name)
        return f"{message} {cure[0].upper()}{cure[1:]}" if message.endswith("?") else f"{message}; {cure}"

    def mark_stale(self, name: str) -> None:
        """Mark existing episodes stale, once in a run; re-recording replaces them. Raises CassetteError."""
        with self._lock:
            cassette = self.load(name, new=True)
            known = self._know(_remove_suffix(name))
            if known.stale is None:
                known.stale = {entry.episode for entry in cassette.entries}

    def save(self, name: str, episode: Episode) -> int:
        """Record an episode in place of stale ones; return its number, from 1. Raises CassetteError."""
        name = _remove_suffix(name)
        with self._lock:
            cassette = self.load(name, new=True)
            file = self._find_file(name)
            known = self._know(name)
            stale = known.stale or set()
            is_session = episode.operation == SESSION.name  # clients repeat these messages in each connection
            alike = cassette.find_alike(episode) if stale or is_session else ()
            if replaced := {entry.episode for entry in alike if entry.episode in stale}:
                return self._replace(name, replaced, episode)
            same = (entry.number for entry in alike if is_session and _says_same(entry.episode, episode))
            if (recorded := next(same, None)) is not None:
                return recorded
            is_ours = known.stamp == file.stamp
            number = file.append(episode)
            if is_ours and number == cassette.size + 1:  # nobody else has written meanwhile: this is no change
                known.stamp = file.written_stamp
            cassette.add(episode, number)
            return number

    def _replace(self, name: str, replaced: set[Episode], episode: Episode) -> int:
        def change(existing: tuple[Episode, ...]) -> tuple[Episode, ...]:
            at = next((at for at, each in enumerate(existing) if each in replaced), len(existing))
            return (*existing[:at], episode, *(each for each in existing[at:] if each not in replaced))

        file = self._find_file(name)
        known = self._know(name)
        now = file.rewrite(change)
        known.stamp = file.written_stamp
        known.stale = (known.stale or set()) - replaced
        self._loaded[name] = self._loaded[name].copy_with(now)
        return next(number for number, each in enumerate(now, 1) if each is episode)

    def _know(self, name: str) -> _KnownFile:
        if name not in self._known:
            self._known[name] = _KnownFile(self._find_file(name).stamp)
        return self._known[name]

    def _find_file(self, name: str) -> "CassetteFile":
        from mockserver.cassettes.cassette_file import CassetteFile
        from mockserver.cassettes.cassette_names import find_path

        path = find_path(self._folder, _remove_suffix(name))  # each time: the path may be a link to elsewhere by now
        return self._files.setdefault(path, CassetteFile(path))

    def _find_stamp(self, name: str) -> object:
        try:
            return self._find_file(name).stamp
        except CassetteError as error:  # it is something else by now
            return str(error)


def _says_same(one: Episode, other: Episode) -> bool:
    """Return whether two episodes of an MCP server have the same response, but for the id of the request."""
    mine = find_response(one.reply)
    theirs = find_response(other.reply)
    return mine is not None and theirs is not None and {**mine, "id": 0} == {**theirs, "id": 0}


def _remove_suffix(name: str) -> str:
    return name.removesuffix(SUFFIX)
