"""What a request becomes: `Responder.respond` tells its whole story, from the request to a response. Start here.

Requests come from a connection (`http/protocol.py`) or an ASGI server (`app.py`, which the transport without a
connection runs, too), from a WebSocket (`sockets/`), and from commands and trials. Each sends the response in its own
way.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from traceback import format_exception
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace
from starlette.types import Message, Receive

from mockserver.config.settings import Settings
from mockserver.core.call import WEBSOCKET, Call
from mockserver.core.episode import Recorded
from mockserver.core.exchange import COMPLETE, Exchange
from mockserver.core.http import HeaderLines, Headers, HttpRequest, Reply, weigh, write_lines
from mockserver.core.json import Json
from mockserver.core.plan import UNTIMED, Answer, Failure, Forward, Outcome, Plan, Raw, Usage
from mockserver.core.seed import Seed, monotonic
from mockserver.core.state import StateLostError
from mockserver.core.text import escape_line, escape_lines
from mockserver.core.validation import HistoryProblem, find_validation
from mockserver.delivery.script import AT_ONCE, Pace, fit_beats, join_frames, part_frames
from mockserver.dialects import Dialect, Operation
from mockserver.dialects._mcp import DIALECT as MCP
from mockserver.dialects._reply import drop_headers, merge_headers
from mockserver.engine.answer import use_tokenizer
from mockserver.engine.engine import Engine
from mockserver.engine.mcp_answers import name_only_server
from mockserver.engine.offload import LARGEST_IN_LOOP, is_large, is_long, on_thread
from mockserver.server.access import (
    add_origin_headers,
    check_key,
    check_model_allowed,
    check_page,
    forbid_scripts,
    has_own_login,
    is_control,
    may_be_shown,
)
from mockserver.server.client_environment import render_home
from mockserver.server.handshakes import check_handshake, is_handshake, refuse_handshake
from mockserver.server.limits import LIMIT_REASONS, LIMITED, Charge, Reservation, estimate_parsed_size
from mockserver.server.live import Live
from mockserver.server.masking import find_request_secrets
from mockserver.server.recording.cassette_store import parse_recorded
from mockserver.server.recording.player import pace_reply
from mockserver.server.recording.upstreams import replace_upload_urls
from mockserver.server.routes import find_operation
from mockserver.server.snapshot import ClientLeftError, decode_body
from mockserver.server.stubs import is_stubbed, make_stub_operation, suggest_rule
from mockserver.state.journal import Journal

TOKEN_COST = 100  # bytes that a token of an answer takes
PROMPT_COST = 5_000  # the same of a prompt among many
MANY_CHOICES = 16  # of an answer that is planned when few others are
MAX_PARTED_TOKENS = 512  # tokens of a stream whose frames are made before the first one leaves
MAX_JOINED = 1 << 18  # bytes of a body that count as those of a large answer
MAX_REMARKS = 20  # on histories: a batch may have a hundred thousand
MAX_TRACEBACK = 20_000  # characters, from its end: an exception may quote a whole body
TIMING = "x-mockserver-timing"
HOME = Plan(None, "generated")  # of `GET /`

log = logging.getLogger("mockserver")
T = TypeVar("T")


class Response(Struct):
    """The answer to one request, ready to be sent.

    `extra_headers` go out after those of the reply: what is left of the limits, and what answered. `forwarded` is the
    request as it came, if the upstream is to answer it.
    """

    plan: Plan
    reply: Reply
    call: Call | None = None
    pace: Pace = AT_ONCE
    extra_headers: Headers | HeaderLines = ()
    forwarded: HttpRequest | None = None


async def return_response(response: Response) -> Response:
    """Return a response that is there already."""
    return response


async def stay_forever() -> Message:
    """Tell of a client that never leaves, as ASGI does."""
    await asyncio.get_running_loop().create_future()
    raise AssertionError("nobody sets the result")


class Visit(Struct, eq=False):
    """One request while it is answered: its row of the journal, what it holds, and what is known of its client.

    `request` has no content codings any more once these are undone, and `settings` are those that it is answered by: a
    reload is for the next request. `receive` tells when the client has left. A client that is not `patient` cannot wait
    for others. One `in_process` is no browser, and has no connection whose bytes count. `passes_page_check`: its
    headers have shown that it comes from no web page.
    """

    responder: "Responder"
    request: HttpRequest
    settings: Settings
    journal: Journal  # a reset may replace that of the server
    row: Exchange
    receive: Receive = stay_forever
    patient: bool = True
    in_process: bool = False
    passes_page_check: bool = False
    operation: Operation | None = None
    reservation: Reservation | None = None
    call: Call | None = None  # of the request, once that is read
    release: Callable[[], None] | None = None  # gives back what its call holds

    @property
    def live(self) -> Live:
        return self.responder.live

    def receive_body(self, body: bytes) -> None:
        """Take note of the body, which has come after the head."""
        self.row.asked = monotonic()
        self.row.take(body)
        self.request = replace(self.request, body=body)

    async def listen(self) -> Message:
        """Return the next message of the client, as ASGI has it; `receive` may become known after the start."""
        return await self.receive()

    def take(self, size: int) -> None:
        """Count bytes that the request takes. Raises Failure if all take too many."""
        if not self.in_process:
            self.live.unsent.take(self.row, size, limit=self.live.settings.max_unsent)

    def end(self, how: str) -> None:
        """Give back what the request held, and close its row: it was sent whole, or ended otherwise."""
        if self.reservation is not None:
            self.reservation.release()
        if self.release is not None:
            self.release()
        if self.row.held:
            self.live.unsent.release(self.row)
        self.journal.close(self.row, how)


class Responder(Struct, eq=False):
    """Answers the requests at one path of a dialect; without operations there, with a 404."""

    live: Live
    dialect: Dialect
    operations: Mapping[str, Operation]
    nearest: str | None = None  # the known path that the 404 suggests
    refusal: str | None = None  # the message of the 404, in place of the dialect's own

    def admit(
        self, request: HttpRequest, query: bytes = b"", *, weight: int | None = None, is_whole: bool = True
    ) -> Visit:
        """Return the visit of a request that has come whole, or whose body is still to come.

        `query` is that part of its URL as it was sent, and `weight` the bytes of its headers' values, if known.
        """
        method = request.method
        journal = self.live.journal
        row = journal.open(method, request.path, self.dialect.name, request.namespace)
        row.query = query
        row.headers = request.headers
        row.unweighed = weigh(request.headers) if weight is None else weight
        if is_whole:
            row.asked = row.began
            row.take(request.body)
        operation = find_operation(method, self.operations)
        if operation is not None:
            row.operation = operation.name
        return Visit(self, request, self.live.settings, journal, row, operation=operation)

    async def respond(self, visit: Visit) -> Response:
        """Return the response to a request. It waits for threads, queues and Redis only, never for the client.

        Raises ClientLeftError if the client leaves while its request waits for others.
        """
        try:
            response = await self._answer(visit)
        except Failure as failure:
            if len(visit.request.body) > LARGEST_IN_LOOP:
                response = await on_thread(self.refuse, visit.request, failure, visit.call)
            else:
                response = self.refuse(visit.request, failure, visit.call)
        except ClientLeftError:
            raise
        except StateLostError:
            response = self.refuse(visit.request, STATE_LOST)
        except Exception as error:
            log.error("%s", describe_crash(error, visit.request))
            response = self.refuse(visit.request, Failure("server_error", _BUG))
        return self.finish(response, visit, tells_limits=response.forwarded is None)

    async def _answer(self, visit: Visit) -> Response:
        """Return the response to a request that is not refused. Raises Failure, StateLostError, ClientLeftError."""
        live = self.live
        request = visit.request
        namespace = request.namespace
        if live.fleet is not None and not live.fleet.is_current(namespace):
            await live.fleet.catch_up(namespace)
        if not (visit.passes_page_check or visit.in_process):  # no page reaches a client in this process
            check_page(request, live.settings)
        space = live.namespaces.touch(namespace)
        if live.namespaces.evicted:
            await live.forget_evicted()
        visit.settings = settings = live.settings
        engine = space.find_engine(live.engine)
        visit.row.rules = engine.rule_set.rules
        if not self.operations or request.method in _ODD_METHODS:
            fixed = self._find_fixed_response(request, engine, visit)
            if fixed is not None:
                return fixed
        operation = visit.operation or self.require_operation(request.method)
        key = None if settings.keys is None else self.dialect.credential(request)
        if settings.keys is not None and not has_own_login(request, self.dialect.name, engine.servers):
            check_key(key, settings.keys)
        sent = request
        if b"content-encoding" in request.header_values:
            request = visit.request = await _decode(request, visit, settings)
        try:
            call, remarks = await self._read_call(operation, visit)
            if call.mcp is not None:
                visit.call = call = name_only_server(engine.servers, call)
        except Failure:
            replayed = await self._find_recorded(operation, request, engine)
            if replayed is None:
                raise
            call, plan = replayed
            timed = read_timing(request)
            remarks = ()
        else:
            if settings.keys is not None and call.mcp is None:  # whose calls name no model
                check_model_allowed(call.model, key, settings.keys, engine.policy.models)
            timed = (
                read_timing(request) if _TIMING in request.header_values else None
            )  # raises before anything is counted
            if live.limiter is None and call.options.n * len(call.prompts or ".") <= MANY_CHOICES:
                plan = await engine.plan(call)
            else:
                plan = await self._plan_within_limits(engine, call, visit)
        visit.call = call
        visit.release = plan.release
        if plan.carried_out:
            self._note_carried_out(visit, plan)
        if plan.events and settings.webhook_url is not None and not visit.in_process:
            from mockserver.server.webhook_delivery import send_events  # few servers need it

            send_events(live, visit.journal, plan.events, namespace)
        if live.budgets and namespace in live.budgets:
            plan = live.budgets[namespace].spend(plan)
        if type(plan.outcome) is Forward:
            return _forward(call, plan, sent, visit)
        if remarks and not _is_recorded_success(plan.outcome):
            plan = replace(plan, history_remarks=remarks)
        timed = space.timed if timed is None else timed
        if len(request.body) > LARGEST_IN_LOOP or is_long(call, plan.outcome):
            response = await on_thread(self._render, operation, call, plan, timed=timed)
        else:
            response = self._render(operation, call, plan, timed=timed)
        if len(response.reply.body) > MAX_JOINED and not isinstance(plan.outcome, Raw | Recorded):
            visit.take(len(response.reply.body))  # rules and cassettes keep their bodies anyway
        return response

    async def _read_call(self, operation: Operation, visit: Visit) -> tuple[Call, tuple[str, ...]]:
        """Return the call of a request, and remarks on the history that it sends back. Raises Failure."""
        request = visit.request
        settings = visit.settings
        large = len(request.body) > LARGEST_IN_LOOP or request.form is not None
        validation = find_validation(self.dialect.name, settings.validation)
        if large:
            call = await on_thread(operation.call, request, validation)
        else:
            call = operation.call(request, validation)
        visit.call = call
        if call.is_sound or settings.replay == "off":
            return call, ()
        if large:
            problems = await on_thread(operation.history, call, validation)
        else:
            problems = operation.history(call, validation)
        return _apply_problems(problems, call, settings) if problems else (call, ())

    def require_operation(self, method: str) -> Operation:
        """Return the operation that a method asks for. Raises Failure if the path has none."""
        if not self.operations:
            return make_stub_operation(self.dialect.name, self.dialect.host)
        operation = find_operation(method, self.operations)
        if operation is None:
            allowed = ", ".join(self.operations)
            raise Failure("method_not_allowed", details={"allowed": allowed}, headers=(("allow", allowed),))
        return operation

    async def plan_socket(self, handshake: HttpRequest) -> Response | None:
        """Return the answer of a rule that refuses a WebSocket, or None. Raises Failure, StateLostError."""
        query = handshake.query
        model = query.get("model") or query.get("deployment") or ""
        call = Call(self.dialect.name, WEBSOCKET, model, handshake, ["websocket", handshake.path, dict(query)])
        live = self.live
        namespace = handshake.namespace
        if live.fleet is not None and not live.fleet.is_current(namespace):
            await live.fleet.catch_up(namespace)
        space = live.namespaces.touch(namespace)
        plan = await space.find_engine(live.engine).plan(call)
        if plan.outcome is None and not plan.faults:
            return None
        if plan.outcome is None:
            plan = replace(plan, outcome=_BROKEN)
        return self._render(next(iter(self.operations.values())), call, plan, timed=space.timed)

    def refuse(self, request: HttpRequest, failure: Failure, call: Call | None = None) -> Response:
        """Return the response to a request that is refused, in the words of the provider."""
        source = "limited" if failure.reason in LIMIT_REASONS else "invalid"
        plan = Plan(None, "state lost" if failure is STATE_LOST else source)
        return Response(plan, self.dialect.fail(request, failure, call), call)

    def _find_fixed_response(self, request: HttpRequest, engine: Engine, visit: Visit) -> Response | None:
        """Return the response that no rule can change, if a request gets one."""
        if self.operations:
            if request.method == "OPTIONS":
                allowed = (*self.operations, *(("HEAD",) if "GET" in self.operations else ()), "OPTIONS")
                return Response(Plan(None, "generated"), Reply(204, (("allow", ", ".join(allowed)),)))
            if is_handshake(request):
                if not visit.in_process:
                    self._check_handshake(request)
                raise refuse_handshake(request)
            return None
        return self.point_elsewhere(request) if self._is_never_stubbed(request, engine) else None

    def admits_socket(self, request: HttpRequest) -> bool:
        """Return whether a client may go on over a WebSocket; one that may not gets its refusal over HTTP."""
        try:
            self._check_handshake(request)
        except Failure:
            return False
        return self._has_socket

    def _check_handshake(self, request: HttpRequest) -> None:
        if self._has_socket:
            checks_key = not any(each.over_socket == "realtime" for each in self.operations.values())
            check_handshake(request, self.dialect, self.live.settings, checks_key=checks_key)

    @property
    def _has_socket(self) -> bool:
        return self.live.settings.sockets and any(each.over_socket for each in self.operations.values())

    def _is_never_stubbed(self, request: HttpRequest, engine: Engine) -> bool:
        """Whether no rule answers at this path that no dialect knows, not even one that wants another key."""
        if self.refusal or not engine.rule_set.stubs or is_control(request.path):
            return True
        keys = self.live.settings.keys
        key = self.dialect.credential(request)
        admitted = keys is None or (key is not None and key in keys and keys[key].allowed)
        return not admitted and not is_stubbed(request, self.dialect, engine.rules)

    def point_elsewhere(self, request: HttpRequest, call: Call | None = None, report: Json = None) -> Response:
        """Return the response at a path that no dialect knows where no rule answers; `report` names the nearest."""
        if request.path == "/" and request.method in ("GET", "HEAD"):
            servers = self.live.find_engine(request.namespace).servers
            return Response(HOME, render_home(request, self.live.settings, servers), call)
        hints = {"nearest": self.nearest, "rule": suggest_rule(request, self.dialect), "report": report}
        details = {name: hint for name, hint in hints.items() if hint and not self.refusal}
        reply = self.dialect.fail(request, Failure("route_not_found", self.refusal, details=details), call)
        return Response(Plan(None, "invalid" if report is None else "unmatched"), reply, call)

    async def _find_recorded(
        self, operation: Operation, request: HttpRequest, engine: Engine
    ) -> tuple[Call, Plan] | None:
        """Return what was recorded of a request that is refused here, if its provider took it."""
        if engine.player is None or engine.player.is_empty:
            return None
        if len(request.body) > LARGEST_IN_LOOP or request.form is not None:
            call = await on_thread(parse_recorded, operation, self.dialect, request)
        else:
            call = parse_recorded(operation, self.dialect, request)
        plan = await engine.replay(call)
        return None if plan is None or isinstance(plan.outcome, Failure) else (call, plan)

    async def _plan_within_limits(self, engine: Engine, call: Call, visit: Visit) -> Plan:
        """Plan the answer to a call within the limits of its key and model; of those with many choices few at once."""
        limiter = self.live.limiter
        charge = None
        if limiter is not None and call.operation in LIMITED:
            visit.reservation = Reservation(
                limiter, call.http.namespace, self.dialect.rate_limit_headers, visit.listen, patient=visit.patient
            )
            key = self.dialect.credential(call.http)
            charge, call = await _reserve(visit.reservation, engine, call, key)
        if visit.in_process or call.options.n * len(call.prompts or ".") <= MANY_CHOICES:
            plan = await engine.plan(call)
            visit.release = plan.release  # also if the rest fails
        else:
            plan = await _plan_many(engine, call, visit)
        if visit.reservation is not None and charge is not None:
            await visit.reservation.settle(charge, plan.outcome)
        return plan

    def _render(self, operation: Operation, call: Call, plan: Plan, *, timed: bool) -> Response:
        """Turn a plan into the reply that the dialect gives; `timed`: it takes its time."""
        outcome = plan.outcome
        settings = self.live.settings
        at_once = plan.timing == UNTIMED or plan.timing.at_once
        pace = AT_ONCE if at_once else _find_pace(call, plan, self.live.engine.policy.seed)
        if type(outcome) is Answer:  # first, as most are; isinstance takes far longer for a Struct
            reply = operation.render(call, outcome)
        elif isinstance(outcome, Failure):
            if not self.operations and plan.source == "unmatched":
                return self.point_elsewhere(call.http, call, outcome.details.get("report"))
            reply = self.dialect.fail(call.http, outcome, call)
        elif isinstance(outcome, Raw):
            reply = Reply(outcome.status, outcome.headers, outcome.body, outcome.frames)
        elif isinstance(outcome, Recorded):
            reply, pace = pace_reply(outcome, pace, settings.replay_speed if timed else 0.0)
            reply = self._use_own_urls(operation, reply, call.http)
            if operation.readdress is not None:
                reply = operation.readdress(call, reply)
            if reply is outcome.reply and pace is AT_ONCE and not plan.faults:  # which need each frame by itself
                reply = outcome.joined_reply
        else:
            assert not isinstance(outcome, Usage | Forward | None)  # noqa: S101
            reply = operation.render(call, outcome)
        if reply.beats and not isinstance(outcome, Recorded):
            reply, pace = fit_beats(reply, pace)
        if not timed:
            pace = AT_ONCE
        if plan.faults or reply.frames is not None:
            reply = _prepare(reply, pace, plan)
        return Response(plan.rendered, reply, call, pace)

    def _note_carried_out(self, visit: Visit, plan: Plan) -> None:
        """Note the calls in the journal that were answered for the one of this visit."""
        for done in plan.carried_out:
            http = done.http
            call = done.call
            outcome = done.plan.outcome
            dialect = MCP if call is not None and call.mcp is not None else self.dialect
            row = visit.journal.open(http.method, http.path, dialect.name, http.namespace)
            row.headers = http.headers
            row.operation = done.operation
            row.part_of = done.part_of
            row.take(http.body)
            if done.reply is not None:
                reply = done.reply
            elif isinstance(outcome, Failure):
                reply = dialect.fail(http, outcome, call)
            elif call is None or call.mcp is not None:
                reply = Reply(200, ())
            else:
                operation = next(each for each in dialect.operations if each.name == call.operation)
                reply = self._render(operation, call, done.plan, timed=False).reply
            row.rules = visit.row.rules
            row.plan = done.plan.rendered
            row.status = reply.status
            row.reply_headers = reply.headers
            if reply.body:
                row.note(reply.body)
            if call is not None:
                row.call = call
                row.model = call.model
                row.operation = call.operation
            visit.journal.close(row, COMPLETE)

    def _use_own_urls(self, operation: Operation, reply: Reply, request: HttpRequest) -> Reply:
        """Return a recorded reply with this server's URLs where clients request them next."""
        own_urls = operation.own_urls
        if own_urls is not None and reply.body:
            body = own_urls(request, reply.body)
            length = (("content-length", str(len(body))),)
            reply = replace(reply, headers=merge_headers(reply.headers, length), body=body)
        headers = replace_upload_urls(reply.headers, request, self.dialect)
        return reply if headers is reply.headers else replace(reply, headers=headers)

    def finish(self, response: Response, visit: Visit, *, tells_limits: bool = True) -> Response:
        """Add the headers that every response has, and note it in the journal.

        `tells_limits`: what is left of them is told, too. What an upstream answers tells of the provider's own.
        """
        request = visit.request
        plan = response.plan
        reply = response.reply
        settings = self.live.settings
        limits = visit.reservation.headers if tells_limits and visit.reservation is not None else ()
        own = reply.headers
        is_safe = type(own) is HeaderLines and not plan.faults  # which may change the type
        if not is_safe and response.forwarded is None and may_be_shown(request):
            own = (*own, *forbid_scripts(request, () if plan.faults else own))
        if limits:
            own = drop_headers(own, dict(limits))
        if own is not reply.headers:
            response.reply = replace(reply, headers=own)
        more = write_lines(limits) if limits else ""
        _note(response, visit, more)
        if settings.source_headers:
            more += f"{_write_source_line(plan.source)}x-mockserver-call: {visit.row.seq}\r\n"
            if self.live.fleet is not None and self.live.fleet.lost:
                more += "x-mockserver-state: lost\r\n"
        if settings.cors and response.forwarded is None:  # what an upstream answers is not known yet
            merged, across = add_origin_headers(request, own, settings.cors)
            if merged is not own:
                response.reply = replace(reply, headers=merged)
            more += across.lines
        response.extra_headers = HeaderLines(more)
        return response


def _note(response: Response, visit: Visit, limits: str) -> None:
    """Note a response, with its own headers and the lines about limits; a look at the server is no call."""
    row = visit.row
    row.plan = response.plan
    row.status = response.reply.status
    headers = response.reply.headers
    if not limits:
        row.reply_headers = headers
    elif type(headers) is HeaderLines:
        row.reply_headers = HeaderLines(headers.lines + limits, headers.sized)
    else:
        row.reply_headers = (*headers, *HeaderLines(limits))
    call = response.call
    if call is not None:
        row.call = call
        row.model = call.model
        row.operation = call.operation
    if response.plan is HOME:
        visit.journal.forget(row)


async def _decode(request: HttpRequest, visit: Visit, settings: Settings) -> HttpRequest:
    """Return the request without the content codings of its body."""
    if len(request.body) > LARGEST_IN_LOOP:
        plain = await on_thread(decode_body, request, settings.max_body)
    else:
        plain = decode_body(request, settings.max_body)
    if plain is not request and len(plain.body) > LARGEST_IN_LOOP:
        visit.take(estimate_parsed_size(plain.body))
    return plain


def _forward(call: Call, plan: Plan, sent: HttpRequest, visit: Visit) -> Response:
    """Return the response that the upstream is to give. Raises Failure for a page that may not ask it."""
    if not visit.in_process:
        check_page(sent, visit.live.settings, forwarded=True)
    return Response(replace(plan, faults=()), _NO_REPLY, call, forwarded=sent)  # neither faults nor timing apply


def _apply_problems(problems: Sequence[HistoryProblem], call: Call, settings: Settings) -> tuple[Call, tuple[str, ...]]:
    """Return the call and the remarks on the problems of its history; raise the provider's Failure if they refuse it.

    What is to be refused within a batch is the result of that part of it.
    """
    if settings.replay == "warn":
        return call, tuple([problem.remark for problem in problems[:MAX_REMARKS]])
    if not call.batch:
        raise problems[0].failure
    refused = {problem.part: problem.failure for problem in reversed(problems)}  # the first of each part
    return replace(call, batch=tuple([refused.get(at, part) for at, part in enumerate(call.batch)])), ()


def _is_recorded_success(outcome: Outcome) -> bool:
    """Whether a recorded answer shows that the provider took the history."""
    return isinstance(outcome, Recorded) and outcome.status < 300


async def _plan_many(engine: Engine, call: Call, visit: Visit) -> Plan:
    """Plan an answer with many choices when few others are planned, as only then its size is known."""
    async with visit.live.planning:
        plan = await engine.plan(call)
        visit.release = plan.release
        tokens = plan.outcome.weight if isinstance(plan.outcome, Answer) else 0
        visit.take(PROMPT_COST * len(call.prompts) + TOKEN_COST * tokens)
        return plan


async def _reserve(reservation: Reservation, engine: Engine, call: Call, key: str | None) -> tuple[Charge, Call]:
    """Reserve what a call takes; return it with its tokens if limits count them. Raises Failure, ClientLeftError."""
    engine.policy.models.admit(call.model)
    charge = reservation.limiter.charge(key, call.model)
    tokens = 0
    if charge.counts_tokens:
        call = use_tokenizer(call, engine.policy.tokenizer(call.model))
        tokens = await on_thread(getattr, call, "prompt_tokens") if is_large(call) else call.prompt_tokens
    charge = charge.of(tokens, tokens)
    await reservation.take(charge)
    return charge, call


def _find_pace(call: Call, plan: Plan, seed: Seed) -> Pace:
    timing = plan.timing
    outcome = plan.outcome
    if timing.prompt_per_1k:
        timing = timing.after(outcome.usage.prompt if isinstance(outcome, Answer) else call.prompt_tokens)
    return Pace(timing, seed.branch("jitter", call.fingerprint)) if timing.jitter else Pace(timing)


def _prepare(reply: Reply, pace: Pace, plan: Plan) -> Reply:
    """Return the reply in the form in which it leaves: at once, in parts at their times, or as faults need it."""
    if reply.beats and not pace.at_once:  # each frame has its time
        return reply
    if plan.faults:  # they need each frame by itself, and a plain body as a whole
        if reply.pieces is None:
            return reply
        body = b"".join(reply.pieces)
        length = ("content-length", str(len(body)))
        return replace(reply, headers=(*reply.headers, length), body=body, pieces=None)
    if pace is AT_ONCE or pace.at_once:
        return join_frames(reply)
    few = isinstance(plan.outcome, Answer) and plan.outcome.weight <= MAX_PARTED_TOKENS
    return part_frames(reply, pace) if few else reply


def read_timing(request: HttpRequest) -> bool | None:
    """The timing override of a request, or None. Raises Failure for any other value than on and off."""
    value = request.header_values.get(_TIMING)
    if value is None:
        return None
    text = value.decode("latin-1")
    if text.lower() not in _SWITCH:
        raise Failure("bad_parameter", f"{TIMING} must be on or off, not {text!r}.")
    return _SWITCH[text.lower()]


def describe_crash(error: BaseException, request: HttpRequest) -> str:
    """The log text of a bug: request line and traceback, masked and escaped, so that no line can be forged."""
    secrets = find_request_secrets(request)
    trace = secrets.mask_text("".join(format_exception(error)).rstrip("\n"))
    told = f"internal error of mockserver on {request.method} {escape_line(secrets.mask_text(request.path))}"
    return f"{told}\n{escape_lines(trace[-MAX_TRACEBACK:])}"


@lru_cache(maxsize=1024)
def _write_source_line(source: str) -> str:
    return f"x-mockserver-source: {escape_line(source)}\r\n"


_NO_REPLY = Reply(0, ())
_BROKEN = Failure("overloaded")  # what a fault breaks of a WebSocket that is not opened
_ODD_METHODS = ("OPTIONS", "GET")  # which may ask for no operation, or for a socket
_TIMING = TIMING.encode()
_SWITCH: Mapping[str, bool] = {"on": True, "off": False}
STATE_LOST = Failure(
    "overloaded",
    "The shared state of mockserver is out of reach; this request may have been counted. Please try again.",
    retry_after=1.0,
)
_BUG = "mockserver failed on this request; its log says how."
