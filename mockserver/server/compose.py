"""Makes settings and engine of a server's sources: rules files, flags and the environment."""

from functools import partial
from typing import NamedTuple

from mockserver.config.settings import ModelSettings, Settings, UnmatchedError
from mockserver.config.yaml_reader import pause_collector
from mockserver.core.json import Json
from mockserver.core.kept_objects import KeptObject
from mockserver.core.lazy import LazyMapping
from mockserver.core.plan import Kept
from mockserver.core.seed import Seed, WallClock, wall
from mockserver.core.state import Counters, ValueStore
from mockserver.dialects import discover
from mockserver.engine.catalogue import Catalogue, Model
from mockserver.engine.engine import Engine
from mockserver.engine.mcp_streams import McpStreams
from mockserver.engine.memory import Memory
from mockserver.engine.policy import Policy
from mockserver.engine.rule_set import make_rule_set
from mockserver.media.large_data import count_on_disk
from mockserver.server.live import Live
from mockserver.server.recording.cassette_store import CassetteStore
from mockserver.server.recording.player import Player
from mockserver.server.recording.recording_policy import RecordingPolicy
from mockserver.server.sources import Sources, check_cassettes
from mockserver.state.in_memory import MemoryCounters, MemoryValueStore
from mockserver.state.journal import Journal
from mockserver.tokenizers import choose_tokenizer


def start(sources: Sources) -> Live:
    """Return a server's state from its sources. Raises MockserverError."""
    counters = MemoryCounters()
    loaded_at = wall()
    settings, engine = compose(sources, counters)
    journal = Journal(count=settings.journal_calls, size=settings.journal_bytes)
    live = Live(settings, engine, journal=journal, counters=counters, sources=sources, loaded_at=loaded_at)
    live.save_episode = lambda cassette, episode: live.player.save(cassette, episode)  # a reload swaps the player
    return live


class Composed(NamedTuple):
    """What sources become: the settings of a server, and its engine."""

    settings: Settings
    engine: Engine


@pause_collector()
def compose(sources: Sources, counters: Counters, before: Live | None = None) -> Composed:
    """Return settings and engine of the sources; what `before`, a running server, has kept stays.

    Raises MockserverError.
    """
    loaded = sources.load()
    settings = loaded.settings
    errors = loaded.errors
    player = None
    if not errors.found or before is None:  # else the running server would miss changes of cassettes that are read here
        player = errors.attempt(partial(make_player, sources, settings, before))
        store = player.store if player else make_store(sources, settings)
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


def make_store(sources: Sources, settings: Settings) -> CassetteStore:
    """Return the cassettes of the settings, none of which is loaded."""
    return CassetteStore(settings.cassettes, settings.match, settings.hosts, spelling=sources.spelling)


def make_player(sources: Sources, settings: Settings, before: Live | None = None) -> Player:
    """Return the player of the settings' cassette, which it loads; `before` as for `compose`. Raises CassetteError."""
    store = make_store(sources, settings)
    fresh = False
    if before is not None and before.settings.cassettes == settings.cassettes:
        store = before.player.store.copy_unloaded(settings.match, settings.hosts)
        choice = before.player.choice
        fresh = choice.fresh and (choice.name, choice.record) == (settings.cassette, settings.record)
    policy = RecordingPolicy(settings, sources.environ)
    made = Player(store, upstreams=tuple(settings.upstream), policy=policy, spelling=sources.spelling)
    return made.choose(settings.cassette, settings.record, fresh=fresh)


def make_policy(settings: Settings) -> Policy:
    """Return the policy of an engine with these settings."""
    models = settings.models
    entries = None if models is None else {name: _make_model(model) for name, model in models.items()}
    catalogue = Catalogue(entries, published=settings.known_models, validation=settings.validation)
    return Policy(
        seed=Seed(settings.seed),
        clock=WallClock(settings.clock),
        unmatched=settings.unmatched if isinstance(settings.unmatched, str) else "error",
        error={} if isinstance(settings.unmatched, str) else _make_unmatched_error(settings.unmatched),
        unique_ids=settings.ids == "unique",
        announces=settings.webhook_url is not None,
        lints=settings.lint != "off",
        models=catalogue,
        timing=settings.timing,
        tokenizer=choose_tokenizer(settings.tokenizer, lambda name: catalogue.find_properties(name).tokenizer),
    )


def _make_unmatched_error(stated: UnmatchedError) -> dict[str, Json]:
    """Return the fields of a Failure that the settings state. OpenAI's clients must not retry: it would fail again."""
    return {**stated.model_dump(exclude_none=True), "headers": (("x-should-retry", "false"),)}


def _make_model(setting: ModelSettings) -> Model:
    stated = {name: getattr(setting, name) for name in setting.model_fields_set}
    return Model(**stated, unlimited=frozenset(name for name, value in stated.items() if value is None))


def count_kept_on_disk(kept: Kept) -> int:
    """Return how many bytes of an object are in a file."""
    return count_on_disk(kept.data) if type(kept) is KeptObject else 0


def make_value_store(settings: Settings) -> MemoryValueStore[Kept]:
    """Return where one process keeps answers and objects."""
    return MemoryValueStore(
        count=settings.stored_answers,
        size=settings.stored_bytes,
        disk=settings.stored_files,
        measure=count_kept_on_disk,
    )
