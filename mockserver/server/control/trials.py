"""What would happen: a request rehearsed with other rules, and what a draft of rules changes. And calls sent again."""

import asyncio
import dataclasses
import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from urllib.parse import quote, urlencode

from msgspec import Struct
from msgspec.structs import replace
from starlette.responses import Response
from starlette.types import Message

from mockserver.config.errors import ConfigError, RuleError
from mockserver.core.action import Action, Cut, Wait, Write
from mockserver.core.call import Call
from mockserver.core.exchange import COMPLETE, Exchange, Piece
from mockserver.core.json import Json
from mockserver.core.seed import monotonic
from mockserver.delivery.drive import CUT
from mockserver.engine.engine import Engine
from mockserver.engine.offload import on_thread
from mockserver.rules.load import Rule, select_suited
from mockserver.server.asgi import AsgiEntrance
from mockserver.server.control.calls import reached_in
from mockserver.server.control.detail import call_of, engine_of, reached_by, reply_of
from mockserver.server.control.feed import mistake_as_json
from mockserver.server.control.requests import ControlRequest, RefusedError, json_response, kept
from mockserver.server.control.rows import milliseconds, usage_of
from mockserver.server.control.state import rules_of
from mockserver.server.deliver import actions_of
from mockserver.server.explain import Reached, copied_engine, is_unmatched, planned
from mockserver.server.live import Live
from mockserver.server.masking import masked, of_request, of_row
from mockserver.server.respond import HOME, Responder
from mockserver.state.journal import Journal

log = logging.getLogger("mockserver")

PATIENCE = 60.0  # seconds that an answer to a call which is sent again may take
MOST_CALLS, SECONDS, _TURN = 500, 0.5, 20  # calls that a draft is tried with, and how long; calls in a turn


async def try_request(asked: ControlRequest) -> Response:
    """Return the whole reply that would be sent, and when; count, keep and send nothing."""
    content = asked.content()
    drafts = ("rules", "instead_of") if isinstance(content, dict) else ()
    draft = {name: content.pop(name) for name in drafts if name in content}
    reached, before = reached_in(content, asked)
    secrets = await on_thread(of_request, reached.http)
    engine = engine_of(reached.http.namespace, asked.live)
    if draft:
        rules = await on_thread(_drafted, asked, draft.get("rules", ""))
        placed = _placed(engine.rules, rules, draft.get("instead_of"))
        engine = await on_thread(dataclasses.replace, engine, rules=placed)  # which indexes them
    row, why = await _rehearsed(asked.live, engine, reached)
    found = {
        **before,
        "answered_by": row.source,
        **({"why": why} if why else {}),
        **({"bent_by": list(row.modified_by)} if row.modified_by else {}),
        "reply": {**reply_of(row, secrets), "due_ms": milliseconds(row.elapsed)} if row.status else None,
        "usage": usage_of(row),
    }
    return json_response(masked(found, secrets))


async def _rehearsed(live: Live, engine: Engine, reached: Reached) -> tuple[Exchange, str]:
    """The row that a request would leave in a journal, its pieces at the times when they are due; and why it fails."""
    http, journal = reached.http, Journal()
    entries = await engine.counters.entries(http.namespace)
    alone = Live(live.settings, await copied_engine(engine, http.namespace, entries), journal, live.counters)
    alone.namespaces.touch(http.namespace).timed = live.timed(http.namespace)
    responder = Responder(alone, reached.place.dialect, reached.place.operations)
    visit = responder.admit(http.method, http.path, http.namespace)
    visit.in_process, visit.patient = True, False
    row = visit.row
    row.query, row.headers = urlencode(http.query, errors="surrogateescape").encode(), http.headers
    row.take(http.body)
    response = await responder.respond(http, visit)
    if response.plan is HOME:
        raise RefusedError(400, f"nothing is asked at {http.path}")
    if response.forwarded is not None:
        row.plan, row.status = (await planned(engine, reached.call(alone.settings), entries)), 0
        visit.end(COMPLETE)
        return row, "it would be sent upstream"
    ended, due = _rehearse(actions_of(responder, response, visit), row)
    visit.end(ended)
    row.elapsed = due
    return row, ""


def _rehearse(actions: Iterable[Action], row: Exchange) -> tuple[str, float]:
    """Note the pieces of an answer at the times when they are due, without waiting; return how it ends, and when."""
    due, pieces, ended = 0.0, list[Piece](), COMPLETE
    for action in actions:
        match action:
            case Wait(seconds):
                if seconds == float("inf"):
                    ended = CUT["close"]
                    break
                due += seconds
            case Write(data):
                row.note(data)
                pieces.append((row.began + due, data))
            case Cut(how):
                ended = CUT[how]
                break
    row.sent = pieces
    return ended, due


def _scope(reached: Reached) -> dict[str, Any]:
    """The request in the form of ASGI."""
    http = reached.http
    return {
        "type": "http",
        "http_version": "1.1",
        "method": http.method,
        "path": http.path,
        "raw_path": quote(http.path, safe="/:").encode(),
        "root_path": "",
        "query_string": urlencode(http.query, errors="surrogateescape").encode(),
        "headers": list(http.headers),
        "path_params": {**http.path_params, "namespace": http.namespace},
        "extensions": {},
    }


class _Body:
    """The whole body of a request; its client leaves after a while, as some answers have no end."""

    def __init__(self, body: bytes) -> None:
        self._left = [body]

    async def __call__(self) -> Message:
        if self._left:
            return {"type": "http.request", "body": self._left.pop()}
        await asyncio.wait((asyncio.get_running_loop().create_future(),), timeout=PATIENCE)
        return {"type": "http.disconnect"}


async def _nowhere(message: Message) -> None:
    pass


def _drafted(asked: ControlRequest, text: Json) -> tuple[Rule, ...]:
    """The rules of a draft: YAML, as in a rules file, or items of its `rules`. Raises RefusedError."""
    if not isinstance(text, str):
        raise RefusedError(400, '"rules" must be a text, the rules as YAML')
    file = f"rules:\n{text}" if _ITEMS.match(text) else text
    return rules_of(replace(asked, body=file.encode("utf-8", "replace"), kind="application/yaml"), 0)[0]


_ITEMS = re.compile(r"(?:[ \t]*(?:#.*)?\n)*[ \t]*-")


def _placed(rules: Sequence[Rule], drafts: Sequence[Rule], instead_of: Json) -> tuple[Rule, ...]:
    """The rules with drafts in the place of the rule that they replace, else in front of all others."""
    if instead_of is None:
        return (*drafts, *rules)
    at = next((at for at, rule in enumerate(rules) if rule.name == instead_of), None)
    if at is None:
        raise RefusedError(404, f"there is no rule {str(instead_of)[:120]!r} to put the draft in the place of")
    return (*rules[:at], *drafts, *rules[at + 1 :])


async def try_rules(asked: ControlRequest) -> Response:
    """Return which of the latest calls a draft of rules would answer, hide, or take from the rule it replaces."""
    wanted = asked.table("rules", "instead_of", "calls")
    most, instead = wanted.get("calls", MOST_CALLS), wanted.get("instead_of")
    if type(most) is not int or not 0 <= most <= 10_000:
        raise RefusedError(400, '"calls" must be a number of calls, at most 10000')
    rows = asked.rows.of((asked.one_namespace,))
    found: dict[str, Json] = {"mistakes": [], "looked_at": 0, "of": len(rows), "answers": [], "lost": [], "hidden": []}
    engine = engine_of(asked.namespace, asked.live)
    try:
        drafts = await on_thread(_drafted, asked, wanted.get("rules"))
    except RefusedError as refused:
        if not refused.mistakes:
            raise
        found["mistakes"] = list(map(mistake_as_json, refused.mistakes))
        if _ITEMS.match(str(wanted.get("rules"))):  # below a line that `_drafted` puts in
            found["mistakes"] = [
                {**each, "line": max(1, each["line"] - 1)} if "line" in each else each for each in found["mistakes"]
            ]
        return json_response(found)
    trial = _Trial(_placed(engine.rules, drafts, instead), frozenset(map(id, drafts)), engine, instead)
    until, latest = monotonic() + SECONDS, rows[::-1][:most]
    for at in range(0, len(latest), _TURN):
        turn = latest[at : at + _TURN]
        for row, kind, entry in await on_thread(list[Change], trial.changes(turn, asked.live)):
            found[kind].append(masked({"call": row.seq, **entry}, of_row(row)))
        found["looked_at"] += len(turn)
        if monotonic() > until:
            break
    return json_response(found)


Change = tuple[Exchange, str, dict[str, Json]]  # a call, in which list it is, and what was and would be its source


class _Trial(Struct, frozen=True):
    """Rules with a draft among them, compared with what answered calls. `replaced`: the rule in whose place it is."""

    rules: tuple[Rule, ...]
    drafts: frozenset[int]
    engine: Engine
    replaced: str | None

    def changes(self, rows: Sequence[Exchange], live: Live) -> Iterator[Change]:
        before = next((rule.source for rule in self.engine.rules if rule.name == self.replaced), None)
        for row in rows:
            call = None if row.source in ("", "invalid", "limited") else call_of(row, live)
            if call is None:
                continue
            try:
                answering = next(self._answering(row, call), None)
                held = any(id(rule) in self.drafts and rule.when.holds(call) is not None for rule in self.rules)
            except RuleError:  # a pattern that takes too long
                continue
            now = answering.source if answering is not None else self._otherwise(row)
            if answering is not None and id(answering) in self.drafts:
                yield row, "answers", {"was": row.source, "now": now}
            elif held and answering is not None:
                yield row, "hidden", {"by": now}
            elif before is not None and row.source == before:
                yield row, "lost", {"was": row.source, "now": now}

    def _answering(self, row: Exchange, call: Call) -> Iterator[Rule]:
        """The rules that would answer; one that counts calls does if it did."""
        for rule in select_suited(self.rules, call):
            open_then = id(rule) in self.drafts or not rule.counts or rule.source == row.source
            if open_then and any(rule.then.answers) and rule.when.holds(call) is not None:
                yield rule

    def _otherwise(self, row: Exchange) -> str:
        """What answers if no rule does."""
        if is_unmatched(row) or not row.source.startswith("rule "):
            return row.source
        return "generated" if self.engine.policy.unmatched == "generate" else "unmatched"


async def again(asked: ControlRequest) -> Response:
    """Send the request again; one that goes upstream only if `forward` says so."""
    forward = asked.table("forward").get("forward", False) if asked.body else False
    if not isinstance(forward, bool):
        raise RefusedError(400, '"forward" must be true or false')
    live, row = asked.live, kept(asked)
    reached = reached_by(row, live)
    if reached is None:
        raise RefusedError(409, f"call {row.seq} cannot be sent again: it is not kept whole, or its path is unknown")
    upstream = RefusedError(409, f'call {row.seq} would be sent upstream; send {{"forward": true}} if it may be')
    if not forward and (await _rehearsed(live, engine_of(row.namespace, live), reached))[1]:
        raise upstream
    responder = Responder(live, reached.place.dialect, reached.place.operations)
    scope = {**_scope(reached), "query_string": row.query, "headers": list(row.headers)}
    begun = asyncio.get_running_loop().create_future()  # whether it was not stopped on its way upstream

    async def send(message: Message) -> None:
        if not begun.done():
            begun.set_result(True)

    async def run() -> None:
        try:
            await AsgiEntrance(responder, forwards=forward)(scope, _Body(row.body), send)
        except ConfigError:  # nothing is sent upstream
            begun.set_result(False)
        except Exception:
            log.exception("a fault of mockserver itself, on call %s that was sent again", row.seq)

    task = asyncio.create_task(run())
    asked.looks.tasks.add(task)
    task.add_done_callback(asked.looks.tasks.discard)
    await asyncio.wait((begun, task), return_when=asyncio.FIRST_COMPLETED)
    rows = live.journal.rows(row.namespace)[::-1]
    made = next((other for other in rows if other.headers is scope["headers"]), None)
    if made is None or (begun.done() and not begun.result()):
        if made is not None:
            live.journal.forget(made)
        raise upstream
    asked.rows.again[made.seq] = row.seq
    return json_response({"call": made.seq, "source": made.source, "status": made.status})
