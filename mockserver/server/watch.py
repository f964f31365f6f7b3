"""Watches rules files and cassettes: a good change is swapped in at once, a broken one changes nothing and says so."""

import logging
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from mockserver.config.errors import MockserverError
from mockserver.config.settings import Settings
from mockserver.core.text import plural
from mockserver.engine.engine import Engine
from mockserver.engine.offload import aside
from mockserver.server.cassette_store import file_of
from mockserver.server.live import Live, Sources, compose

EVERY = 500  # milliseconds after which cassettes are looked at

log = logging.getLogger("mockserver")

# Settings that a running server cannot change.
AT_START = (
    "host",
    "port",
    "log",
    "reload",
    "cors",
    "stored_answers",
    "stored_bytes",
    "journal_calls",
    "journal_bytes",
)


async def reload(live: Live, sources: Sources) -> tuple[str, ...]:
    """Swap in what the sources describe now; the names of changed settings that wait for the next start.

    Requests are answered meanwhile, by what was there before. Raises MockserverError, and then nothing has changed.
    """
    async with live.changing:
        settings, engine = await aside(partial(compose, sources, live.store, live))
        return _swapped(live, settings, engine)


def _swapped(live: Live, settings: Settings, engine: Engine) -> tuple[str, ...]:
    kept = {name: getattr(live.settings, name) for name in AT_START}
    waiting = tuple(name for name in AT_START if getattr(settings, name) != kept[name])
    live.settings, live.engine = settings.model_copy(update=kept), engine
    return waiting


async def watch(live: Live, sources: Sources, say: Callable[[str], None]) -> None:
    """Reload whenever a file changes, or a cassette is changed by others, until cancelled; `say` hears what came of it.

    Cassettes are looked at every now and then: which are played changes, and so does whether their folders are there.
    """
    from watchfiles import awatch  # slow to import, and only serving needs it

    files = {path.resolve() for path in sources.files}
    folders = {path.parent for path in files}  # editors replace files, so the folder is what must be watched
    mine = lambda _change, path: Path(path) in files  # noqa: E731  # the shape that watchfiles wants
    async for changed in awatch(
        *folders, watch_filter=mine, debounce=100, step=20, recursive=False, rust_timeout=EVERY, yield_on_timeout=True
    ):
        cassettes = () if changed else await aside(live.player.cassettes.changed)
        if changed or cassettes:
            await _reloaded(live, sources, cassettes, say)


async def _reloaded(live: Live, sources: Sources, cassettes: Sequence[str], say: Callable[[str], None]) -> None:
    try:
        waiting = await reload(live, sources)
    except MockserverError as error:
        before = "what was recorded before still holds" if cassettes else "the rules before still hold"
        say("\n".join([f"not reloaded, {before}:", *(m.shown() for m in error.mistakes)]))
    else:
        told = ", ".join(_cassette(live, name) for name in cassettes) or plural(len(live.engine.rules), "rule")
        later = f"; at the next start: {', '.join(waiting)}" if waiting else ""
        say(f"reloaded: {told}{later}")


def _cassette(live: Live, name: str) -> str:
    library = live.player.cassettes.get(name)
    return f"cassette {file_of(name)}, " + ("not there" if library is None else plural(library.size, "episode"))
