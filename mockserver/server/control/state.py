"""The server and what it remembers: is it ready, the state of namespaces, reset, reload."""

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace
from starlette.responses import Response

from mockserver import __version__
from mockserver.config.errors import MockserverError
from mockserver.config.settings import show_settings
from mockserver.core.json import Json
from mockserver.core.state import START, STATE, TIMES, StateLostError
from mockserver.dialects import list_client_configs
from mockserver.engine.counters import ATTEMPT
from mockserver.server.client_environment import make_bare_url, make_base_url
from mockserver.server.control.feed import show_problem
from mockserver.server.control.fleet import View, ask_all, change, list_servers, retry
from mockserver.server.control.requests import ControlRequest, RefusedError, make_json_response
from mockserver.server.live import Live
from mockserver.server.namespaces import ALL
from mockserver.server.reload import reload

if TYPE_CHECKING:
    from mockserver.server.fleet import RedisFleet


async def show_health(request: ControlRequest) -> Response:
    """Return `{"status": "ok"}` while the server runs."""
    return make_json_response({"status": "ok"})


async def show_readiness(request: ControlRequest) -> Response:
    """Return what runs here: version, files, number of rules; with the token more."""
    return make_json_response(_show_readiness(request))


def _show_readiness(request: ControlRequest) -> dict[str, Json]:
    live = request.live
    settings = request.live.settings
    found: dict[str, Json] = {
        "status": "ready",
        "version": __version__,
        "dialect": settings.dialect,
        "unmatched": live.engine.policy.unmatched,
        "files": [path.name for path in live.sources.files],
        "rules": len(live.engine.rules),
        "state": "memory" if live.fleet is None else "lost" if live.is_lost else "ok",
    }
    if not request.trusted:
        return found
    bases = [(settings.dialect, make_bare_url(request.address, settings.dialect))]
    bases += [(name, make_base_url(request.address, name)) for name in list_client_configs()]
    return {
        **found,
        "files": [str(path) for path in live.sources.files],
        "boot": request.rows.boot,
        "bases": [{"dialect": name, "url": url} for name, url in bases],
        "settings": show_settings(settings),
        "journal": {"calls": len(live.journal), "bytes": live.journal.held, "room": live.journal.room},
        "problem": show_problem(live.reloading.problem),
        "writes": settings.inspector_writes and bool(live.sources.files),
    }


async def show_fleet_readiness(_: View, request: ControlRequest, fleet: "RedisFleet") -> Response:
    """Return what runs here, and how many servers there are; wait for none of them, nor for a lost state."""
    found = _show_readiness(request)
    if not request.live.is_lost:
        with suppress(StateLostError):
            members = len(await fleet.member.find_members())
            others = fleet.member.others
            differ = {"differ": sorted(slot for slot in others if others[slot])} if any(others.values()) else {}
            found |= {"worker": fleet.slot, "workers": members, "digest": fleet.digest, **differ}
    return make_json_response(found)


async def show_state(request: ControlRequest) -> Response:
    """Return the scenario's state, used `times`, attempts and hits."""
    return make_json_response(
        {"namespaces": [await _show_namespace(name, request.live) for name in request.namespaces]}
    )


def join_states(answers: Sequence[Any], _: ControlRequest) -> dict[str, Json]:
    """Join the states of namespaces at several servers: calls and hits are those of all."""
    spaces = dict[str, Any]()
    for space in (space for answer in answers for space in answer["namespaces"]):
        known = spaces.setdefault(space["namespace"], space)
        if known is not space:
            known["hits"] = dict(Counter(known["hits"]) + Counter(space["hits"]))
            known.update({name: known[name] + space[name] for name in ("calls", "open")})
    return {"namespaces": list(spaces.values())}


async def set_state(request: ControlRequest) -> Response:
    """Set the scenario's state."""
    live = request.live
    state = request.read_table("state").get("state")
    if not isinstance(state, str) or not state:
        raise RefusedError(400, 'the body must be {"state": "..."}, the state that rules ask for')
    namespace = request.one_namespace
    live.namespaces.touch(namespace)
    await live.forget_evicted()
    await live.counters.set_state(namespace, state)
    return make_json_response(await _show_namespace(namespace, live))


async def set_fleet_state(view: View, request: ControlRequest, fleet: "RedisFleet") -> Response:
    """Set the scenario's state at all servers, and return what `show_state` does."""
    await change(view, request, fleet)
    shown = await ask_all(join_states)(show_state, replace(request, method="GET"), fleet)
    content = json.loads(bytes(shown.body))
    (space,) = content.pop("namespaces")
    return make_json_response({**space, **content})


async def _show_namespace(name: str, live: Live) -> dict[str, Json]:
    space = live.namespaces.get(name)
    rows = live.journal.list_rows(name)
    return {
        "namespace": name,
        **await _show_counters(name, live),
        "hits": dict(live.journal.count_hits(name)),
        "rules_added": len(space.rules),
        "timing": space.timed,
        "calls": len(rows),
        "open": sum(not row.ended for row in rows),
    }


async def _show_counters(name: str, live: Live) -> dict[str, Json]:
    """Return what may be shared with other servers: null while that is out of reach."""
    try:
        entries = await live.counters.list_entries(name)
        stored = await live.engine.memory.store.count(name)
    except StateLostError:
        return dict.fromkeys(("state", "times", "attempts", "stored_answers"))
    times, attempts = [
        {key.removeprefix(kind): int(value) for key, value in entries.items() if key.startswith(kind)}
        for kind in (TIMES, ATTEMPT)
    ]
    return {"state": entries.get(STATE, START), "times": times, "attempts": attempts, "stored_answers": stored}


async def set_timing(request: ControlRequest) -> Response:
    """Send answers at once, or as timed."""
    on = request.read_table("on").get("on")
    if not isinstance(on, bool):
        raise RefusedError(400, 'the body must be {"on": true} or {"on": false}')
    namespace = request.one_namespace
    async with request.live.change(namespace) as space:
        space.timed = on
    return make_json_response({"namespace": namespace, "timing": on})


async def reset(request: ControlRequest) -> Response:
    """Clear a namespace: added rules, cassette, counters, state, stored answers, limits, calls."""
    names = request.namespaces
    for name in names:
        await request.live.forget(name)
    return make_json_response({"reset": list(names)})


async def reset_fleet(_: View, request: ControlRequest, fleet: "RedisFleet") -> Response:
    """Reset one namespace, or every one that a server or the state knows."""
    names = set(request.namespaces)
    if request.namespace == ALL:
        names |= await fleet.list_namespaces()
    await asyncio.gather(*(retry(partial(fleet.reset, name)) for name in names))
    return make_json_response({"reset": sorted(names)})


_NOT_RELOADED = "not reloaded; the previous rules stay in effect:"


async def reload_files(request: ControlRequest) -> Response:
    """Read the files again; an invalid file changes nothing and is reported."""
    live = request.live
    try:
        waiting = await reload(live, live.sources)
    except MockserverError as error:
        raise RefusedError(400, f"{_NOT_RELOADED} {error.mistakes[0]}", mistakes=error.mistakes) from error
    return make_json_response({"rules": len(live.engine.rules), "at_next_start": list(waiting)})


async def reload_fleet(_: View, __: ControlRequest, fleet: "RedisFleet") -> Response:
    """Let all servers read their files again, and if all can, swap them in; who joins meanwhile does so later."""
    composed = await fleet.ask({"reload": "compose"})
    for slots in composed.left_out.values():
        raise RefusedError(503, f"{_NOT_RELOADED} no answer from {list_servers(slots)}")
    for slot, mistakes in composed.answers.items():
        if mistakes:
            words = f"{_NOT_RELOADED} {mistakes[0]} (server {slot})"
            return make_json_response({"error": words, "mistakes": mistakes}, 400)
    swap: dict[str, Json] = {"reload": "swap", "number": await fleet.member.count_reload()}
    swapped = await fleet.ask(swap, {*composed.answers, fleet.slot})
    shown: dict[str, Json] = swapped.answers.get(fleet.slot) or next(iter(swapped.answers.values()), {})
    return make_json_response({**shown, **swapped.left_out})
