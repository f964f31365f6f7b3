"""Watches the rules files: a good change is swapped in at once, a broken one changes nothing and says so."""

import logging
from collections.abc import Callable
from pathlib import Path

from mockserver.core.errors import MockserverError
from mockserver.server.live import Live, Sources, compose

log = logging.getLogger("mockserver")


def reload(live: Live, sources: Sources) -> None:
    """Swap in what the sources describe now. Raises MockserverError, and then nothing has changed.

    The bare paths keep their dialect: they stand since the start, as do the socket and the log.
    """
    settings, engine = compose(sources, live.store)
    live.settings, live.engine = settings.model_copy(update={"dialect": live.settings.dialect}), engine


async def watch(live: Live, sources: Sources, say: Callable[[str], None]) -> None:
    """Reload whenever a file changes, until cancelled; `say` hears what came of it."""
    from watchfiles import awatch  # slow to import, and only serving needs it

    files = {path.resolve() for path in sources.files}
    folders = {path.parent for path in files}  # editors replace files, so the folder is what must be watched
    mine = lambda _change, path: Path(path) in files  # noqa: E731  # the shape that watchfiles wants
    async for _ in awatch(*folders, watch_filter=mine, debounce=100, step=20, recursive=False):
        try:
            reload(live, sources)
        except MockserverError as error:
            say("\n".join(["not reloaded, the rules before still hold:", *(m.shown() for m in error.mistakes)]))
        else:
            count = len(live.engine.rules)
            say(f"reloaded: {count} rule{'s' * (count != 1)}")
