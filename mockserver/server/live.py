"""What a running server holds, made from its sources: rules files, flags and environment. A reload swaps it whole."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from mockserver.core.call import Json
from mockserver.core.errors import ConfigError, MockserverError
from mockserver.core.plan import Stored
from mockserver.core.seed import Clock, Seed
from mockserver.core.store import Shelf, Store
from mockserver.dialects import discover
from mockserver.engine.catalogue import Catalogue
from mockserver.engine.engine import Engine, Policy
from mockserver.engine.memory import Memory
from mockserver.engine.models import Model
from mockserver.engine.rules import load
from mockserver.kinds import Model as ModelSetting
from mockserver.positions import Document, read
from mockserver.server.memo import Memo
from mockserver.server.served import Served
from mockserver.settings import Settings, assemble
from mockserver.state.journal import Journal
from mockserver.state.memory import MemoryStore
from mockserver.state.shelf import MemoryShelf
from mockserver.tokenizers import chosen

One = TypeVar("One")
Other = TypeVar("Other")


@dataclass(frozen=True, slots=True)
class Sources:
    """Where rules and settings come from; flags win over the environment, and that over the files."""

    files: tuple[Path, ...] = ()
    flags: Mapping[str, Json] = field(default_factory=dict)
    environ: Mapping[str, str] = field(default_factory=dict)

    def documents(self) -> tuple[Document, ...]:
        """The files, parsed. Raises MockserverError with the place of every mistake."""
        return tuple(read(_bytes(path), str(path)) for path in self.files)


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror or error}") from error


@dataclass(slots=True)
class Live:
    """Settings, engine and memory of a running server. A reload swaps settings and engine between two requests."""

    settings: Settings
    engine: Engine
    journal: Journal
    store: Store
    memo: Memo[Served] = field(default_factory=Memo)


def start(sources: Sources, *, journal: Journal | None = None) -> Live:
    """A server's state from its sources. Raises MockserverError."""
    store = MemoryStore()
    settings, engine = compose(sources, store)
    return Live(settings, engine, journal or Journal(), store)


def compose(sources: Sources, store: Store, shelf: Shelf[Stored] | None = None) -> tuple[Settings, Engine]:
    """Settings and engine as the sources say now; nothing running is touched. Raises MockserverError.

    `shelf` holds what a running server has kept; a server that starts gets an empty one.
    """
    documents, dialects = sources.documents(), discover()
    features = {name: dialect.features for name, dialect in dialects.items()}
    settings, rules = _both(
        lambda: assemble(sources.flags, sources.environ, documents, dialects=dialects),
        lambda: load(documents, features),
    )
    if shelf is None:
        shelf = MemoryShelf(count=settings.stored_answers, size=settings.stored_bytes)
    listed = {name: dialect.models for name, dialect in dialects.items()}
    return settings, Engine(rules, policy(settings), store, Memory(shelf, settings.background_polls), listed)


def _both(one: Callable[[], One], other: Callable[[], Other]) -> tuple[One, Other]:
    """What both make; where both find mistakes, all of them are told at once."""
    try:
        first = one()
    except MockserverError as error:
        try:
            other()
        except MockserverError as more:
            raise ConfigError(*error.mistakes, *more.mistakes) from None
        raise
    return first, other()


def policy(settings: Settings) -> Policy:
    """What the engine needs to know of the settings."""
    models = settings.models
    entries = None if models is None else {name: _model(model) for name, model in models.items()}
    catalogue = Catalogue(entries, published=settings.known_models, strict=settings.strict)
    return Policy(
        seed=Seed(settings.seed),
        clock=Clock(settings.clock),
        unmatched=settings.unmatched,
        unique_ids=settings.ids == "unique",
        models=catalogue,
        timing=settings.timing,
        tokenizer=chosen(settings.tokenizer, lambda name: catalogue.properties(name).tokenizer),
    )


def _model(setting: ModelSetting) -> Model:
    """What the settings say of a model; null is said as well."""
    stated = {name: getattr(setting, name) for name in setting.model_fields_set}
    return Model(**stated, unlimited=frozenset(name for name, value in stated.items() if value is None))
