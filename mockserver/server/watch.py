"""Watches the rules files: a good change is swapped in at once, a broken one changes nothing and says so."""

import logging
from collections.abc import Callable
from pathlib import Path

from mockserver.core.errors import MockserverError
from mockserver.server.live import Live, Sources, compose

log = logging.getLogger("mockserver")


# Settings that a running server cannot change.
AT_START = ("host", "port", "dialect", "log", "reload", "stored_answers", "stored_bytes")


def reload(live: Live, sources: Sources) -> tuple[str, ...]:
    """Swap in what the sources describe now; the names of changed settings that wait for the next start.

    Raises MockserverError, and then nothing has changed.
    """
    settings, engine = compose(sources, live.store, live.engine.memory.shelf)
    kept = {name: getattr(live.settings, name) for name in AT_START}
    waiting = tuple(name for name in AT_START if getattr(settings, name) != kept[name])
    live.settings, live.engine = settings.model_copy(update=kept), engine
    return waiting


async def watch(live: Live, sources: Sources, say: Callable[[str], None]) -> None:
    """Reload whenever a file changes, until cancelled; `say` hears what came of it."""
    from watchfiles import awatch  # slow to import, and only serving needs it

    files = {path.resolve() for path in sources.files}
    folders = {path.parent for path in files}  # editors replace files, so the folder is what must be watched
    mine = lambda _change, path: Path(path) in files  # noqa: E731  # the shape that watchfiles wants
    async for _ in awatch(*folders, watch_filter=mine, debounce=100, step=20, recursive=False):
        try:
            waiting = reload(live, sources)
        except MockserverError as error:
            say("\n".join(["not reloaded, the rules before still hold:", *(m.shown() for m in error.mistakes)]))
        else:
            count = len(live.engine.rules)
            later = f"; at the next start: {', '.join(waiting)}" if waiting else ""
            say(f"reloaded: {count} rule{'s' * (count != 1)}{later}")
