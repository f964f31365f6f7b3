"""The state of a running server, made from its sources: rules files, flags and environment. A reload swaps it.

A namespace has rules and a cassette of its own in front of what the files say. Counters, kept answers and the journal
go by its name in places of their own; `Namespaces.evicted` names those that must be forgotten there.
"""

import json
import logging
from asyncio import Lock, Semaphore, to_thread
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Protocol, TypeVar

from msgspec import Struct, field, to_builtins
from msgspec.structs import replace

from mockserver import __version__
from mockserver.config.errors import Mistake, MockserverError
from mockserver.config.models_and_limits import ModelSettings as ModelSetting
from mockserver.config.settings import Settings, UnmatchedError
from mockserver.config.tables import BaseTable
from mockserver.config.yaml_reader import collector_at_rest
from mockserver.core.episode import Episode
from mockserver.core.http import is_loopback
from mockserver.core.json import Json
from mockserver.core.lazy import LazyMapping
from mockserver.core.plan import Stored
from mockserver.core.protocols import Counters, Shelf, Turnstile
from mockserver.core.seed import Seed, WallClock, monotonic, token
from mockserver.core.text import plural
from mockserver.dialects import discover
from mockserver.engine.catalogue import Catalogue, Model
from mockserver.engine.engine import Engine, Policy, altered, behind
from mockserver.engine.memory import Memory
from mockserver.engine.offload import on_thread
from mockserver.rules.load import Rule
from mockserver.server.cassette_store import CassetteChoice, CassetteStore, Player, check, file_of
from mockserver.server.limits import Limiter, Unsent
from mockserver.server.recorder import RecordingPolicy
from mockserver.server.sources import Sources, cassettes_in
from mockserver.server.upstreams import UpstreamClient
from mockserver.state.in_memory import MAX_NAMESPACES, MemoryCounters, MemoryShelf, MemoryTurnstile
from mockserver.state.journal import Journal
from mockserver.tokenizers import chosen

if TYPE_CHECKING:
    from mockserver.state.redis.line import RedisLine

DEFAULT = "default"  # the namespace of a path that names none
ALL = "*"
ADDED = "api"  # how reports call what no file holds: `rule api flaky`
LONGEST = 100  # characters of a name


SMALL = 32_768  # bytes of a request that counts for nothing
PLANNED = 2  # calls with many choices that are planned at once
Value = TypeVar("Value")


Keep = Callable[[str, Episode], Awaitable[str]]  # saves an episode in a cassette and returns its source


class Namespace(Struct):
    rules: tuple[Rule, ...] = ()  # added while the server runs, the latest batch first
    timed: bool = True  # answers take their time
    named: int = 0  # rules that got a name because they came without one
    choice: CassetteChoice | None = None  # the cassette that is played here; None: that of the settings
    forgotten: tuple[str, ...] = ()  # counters that a change of shared state resets
    _made: tuple[tuple[object, ...], Engine] | None = None  # what the engine was made from, and that engine

    def engine(self, base: Engine) -> Engine:
        """What answers here: the base behind the rules of this namespace. Another thread may put new ones meanwhile."""
        made, rules, choice = self._made, self.rules, self.choice
        if not rules and choice is None:
            return base
        if made is None or made[0][0] is not rules or made[0][1] is not choice or made[0][2] is not base:
            engine = behind(base, rules) if rules else base
            if choice is not None and isinstance(base.tapes, Player):
                engine = altered(engine, tapes=replace(base.tapes, choice=choice))
            self._made = made = ((rules, choice, base), engine)
        return made[1]

    def cassettes(self) -> Iterator[str]:
        if self.choice is not None and self.choice.name is not None:
            yield self.choice.name
        for rule in self.rules:
            yield from cassettes_in(rule.spec["then"])


def allowed(name: str) -> bool:
    return 0 < len(name) <= LONGEST and name.isprintable() and not name.isspace() and name != ALL


def split_namespace(path: str) -> tuple[str, str]:
    """Return the namespace that a path begins with (`/ns/a`), if that is a name, and the rest of the path."""
    if not path.startswith("/ns/"):
        return DEFAULT, path
    namespace, slash, rest = path[4:].partition("/")
    return (namespace, slash + rest or "/") if allowed(namespace) else (DEFAULT, path)


class Namespaces:
    """The namespaces in use; of too many the longest idle are forgotten, but never the default one."""

    def __init__(self, limit: int = MAX_NAMESPACES, *, timed: bool = True) -> None:
        self._spaces: OrderedDict[str, Namespace] = OrderedDict()
        self._timed = timed  # whether answers of a new one take their time
        self._limit = limit
        self.evicted: list[str] = []

    def touch(self, name: str) -> Namespace:
        space = self._spaces.get(name)
        if space is None:
            space = self._spaces[name] = Namespace(timed=self._timed)
            if len(self._spaces) > self._limit:
                self._evict()
        elif len(self._spaces) > 1:
            self._spaces.move_to_end(name)
        return space

    def get(self, name: str) -> Namespace:
        """The namespace of this name; one that is not in use is as if new, and is not kept."""
        return self._spaces.get(name) or Namespace(timed=self._timed)

    def put(self, name: str, space: Namespace) -> None:
        self.touch(name)
        self._spaces[name] = space

    def drop(self, name: str) -> None:
        self._spaces.pop(name, None)

    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((DEFAULT, *self._spaces)))

    def load_cassettes(self, store: CassetteStore) -> None:
        for space in tuple(self._spaces.values()):
            for name in filter(store.exists, space.cassettes()):
                store.load(name)

    def _evict(self) -> None:
        oldest = next(old for old in self._spaces if old != DEFAULT)
        del self._spaces[oldest]
        self.evicted.append(oldest)


class Worker(Struct, frozen=True):
    """Which of several worker processes this is, from 1. Without a fleet they share nothing."""

    number: int
    count: int


class ConflictError(Exception):
    """A namespace was changed by another control call meanwhile; nothing was changed by this one."""


class Sharing(Protocol):
    """The servers that share a state, as far as each needs to know them; `server/fleet.py` says more."""

    def is_current(self, namespace: str) -> bool:
        """Whether nothing has changed in a namespace since it was read."""

    async def catch_up(self, namespace: str) -> None:
        """Read what has changed. Raises StateLostError, or Failure if this release cannot read it."""

    def change(self, namespace: str) -> AbstractAsyncContextManager[Namespace]:
        """A copy of a namespace, to be changed."""

    def forget(self, namespace: str) -> None:
        """Forget what was read of a namespace."""

    def running(self) -> AbstractAsyncContextManager[None]:
        """Take part while the block runs."""

    @property
    def slot(self) -> int:
        """The number of this server, in which its calls' numbers end."""


class Live(Struct):
    """Settings, engine and memory of a running server. A reload swaps settings and engine between two requests."""

    settings: Settings
    engine: Engine  # of the rules in files; `engine_of` a namespace has its own rules too
    journal: Journal
    counters: Counters
    sources: Sources = field(default_factory=Sources)
    namespaces: Namespaces = field(default_factory=Namespaces)
    now: Callable[[], float] = monotonic  # the clock of limits after `renew`
    upstreams: UpstreamClient = field(default_factory=UpstreamClient)
    keep: Keep | None = None  # None: nothing is recorded
    changing: Lock = field(default_factory=Lock)  # held while rules are compiled and swapped in
    unsent: Unsent = field(default_factory=Unsent)
    planning: Semaphore = field(default_factory=lambda: Semaphore(PLANNED))  # of calls with many choices
    made_token: str = field(default_factory=token)  # for control paths that need one if none is set
    line: "RedisLine | None" = None  # to the state that is shared with other servers
    problem: tuple[Mistake, ...] = ()  # of the last reload
    worker: Worker | None = None  # if there are several
    fleet: Sharing | None = None  # the servers that share the state
    check_reload: Callable[[Settings, Engine], None] | None = None  # raises ConfigError for what cannot be swapped in
    _limiter: Limiter = field(default_factory=Limiter)
    _limited: Settings | None = None  # that the limiter is configured by

    @property
    def lost(self) -> bool:
        """Whether the shared state is out of reach."""
        return self.line is not None and self.line.lost

    def share(self, line: "RedisLine", counters: Counters, shelf: Shelf[Stored], turnstile: Turnstile) -> None:
        """Remember in a shared state from now on."""
        self.line, self.counters, self._limiter = line, counters, Limiter(turnstile)
        self.engine = altered(self.engine, counters=counters, memory=replace(self.engine.memory, shelf=shelf))

    @property
    def control_token(self) -> str | None:
        """The token of control paths: the one that is set, else, beyond loopback, a random one."""
        return self.settings.control_token or (None if is_loopback(self.settings.host) else self.made_token)

    def engine_of(self, namespace: str) -> Engine:
        """The engine of a namespace, which is in use now."""
        space = self.namespaces.touch(namespace)
        return space.engine(self.engine) if space.rules or space.choice is not None else self.engine

    @property
    def player(self) -> Player:
        assert isinstance(self.engine.tapes, Player)  # noqa: S101  # `compose` made it
        return self.engine.tapes

    def renew(self, settings: Settings, engine: Engine, journal: Journal, *, timed: bool = True) -> None:
        """Forget everything, start over with these; `timed`: answers take their time unless overridden."""
        self.namespaces = Namespaces(timed=timed)
        self._limiter = Limiter(MemoryTurnstile(self.now))
        self.settings, self.engine, self.counters, self.journal = settings, engine, engine.counters, journal
        self._limited = None

    def swap(self, settings: Settings, engine: Engine) -> tuple[str, ...]:
        """Go on with these; return the names of changed settings that need a restart."""
        kept = {name: getattr(self.settings, name) for name in AT_START}
        self.settings, self.engine = settings.model_copy(update=kept), engine
        return tuple(name for name in AT_START if getattr(settings, name) != kept[name])

    def timed(self, namespace: str) -> bool:
        return self.namespaces.get(namespace).timed

    @asynccontextmanager
    async def change(self, namespace: str) -> AsyncIterator[Namespace]:
        """What a namespace has of its own, to be changed; with shared state, all servers know once the block ends."""
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

    async def forget_counted(self, namespace: str) -> None:
        """Forget what may be shared: counters, limits and kept answers."""
        await self._limiter.turnstile.clear(namespace)  # requests that are being served keep their slots
        await self.counters.clear(namespace)
        await self.engine.memory.shelf.clear(namespace)

    async def use(self, namespace: str) -> None:
        """Note that a namespace is used, for which others may be forgotten: only once its request is let in."""
        self.namespaces.touch(namespace)
        if self.namespaces.evicted:
            await self.forget_evicted()

    async def forget_evicted(self) -> None:
        while self.namespaces.evicted:
            namespace = self.namespaces.evicted.pop()
            if self.fleet is None:
                await self.forget(namespace)
            else:  # others may use what is shared; it goes when nobody has for a day
                self.fleet.forget(namespace)
                self._forget_here(namespace)

    def has_room_for(self, body: bytes) -> bool:
        """Whether a request with this body can be answered without counting what it takes."""
        settings, size = self.settings, len(body)
        return size <= SMALL and size <= settings.max_body and self.unsent.held <= settings.max_unsent

    @property
    def limiter(self) -> Limiter | None:
        settings, limiter = self.settings, self._limiter
        if self._limited is not settings:
            limiter.configure(settings.limits, settings.keys, self.engine.policy.models)
            self._limited = settings
        return limiter if limiter.active else None


def start(sources: Sources) -> Live:
    """A server's state from its sources. Raises MockserverError."""
    counters = MemoryCounters()
    settings, engine = compose(sources, counters)
    journal = Journal(count=settings.journal_calls, size=settings.journal_bytes)
    live = Live(settings, engine, journal, counters, sources=sources)
    live.keep = lambda cassette, episode: live.player.save(cassette, episode)  # a reload swaps the player
    return live


@collector_at_rest()
def compose(sources: Sources, counters: Counters, before: "Live | None" = None) -> tuple[Settings, Engine]:
    """Settings and engine of the sources; what `before`, a running server, has kept stays. Raises MockserverError."""
    loaded = sources.load()
    settings, errors, tapes = loaded.settings, loaded.errors, None
    if not errors.found or before is None:  # else the running server would miss changes of cassettes that are read here
        tapes = errors.attempt(partial(player, sources, settings, before))
        folder = CassetteStore(settings.cassettes, settings.match) if tapes is None else tapes.cassettes
        errors.attempt(partial(check, loaded.documents, folder))
    if errors.found or tapes is None:
        raise errors.merged
    listed = LazyMapping(discover(), lambda name: discover()[name].models)
    if before is None:
        shelf: Shelf[Stored] = MemoryShelf(count=settings.stored_answers, size=settings.stored_bytes)
    else:
        shelf = before.engine.memory.shelf
        before.namespaces.load_cassettes(tapes.cassettes)
    return settings, Engine(
        loaded.rules, policy(settings), counters, Memory(shelf, settings.background_polls), listed, tapes
    )


def player(sources: Sources, settings: Settings, before: "Live | None" = None) -> Player:
    cassettes, fresh = CassetteStore(settings.cassettes, settings.match), False
    if before is not None and before.settings.cassettes == settings.cassettes:
        cassettes, choice = before.player.cassettes.reloaded(settings.match), before.player.choice
        fresh = choice.fresh and (choice.name, choice.record) == (settings.cassette, settings.record)
    made = Player(cassettes, upstreams=tuple(settings.upstream), keeping=RecordingPolicy(settings, sources.environ))
    return made.chosen(settings.cassette, settings.record, fresh=fresh)


def policy(settings: Settings) -> Policy:
    models = settings.models
    entries = None if models is None else {name: _model(model) for name, model in models.items()}
    catalogue = Catalogue(entries, published=settings.known_models, validation=settings.validation)
    return Policy(
        seed=Seed(settings.seed),
        clock=WallClock(settings.clock),
        unmatched=settings.unmatched if isinstance(settings.unmatched, str) else "error",
        error={} if isinstance(settings.unmatched, str) else _error(settings.unmatched),
        unique_ids=settings.ids == "unique",
        lints=settings.lint != "off",
        models=catalogue,
        timing=settings.timing,
        tokenizer=chosen(settings.tokenizer, lambda name: catalogue.properties(name).tokenizer),
    )


def _error(stated: UnmatchedError) -> dict[str, Json]:
    """The stated fields of a Failure, which OpenAI's clients must not retry: it would fail again."""
    return {**stated.model_dump(exclude_none=True), "headers": (("x-should-retry", "false"),)}


def _model(setting: ModelSetting) -> Model:
    stated = {name: getattr(setting, name) for name in setting.model_fields_set}
    return Model(**stated, unlimited=frozenset(name for name, value in stated.items() if value is None))


_EVERY = 500  # milliseconds after which cassettes are looked at

log = logging.getLogger("mockserver")


def shown_settings(settings: Settings) -> dict[str, Json]:
    """The settings that differ from their defaults, without what may be secret: of keys only how many there are."""
    usual, found = Settings(), dict[str, Json]()
    for name in _SHOWN_SETTINGS:
        value = getattr(settings, name)
        if value != getattr(usual, name):
            found[name] = value.model_dump(exclude_none=True) if isinstance(value, BaseTable) else to_builtins(value)
    if settings.keys is not None:
        found["keys"] = len(settings.keys)
    return found


def digest(live: Live) -> str:
    """Differs where rules, settings or the release differ, but for settings that each machine may have its own of."""
    settings = {name: value for name, value in shown_settings(live.settings).items() if name not in _OF_A_MACHINE}
    content = [__version__, settings, [rule.spec for rule in live.engine.rules]]
    return sha256(json.dumps(content, default=str).encode()).hexdigest()[:12]


_OF_A_MACHINE = frozenset(("host", "port", "workers", "cassettes", "cors", "allowed_hosts", "log"))
_SHOWN_SETTINGS = (
    *("host", "port", "workers", "dialect", "unmatched", "seed", "ids", "tokenizer", "timing", "known_models"),
    *("validation", "lint", "replay", "journal_calls", "journal_bytes", "stored_answers", "stored_bytes", "max_body"),
    *("cassette", "cassettes", "record", "record_errors", "replay_speed", "limits"),
    *("cors", "allowed_hosts", "reload", "log", "inspector_writes"),
)

# Settings that a running server cannot change.
AT_START = (
    *("host", "port", "workers", "state", "log", "reload", "cors"),
    *("stored_answers", "stored_bytes", "journal_calls", "journal_bytes"),
)


async def reload(live: Live, sources: Sources) -> tuple[str, ...]:
    """Swap in the sources, or nothing; return changed settings that need a restart. Raises MockserverError."""
    async with live.changing:
        try:
            settings, engine = await on_thread(compose, sources, live.counters, live)
            if live.check_reload is not None:
                live.check_reload(settings, engine)
        except MockserverError as error:
            live.problem = error.mistakes
            raise
        live.problem = ()
        return live.swap(settings, engine)


async def watch(live: Live, sources: Sources, say: Callable[[str], None]) -> None:
    """Reload when a file or a cassette changes, until cancelled; `say` gets the results.

    Cassettes are polled: which ones are played changes, and so do their folders.
    """
    from watchfiles import watch as watched  # slow to import, and only serving needs it

    files = {path.resolve() for path in sources.files}
    folders = {path.parent for path in files}  # editors replace files, so the folder is what must be watched
    mine = lambda _change, path: Path(path) in files  # noqa: E731  # the shape that watchfiles wants
    wait, over = partial(watched, debounce=100, step=20, rust_timeout=_EVERY, yield_on_timeout=True), Event()
    changes = wait(*folders, watch_filter=mine, stop_event=over, recursive=False)
    try:
        while True:
            changed = await to_thread(next, changes)  # not awatch, whose tasks and threads are slow to import
            cassettes = () if changed else await on_thread(live.player.cassettes.changed)
            if changed or cassettes:
                await _reloaded(live, sources, cassettes, say)
    finally:
        over.set()


async def _reloaded(live: Live, sources: Sources, cassettes: Sequence[str], say: Callable[[str], None]) -> None:
    try:
        waiting = await reload(live, sources)
    except MockserverError as error:
        before = "what was recorded before still holds" if cassettes else "the rules before still hold"
        say("\n".join([f"not reloaded, {before}:", *(m.shown() for m in error.mistakes)]))
    else:
        what = ", ".join(_cassette(live, name) for name in cassettes) or plural(len(live.engine.rules), "rule")
        later = f"; restart the server to apply {', '.join(waiting)}" if waiting else ""
        say(f"reloaded: {what}{later}")


def _cassette(live: Live, name: str) -> str:
    library = live.player.cassettes.get(name)
    return f"cassette {file_of(name)}, " + ("not there" if library is None else plural(library.size, "episode"))
