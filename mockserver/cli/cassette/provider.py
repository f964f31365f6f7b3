"""Send recorded requests again to the providers, through a server of this process that relays and scrubs as always."""

import logging
import os
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from enum import Enum
from typing import TYPE_CHECKING
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from mockserver.cassettes.chains import Renewal, find_chains
from mockserver.cassettes.drift import find_drift
from mockserver.config.errors import CassetteError, ConfigError
from mockserver.config.settings import Settings, name_key_variable
from mockserver.core.episode import Episode, Sent
from mockserver.core.validation import Validation
from mockserver.dialects import list_client_configs
from mockserver.reports.calls import find_error_message
from mockserver.server.client_environment import find_key
from mockserver.server.compose import make_policy, start
from mockserver.server.live import Live
from mockserver.server.recording.cassette_store import CassetteStore
from mockserver.server.recording.player import CassetteChoice, Player
from mockserver.server.recording.recorded_calls import parse_episode
from mockserver.server.recording.recording_policy import RecordingPolicy
from mockserver.server.run import Running
from mockserver.server.sources import Sources

if TYPE_CHECKING:
    from httpx2 import Client

_FIRST_ERROR = 400  # statuses
_FIRST_FAULT = 500  # statuses
_PASSING = (408, 409, 425, 429)  # statuses of errors that the same request does not get again
_SAFE = "/:@!$&'()*+,;=-._~"  # in a path


class Outcome(Enum):
    """What came of sending a request again."""

    ANSWERED = "answered"
    KEPT = "kept"  # answered, but the old answer stays with the rest of its chain
    FAILED = "failed"
    NOT_SENT = "not sent"  # it could not be sent
    SKIPPED = "skipped"  # not sent: the answer would say nothing about the old one


class Resent(Struct, frozen=True):
    """What came of sending an episode's request again.

    `new` replaces the episode; without one, all of its chain stays. `drift` says what differs in meaning, `why` what
    keeps the old answer.
    """

    number: int
    old: Episode
    new: Episode | None = None
    drift: Sequence[str] = ()
    outcome: Outcome = Outcome.ANSWERED
    why: str = ""

    @property
    def is_checked(self) -> bool:
        """Whether it is known if the provider still answers like that, or nobody can ask."""
        return self.outcome not in (Outcome.FAILED, Outcome.NOT_SENT)


class Provider(Struct):
    """The providers, as a server of this process reaches them; `saved` is what it has recorded of the last request."""

    live: Live
    address: str
    client: "Client"
    saved: list[Episode]

    def resend(self, episodes: Sequence[Episode], wanted: Set[int]) -> tuple[Resent, ...]:
        """Send the requests of the wanted episodes again, by number from 1, in their order.

        The rest of a chain goes with each of them: it is recorded again as a whole, or not at all.
        """
        found = dict[int, Resent]()
        for chain in find_chains(episodes):
            if wanted.isdisjoint(at + 1 for at in chain):
                continue
            renewal = Renewal()
            failed = 0
            for at in chain:
                if failed:
                    why = f"not sent, {_FAILED.format(failed)}"
                    found[at] = Resent(at + 1, episodes[at], outcome=Outcome.NOT_SENT, why=why)
                    continue
                found[at] = self._resend(at + 1, episodes[at], renewal)
                failed = at + 1 if found[at].new is None else 0
            if failed:
                why = f"stays as it is, {_FAILED.format(failed)}"
                for at in chain:
                    found[at] = replace(found[at], new=None)
                    if found[at].outcome is Outcome.ANSWERED:
                        found[at] = replace(found[at], outcome=Outcome.KEPT, why=why)
        return tuple(found[at] for at in sorted(found))

    def _resend(self, number: int, old: Episode, renewal: Renewal) -> Resent:
        upstreams = self.live.settings.upstream
        call = parse_episode(old, self.live.settings.hosts)
        if call is None or call.mcp is not None or old.operation == "realtime":
            why = f"skipped, as it belongs to a session; {_WITH_PROGRAM}"
            return Resent(number, old, outcome=Outcome.SKIPPED, why=why)
        if call.upstream not in upstreams:
            why = f"no upstream for {call.upstream}; set --upstream {call.upstream}=URL"
            return Resent(number, old, outcome=Outcome.NOT_SENT, why=why)
        sent = renewal.apply(old.request)
        if sent is None:
            why = f"repeats what an old answer said and the new one does not; {_WITH_PROGRAM}"
            return Resent(number, old, outcome=Outcome.NOT_SENT, why=why)
        if (status := old.reply.status) in _PASSING or status >= _FIRST_FAULT:
            kept = old if sent == old.request else replace(old, request=sent)
            why = f"skipped, as a {status} depends on the moment"
            return Resent(number, old, kept, outcome=Outcome.SKIPPED, why=why)
        try:
            new = self._send(sent)
        except CassetteError as error:
            return Resent(number, old, outcome=Outcome.FAILED, why=str(error))
        status = new.reply.status
        if status >= _FIRST_ERROR and status != old.reply.status:
            told = "; ".join(filter(None, (find_error_message(new.reply.bytes), _advise(status, call.upstream))))
            why = f"the provider answers {status}{': ' * bool(told)}{told}"
            return Resent(number, old, outcome=Outcome.FAILED, why=why)
        renewal.learn(old, new)
        return Resent(number, old, new=new, drift=tuple(find_drift(old.reply, new.reply)))

    def _send(self, sent: Sent) -> Episode:
        """Send a request; return the episode to record, scrubbed. Raises CassetteError if there is no whole answer."""
        from httpx2 import HTTPError

        self.saved.clear()
        url = f"{self.address}{quote(sent.path, safe=_SAFE)}{'?' if sent.query else ''}{sent.query}"
        try:
            answer = self.client.request(sent.method, url, headers=list(sent.headers), content=sent.body)
        except HTTPError as error:
            raise CassetteError(f"no new answer: {str(error) or type(error).__name__}") from None
        if self.saved:
            return self.saved[-1]
        row = next(reversed(tuple(self.live.journal)), None)
        why = (row and row.unrecorded) or find_error_message(answer.content) or f"status {answer.status_code}"
        raise CassetteError(f"no new answer: {why}")


def _advise(status: int, upstream: str) -> str:
    return f"set {name_key_variable(upstream)} to a valid key" if status in (401, 403) else ""


_FAILED = "as #{} of the same conversation or object failed"
_WITH_PROGRAM = "record it with your program"


@contextmanager
def open_provider(settings: Settings) -> Iterator[Provider]:
    """Reach the providers with the upstreams, keys and scrubbing of the settings. Raises ConfigError without any."""
    from httpx2 import Client

    if not settings.upstream:
        raise ConfigError("name the provider: --upstream openai=https://api.openai.com/v1")
    environ = {**_find_client_keys(settings.upstream), **os.environ}
    live = start(Sources((), {"host": "127.0.0.1", "port": 0}))
    live.sources = replace(live.sources, environ=environ)
    own = {
        name: getattr(live.settings, name) for name in ("host", "port", "reload", "cassette", "control_token", "cors")
    }
    relaying = {**own, "keys": None, "limits": Settings().limits, "models": None, "validation": Validation.OFF}
    relaying["record_errors"] = True  # what they mean is judged here
    live.settings = settings = settings.model_copy(update=relaying)
    policy = RecordingPolicy(settings, environ)
    store = CassetteStore(settings.cassettes, settings.match, settings.hosts)
    player = Player(store, CassetteChoice("live", "all"), upstreams=tuple(settings.upstream), policy=policy)
    live.engine = replace(live.engine, policy=make_policy(settings), player=player)
    logging.getLogger("mockserver").addHandler(logging.NullHandler())  # the command says what was not recorded
    saved = list[Episode]()

    async def keep(cassette: str, episode: Episode) -> str:
        saved.append(policy.redact(episode))
        return cassette

    live.save_episode = keep
    client = Client(timeout=None, trust_env=False)  # the server has its `upstream_timeout`
    with Running(live) as running, client:
        yield Provider(live, running.address, client=client, saved=saved)


def _find_client_keys(upstreams: Collection[str]) -> Mapping[str, str]:
    """Return the keys that the providers' own clients would send, as keys of the upstreams."""
    configs = list_client_configs()
    own = [name for name in upstreams if name in configs and "{key}" in configs[name].variables.values()]
    found = dict[str, str]()
    for name in own:  # not those that OpenAI's client speaks to: its key is another provider's
        with suppress(KeyError):
            found[name_key_variable(name)] = find_key(os.environ, name)
    return found
