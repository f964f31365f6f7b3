"""Control requests where several servers share a state: changes hold for all of them, and calls and counts are of all.

What the journals say is asked of every server; each runs its own view, and the answers are put together here.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from starlette.responses import Response

from mockserver.config.errors import MockserverError
from mockserver.core.json import Json
from mockserver.core.plan import Failure
from mockserver.core.protocols import StateLostError
from mockserver.engine.offload import on_thread
from mockserver.server.control import calls, copied, feed, files, state, trials
from mockserver.server.control.requests import (
    ControlRequest,
    Looks,
    RefusedError,
    View,
    json_response,
    number,
    whole_body,
)
from mockserver.server.fleet import ConflictError, Fleet
from mockserver.server.live import ALL, compose
from mockserver.state.redis.member import SLOTS

_TRIES = 20  # of a change that others come before


async def shared(asked: ControlRequest, view: View) -> Response:
    """Answer a control request for all servers. Raises RefusedError."""
    fleet = asked.live.fleet
    assert isinstance(fleet, Fleet)  # noqa: S101  # the caller has looked
    try:
        if view is state.health:
            return await view(asked)
        if view is state.ready:
            return await _ready(asked, fleet)
        if view in READS:
            return await _answered(asked, view, fleet)
        if view in MERGES or view is state.metrics:
            return await _gathered(asked, view, fleet)
        if (slot := _slot(asked, view)) is not None:
            return await _elsewhere(asked, view, fleet, slot)
        if view is files.put:
            raise RefusedError(409, "servers that share a state write no files; change them everywhere, then reload")
        if view is state.reload_files:
            return await _reloaded(asked, fleet)
        if view is state.reset:
            return await _reset(asked, fleet)
        response = await _retried(partial(_changed, asked, view, fleet))
        return await _shown(asked, fleet) if view is state.put else response
    except StateLostError as error:
        raise RefusedError(503, f"state lost: {error}; nothing was changed") from error


async def _retried(change: Callable[[], Awaitable[Any]]) -> Any:
    for _ in range(_TRIES):
        with suppress(ConflictError):
            return await change()
    raise RefusedError(409, "not applied: the namespace was changed concurrently; try again")


async def _changed(asked: ControlRequest, view: View, fleet: Fleet) -> Response:
    try:
        if asked.namespace != ALL:
            await fleet.catch_up(asked.namespace)
    except Failure as failure:
        raise RefusedError(
            409, f"{failure} Reset the namespace, or ask a server of the release that wrote them"
        ) from failure
    return await view(asked)


async def _answered(asked: ControlRequest, view: View, fleet: Fleet) -> Response:
    """The answer of this server; what it cannot read now is as it was known before."""
    for name in asked.namespaces:
        with suppress(StateLostError, Failure):
            await fleet.catch_up(name)
    return await view(asked)


async def _gathered(asked: ControlRequest, view: View, fleet: Fleet) -> Response:
    question = _question(asked, view)
    try:
        if "since" in asked.query:
            since = asked.number("since") or 0
            found, _ = await fleet.ask({"at": since}, [since % SLOTS])
            question["since_at"] = found.get(since % SLOTS)
        answers, left_out = await fleet.ask(question)
    except StateLostError:
        if view is calls.forget:
            raise
        answers, left_out = await fleet.ask_self(question)
    for answer in answers.values():
        if answer["status"] >= 400:
            return _response(answer)
    contents = {slot: answer["body"] for slot, answer in answers.items() if answer["status"] == 200}
    ordered = sorted(contents, key=lambda slot: (slot != fleet.slot, slot))
    if not ordered:
        raise StateLostError("no server has answered")
    if view is state.metrics:
        text = _metrics([contents[slot].encode("latin-1").decode() for slot in ordered])
        remarks = "".join(f"# {name}: {_listed(slots)}\n" for name, slots in left_out.items())
        return Response(remarks + text, media_type=answers[ordered[0]]["type"])
    read = lambda: MERGES[view]([json.loads(contents[slot].encode("latin-1")) for slot in ordered], asked)  # noqa: E731
    merged = {**await on_thread(read), **left_out}
    if asked.switch("compact"):
        return Response(json.dumps(merged, separators=(",", ":")) + "\n", media_type="application/json")
    return json_response(merged)


def _question(asked: ControlRequest, view: View) -> dict[str, Json]:
    request = {name: getattr(asked, name) for name in ("namespace", "item", "kind", "address", "trusted")}
    body, name = asked.body.decode("latin-1"), f"{view.__module__}.{view.__name__}"
    return {"view": name, "request": request, "query": asked.query, "body": body, "group": asked.live.made_token}


async def own_answer(fleet: Fleet, question: Mapping[str, Any]) -> bytes:
    """What this server answers to a question of another, or of itself."""
    live = fleet.live
    if "names" in question:
        return json.dumps(live.namespaces.names()).encode()
    if "at" in question:
        row = live.journal.find(question["at"])
        return json.dumps(None if row is None else row.at).encode()
    if "reload" in question:
        return json.dumps(await _reload_step(fleet, question)).encode()
    view, query = _VIEWS[question["view"]], dict(question["query"])
    if view is state.metrics and question["group"] != live.made_token:
        return b'{"status":204,"type":null,"body":""}'
    if "since" in query:
        at = question.get("since_at")
        query["since"] = str(0 if at is None else max((row.seq for row in live.journal if row.at <= at), default=0))
    looks = fleet.looks = fleet.looks or Looks()
    body = question["body"].encode("latin-1")
    asked = ControlRequest(live, query=query, body=body, looks=looks, **question["request"])
    try:
        response = await _answered(asked, view, fleet)
    except RefusedError as refused:
        response = refused.response
    text = (await whole_body(response)).decode("latin-1")
    answer = {"status": response.status_code, "type": response.headers.get("content-type"), "body": text}
    return json.dumps(answer).encode()


def _slot(asked: ControlRequest, view: View) -> int | None:
    """The slot of the server that has the one call which a request is about."""
    if view in OF_CALLS:
        return number(asked.item, "the number of a call") % SLOTS
    if view is calls.explain and b'"call"' in asked.body:
        content = asked.content()
        called = content.get("call") if isinstance(content, dict) else None
        return called % SLOTS if isinstance(called, int) else None
    return None


async def _elsewhere(asked: ControlRequest, view: View, fleet: Fleet, slot: int) -> Response:
    """The answer of one server; if that is gone, of this one, which has no such call."""
    if slot == fleet.slot or slot not in await fleet.member.members():
        return await _answered(asked, view, fleet)
    answers, left_out = await fleet.ask(_question(asked, view), [slot])
    if slot not in answers:
        why = "is too large to be passed on" if "too_large" in left_out else "did not come"
        raise RefusedError(503, f"the answer of server {slot}, which has this call, {why}")
    return _response(answers[slot])


def _response(answer: Mapping[str, Any]) -> Response:
    """The response of another server."""
    return Response(answer["body"].encode("latin-1"), answer["status"], {"content-type": answer["type"]})


async def _ready(asked: ControlRequest, fleet: Fleet) -> Response:
    """What this server says of itself, and how many servers there are; it waits for none, nor for a lost state."""
    content: dict[str, Json] = json.loads(bytes((await state.ready(asked)).body))
    if asked.live.lost:
        return json_response(content)
    with suppress(StateLostError):
        members, others = len(await fleet.member.members()), fleet.member.others
        differ = {"differ": sorted(slot for slot in others if others[slot])} if any(others.values()) else {}
        content = {**content, "worker": fleet.slot, "workers": members, "digest": fleet.digest, **differ}
    return json_response(content)


async def _shown(asked: ControlRequest, fleet: Fleet) -> Response:
    """The state of one namespace, with the calls and hits of all servers."""
    content = json.loads(bytes((await _gathered(asked, state.shown, fleet)).body))
    (space,) = content.pop("namespaces")
    return json_response({**space, **content})


async def _reset(asked: ControlRequest, fleet: Fleet) -> Response:
    """Reset one namespace, or every one that a server or the state knows."""
    names = set(asked.namespaces)
    if asked.namespace == ALL:
        known, _ = await fleet.ask({"names": True})
        names.update(fleet.member.changed, await fleet.member.stored(), *known.values())
    await asyncio.gather(*(_retried(partial(fleet.reset, name)) for name in names))
    return json_response({"reset": sorted(names)})


async def _reloaded(asked: ControlRequest, fleet: Fleet) -> Response:
    """All servers read their files again, and if all can, all swap them in; who joins meanwhile does so later."""
    answers, left_out = await fleet.ask({"reload": "compose"})
    for slots in left_out.values():
        raise RefusedError(503, f"not reloaded, the rules before still hold: no answer of {_listed(slots)}")
    for slot, mistakes in answers.items():
        if mistakes:
            words = f"not reloaded, the rules before still hold: {mistakes[0]} (server {slot})"
            return json_response({"error": words, "mistakes": mistakes}, 400)
    swap = {"reload": "swap", "number": await fleet.member.count_reload()}
    answers, left_out = await fleet.ask(swap, {*answers, fleet.slot})
    told: dict[str, Json] = answers.get(fleet.slot) or next(iter(answers.values()), {})
    return json_response({**told, **left_out})


async def _reload_step(fleet: Fleet, question: Mapping[str, Any]) -> Json:
    live = fleet.live
    if question["reload"] == "compose":
        try:
            fleet.composed = await on_thread(compose, live.sources, live.counters, live)
        except MockserverError as error:
            return [str(mistake) for mistake in error.mistakes]
        return []
    if fleet.composed is None:  # it has just taken the slot of another
        return {}
    fleet.member.reloads = question["number"]
    waiting = live.swap(*fleet.composed)
    return {"rules": len(live.engine.rules), "at_next_start": list(waiting)}


def _listed(slots: Sequence[int]) -> str:
    return "server " + ", ".join(map(str, slots))


# How the answers of several servers become one; the first is that of the server which was asked.


def _calls(answers: Sequence[Any], asked: ControlRequest) -> dict[str, Json]:
    merged = [call for answer in answers for call in answer["calls"]]
    merged.sort(key=lambda call: (call["at"], call["call"]))
    limit = asked.number("limit")
    return {**answers[0], "calls": merged if limit is None else merged[max(0, len(merged) - limit) :]}


def _forgotten(answers: Sequence[Any], _: ControlRequest) -> dict[str, Json]:
    return {"forgotten": sum(answer["forgotten"] for answer in answers)}


def _rules(answers: Sequence[Any], _: ControlRequest) -> dict[str, Json]:
    hits, last = Counter[str](), dict[str, int]()
    for answer in answers:
        hits.update({rule["source"]: rule["hits"] for rule in answer["rules"]})
        for rule in answer["rules"]:
            last[rule["source"]] = max(last.get(rule["source"], 0), rule["last_call"] or 0)
    rules = answers[0]["rules"]
    found = [{**rule, "hits": hits[rule["source"]], "last_call": last[rule["source"]] or None} for rule in rules]
    return {**answers[0], "rules": found}


def _states(answers: Sequence[Any], _: ControlRequest) -> dict[str, Json]:
    spaces = dict[str, Any]()
    for space in (space for answer in answers for space in answer["namespaces"]):
        known = spaces.setdefault(space["namespace"], space)
        if known is not space:
            known["hits"] = dict(Counter(known["hits"]) + Counter(space["hits"]))
            known.update({name: known[name] + space[name] for name in ("calls", "open")})
    return {"namespaces": list(spaces.values())}


def _cassette(answers: Sequence[Any], asked: ControlRequest) -> dict[str, Json]:
    if asked.namespace == ALL:
        return {"played": dict(sum((Counter(answer["played"]) for answer in answers), Counter()))}
    unplayed = set.intersection(*(set(answer["unplayed"]) for answer in answers))
    return {**answers[0], "unplayed": sorted(unplayed)}


def _metrics(answers: Sequence[str]) -> str:
    """Every series of every server once, each family with its description before it."""
    families = dict[str, list[str]]()
    for text in answers:
        name = ""
        for line in text.splitlines():
            if line.startswith("# HELP "):
                name = line.split()[2]
            listed = families.setdefault(name, [])
            if not (line.startswith("#") and line in listed):
                listed.append(line)
    return "\n".join(line for listed in families.values() for line in listed) + "\n"


MERGES: Mapping[View, Callable[[Sequence[Any], ControlRequest], dict[str, Json]]] = {
    calls.listed: _calls,
    calls.forget: _forgotten,
    files.list_rules: _rules,
    state.shown: _states,
    state.show_cassette: _cassette,
}
READS = (feed.feed, state.list_episodes)  # of what this server has itself
OF_CALLS = (calls.one, copied.body, copied.copied, trials.again)
_VIEWS = {f"{view.__module__}.{view.__name__}": view for view in (*MERGES, *OF_CALLS, calls.explain, state.metrics)}
