"""What a server runs with: settings and engine, made from its sources, and what it remembers. A reload swaps the first.

Sources are rules files, flags and the environment.
"""

from asyncio import Lock, Semaphore, to_thread
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from threading import Event
from typing import NamedTuple, Protocol

from msgspec import Struct, field, to_builtins
from msgspec.structs import replace

from mockserver.config.errors import Mistake, MockserverError
from mockserver.config.settings import ModelSettings as ModelSetting
from mockserver.config.settings import Settings, UnmatchedError
from mockserver.config.tables import BaseTable
from mockserver.config.yaml_reader import pause_collector
from mockserver.core.episode import Episode
from mockserver.core.http import is_loopback
from mockserver.core.json import Json
from mockserver.core.kept_objects import KeptObject
from mockserver.core.lazy import LazyMapping
from mockserver.core.plan import Kept, Stored
from mockserver.core.rates import LimitStore
from mockserver.core.seed import Seed, WallClock, make_token, monotonic
from mockserver.core.state import Counters, ValueStore
from mockserver.core.text import plural
from mockserver.dialects import discover
from mockserver.engine.catalogue import Catalogue, Model
from mockserver.engine.engine import Engine
from mockserver.engine.mcp_streams import McpStreams
from mockserver.engine.memory import Memory
from mockserver.engine.offload import on_thread
from mockserver.engine.policy import Policy
from mockserver.engine.rule_set import make_rule_set
from mockserver.media.large_data import count_on_disk
from mockserver.server.limits import Limiter, Unsent
from mockserver.server.namespaces import Namespace, Namespaces
from mockserver.server.programs import CallBudget
from mockserver.server.recording.cassette_store import CassetteStore, check_cassettes, name_file
from mockserver.server.recording.player import Player
from mockserver.server.recording.recorder import RecordingPolicy
from mockserver.server.recording.upstreams import UpstreamClient
from mockserver.server.sources import Sources
from mockserver.state.in_memory import MemoryCounters, MemoryLimitStore, MemoryValueStore
from mockserver.state.journal import Journal
from mockserver.tokenizers import chosen

SMALL = 32_768  # bytes of a request that counts for nothing
PLANNED = 2  # calls with many choices that are planned at once

SaveEpisode = Callable[[str, Episode], Awaitable[str]]  # into a cassette; returns its source


class Worker(Struct, frozen=True):
    """Which of several worker processes this is, from 1. Without a fleet they share nothing."""

    number: int
    count: int


class ConflictError(Exception):
    """A namespace was changed by another control call meanwhile; nothing was changed by this one."""


class Sharing(Protocol):
    """The servers that share a state, as far as each needs to know them; `server/fleet.py` says more."""

    @property
    def slot(self) -> int:
        """The number of this server, in which its calls' numbers end."""

    @property
    def lost(self) -> bool:
        """Whether the state is out of reach."""

    @property
    def warnings(self) -> Sequence[str]:
        """What is to be said of the state when the server starts."""

    def running(self) -> AbstractAsyncContextManager[None]:
        """Take part while the block runs."""

    def is_current(self, namespace: str) -> bool:
        """Return whether nothing has changed in a namespace since it was read."""

    async def catch_up(self, namespace: str) -> None:
        """Read what has changed. Raises StateLostError, or Failure if this release cannot read it."""

    def change(self, namespace: str) -> AbstractAsyncContextManager[Namespace]:
        """Return a copy of a namespace, to be changed. Raises ConflictError."""

    def forget(self, namespace: str) -> None:
        """Forget what was read of a namespace."""

    async def close(self) -> None:
        """Leave the state."""


class Reloading(Struct):
    """Changes of rules one after another, and how the last reload went."""

    lock: Lock = field(default_factory=Lock)  # held while rules are compiled and swapped in
    problem: tuple[Mistake, ...] = ()  # of the last reload
    check: Callable[[Settings, Engine], None] = lambda settings, engine: None  # raises ConfigError for what cannot be


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
    made_token: str = field(default_factory=make_token)  # for control paths that need one if none is set
    worker: Worker | None = None  # if there are several
    fleet: Sharing | None = None  # the servers that share the state
    _limiter: Limiter = field(default_factory=Limiter)
    _limited: Settings | None = None  # that the limiter is configured by

    def share(self, fleet: Sharing, counters: Counters, answers: ValueStore[Kept], limits: LimitStore) -> None:
        """Remember in a state that several servers share from now on."""
        self.fleet = fleet
        self.counters = counters
        self._limiter = Limiter(limits)
        self.engine = replace(self.engine, counters=counters, memory=replace(self.engine.memory, store=answers))

    @property
    def is_lost(self) -> bool:
        """Whether the shared state is out of reach."""
        return self.fleet is not None and self.fleet.lost

    @property
    def control_token(self) -> str | None:
        """The token of control paths: the one that is set, else, beyond loopback, a random one."""
        return self.settings.control_token or (None if is_loopback(self.settings.host) else self.made_token)

    def find_engine(self, namespace: str) -> Engine:
        """Return what answers in a namespace, which is not in use for that."""
        return self.namespaces.get(namespace).find_engine(self.engine)

    @property
    def player(self) -> Player:
        assert isinstance(self.engine.player, Player)  # noqa: S101  # `compose` made it
        return self.engine.player

    def renew(self, settings: Settings, engine: Engine, journal: Journal, *, timed: bool = True) -> None:
        """Forget everything, start over with these; `timed`: answers take their time unless overridden."""
        self.namespaces = Namespaces(timed=timed)
        self._limiter = Limiter(MemoryLimitStore(self.now))
        self.budgets = {}
        self.settings = settings
        self.counters = engine.counters
        self.journal = journal
        self.engine.streams.end()
        self.engine = replace(engine, streams=McpStreams())
        self._limited = None

    def swap(self, settings: Settings, engine: Engine) -> tuple[str, ...]:
        """Go on with these; return the names of changed settings that need a restart."""
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
        self._forget_here(namespace)
        await self.forget_counted(namespace)

    def _forget_here(self, namespace: str) -> None:
        self.namespaces.drop(namespace)
        self.journal.clear(namespace)
        self.engine.streams.close(namespace)

    async def forget_counted(self, namespace: str) -> None:
        """Forget what may be shared: counters, limits and kept answers."""
        await self._limiter.store.clear(namespace)  # requests that are being served keep their slots
        await self.counters.clear(namespace)
        await self.engine.memory.store.clear(namespace)

    async def forget_evicted(self) -> None:
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
        return size <= SMALL and size <= settings.max_body and self.unsent.held <= settings.max_unsent

    @property
    def limiter(self) -> Limiter | None:
        settings = self.settings
        limiter = self._limiter
        if self._limited is not settings:
            limiter.configure(settings.limits, settings.keys, self.engine.policy.models)
            self._limited = settings
        return limiter if limiter.active else None


def start(sources: Sources) -> Live:
    """Return a server's state from its sources. Raises MockserverError."""
    counters = MemoryCounters()
    settings, engine = compose(sources, counters)
    journal = Journal(count=settings.journal_calls, size=settings.journal_bytes)
    live = Live(settings, engine, journal=journal, counters=counters, sources=sources)
    live.save_episode = lambda cassette, episode: live.player.save(cassette, episode)  # a reload swaps the player
    return live


class Composed(NamedTuple):
    """What sources become: the settings of a server, and its engine."""

    settings: Settings
    engine: Engine


@pause_collector()
def compose(sources: Sources, counters: Counters, before: "Live | None" = None) -> Composed:
    """Return settings and engine of the sources; what `before`, a running server, has kept stays.

    Raises MockserverError.
    """
    loaded = sources.load()
    settings = loaded.settings
    errors = loaded.errors
    player = None
    if not errors.found or before is None:  # else the running server would miss changes of cassettes that are read here
        player = errors.attempt(partial(make_player, sources, settings, before))
        store = player.store if player else CassetteStore(settings.cassettes, settings.match, settings.hosts)
        errors.attempt(partial(check_cassettes, loaded.documents, store))
    if errors.found or player is None:
        raise errors.merged
    listed = LazyMapping(discover(), lambda name: discover()[name].models)
    thinking = LazyMapping(discover(), lambda name: discover()[name].thinking)
    if before is None:
        answers: ValueStore[Kept] = make_value_store(settings)
    else:
        answers = before.engine.memory.store
        before.namespaces.load_cassettes(player.store)
    streams = McpStreams() if before is None else before.engine.streams
    engine = Engine(
        rule_set=make_rule_set(loaded.rules),
        policy=make_policy(settings),
        counters=counters,
        memory=Memory(answers, settings.polls),
        listed=listed,
        thinking=thinking,
        player=player,
        servers=loaded.servers,
        streams=streams,
    )
    return Composed(settings, engine)


def make_player(sources: Sources, settings: Settings, before: "Live | None" = None) -> Player:
    store = CassetteStore(settings.cassettes, settings.match, settings.hosts)
    fresh = False
    if before is not None and before.settings.cassettes == settings.cassettes:
        store = before.player.store.copy_unloaded(settings.match, settings.hosts)
        choice = before.player.choice
        fresh = choice.fresh and (choice.name, choice.record) == (settings.cassette, settings.record)
    made = Player(store, upstreams=tuple(settings.upstream), policy=RecordingPolicy(settings, sources.environ))
    return made.choose(settings.cassette, settings.record, fresh=fresh)


def make_policy(settings: Settings) -> Policy:
    models = settings.models
    entries = None if models is None else {name: _make_model(model) for name, model in models.items()}
    catalogue = Catalogue(entries, published=settings.known_models, validation=settings.validation)
    return Policy(
        seed=Seed(settings.seed),
        clock=WallClock(settings.clock),
        unmatched=settings.unmatched if isinstance(settings.unmatched, str) else "error",
        error={} if isinstance(settings.unmatched, str) else _state_failure(settings.unmatched),
        unique_ids=settings.ids == "unique",
        announces=settings.webhook_url is not None,
        lints=settings.lint != "off",
        models=catalogue,
        timing=settings.timing,
        tokenizer=chosen(settings.tokenizer, lambda name: catalogue.find_properties(name).tokenizer),
    )


def _state_failure(stated: UnmatchedError) -> dict[str, Json]:
    """Return the stated fields of a Failure, which OpenAI's clients must not retry: it would fail again."""
    return {**stated.model_dump(exclude_none=True), "headers": (("x-should-retry", "false"),)}


def _make_model(setting: ModelSetting) -> Model:
    stated = {name: getattr(setting, name) for name in setting.model_fields_set}
    return Model(**stated, unlimited=frozenset(name for name, value in stated.items() if value is None))


async def reload(live: Live, sources: Sources) -> tuple[str, ...]:
    """Swap in the sources, or nothing; return changed settings that need a restart. Raises MockserverError."""
    reloading = live.reloading
    async with reloading.lock:
        try:
            settings, engine = await on_thread(compose, sources, live.counters, live)
            reloading.check(settings, engine)
        except MockserverError as error:
            reloading.problem = error.mistakes
            raise
        reloading.problem = ()
        return live.swap(settings, engine)


def show_settings(settings: Settings) -> dict[str, Json]:
    """Show the settings that differ from their defaults, without secrets: of keys only how many there are."""
    usual = Settings()
    found = dict[str, Json]()
    for name in _SHOWN_SETTINGS:
        value = getattr(settings, name)
        if value != getattr(usual, name):
            found[name] = value.model_dump(exclude_none=True) if isinstance(value, BaseTable) else to_builtins(value)
    if settings.keys is not None:
        found["keys"] = len(settings.keys)
    return found


def count_kept_on_disk(kept: Kept) -> int:
    """Return how many bytes of an object are in a file."""
    if type(kept) is KeptObject:
        return count_on_disk(kept.data)
    data = kept.call.raw.get("data", b"") if isinstance(kept, Stored) and kept.call.operation == _UPLOAD else b""
    return count_on_disk(data)


_UPLOAD = "create_file"  # which some dialects keep with what was uploaded


def make_value_store(settings: Settings) -> MemoryValueStore[Kept]:
    """Return where one process keeps answers and objects."""
    return MemoryValueStore(
        count=settings.stored_answers,
        size=settings.stored_bytes,
        disk=settings.stored_files,
        measure=count_kept_on_disk,
    )


_SHOWN_SETTINGS = (
    *("host", "port", "workers", "dialect", "unmatched", "seed", "ids", "tokenizer", "timing", "known_models"),
    *("validation", "lint", "replay", "journal_calls", "journal_bytes", "stored_answers", "stored_bytes", "max_body"),
    *("max_upload", "stored_files"),
    *("cassette", "cassettes", "record", "record_errors", "replay_speed", "limits"),
    *("cors", "allowed_hosts", "reload", "log", "inspector_writes"),
)
# Settings that a running server cannot change.
AT_START = (
    *("host", "port", "workers", "state", "log", "reload", "cors"),
    *("stored_answers", "stored_bytes", "stored_files", "journal_calls", "journal_bytes"),
)


_EVERY = 500  # milliseconds after which cassettes are looked at


async def watch(live: Live, sources: Sources, say: Callable[[str], None]) -> None:
    """Reload when a file or a cassette changes, until cancelled; `say` gets the results.

    Cassettes are polled: which ones are played changes, and so do their folders.
    """
    from watchfiles import watch as watched  # slow to import, and only serving needs it

    files = {path.resolve() for path in sources.files}
    folders = {path.parent for path in files}  # editors replace files, so the folder is what must be watched
    mine = lambda _change, path: Path(path) in files  # noqa: E731  # the shape that watchfiles wants
    wait = partial(watched, debounce=100, step=20, rust_timeout=_EVERY, yield_on_timeout=True)
    over = Event()
    changes = wait(*folders, watch_filter=mine, stop_event=over, recursive=False)
    try:
        while True:
            changed = await to_thread(next, changes)  # not awatch, whose tasks and threads are slow to import
            cassettes = () if changed else await on_thread(live.player.store.list_changed)
            if changed or cassettes:
                await _reload(live, sources, cassettes, say)
    finally:
        over.set()


async def _reload(live: Live, sources: Sources, cassettes: Sequence[str], say: Callable[[str], None]) -> None:
    try:
        waiting = await reload(live, sources)
    except MockserverError as error:
        before = "the previous recordings stay in effect" if cassettes else "the previous rules stay in effect"
        say("\n".join([f"not reloaded; {before}:", *(m.render() for m in error.mistakes)]))
    else:
        what = ", ".join(_describe_cassette(live, name) for name in cassettes) or plural(len(live.engine.rules), "rule")
        later = f"; restart the server to apply {', '.join(waiting)}" if waiting else ""
        say(f"reloaded: {what}{later}")


def _describe_cassette(live: Live, name: str) -> str:
    cassette = live.player.store.get(name)
    return f"cassette {name_file(name)}, " + ("not there" if cassette is None else plural(cassette.size, "episode"))
