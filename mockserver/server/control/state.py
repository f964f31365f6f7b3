"""The server itself over HTTP: whether it is there, what it counts, and how to begin anew."""

from collections.abc import Mapping

from starlette.responses import Response

from mockserver import __version__
from mockserver.config.errors import MockserverError
from mockserver.core.json import Json
from mockserver.engine.counters import ATTEMPT, START, STATE, TIMES
from mockserver.server.control.requests import Asked, RefusedError, told
from mockserver.server.watch import reload


async def health(asked: Asked) -> Response:
    """That the server is alive."""
    return told({"status": "ok"})


async def ready(asked: Asked) -> Response:
    """That it answers, and with what."""
    settings = asked.live.settings
    return told(
        {
            "status": "ready",
            "version": __version__,
            "dialect": settings.dialect,
            "unmatched": settings.unmatched,
            "files": [str(path) for path in asked.live.sources.files],
            "rules": len(asked.live.engine.rules),
        }
    )


async def shown(asked: Asked) -> Response:
    """What is remembered of a namespace, or of each."""
    return told({"namespaces": [await _of(name, asked) for name in asked.namespaces]})


async def put(asked: Asked) -> Response:
    """Set the state of the scenario."""
    state = asked.table("state").get("state")
    if not isinstance(state, str) or not state:
        raise RefusedError(400, 'the body must be {"state": "..."}, the state that rules ask for')
    namespace = await _in_use(asked)
    await asked.live.store.set(namespace, STATE, state)
    return told(await _of(namespace, asked))


async def timing(asked: Asked) -> Response:
    """Let answers of a namespace take their time, or let them leave at once."""
    on = asked.table("on").get("on")
    if not isinstance(on, bool):
        raise RefusedError(400, 'the body must be {"on": true} or {"on": false}')
    namespace = await _in_use(asked)
    asked.live.namespaces.get(namespace).timed = on
    return told({"namespace": namespace, "timing": on})


async def reset(asked: Asked) -> Response:
    """Forget all of a namespace, as if the server had just begun."""
    names = asked.namespaces
    for name in names:
        await asked.live.forget(name)
    return told({"reset": list(names)})


async def reload_files(asked: Asked) -> Response:
    """Read the files again; rules that were added stay. A broken file changes nothing."""
    try:
        waiting = await reload(asked.live, asked.live.sources)
    except MockserverError as error:
        words = f"not reloaded, the rules before still hold: {error.mistakes[0]}"
        raise RefusedError(400, words, mistakes=error.mistakes) from error
    return told({"rules": len(asked.live.engine.rules), "at_next_start": list(waiting)})


async def _in_use(asked: Asked) -> str:
    namespace = asked.one_namespace
    asked.live.namespaces.touch(namespace)
    await asked.live.forget_evicted()
    return namespace


async def _of(name: str, asked: Asked) -> dict[str, Json]:
    live, space = asked.live, asked.live.namespaces.get(name)
    entries = await live.store.entries(name)
    rows = live.journal.rows(name)
    return {
        "namespace": name,
        "state": entries.get(STATE, START),
        "times": _counted(entries, TIMES),
        "attempts": _counted(entries, ATTEMPT),
        "hits": dict(live.journal.hits(name)),
        "rules_added": len(space.rules),
        "timing": space.timed,
        "calls": len(rows),
        "open": sum(not row.ended for row in rows),
        "stored_answers": len(await live.engine.memory.shelf.values(name)),
    }


def _counted(entries: Mapping[str, str], kind: str) -> dict[str, int]:
    return {key.removeprefix(kind): int(value) for key, value in entries.items() if key.startswith(kind)}
