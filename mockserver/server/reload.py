"""Reloads rules, settings and cassettes, when somebody asks for it or when a file changes."""

from asyncio import to_thread
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from stat import S_ISFIFO, S_ISREG
from threading import Event

from mockserver.config.errors import ConfigError, MockserverError
from mockserver.core.episode import name_file
from mockserver.core.text import count_noun
from mockserver.engine.offload import on_thread
from mockserver.server.compose import compose
from mockserver.server.live import Live
from mockserver.server.sources import Sources


async def reload(live: Live, sources: Sources) -> tuple[str, ...]:
    """Go on with the sources as they are now. Return the changed settings that need a restart.

    Raises MockserverError if they have mistakes; then nothing changes.
    """
    reloading = live.reloading
    async with reloading.lock:
        try:
            _check_files(sources, live)
            settings, engine = await on_thread(compose, sources, live.counters, live)
            reloading.check(settings, engine)
        except MockserverError as error:
            reloading.problem = error.mistakes
            raise
        reloading.problem = ()
        return live.swap(settings, engine)


def _check_files(sources: Sources, live: Live) -> None:
    """Raise ConfigError for a pipe, which may never end, and for an empty file that had rules: it is being written."""
    have_rules = {rule.place.file for rule in live.engine.rules if rule.place is not None}
    for path in sources.files:
        shown = sources.shown(path)
        try:
            status = path.stat()
        except OSError:
            continue  # to read it says why it cannot be read
        if S_ISFIFO(status.st_mode):
            raise ConfigError(f"{shown}: a pipe can be read only once; put a file in its place")
        if shown in have_rules and S_ISREG(status.st_mode) and not status.st_size:
            raise ConfigError(f"{shown}: is empty; to serve no rules, write {{version: 1}}")


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
    looked = False
    changes = wait(*folders, watch_filter=mine, stop_event=over, recursive=False)
    try:
        while True:
            events = await to_thread(next, changes)  # not awatch, whose tasks and threads are slow to import
            missed = not looked and any(_was_changed(path, live.loaded_at) for path in files)
            changed = events or missed
            looked = True
            cassettes = () if changed else await on_thread(live.player.store.list_changed)
            if changed or cassettes:
                await _reload(live, sources, cassettes=cassettes, say=say)
    finally:
        over.set()


def _was_changed(path: Path, since: float) -> bool:
    """Return whether a file was changed after it was loaded, but before it was watched."""
    try:
        return path.is_file() and path.stat().st_ctime > since
    except OSError:
        return False


async def _reload(live: Live, sources: Sources, *, cassettes: Sequence[str], say: Callable[[str], None]) -> None:
    """Reload, and say how that went; `cassettes` are those that have changed, if the files have not."""
    try:
        waiting = await reload(live, sources)
    except MockserverError as error:
        before = "the previous recordings stay in effect" if cassettes else "the previous rules stay in effect"
        say("\n".join([f"not reloaded; {before}:", *(m.render() for m in error.mistakes)]))
    else:
        what = ", ".join(_describe_cassette(live, name) for name in cassettes) or count_noun(
            len(live.engine.rules), "rule"
        )
        later = f"; restart the server to apply {', '.join(waiting)}" if waiting else ""
        edited = live.player.store.list_edited() if cassettes else ()
        say("\n".join((f"reloaded: {what}{later}", *(f"  {line}" for line in edited))))


def _describe_cassette(live: Live, name: str) -> str:
    cassette = live.player.store.get(name)
    return f"cassette {name_file(name)}, " + ("not there" if cassette is None else count_noun(cassette.size, "episode"))
