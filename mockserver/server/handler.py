"""One request from its bytes to the journal: parse, reserve, plan, settle, render, note, deliver. Start here."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from traceback import format_exception
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace
from starlette.types import Receive, Scope, Send

from mockserver.config.errors import ConfigError
from mockserver.config.settings import Settings
from mockserver.core.action import Action
from mockserver.core.call import Call
from mockserver.core.episode import Recorded
from mockserver.core.exchange import Exchange
from mockserver.core.http import Frame, Headers, HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.plan import Answer, Failure, Forward, Outcome, Plan, Raw, RenderedOutcome
from mockserver.core.protocols import StateLostError
from mockserver.core.seed import Seed, monotonic
from mockserver.core.text import lines, printable
from mockserver.delivery.drive import (
    CLIENT_LEFT,
    CUT,
    FAST_PATH,
    IN_PROCESS,
    MAX_WRITE,
    STOPPED,
    WIRE,
    Line,
    drive,
    fits,
    hand_over,
    hand_over_paced,
)
from mockserver.delivery.faults import apply_faults
from mockserver.delivery.script import AT_ONCE, Pace, joined, parted, script
from mockserver.dialects import Dialect, Operation, error_frame
from mockserver.dialects._reply import merge_headers
from mockserver.engine.answer import with_tokenizer
from mockserver.engine.engine import Engine
from mockserver.engine.offload import is_large, is_long, on_thread
from mockserver.server.access import against_scripts, check_key, check_model_allowed, check_page, is_control
from mockserver.server.cassette_store import parse_recorded, replayed
from mockserver.server.client_environment import home
from mockserver.server.limits import LIMIT_REASONS, LIMITED, Charge, Reservation, parsed_size
from mockserver.server.live import DEFAULT, Live, Prepared, Sharing
from mockserver.server.masking import of_request
from mockserver.server.relay import Relay
from mockserver.server.routes import operation_for
from mockserver.server.snapshot import ClientLeftError, decoded, path_of, read_body, snapshot
from mockserver.server.sockets import refuse_socket
from mockserver.server.stubs import is_stubbed, missing, other
from mockserver.server.upstreams import with_own_upload_urls
from mockserver.state.journal import Journal

LARGE = 32_768  # bytes of a request that is parsed on a thread
TOKEN_COST = 100  # bytes that a token of an answer takes
PROMPT_COST = 5_000  # the same of a prompt among many
MANY_CHOICES = 16  # of an answer that is planned when few others are
MAX_CACHED_TOKENS = 512  # tokens of a stream whose frames are cached
MAX_REMARKS = 20  # on histories: a batch may have a hundred thousand
MAX_TRACEBACK = 20_000  # characters, from its end: an exception may quote a whole body
TIMING = "x-mockserver-timing"
HOME = Plan(RenderedOutcome(), "generated")  # of `GET /`
STOPPING = Failure("overloaded", "The server is stopping.")

log = logging.getLogger("mockserver")
T = TypeVar("T")
TakeBytes = Callable[[int], None]  # counts bytes that a request takes; raises Failure if all take too many


class Handler(Struct, eq=False):
    """The operations at one path of a dialect, as an ASGI application; without operations, a 404 for each request."""

    live: Live
    dialect: Dialect
    operations: Mapping[str, Operation]
    nearest: str | None = None  # the known path that the 404 suggests
    refusal: str | None = None  # the message of the 404, in place of the dialect's own
    forwards: bool = True  # else ConfigError is raised for what would go upstream

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        live, namespace = self.live, scope["path_params"].get("namespace", DEFAULT)
        behind = (
            None if live.fleet is None or live.fleet.is_current(namespace) else await _behind(live.fleet, namespace)
        )
        journal = live.journal  # a reset may replace it during this request
        exchange = _row(self, scope, namespace, journal)
        lent = scope.get("extensions", _NOTHING)
        line = Line(receive, send, lent.get(WIRE), lent.get(FAST_PATH), in_process=lent.get(IN_PROCESS))
        reservation, limiter = None, live.limiter
        if limiter is not None:
            patient, headers = line.in_process is None or line.in_process.patient, self.dialect.rate_limit_headers
            reservation = Reservation(limiter, namespace, headers, receive, patient=patient)
        ended = CLIENT_LEFT
        try:
            if behind is None:
                prepared = await self._prepared(scope, receive, exchange, reservation)
            else:
                prepared = self._refused(snapshot(scope, b"", namespace), behind, None)
            if prepared.plan is HOME:  # a look at the server is no call
                journal.forget(exchange)
            if isinstance(prepared.plan.outcome, Forward):
                ended = await self._relayed(prepared, scope, line, exchange)
            else:
                ended = await self._delivered(prepared, line, exchange, reservation)
        except ClientLeftError:
            pass
        except asyncio.CancelledError:  # the server stops
            if line.wire is not None and line.wire.gone:  # or the client left long ago
                return
            ended = STOPPED
            if not await self._turned_away(snapshot(scope, b"", namespace), line, exchange):
                raise
        except Exception:  # a bug of mockserver, while the answer was sent
            ended = CUT["close"]
            raise
        finally:
            if reservation is not None:
                reservation.release()
            if exchange.held:
                live.unsent.release(exchange)
            journal.close(exchange, ended)

    async def respond(
        self, http: HttpRequest, reservation: Reservation | None = None, take: TakeBytes | None = None
    ) -> Prepared:
        """Parse a request, reserve what it takes, plan, settle and render. No limits apply without a reservation.

        `take` counts the bytes that a decoded body and the answer take, if these are many.
        """
        if http.method == "OPTIONS" and self.operations:
            allowed = (*self.operations, *(("HEAD",) if "GET" in self.operations else ()), "OPTIONS")
            return Prepared(Plan(RenderedOutcome(), "generated"), Reply(204, (("allow", ", ".join(allowed)),)))
        call: Call | None = None
        settings, engine = self.live.settings, self.live.engine_of(http.namespace)  # a reload is for the next request
        try:
            if not self.operations and _never_stubbed(self, http, engine):
                return elsewhere(self, http)
            if self.operations:
                refuse_socket(http)
            operation, key = self.operation(http.method), self.dialect.credential(http)
            check_key(key, settings.keys)
            plain = await _run(partial(_plain, http, settings.max_body, take), large=len(http.body) > LARGE)
            parse = partial(operation.call, plain, settings.validation_of(self.dialect.name))
            try:
                call = await _run(parse, large=len(plain.body) > LARGE)
                review = partial(_review, operation, call, settings)
                reviewed = await _run(review, large=len(plain.body) > LARGE)
                call = reviewed.call
            except Failure as refusal:
                return await self._replayed_despite(refusal, plain, operation, engine)
            check_model_allowed(call.model, key, settings.keys, engine.policy.models)
            timed = timed_by(http)  # raises before anything is counted
            if reservation is None or call.operation not in LIMITED:
                plan, charge = await _planned_among_few(self.live, engine, call, take), None
            else:
                charge, tokenized = await _reserve(reservation, engine, call, key)
                plan = await _planned_among_few(self.live, engine, tokenized, take)
                charge = await reservation.settle(charge, plan.outcome)
            if reviewed.remarks and not _is_of_provider(plan.outcome):
                plan = replace(plan, history_remarks=reviewed.remarks)
            large = len(call.http.body) > LARGE or is_long(call, plan.outcome)
            prepared = await _run(partial(_render, self, call, plan, timed), large=large)
            if take is not None and _makes_large(plan, prepared.reply):
                take(len(prepared.reply.body))
            if reservation is not None and charge is not None:
                names, reply = {name for name, _ in reservation.headers}, prepared.reply
                others = tuple(header for header in reply.headers if header[0] not in names)
                prepared.charge, prepared.reply = charge, replace(reply, headers=others)
        except Failure as failure:
            return await _run(partial(self._refused, http, failure, call), large=len(http.body) > LARGE)
        return prepared

    async def _prepared(
        self, scope: Scope, receive: Receive, exchange: Exchange, reservation: Reservation | None
    ) -> Prepared:
        """The reply that an equal request got, if it is cacheable, else a new one."""
        live, namespace = self.live, exchange.namespace
        take = partial(live.unsent.take, exchange, limit=live.settings.max_unsent)
        try:
            body = await read_body(receive, live.settings.max_body, scope["headers"], take)
            if len(body) > LARGE or live.unsent.held > live.settings.max_unsent:
                take(parsed_size(body))
        except Failure as failure:
            return self._refused(snapshot(scope, b"", namespace), failure, None)
        exchange.asked = monotonic()
        exchange.take(body)
        engine = live.namespaces.get(namespace).engine(live.engine)
        exchange.rules = engine.rules
        http, in_process = snapshot(scope, body, namespace), IN_PROCESS in scope.get("extensions", _NOTHING)
        try:
            if not in_process:  # no page reaches a client in this process
                check_page(http, live.settings)
            await live.use(namespace)
            prepared = await self._guarded(http, reservation, None if in_process else take)
            if isinstance(prepared.plan.outcome, Forward) and not in_process:
                check_page(http, live.settings, forwarded=True)
        except Failure as failure:
            return self._refused(http, failure, None)
        shown = () if prepared.plan.faults else prepared.reply.headers  # faults may change the type
        if more := against_scripts(http, shown):
            prepared.reply = replace(prepared.reply, headers=(*prepared.reply.headers, *more))
        if isinstance(prepared.plan.outcome, Forward):
            prepared.request = http
        return prepared

    async def _guarded(self, http: HttpRequest, reservation: Reservation | None, take: TakeBytes | None) -> Prepared:
        try:
            return await self.respond(http, reservation, take)
        except ClientLeftError:
            raise
        except StateLostError:
            return self._refused(http, _STATE_LOST, None)
        except Exception as error:
            log.error("%s", crash(error, http))
            return self._refused(http, Failure("server_error", _BUG), None)

    async def _replayed_despite(
        self, refusal: Failure, http: HttpRequest, operation: Operation, engine: Engine
    ) -> Prepared:
        """What was recorded of a request that is refused here: the provider took it. Raises the refusal otherwise."""
        if engine.tapes is None or engine.tapes.is_empty:
            raise refusal
        call = await _run(partial(parse_recorded, operation, self.dialect.name, http), large=len(http.body) > LARGE)
        plan = await engine.replay(call)
        if plan is None or isinstance(plan.outcome, Failure):
            raise refusal
        return _render(self, call, plan, timed_by(http))

    def operation(self, method: str) -> Operation:
        operation = operation_for(method, self.operations) if self.operations else other(self.dialect.name)
        if operation is None:
            allowed = ", ".join(self.operations)
            raise Failure("method_not_allowed", details={"allowed": allowed}, headers=(("allow", allowed),))
        return operation

    def _refused(self, http: HttpRequest, failure: Failure, call: Call | None) -> Prepared:
        source = "limited" if failure.reason in LIMIT_REASONS else "invalid"
        plan = Plan(RenderedOutcome(), "state lost" if failure == _STATE_LOST else source)
        return Prepared(plan, self.dialect.fail(http, failure, call), call)

    async def _delivered(
        self, prepared: Prepared, line: Line, exchange: Exchange, reservation: Reservation | None
    ) -> str:
        limits = () if reservation is None else reservation.headers
        _note(prepared, limits, exchange)
        if line.in_process is not None:
            return await line.in_process.perform(_actions(self, prepared, limits, exchange), exchange.note)
        more = _with_source(limits, prepared, exchange, self.live)
        if self.live.pace_of(prepared, exchange.namespace) is not AT_ONCE:
            line.began = (reservation and reservation.waited_until) or exchange.asked
            if ended := await hand_over_paced(prepared.reply, more, line, exchange):
                return ended
        elif not prepared.plan.faults and fits(prepared.reply):
            return await hand_over(prepared.reply, more, line, exchange.note)
        return await drive(_actions(self, prepared, limits, exchange), line, exchange.note)

    async def _relayed(self, prepared: Prepared, scope: Scope, line: Line, exchange: Exchange) -> str:
        if line.in_process is not None or not self.forwards:
            raise ConfigError(_NO_RELAY)
        _note(prepared, (), exchange)
        relay = Relay(self.live, self.dialect, prepared, line, exchange, self.operation(exchange.method).own_urls)
        try:
            return await relay.run(scope, _with_source((), prepared, exchange, self.live))
        except Failure as failure:
            reply = self.dialect.fail(snapshot(scope, b"", exchange.namespace), failure, prepared.call)
            failed = Prepared(Plan(RenderedOutcome(), prepared.plan.source), reply, prepared.call)
            return await self._delivered(failed, line, exchange, None)

    async def _turned_away(self, http: HttpRequest, line: Line, exchange: Exchange) -> bool:
        """Send a 503; False if the answer has begun, which then breaks off."""
        prepared = Prepared(Plan(RenderedOutcome(), "invalid"), self.dialect.fail(http, STOPPING, None))
        try:
            await drive(_actions(self, prepared, (), exchange), line, exchange.note)
        except RuntimeError:  # the head was sent already
            return False
        _note(prepared, (), exchange)
        return True


def _never_stubbed(handler: Handler, http: HttpRequest, engine: Engine) -> bool:
    """Whether no rule answers this request to a path that no dialect knows, not even one that wants another key."""
    if handler.refusal or not engine.stubs or is_control(http.path):
        return True
    keys, key = handler.live.settings.keys, handler.dialect.credential(http)
    admitted = keys is None or (key is not None and key in keys and keys[key].allowed)
    return not admitted and not is_stubbed(http, handler.dialect.name, engine.rules)


def elsewhere(handler: Handler, http: HttpRequest, call: Call | None = None, report: Json = None) -> Prepared:
    """The answer at a path that no dialect knows, if no rule answers; `report` says which rules are nearest."""
    if http.path == "/" and http.method in ("GET", "HEAD"):
        return Prepared(HOME, home(http, handler.live.settings), call)
    hints = {"nearest": handler.nearest, "rule": missing(http, handler.dialect), "report": report}
    details = {name: hint for name, hint in hints.items() if hint and not handler.refusal}
    reply = handler.dialect.fail(http, Failure("route_not_found", handler.refusal, details=details), call)
    return Prepared(Plan(RenderedOutcome(), "invalid" if report is None else "unmatched"), reply, call)


def _actions(handler: Handler, prepared: Prepared, limits: Headers, exchange: Exchange) -> Iterable[Action]:
    reply, faults, call = prepared.reply, prepared.plan.faults, prepared.call
    more = _with_source(limits, prepared, exchange, handler.live)
    actions = script(reply, handler.live.pace_of(prepared, exchange.namespace), more, apart=bool(faults))
    if not faults or call is None:
        return actions
    streamed, head = reply.frames is not None, exchange.method == "HEAD"
    shape = handler.operation(call.http.method).error if streamed else error_frame

    def error(reason: str, frames: int) -> Frame:
        """How the provider reports an error in the middle of this answer: as an event, if it is a stream."""
        return shape(handler.dialect.fail(call.http, Failure(reason), call), frames)

    def note_unchanged() -> None:
        exchange.unaffected = True

    return apply_faults(actions, faults, error, streamed=streamed, head=head, on_unchanged=note_unchanged)


def _row(handler: Handler, scope: Scope, namespace: str, journal: Journal) -> Exchange:
    exchange = journal.open(scope["method"], path_of(scope), handler.dialect.name, namespace)
    exchange.query, exchange.headers = scope["query_string"], scope["headers"]
    if (operation := operation_for(exchange.method, handler.operations)) is not None:
        exchange.operation = operation.name
    return exchange


async def _behind(fleet: Sharing, namespace: str) -> Failure | None:
    """Read what others have changed in a namespace; return why that is not possible."""
    try:
        await fleet.catch_up(namespace)
    except StateLostError:
        return _STATE_LOST
    except Failure as failure:
        return failure
    return None


async def _run(work: Callable[[], T], *, large: bool) -> T:
    return await on_thread(work) if large else work()


def _makes_large(plan: Plan, reply: Reply) -> bool:
    """Whether a large body was made for this answer: rules and cassettes keep theirs anyway."""
    return len(reply.body) > MAX_WRITE and not isinstance(plan.outcome, Raw | Recorded)


def _plain(http: HttpRequest, limit: int, take: TakeBytes | None) -> HttpRequest:
    plain = decoded(http, limit)
    if plain is not http and take is not None and len(plain.body) > LARGE:
        take(parsed_size(plain.body))
    return plain


class _Reviewed(Struct, frozen=True):
    """A call, and remarks on its history."""

    call: Call
    remarks: tuple[str, ...] = ()


def _review(operation: Operation, call: Call, settings: Settings) -> _Reviewed:
    """Compare the history of a call with what the live provider takes.

    Raises the provider's Failure if a changed one is to be refused. What is to be refused within a batch is the result
    of that part of it.
    """
    if settings.replay == "off":
        return _Reviewed(call)
    problems = operation.history(call, settings.validation_of(call.dialect))
    if settings.replay == "warn" or not problems:
        return _Reviewed(call, tuple([problem.remark for problem in problems[:MAX_REMARKS]]))
    if not call.batch:
        raise problems[0].failure
    refused = {problem.part: problem.failure for problem in reversed(problems)}  # the first of each part
    return _Reviewed(replace(call, batch=tuple([refused.get(at, part) for at, part in enumerate(call.batch)])))


def _is_of_provider(outcome: Outcome) -> bool:
    """Whether the provider speaks for itself: it is asked, or its recorded answer shows that it took the history."""
    return isinstance(outcome, Forward) or (isinstance(outcome, Recorded) and outcome.status < 300)


async def _planned_among_few(live: Live, engine: Engine, call: Call, take: TakeBytes | None) -> Plan:
    """Plan an answer; of those with many choices few at once, as only then their size is known."""
    if call.options.n * len(call.prompts or ".") <= MANY_CHOICES or take is None:
        return await _planned(engine, call)
    async with live.planning:
        plan = await _planned(engine, call)
        tokens = plan.outcome.weight if isinstance(plan.outcome, Answer) else 0
        take(PROMPT_COST * len(call.prompts) + TOKEN_COST * tokens)
        return plan


async def _planned(engine: Engine, call: Call) -> Plan:
    try:
        return await engine.plan(call)
    except Failure as failure:
        return Plan(failure, "invalid")


async def _reserve(reservation: Reservation, engine: Engine, call: Call, key: str | None) -> tuple[Charge, Call]:
    """Reserve what a call takes; return it with its tokens if limits count them. Raises Failure, ClientLeftError."""
    engine.policy.models.admit(call.model)
    charge, tokens = reservation.limiter.charge(key, call.model), 0
    if charge.counts_tokens:
        call = with_tokenizer(call, engine.policy.tokenizer(call.model))
        tokens = await _run(lambda: call.prompt_tokens, large=is_large(call))
    charge = charge.of(tokens, tokens)
    await reservation.take(charge)
    return charge, call


def _render(handler: Handler, call: Call, plan: Plan, timed: bool | None) -> Prepared:
    dialect, live = handler.dialect, handler.live
    outcome = plan.outcome
    if isinstance(outcome, Forward):  # faults and timing do not apply to what is relayed
        return Prepared(replace(plan, faults=()), _NO_REPLY, call)
    pace = _pace(call, plan, live.engine.policy.seed)
    if isinstance(outcome, Failure):
        if not handler.operations and plan.source == "unmatched":
            return elsewhere(handler, call.http, call, outcome.details.get("report"))
        reply = dialect.fail(call.http, outcome, call)
    elif isinstance(outcome, Raw):
        reply = Reply(outcome.status, outcome.headers, outcome.body, outcome.frames)
    elif isinstance(outcome, Recorded):
        reply, pace = replayed(outcome, pace, live.settings.replay_speed)
        reply = _with_own_urls(reply, handler.operation(call.http.method).own_urls, call.http)
        if (headers := with_own_upload_urls(reply.headers, call.http, dialect)) is not reply.headers:
            reply = replace(reply, headers=headers)
    else:
        assert not isinstance(outcome, RenderedOutcome)  # noqa: S101
        render = handler.operation(call.http.method).render
        reply = render(call, outcome)
    if reply.pieces is not None and plan.faults:  # they need a plain body as a whole
        body = b"".join(reply.pieces)
        reply = replace(reply, headers=(*reply.headers, ("content-length", str(len(body)))), body=body, pieces=None)
    if plan.faults:  # they need each frame by itself
        return Prepared(plan.rendered, reply, call, pace, timed)
    if pace.at_once or timed is False:
        reply = joined(reply)
    elif reply.frames is not None and isinstance(outcome, Answer) and outcome.weight <= MAX_CACHED_TOKENS:
        reply = parted(reply, pace)
    return Prepared(plan.rendered, reply, call, pace, timed, plan.kept)


def _with_own_urls(reply: Reply, own_urls: Callable[[HttpRequest, bytes], bytes] | None, http: HttpRequest) -> Reply:
    if own_urls is None or not reply.body:
        return reply
    body = own_urls(http, reply.body)
    return replace(reply, headers=merge_headers(reply.headers, (("content-length", str(len(body))),)), body=body)


def _pace(call: Call, plan: Plan, seed: Seed) -> Pace:
    timing, outcome = plan.timing, plan.outcome
    if timing.prompt_per_1k:
        timing = timing.after(outcome.usage.prompt if isinstance(outcome, Answer) else call.prompt_tokens)
    if timing.at_once:
        return AT_ONCE
    return Pace(timing, seed.branch("jitter", call.fingerprint)) if timing.jitter else Pace(timing)


def _with_source(limits: Headers, prepared: Prepared, exchange: Exchange, live: Live) -> Headers:
    if not live.settings.source_headers:
        return limits
    source = _printable(prepared.plan.source)
    own = ("x-mockserver-source", source), ("x-mockserver-call", str(exchange.seq))
    return (*limits, *own, ("x-mockserver-state", "lost")) if live.lost else (*limits, *own)


def timed_by(http: HttpRequest) -> bool | None:
    """Per-request timing override, or None. Raises Failure for any other value than on and off."""
    value = http.header(TIMING)
    if value is None:
        return None
    if value.lower() not in _SWITCH:
        raise Failure("bad_parameter", f"{TIMING} must be on or off, not {value!r}.")
    return _SWITCH[value.lower()]


def crash(error: BaseException, http: HttpRequest) -> str:
    """The log text of a bug: request line and traceback, masked and escaped, so that no line can be forged."""
    secrets = of_request(http)
    trace = secrets.text("".join(format_exception(error)).rstrip("\n"))
    request = f"a fault of mockserver itself, on {http.method} {printable(secrets.text(http.path))}"
    return f"{request}\n{lines(trace[-MAX_TRACEBACK:])}"


def _note(prepared: Prepared, limits: Headers, exchange: Exchange) -> None:
    reply, call = prepared.reply, prepared.call
    exchange.plan, exchange.call = prepared.plan, call
    if call is not None:
        exchange.model = call.model
        exchange.operation = exchange.operation or call.operation
    exchange.status, exchange.reply_headers = reply.status, (*reply.headers, *limits) if limits else reply.headers


_printable = lru_cache(maxsize=1024)(printable)  # a source as a header can hold it


_NOTHING: Mapping[str, Any] = {}
_NO_REPLY = Reply(0, ())
_SWITCH: Mapping[str, bool] = {"on": True, "off": False}
_STATE_LOST = Failure(
    "overloaded",
    "The shared state of mockserver is out of reach; this request may have been counted. Please try again.",
    retry_after=1.0,
)
_BUG = "mockserver failed on this request; its log says how."
_NO_RELAY = (
    "this request is to be answered by its provider (it is recorded, or a rule forwards it), which needs a server;"
    " have the client call it at its base_url, without transport()"
)
