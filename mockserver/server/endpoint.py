"""A request becomes a Call, a Call a Plan, a Plan a Reply. A reader starts at `Endpoint.handle`."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

from mockserver.core.action import ErrorFrame
from mockserver.core.call import Call
from mockserver.core.episode import Recorded
from mockserver.core.http import Headers, HttpRequest, Reply
from mockserver.core.plan import Answer, Failure, Forward, Outcome, Plan, Raw
from mockserver.delivery.pace import AT_ONCE, Pace
from mockserver.delivery.script import Kept, written
from mockserver.dialects import Dialect, Operation, as_frame
from mockserver.engine.apart import aside, is_long
from mockserver.server.bodies import decoded
from mockserver.server.keys import admit, permit
from mockserver.server.limits import LIMITED, REFUSALS, Visit
from mockserver.server.live import Live
from mockserver.server.replayed import replayed
from mockserver.server.routes import meant
from mockserver.server.served import Served
from mockserver.settings import Settings

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
            return Served(_NO_REPLY, plan.source, call, forward=outcome, bent_by=plan.bent_by, through=plan.through)
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
            bent_by=plan.bent_by,
            through=plan.through,
        )
        if plan.faults:
            error = self._error(call, operation if reply.frames is not None else None)
            return replace(served, faults=plan.faults, error=error)
        if pace.at_once or timed is False:
            reply = written(reply)
        elif reply.frames is not None and isinstance(outcome, Answer) and outcome.weight <= MOST_KEPT:
            reply = replace(reply, frames=Kept(reply.frames))
        return replace(served, reply=reply, settled=plan.settled)

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
