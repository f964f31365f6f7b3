"""What would happen: why a request is answered as it is, what a draft of rules changes. And calls sent again.

Nothing is counted, kept or sent, but for what is sent again.
"""

import asyncio
import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, urlencode

from msgspec import Struct
from msgspec.structs import replace
from starlette.responses import Response
from starlette.types import Message

from mockserver.config.errors import ConfigError, RuleError
from mockserver.core.action import Action, Cut, Wait, Write
from mockserver.core.call import Call
from mockserver.core.json import Json, drop_empty
from mockserver.core.row import COMPLETE, Row
from mockserver.core.seed import monotonic
from mockserver.core.sent_body import Piece
from mockserver.delivery.connection import CUT, ClientConnection
from mockserver.engine.engine import Engine
from mockserver.engine.offload import on_thread
from mockserver.engine.rule_set import make_rule_set
from mockserver.rules.load import Rule, select_suited
from mockserver.server.control.detail import find_row_target, parse_call, show_reply
from mockserver.server.control.feed import show_mistake
from mockserver.server.control.fleet import View, ask_owner, change
from mockserver.server.control.requests import ControlRequest, RefusedError, make_json_response
from mockserver.server.control.rows import convert_to_milliseconds, show_usage
from mockserver.server.control.rules import read_rules
from mockserver.server.deliver import list_actions, serve
from mockserver.server.explain import (
    Explanation,
    Target,
    copy_engine,
    explain_call,
    find_target,
    find_usual_path,
    is_unmatched,
    plan_answer,
    read_content,
    show_rule,
)
from mockserver.server.live import Live
from mockserver.server.masking import find_request_secrets, find_row_secrets, mask_texts
from mockserver.server.respond import Responder
from mockserver.server.visit import HOME, Sender
from mockserver.server.visit import Response as Answer
from mockserver.state.journal import Journal

if TYPE_CHECKING:
    from mockserver.server.fleet import RedisFleet

log = logging.getLogger("mockserver")

PATIENCE = 60.0  # seconds that an answer to a call which is sent again may take
MAX_CALLS = 500  # that a draft is tried with
SECONDS = 0.5  # for which it is tried
_TURN = 20  # calls that are looked at before other requests have their turn


async def explain_request(request: ControlRequest) -> Response:
    """Return which rule would answer, and why."""
    content = request.read_content()
    limit = content.pop("limit", None) if isinstance(content, dict) and "call" in content else None
    if limit is not None and (type(limit) is not int or limit < 1):
        raise RefusedError(400, '"limit" must be a whole number of at least 1')
    target, earlier = find_subject(content, request)
    secrets = await on_thread(find_request_secrets, target.http)
    try:
        call = await on_thread(target.parse_call, request.live.settings)
    except ConfigError as error:
        raise RefusedError(400, secrets.mask_text(str(error.mistakes[0]))) from error
    engine = request.live.find_engine(call.http.namespace)
    explanation = await explain_call(engine, call, limit)
    return make_json_response(mask_texts({**earlier, **_show_explanation(explanation)}, secrets))


async def explain_in_fleet(view: View, request: ControlRequest, fleet: "RedisFleet") -> Response:
    """Answer at the server that has the call, if one of the journal is to be explained."""
    content = request.read_content() if b'"call"' in request.body else None
    number = content.get("call") if isinstance(content, dict) else None
    if isinstance(number, int):
        return await ask_owner(view, request, fleet, call=number)
    return await change(view, request, fleet)


class Subject(NamedTuple):
    """A request that is to be explained or tried; if it is a call of the journal, `earlier` is shown of that."""

    target: Target
    earlier: dict[str, Json]


def find_subject(content: Json, request: ControlRequest) -> Subject:
    """Return the request that the content describes, or that of the call which it names. Raises RefusedError."""
    if isinstance(content, dict) and "call" in content:
        return _find_earlier_subject(content["call"], request)
    dialect = request.live.settings.dialect
    namespace = request.one_namespace
    stubs = request.live.find_engine(namespace).rule_set.stubs
    try:
        if isinstance(content, dict) and "dialect" in content and ("body" in content or "path" in content):
            content = dict(content)
            dialect = str(content.pop("dialect"))
            find_usual_path(dialect)  # refuses an unknown one
        described = replace(read_content(content, "the body", dialect), namespace=namespace)
        return Subject(find_target(described, request.live.routes, stubs=stubs), {})
    except ConfigError as error:
        raise RefusedError(400, str(error.mistakes[0])) from error


def _find_earlier_subject(number: Json, request: ControlRequest) -> Subject:
    if not isinstance(number, int) or isinstance(number, bool):
        raise RefusedError(400, 'the body must be {"call": 7}, with the number of a call in the journal')
    row = request.find_call(number)
    target = find_row_target(row, request.live)
    if target is None:
        why = "there is no operation at its path"
        if row.received > len(row.body):
            why = f"its body was too large to be kept whole ({row.received} bytes)"
        raise RefusedError(400, f"call {number} cannot be explained: {why}")
    return Subject(target, {"call": number, "answered_then": row.source})


def _show_explanation(explanation: Explanation) -> dict[str, Json]:
    prompts = [{"prompt": each.shown, "rules": list(map(show_rule, each.rules))} for each in explanation.prompts]
    shown = {
        "answered_by": explanation.source,
        "why": explanation.why,
        "modified_by": list(explanation.modified_by),
        "faults": [fault.name for fault in explanation.faults],
        **({"prompts": prompts} if len(prompts) > 1 else {"rules": prompts[0]["rules"]}),
        "text": explanation.text,
    }
    return drop_empty(shown, ("why", "modified_by", "faults"))


async def try_request(request: ControlRequest) -> Response:
    """Return the whole reply that would be sent, and when; count, keep and send nothing."""
    content = request.read_content()
    drafts = ("rules", "instead_of") if isinstance(content, dict) else ()
    draft = {name: content.pop(name) for name in drafts if name in content}
    target, earlier = find_subject(content, request)
    secrets = await on_thread(find_request_secrets, target.http)
    engine = request.live.find_engine(target.http.namespace)
    if draft:
        rules = await on_thread(_read_draft, request, draft.get("rules", ""))
        placed = _put_draft(engine.rules, rules, draft.get("instead_of"))
        engine = replace(engine, rule_set=await on_thread(make_rule_set, placed))
    row, why = await _rehearse(request.live, engine, target)
    found = {
        **earlier,
        "answered_by": row.source,
        "why": why,
        "modified_by": list(row.modified_by),
        "reply": {**show_reply(row, secrets), "due_ms": convert_to_milliseconds(row.elapsed)} if row.status else None,
        "usage": show_usage(row),
    }
    return make_json_response(mask_texts(drop_empty(found, ("why", "modified_by")), secrets))


class Rehearsal(NamedTuple):
    """The row that a request would leave in a journal, its pieces at the times when they are due.

    `why` says why it has no answer.
    """

    row: Row
    why: str = ""


async def _rehearse(live: Live, engine: Engine, target: Target) -> Rehearsal:
    """Answer a request without sending, counting or keeping anything."""
    http = target.http
    journal = Journal()
    entries = await engine.counters.list_entries(http.namespace)
    alone = Live(
        live.settings, await copy_engine(engine, http.namespace, entries), journal=journal, counters=live.counters
    )
    alone.namespaces.touch(http.namespace).timed = live.namespaces.get(http.namespace).timed
    responder = Responder(alone, target.endpoint)
    visit = responder.admit(http, urlencode(http.query, errors="surrogateescape").encode())
    visit.sender = Sender(in_process=True, patient=False)
    row = visit.row
    response = await responder.respond(visit)
    if response.plan is HOME:
        raise RefusedError(400, f"there is no operation at {http.path}")
    if response.forwarded is not None:
        row.plan = await plan_answer(engine, target.parse_call(alone.settings), entries)
        row.status = 0
        visit.end(COMPLETE)
        return Rehearsal(row, "it would be sent upstream")
    planned = _note_pieces(list_actions(response, visit), row)
    visit.end(planned.how)
    row.elapsed = planned.due
    return Rehearsal(row)


class PlannedEnd(NamedTuple):
    """How an answer ends, and when: seconds after its request."""

    how: str
    due: float


def _note_pieces(actions: Iterable[Action], row: Row) -> PlannedEnd:
    """Note the pieces of an answer at the times when they are due, without waiting, and return how it ends."""
    due = 0.0
    pieces = list[Piece]()
    ended = COMPLETE
    for action in actions:
        match action:
            case Wait(seconds):
                if seconds == float("inf"):
                    ended = CUT["close"]
                    break
                due += seconds
            case Write(data):
                row.note_sent(data)
                pieces.append((row.began + due, data))
            case Cut(how):
                ended = CUT[how]
                break
    row.pieces = pieces
    return PlannedEnd(ended, due)


def _read_draft(request: ControlRequest, text: Json) -> tuple[Rule, ...]:
    """Return the rules of a draft: YAML, as in a rules file, or items of its `rules`. Raises RefusedError."""
    if not isinstance(text, str):
        raise RefusedError(400, '"rules" must be a text: rules in YAML')
    file = f"rules:\n{text}" if _ITEMS.match(text) else text
    return read_rules(replace(request, body=file.encode("utf-8", "replace"), kind="application/yaml"), 0).rules


_ITEMS = re.compile(r"(?:[ \t]*(?:#.*)?\n)*[ \t]*-")


def _put_draft(rules: Sequence[Rule], drafts: Sequence[Rule], instead_of: Json) -> tuple[Rule, ...]:
    """Return the rules with drafts in the place of the rule that they replace, else in front of all others."""
    if instead_of is None:
        return (*drafts, *rules)
    at = next((at for at, rule in enumerate(rules) if rule.name == instead_of), None)
    if at is None:
        raise RefusedError(404, f"there is no rule {str(instead_of)[:120]!r} for the draft to replace")
    return (*rules[:at], *drafts, *rules[at + 1 :])


async def try_rules(request: ControlRequest) -> Response:
    """Return which of the latest calls a draft of rules would answer, hide, or take from the rule it replaces."""
    wanted = request.read_table("rules", "instead_of", "calls")
    most = wanted.get("calls", MAX_CALLS)
    instead = wanted.get("instead_of")
    if type(most) is not int or not 0 <= most <= 10_000:
        raise RefusedError(400, '"calls" must be a number of calls, at most 10000')
    rows = request.rows.select((request.one_namespace,))
    found: dict[str, Json] = {"mistakes": [], "looked_at": 0, "of": len(rows), "answers": [], "lost": [], "hidden": []}
    engine = request.live.find_engine(request.namespace)
    try:
        drafts = await on_thread(_read_draft, request, wanted.get("rules"))
    except RefusedError as refused:
        if not refused.mistakes:
            raise
        found["mistakes"] = list(map(show_mistake, refused.mistakes))
        if _ITEMS.match(str(wanted.get("rules"))):  # below a line that `_read_draft` puts in
            found["mistakes"] = [
                {**each, "line": max(1, each["line"] - 1)} if "line" in each else each for each in found["mistakes"]
            ]
        return make_json_response(found)
    rules = _put_draft(engine.rules, drafts, instead)
    trial = _Trial(rules, drafts=frozenset(map(id, drafts)), engine=engine, replaced=instead)
    until = monotonic() + SECONDS
    latest = rows[::-1][:most]
    for at in range(0, len(latest), _TURN):
        turn = latest[at : at + _TURN]
        for row, kind, entry in await on_thread(list[Change], trial.find_changes(turn, request.live)):
            found[kind].append(mask_texts({"call": row.seq, **entry}, find_row_secrets(row)))
        found["looked_at"] += len(turn)
        if monotonic() > until:
            break
    return make_json_response(found)


class Change(NamedTuple):
    """A call of the journal that a draft changes: the list in which it is shown, and what is shown of it there."""

    row: Row
    kind: str  # answers | hidden | lost
    shown: dict[str, Json]


class _Trial(Struct, frozen=True):
    """Rules with a draft among them, to be compared with what answered calls before."""

    rules: tuple[Rule, ...]
    drafts: frozenset[int]  # the ids of the draft's rules
    engine: Engine
    replaced: str | None  # the name of the rule in whose place the draft is

    def find_changes(self, rows: Sequence[Row], live: Live) -> Iterator[Change]:
        """Yield the calls that the draft would change."""
        before = next((rule.source for rule in self.engine.rules if rule.name == self.replaced), None)
        for row in rows:
            call = None if row.source in ("", "invalid", "limited") else parse_call(row, live)
            if call is None:
                continue
            try:
                answering = next(self._find_answering(row, call), None)
                held = any(id(rule) in self.drafts and rule.when.holds(call) is not None for rule in self.rules)
            except RuleError:  # a pattern that takes too long
                continue
            now = answering.source if answering is not None else self._find_other_source(row)
            if answering is not None and id(answering) in self.drafts:
                yield Change(row, "answers", {"was": row.source, "now": now})
            elif held and answering is not None:
                yield Change(row, "hidden", {"by": now})
            elif before is not None and row.source == before:
                yield Change(row, "lost", {"was": row.source, "now": now})

    def _find_answering(self, row: Row, call: Call) -> Iterator[Rule]:
        """Yield the rules that would answer; one that counts calls does if it did."""
        for rule in select_suited(self.rules, call):
            open_then = id(rule) in self.drafts or not rule.counts or rule.source == row.source
            if open_then and any(rule.then.answers) and rule.when.holds(call) is not None:
                yield rule

    def _find_other_source(self, row: Row) -> str:
        """Return what answers if no rule does."""
        if is_unmatched(row) or not row.source.startswith("rule "):
            return row.source
        return "generated" if self.engine.policy.unmatched == "generate" else "unmatched"


async def send_again(request: ControlRequest) -> Response:
    """Send the request of a call again; one that would go upstream only if `forward` allows it."""
    forward = request.read_table("forward").get("forward", False) if request.body else False
    if not isinstance(forward, bool):
        raise RefusedError(400, '"forward" must be true or false')
    live = request.live
    row = request.find_call()
    target = find_row_target(row, live)
    if target is None:
        raise RefusedError(
            409, f"call {row.seq} cannot be sent again: its body was not kept whole, or its path is unknown"
        )
    upstream = RefusedError(409, f'call {row.seq} would be sent upstream; to allow that, send {{"forward": true}}')
    if not forward and (await _rehearse(live, live.find_engine(row.namespace), target)).why:
        raise upstream
    responder = Responder(live, target.endpoint)
    http = replace(target.http, headers=row.headers, body=row.body)  # as it came: its body may be compressed
    visit = responder.admit(http, row.query, receive=_leave_later)
    begun = asyncio.get_running_loop().create_future()

    async def send(message: Message) -> None:
        if not begun.done():
            begun.set_result(True)

    async def respond() -> Answer:
        answer = await responder.respond(visit)
        if answer.forwarded is not None and not forward:  # the rules have changed since it was rehearsed
            raise upstream
        return answer

    async def run() -> bool:
        """Answer it; return False if the upstream would have had to."""
        scope = {"raw_path": quote(http.path, safe="/:").encode(), "http_version": "1.1"}
        try:
            await serve(respond(), visit, ClientConnection(_leave_later, send), scope)
        except RefusedError:
            live.journal.forget(visit.row)
            return False
        except Exception:
            log.exception("internal error of mockserver on call %s, which was sent again", row.seq)
        return True

    task = asyncio.create_task(run())
    request.cache.tasks.add(task)
    task.add_done_callback(request.cache.tasks.discard)
    await asyncio.wait((begun, task), return_when=asyncio.FIRST_COMPLETED)
    if task.done() and not task.result():
        raise upstream
    request.rows.again[visit.row.seq] = row.seq
    return make_json_response({"call": visit.row.seq, "source": visit.row.source, "status": visit.row.status})


async def _leave_later() -> Message:
    """Tell of a client that leaves after a while: some answers never end."""
    await asyncio.sleep(PATIENCE)
    return {"type": "http.disconnect"}
