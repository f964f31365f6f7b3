"""Answers calls from cassettes, and says what is to be recorded into them."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlencode

from msgspec import Struct, field
from msgspec.structs import replace

from mockserver.config.errors import CassetteError
from mockserver.config.settings import RecordMode
from mockserver.config.spelling import FLAGS, Spelling
from mockserver.core.call import Call
from mockserver.core.episode import Episode, Recorded, Sent, name_file
from mockserver.core.http import HttpRequest
from mockserver.core.plan import Failure, Forward, Plan, Timing
from mockserver.core.state import Counters
from mockserver.core.text import count_noun
from mockserver.delivery.script import AT_ONCE, Pace, PacedReply
from mockserver.dialects._mcp.recorded import find_other_handshake
from mockserver.engine.counters import name_episodes_counter
from mockserver.engine.offload import is_large, on_thread
from mockserver.server.recording.cassette_store import CassetteStore
from mockserver.server.recording.recorded_calls import parse_sent
from mockserver.server.recording.recording_policy import RecordingPolicy

if TYPE_CHECKING:
    from mockserver.cassettes.cassette import Cassette


class CassetteChoice(Struct, frozen=True):
    """Which cassette is played, and what is recorded into it; `fresh`: it held nothing when it was chosen."""

    name: str | None = None
    record: RecordMode = "none"
    fresh: bool = False

    @property
    def forwards(self) -> bool:
        """Whether everything goes upstream, whatever the cassette holds."""
        return self.record == "all" or (self.record == "once" and self.fresh)


class Player(Struct, frozen=True):
    """Replays the chosen cassette. `upstreams`: the dialects that have one; `policy`: how recordings are redacted.

    `spelling` is that of the settings that chose it.
    """

    store: CassetteStore
    choice: CassetteChoice = CassetteChoice()
    upstreams: Collection[str] = field(default_factory=tuple)
    policy: RecordingPolicy | None = None
    spelling: Spelling = FLAGS

    @property
    def cassette(self) -> "Cassette | None":
        """The chosen cassette, if it is loaded."""
        return None if self.choice.name is None else self.store.get(self.choice.name)

    @property
    def is_empty(self) -> bool:
        return self.choice.name is None and self.choice.record == "none"

    @property
    def recorded_servers(self) -> Sequence[str]:
        """The names of the MCP servers that the cassette has recordings of."""
        models = () if self.cassette is None else self.cassette.models
        return sorted([model for dialect, model in models if dialect == "mcp"])

    def has_upstream(self, call: Call) -> bool:
        """Return whether there is an upstream that can answer a call."""
        return call.upstream in self.upstreams

    def knows_server(self, call: Call) -> bool:
        """Return whether the cassette has recordings of the MCP server that a call is for, or is to get some."""
        if self.choice.name is None:
            return False
        cassette = self.cassette
        is_recorded = cassette is not None and (call.dialect, call.model) in cassette.models
        return is_recorded or (self.choice.record != "none" and self.has_upstream(call))

    async def play(self, call: Call, counters: Counters, cassette: str | None = None) -> Plan | None:
        """Plan the recorded answer to a call, a Forward, or a Failure that names the nearest recording.

        Return None without a cassette.
        """
        choice = self.choice if cassette is None else CassetteChoice(cassette)
        name = choice.name
        record = choice.record
        if name is None:
            return None if record == "none" else self._fail(explain_nowhere(record, self.spelling), "")
        if call.mcp is not None and call.mcp.is_housekeeping:
            return Plan(Forward(), "forwarded") if self._reaches_server(call, choice) else None
        if record != "none" and choice.forwards:
            return self._forward(call, choice)
        if call.mcp is not None and call.mcp.is_handshake and self._reaches_server(call, choice):
            return self._forward(call, choice)  # for a session that new calls can use
        try:
            played = self.store.get(name)
            if played is None:
                played = await on_thread(self.store.load, name, new=record != "none")
            if is_large(call):
                call, key = await on_thread(self._find_key, played, call)
            else:
                call, key = self._find_key(played, call)
        except CassetteError as error:
            details = {"cassette": name}
            return Plan(Failure("server_error", str(error.mistakes[0]), status=500, details=details), "unmatched")
        entries = played.find(key)
        if not entries and (other := find_other_handshake(call)) is not None:
            entries = played.find(played.make_key(other))
        if entries:
            at = 1
            if len(entries) > 1:
                at = await counters.count(call.http.namespace, name_episodes_counter(played.file, key))
            reply = entries[min(at, len(entries)) - 1].reply
            return Plan(reply, reply.source)
        if record == "new_episodes":
            return self._forward(call, choice)
        from mockserver.cassettes.miss import report_miss

        return self._fail(await on_thread(report_miss, played, call, self.spelling), name)

    def advise_replaying(self) -> str:
        """Return how to replay what is recorded, if everything goes upstream all the same; empty if nothing is."""
        cassette = self.cassette
        choice = self.choice
        if not choice.forwards or cassette is None or not cassette.size:
            return ""
        size = count_noun(cassette.size, "episode")
        replay = self.spelling.write("record", "none")
        if choice.record == "all":
            return (
                f"With record: all, it is asked for everything; to replay the {size} of {cassette.file}, set {replay}."
            )
        return (
            f"It is asked for everything, as {cassette.file} was empty at the start (record: once); to replay the"
            f" {size} that it has now, start the server again, or set {replay}."
        )

    def choose(self, name: str | None, record: RecordMode, *, fresh: bool = False) -> "Player":
        """Return a player of another cassette, which is loaded now. Raises CassetteError."""
        if name is None:
            return replace(self, choice=CassetteChoice(None, record))
        self.store.refresh(name)
        if record == "all":
            self.store.mark_stale(name)
        chosen = self.store.load(name, new=record != "none")
        if self.policy is not None:
            self.policy.prepare()
        return replace(self, choice=CassetteChoice(name, record, fresh or not chosen.size))

    async def save(self, cassette: str, episode: Episode) -> str:
        """Record an episode, which is replayed from now on; return its source. Raises CassetteError."""
        return await on_thread(self._save, cassette, episode)

    def _save(self, cassette: str, episode: Episode) -> str:
        redacted = episode if self.policy is None else self.policy.redact(episode)
        return f"cassette {name_file(cassette)}#{self.store.save(cassette, redacted)}"

    def _reaches_server(self, call: Call, choice: CassetteChoice) -> bool:
        """Return whether calls may go to the MCP server itself."""
        return (choice.forwards or choice.record == "new_episodes") and self.has_upstream(call)

    def _forward(self, call: Call, choice: CassetteChoice) -> Plan:
        if not self.has_upstream(call):
            why = (
                f'this request would be recorded into the cassette "{choice.name}" (record: {choice.record}), but there'
                f" is no upstream for {call.upstream}; set {self.spelling.write('upstream', {call.upstream: 'URL'})}"
            )
            return self._fail(why, str(choice.name))
        return Plan(Forward(choice.name), "forwarded")

    def _fail(self, why: str, cassette: str) -> Plan:
        return Plan(Failure("unmatched", why, details={"cassette": cassette}), "unmatched")

    def _find_key(self, cassette: "Cassette", call: Call) -> "LookedUp":
        known = cassette.find_known_key(call)
        if known is not None:  # it was recorded just as it is, so there is nothing in it to redact
            return LookedUp(call, known)
        if self.policy is not None and self.policy.redactor.may_change(call.http):
            sent = make_sent(call.http)
            redacted = self.policy.redactor.redact_request(sent)
            again = None if redacted is sent else parse_sent(call.dialect, redacted, self.store.hosts)
            if again is not None:
                call = replace(again, http=replace(again.http, namespace=call.http.namespace))
        return LookedUp(call, cassette.make_key(call))


class LookedUp(NamedTuple):
    """A call as it would have been recorded, and the key by which its answers are found."""

    call: Call
    key: str


def make_sent(http: HttpRequest) -> Sent:
    """Return a request as recordings have it."""
    headers = tuple([(name.decode("latin-1"), value.decode("latin-1")) for name, value in http.headers])
    return Sent(http.method, http.path, query=urlencode(http.query), headers=headers, body=http.body)


def explain_nowhere(record: RecordMode, spelling: Spelling) -> str:
    """Say that nothing can be recorded without a cassette, and what to set."""
    return f"record is {record}, but there is no cassette to record into; set {spelling.write('cassette', 'NAME')}"


def pace_reply(recorded: Recorded, pace: Pace, speed: float) -> PacedReply:
    """Return the reply and its pace: that of a rule, else the recorded one, `speed` times as fast; 0: without waits."""
    if not speed or not pace.at_once:
        return PacedReply(recorded.reply, pace)
    recorded_times = (recorded.took,) if recorded.frames is None else (at for at, _ in recorded.frames)
    times = tuple([max(at, 0.0) / speed for at in recorded_times])
    last = max(times, default=0.0)
    if not last:
        return PacedReply(recorded.reply, AT_ONCE)
    return PacedReply(replace(recorded.reply, frame_times=times), Pace(Timing(total=last)))
