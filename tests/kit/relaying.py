"""A server in this process, over real sockets, whose every call is answered by an upstream, and what it records."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from mockserver.core.draft import RuleAnswer
from mockserver.core.episode import Episode
from mockserver.core.plan import Forward
from mockserver.engine.rule_set import make_rule_set
from mockserver.rules.load import Rule
from mockserver.server.compose import start
from mockserver.server.live import Live
from mockserver.server.run import Running
from mockserver.server.sources import Sources
from tests.kit.rules import load_rule_text


@dataclass
class Kept:
    """What was to be saved, in place of a cassette's file."""

    episodes: list[Episode] = field(default_factory=list)
    hindrance: Exception | None = None
    takes: float = 0.0  # seconds

    async def keep(self, cassette: str, episode: Episode) -> str:
        assert cassette == "chat.yaml"
        await asyncio.sleep(self.takes)
        if self.hindrance is not None:
            raise self.hindrance
        self.episodes.append(episode)
        return f"cassette chat.yaml#{len(self.episodes)}"


@dataclass(frozen=True)
class Relaying:
    running: Running
    live: Live
    kept: Kept

    @property
    def address(self) -> str:
        return self.running.address

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    @property
    def episodes(self) -> list[Episode]:
        return self.kept.episodes

    @property
    def episode(self) -> Episode:
        (episode,) = self.kept.episodes
        return episode


@contextmanager
def relaying(
    upstream: Mapping[str, str] | str,
    *,
    cassette: str | None = "chat.yaml",
    environ: Mapping[str, str] | None = None,
    **settings: Any,
) -> Iterator[Relaying]:
    """A server that asks this upstream, that of openai where only an address is given."""
    addresses = {"openai": upstream} if isinstance(upstream, str) else dict(upstream)
    live = start(Sources((), {"port": 0, "upstream": addresses, **settings}, environ or {}))
    live.engine = replace(live.engine, rule_set=make_rule_set([forward_all(Forward(cassette))]))
    kept = Kept()
    live.save_episode = kept.keep
    with Running(live) as running:
        yield Relaying(running, live, kept)


def forward_all(forward: Forward) -> Rule:
    """A rule that passes on every call, whatever its operation."""
    (rule,) = load_rule_text("rules: [{when: {path: '*'}, then: {forward: true}}]")
    return replace(rule, then=replace(rule.then, known=RuleAnswer(forward)))
