"""The cassette that a namespace plays: which one, what was played of it, and another one in its place."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.responses import Response

from mockserver.cassettes.cassette import Cassette, CassetteEntry
from mockserver.config.errors import CassetteError
from mockserver.config.settings import RECORD_MODES, RecordMode
from mockserver.config.spelling import ControlSpelling
from mockserver.core.json import Json
from mockserver.core.text import truncate
from mockserver.engine.offload import on_thread
from mockserver.server.control.requests import ControlRequest, RefusedError, make_json_response
from mockserver.server.namespaces import ALL
from mockserver.server.recording.player import CassetteChoice, Player

_LISTED = 200  # episodes, if no limit is given
_SOURCE = "cassette "  # how the source of an answer begins that an episode gave


async def show_cassette(request: ControlRequest) -> Response:
    """Return the cassette in use; for all namespaces, uses of each episode."""
    if request.namespace != ALL:
        return _show_choice(request, request.namespace)
    hits = Counter[str]()
    for namespace in request.namespaces:
        hits.update(request.live.journal.count_hits(namespace))
    played = {source.removeprefix(_SOURCE): count for source, count in hits.items() if source.startswith(_SOURCE)}
    return make_json_response({"played": played})


def join_cassettes(answers: Sequence[Any], request: ControlRequest) -> dict[str, Json]:
    """Join what several servers have played."""
    if request.namespace == ALL:
        return {"played": dict(sum((Counter(answer["played"]) for answer in answers), Counter()))}
    unplayed = set.intersection(*(set(answer["unplayed"]) for answer in answers))
    return {**answers[0], "unplayed": sorted(unplayed)}


async def play_cassette(request: ControlRequest) -> Response:
    """Use another cassette in this namespace, in a record mode."""
    wanted = request.read_table("name", "record")
    live = request.live
    name = wanted.get("name")
    record = wanted.get("record", live.settings.record)
    if "name" not in wanted or not (name is None or (isinstance(name, str) and name)):
        raise RefusedError(400, 'the body must be {"name": "..."}, the cassette to play, or null for none')
    if record not in RECORD_MODES:
        raise RefusedError(400, f'"record" must be one of {", ".join(RECORD_MODES)}')
    try:
        chosen = await on_thread(_choose, live.player, name, record)
    except CassetteError as error:
        raise RefusedError(400, str(error.mistakes[0]), mistakes=error.mistakes[1:] and error.mistakes) from error
    if live.fleet is not None and record != "none":
        raise RefusedError(409, 'servers that share a state do not record; leave "record" out')
    return await _put_choice(request, chosen.choice)


def _choose(player: Player, name: str | None, record: RecordMode) -> Player:
    if name is not None and record == "none" and not player.store.exists(name):
        raise CassetteError(player.store.explain_missing(name, ControlSpelling(player.spelling)))
    return player.choose(name, record)


async def unplay_cassette(request: ControlRequest) -> Response:
    """Return to the cassette of the settings."""
    return await _put_choice(request, None)


async def _put_choice(request: ControlRequest, choice: CassetteChoice | None) -> Response:
    namespace = request.one_namespace
    async with request.live.change(namespace) as space:
        space.choice = choice
    return _show_choice(request, namespace)


def _show_choice(request: ControlRequest, namespace: str) -> Response:
    live = request.live
    player = _find_player(request, namespace)
    hits = live.journal.count_hits(namespace)
    cassette = player.cassette
    unplayed = list[int]()
    if cassette is not None:
        unplayed = [*cassette.refused, *(entry.number for entry in cassette.entries if not hits[entry.reply.source])]
    return make_json_response(
        {
            "namespace": namespace,
            "name": player.choice.name,
            "record": player.choice.record,
            "own": live.namespaces.get(namespace).choice is not None,
            "forwards": player.choice.forwards,
            "episodes": 0 if cassette is None else cassette.size,
            "unplayed": sorted(unplayed),
        }
    )


def _find_player(request: ControlRequest, namespace: str) -> Player:
    own = request.live.find_engine(namespace).player
    return own if isinstance(own, Player) else request.live.player


async def list_episodes(request: ControlRequest) -> Response:
    """List episodes of the cassette in use."""
    namespace = request.one_namespace
    cassette = _find_player(request, namespace).cassette
    after = request.read_number("after") or 0
    limit = request.read_number("limit") or _LISTED
    entries = [] if cassette is None else [entry for entry in cassette.entries if entry.number > after][:limit]
    hits = request.live.journal.count_hits(namespace)
    shown = await on_thread(lambda: [_show_episode(entry, cassette, hits) for entry in entries])
    return make_json_response({"episodes": shown})


def _show_episode(entry: CassetteEntry, cassette: Cassette | None, hits: Mapping[str, int]) -> dict[str, Json]:
    reply = entry.reply
    call = None if cassette is None else cassette.parse(entry.episode)
    asked = "" if call is None else call.last_user or next((prompt.text for prompt in call.prompts), "")
    return {
        "number": entry.number,
        "source": reply.source,
        "asked": truncate(asked, 160),
        "status": reply.status,
        "frames": None if reply.frames is None else len(reply.frames),
        "played": hits.get(reply.source, 0),
    }
