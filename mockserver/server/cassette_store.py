"""The cassettes of a folder in one run of a server: loaded once, replayed, recorded into, watched for changes.

Threads load and record, one at a time. Recorded requests are parsed by the dialect that they were sent to. What reads
and compares cassettes is imported when one is first used: most servers have none.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlencode

from msgspec import Struct, field
from msgspec.structs import replace

from mockserver.config.errors import CassetteError, Mistake, RuleError
from mockserver.config.recording import MatchSettings
from mockserver.config.source import Document
from mockserver.core.call import Call
from mockserver.core.episode import SUFFIX, Episode, Recorded, Sent
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.plan import Failure, Forward, Timing
from mockserver.core.protocols import Counters, Lookup
from mockserver.core.validation import Validation
from mockserver.delivery.script import AT_ONCE, Pace
from mockserver.dialects import Operation, discover
from mockserver.engine.counters import episodes_counter
from mockserver.engine.offload import is_large, on_thread
from mockserver.server.recorder import RecordingPolicy
from mockserver.server.routes import Endpoint, find, operation_for, places
from mockserver.server.snapshot import query_from
from mockserver.server.sources import find_cassettes, find_rules
from mockserver.server.stubs import digest, other

if TYPE_CHECKING:
    from mockserver.cassettes.match import EpisodeIndex
    from mockserver.cassettes.store import CassetteFile

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
        with self._lock:
            file = self._file(name)
            self._stamps.setdefault(_plain(name), file.stamp)
            return file.exists

    def get(self, name: str) -> "EpisodeIndex | None":
        return self._loaded.get(_plain(name))

    @property
    def sizes(self) -> Mapping[str, int]:
        return {index.file: index.size for index in self._loaded.values()}

    def load(self, name: str, *, new: bool = False) -> "EpisodeIndex":
        """A cassette, read unless it is loaded; `new`: a missing one is empty. Raises CassetteError."""
        from mockserver.cassettes.match import EpisodeIndex

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
        name = _plain(name)
        with self._lock:
            if name in self._stamps and self._stamp(name) != self._stamps[name]:
                self._loaded.pop(name, None)

    def changed(self) -> tuple[str, ...]:
        with self._lock:
            now = {name: self._stamp(name) for name in self._stamps}
            names = tuple(name for name, stamp in now.items() if stamp != self._stamps[name])
            self._stamps.update(now)
            return names

    def missing(self, name: str, cure: str = _RECORD) -> str:
        from mockserver.cassettes.store import absent

        message = absent(self._folder, name)
        return f"{message} {cure[0].upper()}{cure[1:]}" if message.endswith("?") else f"{message}; {cure}"

    def renew(self, name: str) -> None:
        """Mark existing episodes stale, once in a run; re-recording replaces them. Raises CassetteError."""
        with self._lock:
            index = self.load(name, new=True)
            self._stale.setdefault(_plain(name), {entry.episode for entry in index.entries})

    def save(self, name: str, episode: Episode) -> int:
        """Record an episode in place of stale ones; return its number, from 1. Raises CassetteError."""
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

    def _file(self, name: str) -> "CassetteFile":
        from mockserver.cassettes.store import CassetteFile, named

        path = named(self._folder, _plain(name))  # each time: the path may be a link to elsewhere by now
        return self._files.setdefault(path, CassetteFile(path))

    def _stamp(self, name: str) -> object:
        try:
            return self._file(name).stamp
        except CassetteError as error:  # it is something else by now
            return str(error)


Record = Literal["none", "once", "new_episodes", "all"]


class CassetteChoice(Struct, frozen=True):
    """Which cassette is played, and what is recorded into it; `fresh`: it held nothing when it was chosen."""

    name: str | None = None
    record: Record = "none"
    fresh: bool = False

    @property
    def forwards(self) -> bool:
        """Whether everything goes upstream, whatever the cassette holds."""
        return self.record == "all" or (self.record == "once" and self.fresh)


class Player(Struct, frozen=True):
    """Replays the chosen cassette. `upstreams`: the dialects that have one; `keeping`: how recordings are redacted.

    `worded` puts messages into words: options have other names in pytest.
    """

    cassettes: CassetteStore
    choice: CassetteChoice = CassetteChoice()
    upstreams: Collection[str] = field(default_factory=tuple)
    keeping: RecordingPolicy | None = None
    worded: Callable[[str], str] = str

    @property
    def loaded(self) -> "EpisodeIndex | None":
        return None if self.choice.name is None else self.cassettes.get(self.choice.name)

    @property
    def is_empty(self) -> bool:
        return self.choice.name is None and self.choice.record == "none"

    async def play(self, call: Call, counters: Counters, cassette: str | None = None) -> Lookup | None:
        """The recorded answer to a call, Forward, or a Failure that says what is nearest; None without a cassette."""
        choice = self.choice if cassette is None else CassetteChoice(cassette)
        name, record = choice.name, choice.record
        if name is None:
            return None if record == "none" else self._unmatched(_NOWHERE.format(record=record), "")
        if record != "none" and choice.forwards:
            return self._forwarded(call, choice)
        try:
            library = self.cassettes.get(name)
            if library is None:
                library = await on_thread(self.cassettes.load, name, new=record != "none")
            if is_large(call):
                call, wanted = await on_thread(self._wanted, library, call)
            else:
                call, wanted = self._wanted(library, call)
        except CassetteError as error:
            details = {"cassette": name}
            return Lookup(Failure("server_error", str(error.mistakes[0]), status=500, details=details), "unmatched")
        if entries := library.find(wanted):
            at = 1
            if len(entries) > 1:
                at = await counters.count(call.http.namespace, episodes_counter(library.file, wanted))
            reply = entries[min(at, len(entries)) - 1].reply
            return Lookup(reply, reply.source)
        if record == "new_episodes":
            return self._forwarded(call, choice)
        from mockserver.cassettes.match import miss_report

        return self._unmatched(await on_thread(miss_report, library, call), name)

    def chosen(self, name: str | None, record: Record, *, fresh: bool = False) -> "Player":
        """A player of another cassette, which is loaded now. Raises CassetteError."""
        if name is None:
            return replace(self, choice=CassetteChoice(None, record))
        self.cassettes.refresh(name)
        if record == "all":
            self.cassettes.renew(name)
        library = self.cassettes.load(name, new=record != "none")
        if self.keeping is not None:
            _ = self.keeping.scrubber  # made now, not by the first call
        return replace(self, choice=CassetteChoice(name, record, fresh or not library.size))

    async def save(self, cassette: str, episode: Episode) -> str:
        """Record an episode, which is replayed from now on; return its source. Raises CassetteError."""
        return await on_thread(self._saved, cassette, episode)

    def _saved(self, cassette: str, episode: Episode) -> str:
        kept = episode if self.keeping is None else self.keeping.kept(episode)
        return f"cassette {file_of(cassette)}#{self.cassettes.save(cassette, kept)}"

    def _forwarded(self, call: Call, choice: CassetteChoice) -> Lookup:
        if call.dialect not in self.upstreams:
            why = _NO_UPSTREAM.format(dialect=call.dialect, name=choice.name, record=choice.record)
            return self._unmatched(why, str(choice.name))
        return Lookup(Forward(choice.name), "forwarded")

    def _unmatched(self, why: str, cassette: str) -> Lookup:
        return Lookup(Failure("unmatched", self.worded(why), details={"cassette": cassette}), "unmatched")

    def _wanted(self, library: "EpisodeIndex", call: Call) -> tuple[Call, str]:
        """A call as it would have been recorded, and what it is looked up by."""
        known = library.known_key(call)
        if known is not None:  # it was recorded just as it is, so there is nothing in it to redact
            return call, known
        if self.keeping is not None and self.keeping.scrubber.may_change(call.http):
            sent = sent_of(call.http)
            scrubbed = self.keeping.scrubber.request(sent)
            again = None if scrubbed is sent else parse_sent(call.dialect, scrubbed)
            if again is not None:
                call = replace(again, http=replace(again.http, namespace=call.http.namespace))
        return call, library.key(call)


def sent_of(http: HttpRequest) -> Sent:
    headers = tuple([(name.decode("latin-1"), value.decode("latin-1")) for name, value in http.headers])
    return Sent(http.method, http.path, urlencode(http.query), headers, http.body)


_NOWHERE = "record is {record}, but there is no cassette to record into; set --cassette NAME"
_NO_UPSTREAM = (
    'this request would be recorded into the cassette "{name}" (record: {record}), but there is no upstream for '
    "{dialect}; set --upstream {dialect}=URL"
)


def replayed(recorded: Recorded, pace: Pace, speed: float) -> tuple[Reply, Pace]:
    """The reply and its pace: a rule's, else the recorded one at so many times the speed; 0: without waits."""
    if not speed or not pace.at_once:
        return recorded.reply, pace
    times = (recorded.took,) if recorded.frames is None else (at for at, _ in recorded.frames)
    beats = tuple([max(at, 0.0) / speed for at in times])
    last = max(beats, default=0.0)
    return (replace(recorded.reply, beats=beats), Pace(Timing(total=last))) if last else (recorded.reply, AT_ONCE)


def check(documents: Iterable[Document], cassettes: CassetteStore) -> None:
    """Load the cassettes that rules name, also rules with mistakes. Raises RuleError for missing and broken ones."""
    rules = ((document, index, spec) for document in documents for index, spec in enumerate(find_rules(document)))
    mistakes = list[Mistake]()
    for count, (document, index, spec) in enumerate(rules, 1):
        if not isinstance(spec, Mapping):
            continue
        for name in find_cassettes(spec.get("then")):
            place, rule = document.place(("rules", index)), spec.get("name", f"rule {count}")
            try:
                there = cassettes.exists(name)
            except CassetteError as error:
                mistakes += [Mistake(mistake.message, place) for mistake in error.mistakes]
                continue
            if not there:
                mistakes.append(Mistake(f'rule "{rule}": {cassettes.missing(name)}', place))
                continue
            try:
                cassettes.load(name)
            except CassetteError as error:
                mistakes += error.mistakes
    if mistakes:
        raise RuleError(*dict.fromkeys(mistakes))


def file_of(name: str) -> str:
    return _plain(name) + SUFFIX


def _plain(name: str) -> str:
    return name.removesuffix(SUFFIX)


def parse_episode(episode: Episode) -> Call | None:
    """The call of an episode's request; None if its dialect has no such path."""
    return parse_sent(episode.dialect, episode.request)


def parse_sent(dialect: str, sent: Sent) -> Call | None:
    """The same of a request by itself."""
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
    return parse_recorded(operation, dialect, http)


def parse_recorded(operation: Operation, dialect: str, http: HttpRequest) -> Call:
    """The call of a request as recordings know it, however wrong it is: its provider may have refused it."""
    try:
        return operation.call(http, Validation.OFF)
    except Failure:
        unread = other(dialect).parse(http, Validation.OFF)
        sent = unread.raw if isinstance(unread.raw, Mapping) else {}
        named = {name: value for name, value in http.path_params.items() if name != "namespace"}
        meaning = {"named": named, "body": sent or digest(http)}
        is_stream = sent.get("stream") is True
        return replace(unread, operation=operation.name, meaning=meaning, raw={}, sent=sent, stream=is_stream)


@cache
def _places(dialect: str) -> tuple[Endpoint, ...]:
    spoken = discover().get(dialect)
    return () if spoken is None else places({dialect: spoken}, dialect)
