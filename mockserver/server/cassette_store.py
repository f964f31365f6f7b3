"""The cassettes of a folder in one run of a server: loaded once, recorded into, watched for changes.

Threads load and record, one at a time. Recorded requests are parsed by the dialect that they were sent to. What reads
and compares cassettes is imported when one is first used: most servers have none.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING

from msgspec.structs import replace

from mockserver.config.errors import CassetteError, Mistake, RuleError
from mockserver.config.settings import MatchSettings
from mockserver.config.source import Document
from mockserver.core.call import Call
from mockserver.core.episode import SUFFIX, Episode, Sent
from mockserver.core.http import HttpRequest
from mockserver.core.mcp_messages import find_response
from mockserver.core.plan import Failure
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.kinds.mcp import SESSION
from mockserver.server.routes import Endpoint, find_endpoint, find_operation, list_dialect_endpoints
from mockserver.server.snapshot import parse_query
from mockserver.server.sources import find_cassettes, find_rules
from mockserver.server.stubs import digest_body, make_stub_operation

if TYPE_CHECKING:
    from mockserver.cassettes.cassette import Cassette
    from mockserver.cassettes.cassette_file import CassetteFile

_RECORD = "to record it, start with --record once and --upstream DIALECT=URL"


class CassetteStore:
    """Cassettes by name, with or without the suffix; a name that no cassette can have raises CassetteError."""

    def __init__(self, folder: str | Path, match: MatchSettings) -> None:
        self._folder, self._match = Path(folder), match
        self._lock = RLock()
        self._files: dict[Path, CassetteFile] = {}
        self._stamps: dict[str, object] = {}  # of each file, when it was last read or written here
        self._stale: dict[str, set[Episode]] = {}  # episodes that are replaced when they are recorded again
        self._loaded: dict[str, Cassette] = {}

    def copy_unloaded(self, match: MatchSettings) -> "CassetteStore":
        """Return the same files with nothing loaded; what this run knows of them stays."""
        store = CassetteStore(self._folder, match)
        store._lock, store._files = self._lock, self._files
        store._stamps, store._stale = self._stamps, self._stale
        return store

    @property
    def sizes(self) -> Mapping[str, int]:
        return {cassette.file: cassette.size for cassette in self._loaded.values()}

    def exists(self, name: str) -> bool:
        with self._lock:
            file = self._find_file(name)
            self._stamps.setdefault(_remove_suffix(name), file.stamp)
            return file.exists

    def get(self, name: str) -> "Cassette | None":
        """Return a cassette that is loaded."""
        return self._loaded.get(_remove_suffix(name))

    def load(self, name: str, *, new: bool = False) -> "Cassette":
        """Return a cassette, read unless it is loaded; `new`: a missing one is empty. Raises CassetteError."""
        from mockserver.cassettes.cassette import Cassette

        name = _remove_suffix(name)
        with self._lock:
            if name not in self._loaded:
                cassette = Cassette(name_file(name), parse_episode, self._match)
                if self.exists(name):
                    file = self._find_file(name)
                    self._stamps[name] = file.stamp
                    cassette = cassette.copy_with(file.load())
                elif not new:
                    raise CassetteError(self.explain_missing(name))
                self._loaded[name] = cassette
            return self._loaded[name]

    def refresh(self, name: str) -> None:
        """Unload a cassette whose file has changed."""
        name = _remove_suffix(name)
        with self._lock:
            if name in self._stamps and self._find_stamp(name) != self._stamps[name]:
                self._loaded.pop(name, None)

    def list_changed(self) -> tuple[str, ...]:
        """Return the cassettes whose files others have changed since this was last asked."""
        with self._lock:
            now = {name: self._find_stamp(name) for name in self._stamps}
            names = tuple(name for name, stamp in now.items() if stamp != self._stamps[name])
            self._stamps.update(now)
            return names

    def explain_missing(self, name: str, cure: str = _RECORD) -> str:
        from mockserver.cassettes.cassette_file import describe_missing

        message = describe_missing(self._folder, name)
        return f"{message} {cure[0].upper()}{cure[1:]}" if message.endswith("?") else f"{message}; {cure}"

    def mark_stale(self, name: str) -> None:
        """Mark existing episodes stale, once in a run; re-recording replaces them. Raises CassetteError."""
        with self._lock:
            cassette = self.load(name, new=True)
            self._stale.setdefault(_remove_suffix(name), {entry.episode for entry in cassette.entries})

    def save(self, name: str, episode: Episode) -> int:
        """Record an episode in place of stale ones; return its number, from 1. Raises CassetteError."""
        name = _remove_suffix(name)
        with self._lock:
            cassette, file, stale = self.load(name, new=True), self._find_file(name), self._stale.get(name, set())
            is_session = episode.operation == SESSION.name  # which clients repeat in each connection
            alike = cassette.find_alike(episode) if stale or is_session else ()
            if replaced := {entry.episode for entry in alike if entry.episode in stale}:
                return self._replace(name, replaced, episode)
            same = (entry.number for entry in alike if is_session and _says_same(entry.episode, episode))
            if (known := next(same, None)) is not None:
                return known
            is_known = self._stamps.get(name) == file.stamp
            number = file.append(episode)
            if is_known and number == cassette.size + 1:  # nobody else has written meanwhile: this is no change
                self._stamps[name] = file.written_stamp
            cassette.add(episode, number)
            return number

    def _replace(self, name: str, replaced: set[Episode], episode: Episode) -> int:
        def change(existing: tuple[Episode, ...]) -> tuple[Episode, ...]:
            at = next((at for at, each in enumerate(existing) if each in replaced), len(existing))
            return (*existing[:at], episode, *(each for each in existing[at:] if each not in replaced))

        file = self._find_file(name)
        now = file.rewrite(change)
        self._stamps[name] = file.written_stamp
        self._stale[name] -= replaced
        self._loaded[name] = self._loaded[name].copy_with(now)
        return next(number for number, each in enumerate(now, 1) if each is episode)

    def _find_file(self, name: str) -> "CassetteFile":
        from mockserver.cassettes.cassette_file import CassetteFile, find_path

        path = find_path(self._folder, _remove_suffix(name))  # each time: the path may be a link to elsewhere by now
        return self._files.setdefault(path, CassetteFile(path))

    def _find_stamp(self, name: str) -> object:
        try:
            return self._find_file(name).stamp
        except CassetteError as error:  # it is something else by now
            return str(error)


def _says_same(one: Episode, other: Episode) -> bool:
    """Return whether two episodes of an MCP server have the same response, to requests of whatever ids."""
    mine, theirs = find_response(one.reply), find_response(other.reply)
    return mine is not None and theirs is not None and {**mine, "id": 0} == {**theirs, "id": 0}


def check_cassettes(documents: Iterable[Document], store: CassetteStore) -> None:
    """Load the cassettes that rules name, also rules with mistakes. Raises RuleError for missing and broken ones."""
    rules = ((document, index, spec) for document in documents for index, spec in enumerate(find_rules(document)))
    mistakes = list[Mistake]()
    for count, (document, index, spec) in enumerate(rules, 1):
        if not isinstance(spec, Mapping):
            continue
        for name in find_cassettes(spec.get("then")):
            place, rule = document.find_place(("rules", index)), spec.get("name", f"rule {count}")
            try:
                exists = store.exists(name)
            except CassetteError as error:
                mistakes += [Mistake(mistake.message, place) for mistake in error.mistakes]
                continue
            if not exists:
                mistakes.append(Mistake(f'rule "{rule}": {store.explain_missing(name)}', place))
                continue
            try:
                store.load(name)
            except CassetteError as error:
                mistakes += error.mistakes
    if mistakes:
        raise RuleError(*dict.fromkeys(mistakes))


def name_file(name: str) -> str:
    """Return the name of a cassette's file, such as `chat.yaml`."""
    return _remove_suffix(name) + SUFFIX


def _remove_suffix(name: str) -> str:
    return name.removesuffix(SUFFIX)


def parse_episode(episode: Episode) -> Call | None:
    """Return the call of an episode's request; None if its dialect has no such path."""
    return parse_sent(episode.dialect, episode.request)


def parse_sent(dialect: str, sent: Sent) -> Call | None:
    """Return the call of a request to a dialect; None if it has no such path."""
    found = find_endpoint(sent.path, _list_places(dialect))
    operation = find_operation(sent.method, found.endpoint.operations) if found is not None else None
    if found is None or operation is None:
        return None
    headers = [(name.lower(), value) for name, value in sent.headers]
    http = HttpRequest(
        method=sent.method,
        path=sent.path,
        query=parse_query(sent.query.encode("utf-8", "replace")),
        headers=tuple([(n.encode("latin-1", "replace"), v.encode("latin-1", "replace")) for n, v in headers]),
        body=sent.body,
        path_params=found.params,
    )
    return parse_recorded(operation, dialect, http)


def parse_recorded(operation: Operation, dialect: str, http: HttpRequest) -> Call:
    """Return the call of a request as recordings know it, however wrong it is: its provider may have refused it."""
    try:
        return operation.call(http, Validation.OFF)
    except Failure:
        unread = make_stub_operation(dialect).parse(http, Validation.OFF)
        sent = unread.raw if isinstance(unread.raw, Mapping) else {}
        named = {name: value for name, value in http.path_params.items() if name != "namespace"}
        meaning = {"named": named, "body": sent or digest_body(http)}
        is_stream = sent.get("stream") is True
        return replace(unread, operation=operation.name, meaning=meaning, raw={}, sent=sent, stream=is_stream)


@cache
def _list_places(dialect: str) -> tuple[Endpoint, ...]:
    return list_dialect_endpoints(dialect)
