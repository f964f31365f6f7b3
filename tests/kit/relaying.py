"""A server in this process, over real sockets, whose every call is answered by an upstream, and what it records."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from mockserver.core.call import Call
from mockserver.core.episode import Episode
from mockserver.core.plan import Forward, Plan
from mockserver.engine.engine import Engine
from mockserver.server.compose import start
from mockserver.server.live import Live
from mockserver.server.run import Running
from mockserver.server.sources import Sources


class Forwarding(Engine, frozen=True, eq=False, kw_only=True):
    forward: Forward

    async def plan(self, call: Call, part_of: Call | None = None) -> Plan:
        return Plan(self.forward, "forwarded")


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
    stated = {name: getattr(live.engine, name) for name in Engine.__struct_fields__}
    live.engine = Forwarding(**stated, forward=Forward(cassette))
    kept = Kept()
    live.save_episode = kept.keep
    with Running(live) as running:
        yield Relaying(running, live, kept)
