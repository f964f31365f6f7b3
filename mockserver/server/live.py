"""What a server runs with: settings and engine, which a reload swaps, and what it remembers."""

from asyncio import Lock, Semaphore
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from mockserver.config.errors import Mistake
from mockserver.config.settings import Settings
from mockserver.core.episode import Episode
from mockserver.core.origins import is_loopback
from mockserver.core.plan import Kept
from mockserver.core.rates import LimitStore
from mockserver.core.seed import make_token, monotonic, wall
from mockserver.core.state import Counters, ValueStore
from mockserver.engine.engine import Engine
from mockserver.engine.mcp_streams import McpStreams
from mockserver.engine.offload import LARGEST_IN_LOOP
from mockserver.server.limits import Limiter, Unsent
from mockserver.server.namespaces import Namespace, Namespaces
from mockserver.server.programs import CallBudget
from mockserver.server.recording.player import Player
from mockserver.server.recording.upstreams import UpstreamClient
from mockserver.server.routes import Routes, find_routes
from mockserver.server.sources import Sources
from mockserver.state.in_memory import MemoryLimitStore
from mockserver.state.journal import Journal

PLANNED = 2  # calls with many choices that are planned at once

SaveEpisode = Callable[[str, Episode], Awaitable[str]]  # into a cassette; returns its source


class Worker(Struct, frozen=True):
    """Which of several worker processes this is, from 1. Without a fleet they share nothing."""

    number: int
    count: int


class ConflictError(Exception):
    """A namespace was changed by another control call meanwhile; nothing was changed by this one."""


class Fleet(Protocol):
    """The servers that share a state, as one of them sees them.

    `RedisFleet` is the only one. It imports this module, and few servers need it and what it imports.
    """

    @property
    def slot(self) -> int:
        """The number of this server, in which its calls' numbers end."""

    @property
    def lost(self) -> bool:
        """Whether the state is out of reach."""

    @property
    def warnings(self) -> Sequence[str]:
        """What a server says of the state when it starts."""

    def take_part(self) -> AbstractAsyncContextManager[None]:
        """Be one of the servers while the block runs. Raises StateLostError."""

    def is_current(self, namespace: str) -> bool:
        """Return whether nothing has changed in a namespace since it was read."""

    async def catch_up(self, namespace: str) -> None:
        """Read what has changed. Raises StateLostError, or Failure if this release cannot read it."""

    def change(self, namespace: str) -> AbstractAsyncContextManager[Namespace]:
        """Yield a copy of a namespace to change; all servers know it when the block has ended. Raises ConflictError."""

    def forget(self, namespace: str) -> None:
        """Forget what was read of a namespace."""

    async def close(self) -> None:
        """Leave the state."""


class Reloading(Struct):
    """How rules are reloaded, and how that went last."""

    lock: Lock = field(default_factory=Lock)  # held while rules are compiled and swapped in
    problem: tuple[Mistake, ...] = ()  # of the last reload
    check: Callable[[Settings, Engine], None] = lambda settings, engine: None  # raises ConfigError for unusable ones


class Live(Struct):
    """Settings, engine and memory of a running server. A reload swaps settings and engine between two requests."""

    settings: Settings
    engine: Engine  # of the rules in files; that of a namespace has its own rules, too
    journal: Journal
    counters: Counters
    sources: Sources = field(default_factory=Sources)
    namespaces: Namespaces = field(default_factory=Namespaces)
    reloading: Reloading = field(default_factory=Reloading)
    upstreams: UpstreamClient = field(default_factory=UpstreamClient)
    save_episode: SaveEpisode | None = None  # None: nothing is recorded
    budgets: dict[str, CallBudget] = field(default_factory=dict)  # of the namespaces that have one
    unsent: Unsent = field(default_factory=Unsent)
    planning: Semaphore = field(default_factory=lambda: Semaphore(PLANNED))  # of calls with many choices
    now: Callable[[], float] = monotonic  # the clock of limits after `renew`
    loaded_at: float = field(default_factory=wall)  # when files began to be read, in seconds since 1970
    made_token: str = field(default_factory=make_token)  # for control paths that need one if none is set
    worker: Worker | None = None  # if there are several
    fleet: Fleet | None = None  # the servers that share the state
    limiter: Limiter = field(default_factory=Limiter)

    def join_fleet(self, fleet: Fleet, *, counters: Counters, answers: ValueStore[Kept], limits: LimitStore) -> None:
        """Keep counters, answers and limits in the state that the servers of a fleet share, from now on."""
        self.fleet = fleet
        self.counters = counters
        self.limiter = Limiter(limits)
        self.engine = replace(self.engine, counters=counters, memory=replace(self.engine.memory, store=answers))

    @property
    def routes(self) -> Routes:
        """Where paths lead, as the settings are now."""
        return find_routes(self.settings.dialect, self.settings.hosts)

    @property
    def is_lost(self) -> bool:
        """Whether the shared state is out of reach."""
        return self.fleet is not None and self.fleet.lost

    @property
    def control_token(self) -> str | None:
        """The token of control paths: the one that is set, else, beyond loopback, a random one."""
        return self.settings.control_token or (None if is_loopback(self.settings.host) else self.made_token)

    async def catch_up(self, namespace: str) -> None:
        """Read what other servers of the fleet have changed. Raises StateLostError, Failure (see `Fleet`)."""
        if self.fleet is not None and not self.fleet.is_current(namespace):
            await self.fleet.catch_up(namespace)

    def find_engine(self, namespace: str) -> Engine:
        """Return the engine of a namespace. That does not count as a use of the namespace."""
        return self.namespaces.get(namespace).find_engine(self.engine)

    @property
    def player(self) -> Player:
        """What plays cassettes, outside of namespaces with one of their own."""
        assert isinstance(self.engine.player, Player)  # `compose` made it
        return self.engine.player

    def renew(self, settings: Settings, engine: Engine, journal: Journal, *, timed: bool = True) -> None:
        """Forget everything, and start over with these.

        `timed`: answers take their time, unless a namespace or a request overrides that.
        """
        self.namespaces = Namespaces(timed=timed)
        self.limiter = Limiter(MemoryLimitStore(self.now))
        self.budgets = {}
        self.settings = settings
        self.counters = engine.counters
        self.journal = journal
        self.engine.streams.end()
        self.engine = replace(engine, streams=McpStreams())

    def swap(self, settings: Settings, engine: Engine) -> tuple[str, ...]:
        """Go on with other settings and another engine. Return the names of changed settings that need a restart."""
        kept = {name: getattr(self.settings, name) for name in AT_START}
        self.settings = settings.model_copy(update=kept)
        self.engine = engine
        return tuple(name for name in AT_START if getattr(settings, name) != kept[name])

    @asynccontextmanager
    async def change(self, namespace: str) -> AsyncIterator[Namespace]:
        """Change what a namespace has of its own; with shared state, all servers know once the block ends."""
        if self.fleet is None:
            space = self.namespaces.touch(namespace)
            await self.forget_evicted()
            yield space
        else:
            async with self.fleet.change(namespace) as space:
                yield space

    async def forget(self, namespace: str) -> None:
        """Forget all of a namespace: its rules, calls, counters, limits and kept answers."""
        self._forget_here(namespace)
        await self.forget_counted(namespace)

    def _forget_here(self, namespace: str) -> None:
        self.namespaces.drop(namespace)
        self.journal.forget_namespace(namespace)
        self.engine.streams.close(namespace)

    async def forget_counted(self, namespace: str) -> None:
        """Forget what may be shared: counters, limits and kept answers."""
        await self.limiter.store.clear(namespace)  # requests that are being served keep their slots
        await self.counters.clear(namespace)
        await self.engine.memory.store.clear(namespace)

    async def forget_evicted(self) -> None:
        """Forget the namespaces that had to go because there are too many."""
        while self.namespaces.evicted:
            namespace = self.namespaces.evicted.pop()
            if self.fleet is None:
                await self.forget(namespace)
            else:  # others may use what is shared; it goes when nobody has for a day
                self.fleet.forget(namespace)
                self._forget_here(namespace)

    def has_room_for(self, body: bytes) -> bool:
        """Return whether a request with this body can be answered without counting what it takes."""
        settings = self.settings
        size = len(body)
        return size <= LARGEST_IN_LOOP and size <= settings.max_body and self.unsent.held <= settings.max_unsent

    @property
    def active_limiter(self) -> Limiter | None:
        """What limits requests as the settings are now; None if nothing does."""
        settings = self.settings
        limiter = self.limiter
        if limiter.settings is not settings:
            limiter.apply(settings, self.engine.policy.models)
        return limiter if limiter.active else None


# Settings that a running server cannot change.
AT_START = (
    "host", "port", "tls_cert", "tls_key", "workers", "state", "log", "reload", "cors",
    "stored_answers", "stored_bytes", "stored_files", "journal_calls", "journal_bytes",
)  # fmt: skip
