"""The cassette of a namespace over HTTP: which is played, what is recorded into it, and a way to change that."""

from collections import Counter
from functools import partial
from typing import get_args

from starlette.responses import Response

from mockserver.config.errors import CassetteError
from mockserver.core.json import Json
from mockserver.engine.offload import aside
from mockserver.server.control.requests import Asked, RefusedError, told
from mockserver.server.namespaces import ALL
from mockserver.server.replay import Choice, Player, Record


async def shown(asked: Asked) -> Response:
    """Which cassette a namespace plays; of all of them together, how often each episode was played or recorded."""
    if asked.namespace == ALL:
        return told({"played": _played(asked)})
    return told(_of(asked, asked.one_namespace))


def _played(asked: Asked) -> dict[str, int]:
    hits = Counter[str]()
    for namespace in asked.namespaces:
        hits.update(asked.live.journal.hits(namespace))
    return {source.removeprefix(_SOURCE): count for source, count in hits.items() if source.startswith(_SOURCE)}


async def put(asked: Asked) -> Response:
    """Play another one from now on; where `record` is not said, as the settings record."""
    wanted, live = asked.table("name", "record"), asked.live
    name, record = wanted.get("name"), wanted.get("record", live.settings.record)
    if "name" not in wanted or not (name is None or (isinstance(name, str) and name)):
        raise RefusedError(400, 'the body must be {"name": "..."}, the cassette to play, or null for none')
    if record not in RECORDS:
        raise RefusedError(400, f'"record" must be one of {", ".join(RECORDS)}')
    try:
        chosen = await aside(partial(_chosen, live.player, name, record))
    except CassetteError as error:
        raise RefusedError(400, str(error.mistakes[0]), mistakes=error.mistakes[1:] and error.mistakes) from error
    return told(_of(asked, await _playing(asked, chosen.choice)))


def _chosen(player: Player, name: str | None, record: Record) -> Player:
    if name is not None and record == "none" and not player.cassettes.exists(name):
        raise CassetteError(player.cassettes.missing(name, _RECORD))
    return player.chosen(name, record)


async def remove(asked: Asked) -> Response:
    """Play the cassette of the settings again, if there is one."""
    return told(_of(asked, await _playing(asked, None)))


async def _playing(asked: Asked, choice: Choice | None) -> str:
    namespace, live = asked.one_namespace, asked.live
    live.namespaces.touch(namespace).play(choice)
    await live.forget_evicted()
    return namespace


def _of(asked: Asked, namespace: str) -> dict[str, Json]:
    live, space = asked.live, asked.live.namespaces.get(namespace)
    tapes = space.engine(live.engine).tapes
    player = tapes if isinstance(tapes, Player) else live.player
    name, record = player.choice.name, player.choice.record
    hits = live.journal.hits(namespace)
    library = None if name is None else player.cassettes.get(name)
    numbers = [] if library is None else [entry.number for entry in library.entries if not hits[entry.reply.source]]
    return {
        "namespace": namespace,
        "name": name,
        "record": record,
        "own": space.choice is not None,
        "forwards": player.choice.forwards,
        "episodes": 0 if library is None else library.size,
        "unplayed": sorted((*numbers, *(() if library is None else library.unread))),
    }


RECORDS: tuple[str, ...] = get_args(Record)
_SOURCE = "cassette "  # and an episode: what an answer of a cassette comes from
_RECORD = 'to record it, say "record": "once" as well'
