"""One exchange over ASGI: the request is read, answered by its endpoint, the answer sent, all of it noted."""

import asyncio
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from traceback import format_exception
from typing import Any

from starlette.types import Receive, Scope, Send

from mockserver.config.errors import ConfigError
from mockserver.config.settings import Settings
from mockserver.core.action import Action, ErrorFrame
from mockserver.core.call import Call
from mockserver.core.episode import Recorded
from mockserver.core.exchange import Exchange
from mockserver.core.http import Headers, HttpRequest, Reply
from mockserver.core.plan import Answer, Failure, Forward, Outcome, Plan, Raw
from mockserver.core.seed import monotonic
from mockserver.core.text import lines, printable
from mockserver.delivery.connection import SHORT, STAGE, WIRE, Line
from mockserver.delivery.drive import CLIENT_LEFT, CUT, STOPPED, drive, fits, hand_over
from mockserver.delivery.faults import bent
from mockserver.delivery.pace import AT_ONCE, Pace
from mockserver.delivery.script import Kept, script, written
from mockserver.dialects import Dialect, Operation, as_frame
from mockserver.engine.offload import aside, is_long
from mockserver.server.access import admit, permit
from mockserver.server.content_coding import decoded
from mockserver.server.control.requests import of_request
from mockserver.server.limits import LIMITED, REFUSALS, Visit
from mockserver.server.live import Live, Served
from mockserver.server.namespaces import DEFAULT
from mockserver.server.relay import Relay
from mockserver.server.replay import replayed
from mockserver.server.routes import meant
from mockserver.server.snapshot import ClientLeftError, path_of, read_body, snapshot
from mockserver.state.journal import Journal

LARGE = 32_768  # bytes of a request that is read while others are served
MOST_KEPT = 512  # tokens of a stream up to which its frames are remembered
TIMING = "x-mockserver-timing"


@dataclass(slots=True, eq=False)
class Endpoint:
    """The operations at one path: what a request to it comes to."""

    live: Live
    dialect: Dialect
    operations: Mapping[str, Operation]
    instead: str | None = None  # where there are none: the nearest path that has some
    refusal: str | None = None  # what is said then, in place of the dialect's own words

    async def handle(self, http: HttpRequest, visit: Visit | None = None) -> Served:
        """A request to what goes out: the whole story in few lines. Without a visit there are no limits."""
        call: Call | None = None
        if http.method == "OPTIONS" and self.operations:
            return Served(Reply(204, (("allow", ", ".join(_methods(self.operations))),)), "generated")
        settings, engine = self.live.settings, self.live.engine_of(http.namespace)  # what is reloaded is for the next
        try:
            operation, key = self._operation(http.method), self.dialect.credential(http)
            admit(key, settings.keys)
            parse = partial(_parsed, http, operation, settings)
            call = await aside(parse) if _is_large(http) else parse()
            permit(call.model, key, settings.keys, engine.policy.models)
            timed_by(http)  # raises before anything is counted
            if visit is not None and call.operation in LIMITED:
                plan, bill = await visit.planned(call, key, engine)
                served = await self._rendered(call, plan, operation)
                return replace(served, reply=without(served.reply, visit.headers), bill=bill)
            return await self._rendered(call, await engine.plan(call), operation)
        except Failure as failure:
            refuse = partial(self.refused, http, failure, call)
            return await aside(refuse) if _is_large(http) else refuse()

    def _operation(self, method: str) -> Operation:
        if not self.operations:
            raise Failure("route_not_found", self.refusal, details={"nearest": self.instead} if self.instead else {})
        operation = meant(method, self.operations)
        if operation is None:
            allowed = ", ".join(self.operations)
            raise Failure("method_not_allowed", details={"allowed": allowed}, headers=(("allow", allowed),))
        return operation

    async def _rendered(self, call: Call, plan: Plan, operation: Operation) -> Served:
        """What a plan comes to; others are served meanwhile, if that takes long."""
        large = _is_large(call.http) or is_long(call, plan.outcome)
        serve = partial(self._served, call, plan, operation)
        return await aside(serve) if large else serve()

    def refused(self, http: HttpRequest, failure: Failure, call: Call | None) -> Served:
        """A failure in the dialect's words."""
        source = "limited" if failure.reason in REFUSALS else "invalid"
        return Served(self.dialect.fail(http, failure, call), source, call)

    def _served(self, call: Call, plan: Plan, operation: Operation) -> Served:
        outcome = plan.outcome
        if isinstance(outcome, Forward):  # neither faults nor timing befall what is relayed
            return Served(_NO_REPLY, plan.source, call, forward=outcome, modified_by=plan.modified_by, trace=plan.trace)
        pace, timed = self._pace(call, plan), timed_by(call.http)
        if isinstance(outcome, Failure):
            reply = self.dialect.fail(call.http, outcome, call)
        elif isinstance(outcome, Raw):
            reply = Reply(outcome.status, outcome.headers, outcome.body, outcome.frames)
        elif isinstance(outcome, Recorded):
            reply, pace = replayed(outcome, pace, self.live.settings.replay_speed)
        else:
            reply = operation.render(call, outcome)
        usage = outcome.usage if isinstance(outcome, Answer) else None
        served = Served(
            reply,
            plan.source,
            call,
            pace,
            kept=plan.kept,
            timed=timed,
            usage=usage,
            modified_by=plan.modified_by,
            trace=plan.trace,
        )
        if plan.faults:
            error = self._error(call, operation if reply.frames is not None else None)
            return replace(served, faults=plan.faults, error=error)
        if pace.at_once or timed is False:
            reply = written(reply)
        elif reply.frames is not None and isinstance(outcome, Answer) and outcome.weight <= MOST_KEPT:
            reply = replace(reply, frames=Kept(reply.frames))
        return replace(served, reply=reply, cacheable=plan.cacheable)

    def _error(self, call: Call, operation: Operation | None) -> ErrorFrame:
        """How the provider tells an error amid an answer: as an event of the operation's stream, if it is one."""
        shape = as_frame if operation is None else operation.error
        return lambda reason, frames: shape(self.dialect.fail(call.http, Failure(reason), call), frames)

    def _pace(self, call: Call, plan: Plan) -> Pace:
        timing = plan.timing.after(_prompt_tokens(call, plan.outcome)) if plan.timing.prompt_per_1k else plan.timing
        if timing.at_once:
            return AT_ONCE
        if not timing.jitter:
            return Pace(timing)
        return Pace(timing, self.live.engine.policy.seed.branch("jitter", call.fingerprint))


def _methods(operations: Mapping[str, Operation]) -> tuple[str, ...]:
    """The methods that a path takes: HEAD is as good as GET, OPTIONS is always."""
    return (*operations, *(("HEAD",) if "GET" in operations else ()), "OPTIONS")


def _parsed(http: HttpRequest, operation: Operation, settings: Settings) -> Call:
    return operation.parse(decoded(http, settings.max_body), settings.strict)


def _is_large(http: HttpRequest) -> bool:
    """Whether to read a request may keep others waiting."""
    return len(http.body) > LARGE


def _prompt_tokens(call: Call, outcome: Outcome) -> int:
    """The tokens of the prompt, as the client is told where it is told."""
    return outcome.usage.prompt if isinstance(outcome, Answer) else call.prompt_tokens


def without(reply: Reply, headers: Headers) -> Reply:
    """The reply without those of these headers that it has."""
    names = {name for name, _ in headers}
    return replace(reply, headers=tuple(header for header in reply.headers if header[0] not in names))


def timed_by(http: HttpRequest) -> bool | None:
    """Whether a request wants to wait for what timings say; None where it does not say. Raises Failure."""
    value = http.header(TIMING)
    if value is None:
        return None
    if value.lower() not in _SWITCH:
        raise Failure("bad_parameter", f"{TIMING} must be on or off, not {value!r}.")
    return _SWITCH[value.lower()]


_NO_REPLY = Reply(0, ())
_SWITCH: Mapping[str, bool] = {"on": True, "off": False}


LONGEST = 20_000  # characters of the end of a traceback; what an exception quotes may be a whole body


def crash(error: BaseException, http: HttpRequest) -> str:
    """The request's line and the traceback, each of its lines marked and escaped: none passes for another log line."""
    secrets = of_request(http)
    trace = secrets.text("".join(format_exception(error)).rstrip("\n"))
    told = f"a fault of mockserver itself, on {http.method} {printable(secrets.text(http.path))}"
    return f"{told}\n{lines(trace[-LONGEST:])}"


MEMORABLE = 65_536  # bytes of a request and its answer together, up to which they are remembered
STOPPING = Failure("overloaded", "The server is stopping.")

log = logging.getLogger("mockserver")


@dataclass(slots=True, eq=False)
class Conduct:
    """An endpoint as an ASGI application."""

    endpoint: Endpoint

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request over ASGI and note it in the journal."""
        endpoint, namespace = self.endpoint, scope["path_params"].get("namespace", DEFAULT)
        journal = endpoint.live.journal  # the one it is opened in, though the server may begin anew meanwhile
        exchange = self._opened(scope, namespace, journal)
        lent = scope.get("extensions", _NOTHING)
        line = Line(receive, send, lent.get(WIRE), lent.get(SHORT), stage=lent.get(STAGE))
        limiter = endpoint.live.limiter
        visit = None if limiter is None else Visit(limiter, namespace, endpoint.dialect.rates, receive)
        if visit is not None and line.stage is not None:
            visit.patient = line.stage.patient
        ended = CLIENT_LEFT
        try:
            served = await self._received(scope, receive, exchange, visit)
            if served.forward is None:
                ended = await self._delivered(served, line, exchange, visit)
            else:
                ended = await self._relayed(served, scope, line, exchange)
        except ClientLeftError:
            pass
        except asyncio.CancelledError:  # the server stops, and this request was still open
            if line.wire is not None and line.wire.gone:  # or its client has left, and it was not waited for that
                return
            ended = STOPPED
            if not await self._turned_away(snapshot(scope, b"", namespace), line, exchange):
                raise
        except Exception:  # a fault of our own, once an answer has begun or before it could
            ended = CUT["close"]
            raise
        finally:
            if visit is not None:
                visit.leave()
            journal.close(exchange, ended)

    def _opened(self, scope: Scope, namespace: str, journal: Journal) -> Exchange:
        """A new row of the journal, with what is known before anything is read."""
        endpoint = self.endpoint
        exchange = journal.open(scope["method"], path_of(scope), endpoint.dialect.name, namespace)
        exchange.query, exchange.headers = scope["query_string"], scope["headers"]
        operation = meant(exchange.method, endpoint.operations)
        if operation is not None:
            exchange.operation = operation.name
        return exchange

    async def _received(self, scope: Scope, receive: Receive, exchange: Exchange, visit: Visit | None) -> Served:
        """What a request gets: what an equal one got, where nothing counts, else what is made for it."""
        live, namespace = self.endpoint.live, exchange.namespace
        try:
            body = await read_body(receive, live.settings.max_body, scope["headers"])
        except Failure as failure:
            return Served(self.endpoint.dialect.fail(snapshot(scope, b"", namespace), failure, None), "invalid")
        exchange.asked = monotonic()
        exchange.take(body)
        engine = live.engine_of(namespace)
        if live.namespaces.outcasts:
            await live.forget_outcasts()
        exchange.rules = engine.rules
        key = (namespace, scope["method"], scope["path"], scope["query_string"], body, *scope["headers"])
        served = live.memo.get(key, engine)
        if served is None:
            http = snapshot(scope, body, namespace)
            served = await self._guarded(http, visit)
            if served.forward is not None:
                return replace(served, asked=http)
            if served.cacheable and _memorable(served.reply, body):
                live.memo.put(key, engine, served)
            return served
        if visit is not None and served.bill is not None:
            try:
                await visit.enter(served.bill)
            except Failure as failure:
                return self.endpoint.refused(snapshot(scope, body, namespace), failure, served.call)
        if served.kept is not None:
            await engine.memory.put(served.kept)
        return served

    async def _guarded(self, http: HttpRequest, visit: Visit | None) -> Served:
        try:
            return await self.endpoint.handle(http, visit)
        except ClientLeftError:
            raise
        except Exception as error:
            log.error("%s", crash(error, http))
            fault = Failure("server_error", "mockserver failed on this request; its log says how.")
            return Served(self.endpoint.dialect.fail(http, fault, None), "invalid")

    async def _delivered(self, served: Served, line: Line, exchange: Exchange, visit: Visit | None) -> str:
        """Note what is served in the exchange, send it, and return how it ended."""
        rates = () if visit is None else visit.headers
        _note(served, rates, exchange)
        if line.stage is not None:
            return await line.stage.perform(self._actions(served, rates, exchange), exchange.note)
        if served.pace is AT_ONCE and served.error is None and fits(served.reply):
            return await hand_over(served.reply, self._more(served, rates, exchange), line, exchange.note)
        if served.pace is not AT_ONCE:
            waited = None if visit is None else visit.waited_until
            line = replace(line, began=exchange.asked if waited is None else waited)
        return await drive(self._actions(served, rates, exchange), line, exchange.note)

    async def _relayed(self, served: Served, scope: Scope, line: Line, exchange: Exchange) -> str:
        """Have the upstream answer, and return how it ended. Raises ConfigError where there is no connection."""
        if line.stage is not None:
            raise ConfigError(_NO_RELAY)
        _note(served, (), exchange)
        relay = Relay(self.endpoint.live, self.endpoint.dialect, served, line, exchange)
        try:
            return await relay.run(scope, self._more(served, (), exchange))
        except Failure as failure:
            http = snapshot(scope, b"", exchange.namespace)
            failed = Served(self.endpoint.dialect.fail(http, failure, served.call), served.source, served.call)
            return await self._delivered(failed, line, exchange, None)

    async def _turned_away(self, http: HttpRequest, line: Line, exchange: Exchange) -> bool:
        """Whether there was still time to say that the server stops; an answer that has begun breaks off instead."""
        served = Served(self.endpoint.dialect.fail(http, STOPPING, None), "invalid")
        try:
            await drive(self._actions(served, (), exchange), line, exchange.note)
        except RuntimeError:  # a second head is none
            return False
        _note(served, (), exchange)
        return True

    def _actions(self, served: Served, rates: Headers, exchange: Exchange) -> Iterable[Action]:
        """What is done to the connection, faults included."""
        faults, pace = served.faults, self._paced(served, exchange.namespace)
        actions = script(served.reply, pace, self._more(served, rates, exchange), apart=bool(faults))
        if served.error is None:
            return actions
        exchange.faults = tuple([fault.name for fault in faults])
        streamed, head = served.reply.frames is not None, exchange.method == "HEAD"
        return bent(actions, faults, served.error, streamed=streamed, head=head)

    def _more(self, served: Served, rates: Headers, exchange: Exchange) -> Headers:
        """The headers of limits, and those that say where an answer came from."""
        traced = self.endpoint.live.settings.source_headers
        return (*rates, *_trace(served.source, exchange.seq)) if traced else rates

    def _paced(self, served: Served, namespace: str) -> Pace:
        """The pace at which it goes out: a request may switch its waits off or on, a namespace those of all others."""
        if served.pace is AT_ONCE:
            return AT_ONCE
        timed = self.endpoint.live.timed(namespace) if served.timed is None else served.timed
        return served.pace if timed else AT_ONCE


def _note(served: Served, rates: Headers, exchange: Exchange) -> None:
    """Write down what is served, with the headers of limits."""
    reply, call = served.reply, served.call
    exchange.call, exchange.source, exchange.usage = call, served.source, served.usage
    exchange.modified_by, exchange.trace = served.modified_by, served.trace
    if call is not None:
        exchange.model = call.model
    exchange.status, exchange.reply_headers = reply.status, (*reply.headers, *rates) if rates else reply.headers


def _memorable(reply: Reply, body: bytes) -> bool:
    """Whether request and answer are small, and the answer can be read again."""
    if reply.frames is None:
        return len(body) + len(reply.body) <= MEMORABLE
    return isinstance(reply.frames, Kept | tuple) and len(body) <= MEMORABLE


def _trace(source: str, number: int) -> Headers:
    return (("x-mockserver-source", _printable(source)), ("x-mockserver-call", str(number)))


@lru_cache(maxsize=1024)
def _printable(source: str) -> str:
    """Where an answer came from as a header can hold it: in ASCII, on one line."""
    return printable(source)


_NOTHING: Mapping[str, Any] = {}
_NO_RELAY = (
    "this request is to be answered by its provider (it is recorded, or a rule forwards it), which needs a server;"
    " have the client call it at its base_url, without transport()"
)
