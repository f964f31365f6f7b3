"""What answers are planned with: an engine, which all calls share, and the context of one call.

`planning.py` tells what becomes of a call.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from msgspec import Struct, field

from mockserver.core.call import Call
from mockserver.core.mcp_server import McpServer
from mockserver.core.plan import ModelLimits, Models, Plan
from mockserver.core.state import Counters
from mockserver.engine.mcp_streams import McpStreams
from mockserver.engine.memory import Memory
from mockserver.engine.policy import Policy, Terms
from mockserver.engine.rule_set import RuleSet
from mockserver.model.budget import RequestWork
from mockserver.rules.load import Rule
from mockserver.rules.nearest import explain_unmatched


class CassettePlayer(Protocol):
    """Looks calls up in cassettes. The server has the one that does, with what it needs for that."""

    @property
    def is_empty(self) -> bool:
        """Whether there is a cassette only for calls that name one."""

    def has_upstream(self, call: Call) -> bool:
        """Return whether a call can be passed on to where it is usually answered."""

    def knows_server(self, call: Call) -> bool:
        """Return whether there are, or will be, recordings of the MCP server that a call is for."""

    async def play(self, call: Call, counters: Counters, cassette: str | None = None) -> Plan | None:
        """Plan a recorded answer, a Forward to the provider, or a Failure that names the nearest episode.

        Look in the loaded cassette unless `cassette` names one; return None if there is none. `counters` count repeats.
        """


class Engine(Struct, frozen=True, eq=False):
    """Rules, policy and memory. `listed` names each dialect's own models; `player` plays cassettes.

    `servers` are what MCP servers offer, by name, `streams` what is open to their clients. `thinking` has the
    operations of each dialect that show reasoning.
    """

    rule_set: RuleSet
    policy: Policy
    counters: Counters
    memory: Memory
    listed: Mapping[str, tuple[str, ...]] = {}
    player: CassettePlayer | None = None
    thinking: Mapping[str, Collection[str]] = {}
    servers: Mapping[str, McpServer] = {}
    streams: McpStreams = field(default_factory=McpStreams)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules in the order in which they are tried."""
        return self.rule_set.rules

    async def replay(self, call: Call, cassette: str | None = None) -> Plan | None:
        """Plan what a cassette has of a call, the loaded one unless named; None where there is no cassette."""
        return None if self.player is None else await self.player.play(call, self.counters, cassette)

    def records_server(self, call: Call) -> bool:
        """Return whether there are, or will be, recordings of the MCP server that a call is for."""
        return self.player is not None and self.player.knows_server(call)

    async def explain(self, call: Call) -> str:
        """Explain why no rule answers a call."""
        return explain_unmatched(self.rules, call, await self.counters.list_entries(call.http.namespace))

    def find_models(self, call: Call, made: Sequence[str] = ()) -> Models:
        """Return the model that a call asks for, or all: those of the settings or the dialect, and those `made`."""
        names = self.policy.models.list_names(call.model, (*self.listed.get(call.dialect, ()), *made))
        names = names if call.model else tuple(dict.fromkeys((*names, *made)))
        known = map(self.policy.models.find_properties, names)
        limits = tuple(ModelLimits(model.context_window, model.max_output_tokens) for model in known)
        return Models(names, self.policy.clock.now(), limits)


class CallContext(Struct, frozen=True, eq=False):
    """What the steps of planning one call have in common, while they change the call.

    Cassettes look for the `original` call; `terms` are those of its model. If the previous response is `lost`, only
    rules that match on it or forward answer. The parts of a request share the `work` that generating may cost. If the
    call is `large`, what reads all of it belongs on a thread.
    """

    engine: Engine
    original: Call
    terms: Terms
    work: RequestWork | None = None
    lost: bool = False
    large: bool = False
