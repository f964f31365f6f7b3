"""What a request becomes: `Responder.respond` tells its whole story, from the request to a response. Start here.

Requests come from a connection (`http/protocol.py`) or an ASGI server (`app.py`, which the transport without a
connection runs, too), from a WebSocket (`sockets/`), and from commands and trials. Each sends the response in its own
way.
"""

import logging
from collections.abc import Awaitable
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from mockserver.config.settings import Settings
from mockserver.core.call import Call
from mockserver.core.episode import Recorded
from mockserver.core.http import HttpRequest, Reply, weigh
from mockserver.core.json import Json
from mockserver.core.plan import UNTIMED, Answer, Failure, Forward, Plan, Raw, Usage
from mockserver.core.seed import Seed
from mockserver.core.state import StateLostError
from mockserver.delivery.script import AT_ONCE, Pace, fit_beats, fit_form
from mockserver.dialects import Dialect, Operation
from mockserver.dialects._reply import merge_headers
from mockserver.engine.engine import Engine
from mockserver.engine.offload import is_long, on_thread
from mockserver.engine.planning import plan_call
from mockserver.server.access import (
    check_key,
    check_model_allowed,
    check_page,
    has_own_login,
    is_control,
)
from mockserver.server.carried_out import note_carried_out
from mockserver.server.client_environment import render_home
from mockserver.server.handshakes import check_handshake, is_handshake, opens_sockets, refuse_handshake
from mockserver.server.limits import LIMITED, Reservation
from mockserver.server.live import Live
from mockserver.server.masking import describe_crash
from mockserver.server.reading import TIMING, find_recorded, read_call, read_timing, undo_codings
from mockserver.server.recording.player import pace_reply
from mockserver.server.recording.upstreams import replace_upload_urls
from mockserver.server.routes import Endpoint
from mockserver.server.snapshot import ClientLeftError
from mockserver.server.stubs import choose_operation, is_stubbed, suggest_rule
from mockserver.server.visit import HOME, STATE_LOST, Response, Visit

MANY_CHOICES = 16  # an answer with more of them waits until few others like it are planned
BYTES_PER_TOKEN = 100  # of memory that such an answer takes
BYTES_PER_PROMPT = 5_000  # the same of a call with many prompts
MAX_PARTED_TOKENS = 512  # a longer stream is not cut into frames before its first one leaves
LARGE_REPLY = 1 << 18  # bytes; the memory of larger ones is counted

log = logging.getLogger("mockserver")


class Responder(Struct, eq=False):
    """Answers the requests at one endpoint; where it has no operations, with a 404."""

    live: Live
    endpoint: Endpoint
    nearest: str | None = None  # the known path that the 404 suggests
    refusal: str | None = None  # the message of the 404, in place of the dialect's own

    @property
    def dialect(self) -> Dialect:
        """The dialect that is spoken there."""
        return self.endpoint.dialect

    def admit(
        self,
        request: HttpRequest,
        query: bytes = b"",
        *,
        weight: int | None = None,
        is_whole: bool = True,
    ) -> Visit:
        """Return the visit of a request that has come whole, or whose body is still to come.

        `query` is that part of its URL as it was sent, and `weight` the bytes of its headers' values, if known.
        """
        live = self.live
        method = request.method
        dialect = self.endpoint.dialect
        journal = live.journal
        row = journal.open(method, request.path, dialect.name, request.namespace)
        row.query = query
        row.headers = request.headers
        row.unweighed = weigh(request.headers) if weight is None else weight
        if is_whole:
            row.asked = row.began
            row.take(request.body)
        operation = self.endpoint.find_operation(method)
        if operation is not None:
            row.operation = operation.name
        return Visit(live, dialect, request, live.settings, live.engine, journal, row, operation=operation)

    async def respond(self, visit: Visit) -> Response:
        """Return the response to a request. It waits for threads, queues and Redis only, never for the client.

        Raises ClientLeftError if the client leaves while its request waits for others.
        """
        try:
            response = await self._answer(visit)
        except Failure as failure:
            if visit.is_large:
                response = await on_thread(visit.refuse, failure, visit.call)
            else:
                response = visit.refuse(failure, visit.call)
        except ClientLeftError:
            raise
        except StateLostError:
            response = visit.refuse(STATE_LOST)
        except Exception as error:
            log.error("%s", describe_crash(error, visit.request))
            response = visit.refuse(Failure("server_error", _BUG))
        return visit.finish(response)

    async def _answer(self, visit: Visit) -> Response:
        """Return the response to a request that is not refused. Raises Failure, StateLostError, ClientLeftError."""
        live = self.live
        if live.fleet is not None:
            await live.catch_up(visit.row.namespace)
        self._enter(visit)
        if live.namespaces.evicted:
            await live.forget_evicted()

        operation = visit.operation
        if operation is None or visit.row.method == "GET":  # which may ask for a WebSocket
            fixed = self._find_fixed_response(visit)
            if fixed is not None:
                return fixed
            operation = visit.operation = operation or self.require_operation(visit.row.method)
        if visit.settings.keys is not None:
            self.require_key(visit)
        if TIMING in visit.request.header_values:
            visit.timed = read_timing(visit.request)

        if b"content-encoding" in visit.request.header_values:
            await undo_codings(visit)
        large = visit.is_large
        try:
            call = await on_thread(read_call, operation, visit) if large else read_call(operation, visit)
        except Failure:
            recorded = await find_recorded(operation, visit)
            if recorded is None:
                raise
            call = recorded.call
            plan = recorded.plan
        else:
            plan = await self._plan(call, visit)
        visit.call = call
        visit.release = plan.release
        if plan.carried_out or plan.events or visit.remarks or live.budgets:
            plan = self._follow_up(plan, visit)

        if type(plan.outcome) is Forward:
            return _forward(call, plan, visit)
        render = partial(
            self.render, operation, call, plan, engine=visit.engine, settings=visit.settings, timed=visit.timed
        )
        response = await on_thread(render) if large or is_long(call, plan.outcome) else render()
        if len(response.reply.body) > LARGE_REPLY and not isinstance(plan.outcome, Raw | Recorded):
            visit.take(len(response.reply.body))  # rules and cassettes keep their bodies anyway
        return response

    # What lets a request in

    def _enter(self, visit: Visit) -> None:
        """Let a request into its namespace, unless a web page sent it that may not. Raises Failure."""
        live = self.live
        request = visit.request
        self.refuse_page(visit)
        space = live.namespaces.touch(request.namespace)
        visit.settings = live.settings
        visit.engine = engine = space.find_engine(live.engine)
        visit.timed = space.timed
        visit.row.rules = engine.rule_set.rules

    def refuse_page(self, visit: Visit) -> None:
        """Raise Failure for a request of a web page that may not send it; none reaches a client in this process."""
        if not (visit.sender.passes_page_check or visit.sender.in_process):
            check_page(visit.request, visit.live.settings)

    def require_key(self, visit: Visit) -> None:
        """Raise Failure for a request without a key of the settings, unless its clients log in otherwise."""
        if not has_own_login(visit.request, self.dialect.name, visit.engine.servers):
            check_key(self.dialect.credential(visit.request), visit.settings.keys)

    def require_operation(self, method: str) -> Operation:
        """Return the operation that a method asks for. Raises Failure if the path has none."""
        operation = choose_operation(self.endpoint, method)
        if operation is None:
            allowed = ", ".join(self.endpoint.operations)
            raise Failure("method_not_allowed", details={"allowed": allowed}, headers=(("allow", allowed),))
        return operation

    # What answers without a call

    def _find_fixed_response(self, visit: Visit) -> Response | None:
        """Return the response that no rule can change, if a request gets one. Raises Failure where no socket is."""
        request = visit.request
        operations = self.endpoint.operations
        if operations:
            if request.method == "OPTIONS":
                allowed = (*operations, *(("HEAD",) if "GET" in operations else ()), "OPTIONS")
                return Response(Plan(None, "generated"), Reply(204, (("allow", ", ".join(allowed)),)))
            if is_handshake(request):
                if not visit.sender.in_process and opens_sockets(self.endpoint, visit.settings):
                    check_handshake(request, self.endpoint, visit.settings)
                raise refuse_handshake(request)
            return None
        return None if self._may_be_stubbed(visit) else self.point_elsewhere(request)

    def _may_be_stubbed(self, visit: Visit) -> bool:
        """Whether a rule may answer at this path that no dialect knows, if only to a request with another key."""
        request = visit.request
        rule_set = visit.engine.rule_set
        if self.refusal or not rule_set.stubs or is_control(request.path):
            return False
        keys = visit.settings.keys
        key = self.dialect.credential(request)
        admitted = keys is None or (key is not None and key in keys and keys[key].allowed)
        return admitted or is_stubbed(request, self.dialect, rule_set.rules)

    def point_elsewhere(self, request: HttpRequest, call: Call | None = None, report: Json = None) -> Response:
        """Return the response at a path that no dialect knows where no rule answers; `report` names the nearest."""
        if request.path == "/" and request.method in ("GET", "HEAD"):
            servers = self.live.find_engine(request.namespace).servers
            return Response(HOME, render_home(request, self.live.settings, servers), call)
        hints = {"nearest": self.nearest, "rule": suggest_rule(request, self.dialect), "report": report}
        details = {name: hint for name, hint in hints.items() if hint and not self.refusal}
        reply = self.dialect.fail(request, Failure("route_not_found", self.refusal, details=details), call)
        return Response(Plan(None, "invalid" if report is None else "unmatched"), reply, call)

    # The plan

    def _plan(self, call: Call, visit: Visit) -> Awaitable[Plan]:
        """Plan the answer to a call, within limits if there are any. Raises Failure for a model that a key may not use.

        No key is for single models of MCP, whose calls name none.
        """
        keys = visit.settings.keys
        if keys is not None and call.mcp is None:
            check_model_allowed(call.model, self.dialect.credential(visit.request), keys, visit.engine.policy.models)
        if self.live.limiter is None and _count_choices(call) <= MANY_CHOICES:
            return plan_call(visit.engine, call)
        return self._plan_within_limits(call, visit)

    async def _plan_within_limits(self, call: Call, visit: Visit) -> Plan:
        """Plan the answer to a call within the limits of its key and model; of those with many choices few at once."""
        limiter = self.live.limiter
        charge = None
        if limiter is not None and call.operation in LIMITED:
            visit.reservation = Reservation(
                limiter,
                call.http.namespace,
                self.dialect.rate_limit_headers,
                visit.listen,
                patient=visit.sender.patient,
            )
            key = self.dialect.credential(call.http)
            call, charge = await visit.reservation.reserve(call, key, visit.engine.policy)
        if visit.sender.in_process or _count_choices(call) <= MANY_CHOICES:
            plan = await plan_call(visit.engine, call)
            visit.release = plan.release  # also if the rest fails
        else:
            async with self.live.planning:
                plan = await plan_call(visit.engine, call)
                visit.release = plan.release
                tokens = plan.outcome.weight if isinstance(plan.outcome, Answer) else 0  # known only now
                visit.take(BYTES_PER_PROMPT * len(call.prompts) + BYTES_PER_TOKEN * tokens)
        if visit.reservation is not None and charge is not None:
            await visit.reservation.settle(charge, plan.outcome)
        return plan

    def _follow_up(self, plan: Plan, visit: Visit) -> Plan:
        """Do what a plan entails beside its answer; return it with remarks, or what refuses a call beyond a budget."""
        live = self.live
        namespace = visit.row.namespace
        if plan.carried_out:
            render = partial(self.render, engine=visit.engine, settings=visit.settings, timed=False)
            note_carried_out(plan.carried_out, visit, render)
        if plan.events and visit.settings.webhook_url is not None and not visit.sender.in_process:
            from mockserver.server.webhook_delivery import send_events  # few servers need it

            send_events(live, visit.journal, plan.events, namespace)
        if namespace in live.budgets:
            plan = live.budgets[namespace].spend(plan)
        outcome = plan.outcome
        is_taken = isinstance(outcome, Recorded) and outcome.status < 300  # by the provider, as was recorded
        if visit.remarks and not is_taken and not isinstance(outcome, Forward):
            plan = replace(plan, history_remarks=visit.remarks)
        return plan

    # The reply

    def render(
        self, operation: Operation, call: Call, plan: Plan, *, engine: Engine, settings: Settings, timed: bool
    ) -> Response:
        """Turn a plan into the reply that the dialect gives.

        `engine` and `settings` are those that the plan was made with; `timed`: the answer takes its time.
        """
        outcome = plan.outcome
        at_once = not timed or plan.timing == UNTIMED or plan.timing.at_once
        pace = AT_ONCE if at_once else _find_pace(call, plan, engine.policy.seed)
        if type(outcome) is Answer:  # first, as most are; isinstance takes far longer for a Struct
            reply = operation.render(call, outcome)
        elif isinstance(outcome, Failure):
            if not self.endpoint.operations and plan.source == "unmatched":
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
            assert not isinstance(outcome, Usage | Forward | None)
            reply = operation.render(call, outcome)
        if reply.beats and timed and not isinstance(outcome, Recorded):
            reply, pace = fit_beats(reply, pace)
        if plan.faults or reply.frames is not None:
            few = isinstance(outcome, Answer) and outcome.weight <= MAX_PARTED_TOKENS
            reply = fit_form(reply, pace, apart=bool(plan.faults), few=few)
        return Response(plan.rendered, reply, call, pace)

    def _use_own_urls(self, operation: Operation, reply: Reply, request: HttpRequest) -> Reply:
        """Return a recorded reply with this server's URLs where clients request them next."""
        own_urls = operation.own_urls
        if own_urls is not None and reply.body:
            body = own_urls(request, reply.body)
            length = (("content-length", str(len(body))),)
            reply = replace(reply, headers=merge_headers(reply.headers, length), body=body)
        headers = replace_upload_urls(reply.headers, request, self.dialect)
        return reply if headers is reply.headers else replace(reply, headers=headers)


def _count_choices(call: Call) -> int:
    return call.options.n * len(call.prompts or ".")


def _find_pace(call: Call, plan: Plan, seed: Seed) -> Pace:
    timing = plan.timing
    outcome = plan.outcome
    if timing.prompt_per_1k:
        timing = timing.after(outcome.usage.prompt if isinstance(outcome, Answer) else call.prompt_tokens)
    return Pace(timing, seed.branch("jitter", call.fingerprint)) if timing.jitter else Pace(timing)


def _forward(call: Call, plan: Plan, visit: Visit) -> Response:
    """Return the response that the upstream is to give. Raises Failure for a page that may not ask it."""
    sent = visit.sent or visit.request
    if not visit.sender.in_process:
        check_page(sent, visit.settings, forwarded=True)
    return Response(replace(plan, faults=()), _NO_REPLY, call, forwarded=sent)  # neither faults nor timing apply


_NO_REPLY = Reply(0, ())
_BUG = "mockserver failed on this request; its log says how."
