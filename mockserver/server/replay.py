"""Replays cassettes: what a call gets from the chosen one, in each record mode."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal
from urllib.parse import urlencode

from mockserver.cassettes.match import EpisodeIndex
from mockserver.cassettes.miss import miss_report
from mockserver.config.errors import CassetteError
from mockserver.core.call import Call
from mockserver.core.episode import Episode, Recorded, Sent
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.plan import Failure, Forward, Timing
from mockserver.core.protocols import Lookup, Store
from mockserver.delivery.script import AT_ONCE, WITHOUT_BODY, Pace
from mockserver.engine.counters import episodes_counter
from mockserver.engine.offload import on_thread, on_thread_if_large
from mockserver.server.cassette_store import CassetteStore, file_of, parse_sent
from mockserver.server.recorder import RecordingPolicy


def replayed(recorded: Recorded, pace: Pace, speed: float) -> tuple[Reply, Pace]:
    """The reply and its pace: a rule's, else the recorded one at so many times the speed; 0: without waits."""
    frames = None if recorded.frames is None else tuple(data for _, data in recorded.frames)
    headers = [(name, value) for name, value in recorded.headers if name.lower() not in _OF_THE_CONNECTION]
    if frames is None and recorded.status not in WITHOUT_BODY:
        headers.append(("content-length", str(len(recorded.body))))
    reply = Reply(recorded.status, tuple(headers), recorded.body, frames)
    if not pace.at_once or not speed:
        return reply, pace
    times = (recorded.took,) if recorded.frames is None else (at for at, _ in recorded.frames)
    beats = tuple([max(at, 0.0) / speed for at in times])
    last = max(beats, default=0.0)
    return (replace(reply, beats=beats), Pace(Timing(total=last))) if last else (reply, AT_ONCE)


# Headers of the connection and the coding that an answer was recorded with; the server sends its own date.
_OF_THE_CONNECTION = frozenset(
    {
        *("connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"),
        *("content-length", "content-encoding", "date", "server"),
    }
)


Record = Literal["none", "once", "new_episodes", "all"]


@dataclass(frozen=True, slots=True)
class CassetteChoice:
    """Which cassette is played, and what is recorded into it; `fresh`: it held nothing when it was chosen."""

    name: str | None = None
    record: Record = "none"
    fresh: bool = False

    @property
    def forwards(self) -> bool:
        """Whether everything goes upstream, whatever the cassette holds."""
        return self.record == "all" or (self.record == "once" and self.fresh)


@dataclass(frozen=True, slots=True)
class Player:
    """Replays the chosen cassette. `upstreams`: the dialects that have one; `keeping`: how recordings are redacted."""

    cassettes: CassetteStore
    choice: CassetteChoice = CassetteChoice()
    upstreams: Collection[str] = field(default_factory=tuple)
    keeping: RecordingPolicy | None = None

    @property
    def loaded(self) -> EpisodeIndex | None:
        """The cassette that was chosen, if it has been read."""
        return None if self.choice.name is None else self.cassettes.get(self.choice.name)

    async def play(self, call: Call, store: Store, cassette: str | None = None) -> Lookup | None:
        """What a call gets from the named cassette, else from the chosen one; None if there is none.

        Recorded, or Forward if the upstream is to answer, or the Failure that says what is nearest. `store` counts
        repeats.
        """
        choice = self.choice if cassette is None else CassetteChoice(cassette)
        if choice.name is None:
            return None if choice.record == "none" else _unmatched(_NOWHERE.format(record=choice.record), "")
        if choice.forwards:
            return self._forwarded(call, choice)
        try:
            library = await self._library(choice)
            call, wanted = await on_thread_if_large(call, partial(self._wanted, library, call))
        except CassetteError as error:
            details = {"cassette": choice.name}
            return Lookup(Failure("server_error", str(error.mistakes[0]), status=500, details=details), "unmatched")
        if entries := library.find(wanted):
            counter = episodes_counter(library.file, wanted)
            at = await store.incr(call.http.namespace, counter) if len(entries) > 1 else 1
            reply = entries[min(at, len(entries)) - 1].reply
            return Lookup(reply, reply.source, cacheable=len(entries) == 1 and choice.record == "none")
        if choice.record == "new_episodes":
            return self._forwarded(call, choice)
        return _unmatched(await on_thread(partial(miss_report, library, call)), choice.name)

    def chosen(self, name: str | None, record: Record, *, fresh: bool = False) -> "Player":
        """A player of another cassette, which is loaded now. Raises CassetteError."""
        if name is None:
            return replace(self, choice=CassetteChoice(None, record))
        self.cassettes.refresh(name)
        if record == "all":
            self.cassettes.renew(name)
        library = self.cassettes.load(name, new=record != "none")
        return replace(self, choice=CassetteChoice(name, record, fresh or not library.size))

    async def save(self, cassette: str, episode: Episode) -> str:
        """Record an episode, which is replayed from now on; return its source. Raises CassetteError."""
        return await on_thread(partial(self._saved, cassette, episode))

    def _saved(self, cassette: str, episode: Episode) -> str:
        kept = episode if self.keeping is None else self.keeping.kept(episode)
        return f"cassette {file_of(cassette)}#{self.cassettes.save(cassette, kept)}"

    def _forwarded(self, call: Call, choice: CassetteChoice) -> Lookup:
        if call.dialect not in self.upstreams:
            why = _NO_UPSTREAM.format(dialect=call.dialect, name=choice.name, record=choice.record)
            return _unmatched(why, str(choice.name))
        return Lookup(Forward(choice.name), "forwarded")

    async def _library(self, choice: CassetteChoice) -> EpisodeIndex:
        name = str(choice.name)
        library = self.cassettes.get(name)
        if library is not None:
            return library
        return await on_thread(partial(self.cassettes.load, name, new=choice.record != "none"))

    def _wanted(self, library: EpisodeIndex, call: Call) -> tuple[Call, str]:
        """A call as it would have been recorded, and what it is looked up by."""
        if self.keeping is not None:
            sent = sent_of(call.http)
            scrubbed = self.keeping.scrubber.request(sent)
            again = None if scrubbed is sent else parse_sent(call.dialect, scrubbed)
            if again is not None:
                call = replace(again, http=replace(again.http, namespace=call.http.namespace))
        return call, library.key(call)


def sent_of(http: HttpRequest) -> Sent:
    """A live request as a recording has it."""
    headers = tuple([(name.decode("latin-1"), value.decode("latin-1")) for name, value in http.headers])
    return Sent(http.method, http.path, urlencode(http.query), headers, http.body)


def _unmatched(why: str, cassette: str) -> Lookup:
    return Lookup(Failure("unmatched", why, details={"cassette": cassette}), "unmatched")


_NOWHERE = "record is {record}, but there is no cassette to record into; set --cassette NAME"
_NO_UPSTREAM = (
    'this request would be recorded into the cassette "{name}" (record: {record}), but there is no upstream for '
    "{dialect}; set --upstream {dialect}=URL"
)
