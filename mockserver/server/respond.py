"""What a request becomes: `Responder.respond` tells its whole story, from the request to a response. Start here.

Requests come from a connection (`http/protocol.py`) or an ASGI server (`app.py`, which the transport without a
connection runs, too), from a WebSocket (`sockets/`), and from commands and trials. Each sends the response in its own
way. What runs for every request passes its arguments by position: a keyword costs time.
"""

import logging
from collections.abc import Collection

from msgspec import Struct
from msgspec.structs import replace
from starlette.types import Receive

from mockserver.core.call import Call
from mockserver.core.episode import Recorded
from mockserver.core.http import HttpRequest, Reply, weigh
from mockserver.core.plan import Failure, Forward, Plan, Raw
from mockserver.core.state import StateLostError
from mockserver.dialects import Dialect, Operation
from mockserver.engine.offload import is_long, on_thread
from mockserver.server.access import check_key, check_page, find_signer, has_own_login
from mockserver.server.admission import plan_within_limits
from mockserver.server.carried_out import note_carried_out
from mockserver.server.handshakes import is_handshake, refuse_handshake
from mockserver.server.live import Live
from mockserver.server.masking import describe_crash, summarize_crash
from mockserver.server.reading import TIMING, find_recorded, read_call, read_timing, undo_codings
from mockserver.server.replies import PlanRenderer
from mockserver.server.routes import Endpoint
from mockserver.server.snapshot import ClientLeftError
from mockserver.server.stubs import choose_operation
from mockserver.server.unknown_path import NO_HINTS, PathHints, answer_unknown_path, may_be_stubbed, refuse_method
from mockserver.server.visit import CRASHED, STATE_LOST, Response, Visit, stay_forever

LARGE_REPLY = 1 << 18  # bytes; the memory of larger ones is counted

log = logging.getLogger("mockserver")


class Responder(Struct, eq=False):
    """Answers the requests at one endpoint; where it has no operations, rules may, or a 404 with `hints`."""

    live: Live
    endpoint: Endpoint
    hints: PathHints = NO_HINTS

    @property
    def dialect(self) -> Dialect:
        """The dialect that is spoken there."""
        return self.endpoint.dialect

    def admit(
        self,
        request: HttpRequest,
        query: bytes = b"",
        *,
        receive: Receive = stay_forever,
        weight: int | None = None,
        is_whole: bool = True,
    ) -> Visit:
        """Return the visit of a request that has come whole, or whose body is still to come.

        `query` is that part of its URL as it was sent, `receive` tells when its client has left, and `weight` is the
        bytes of its headers' values, if known.
        """
        live = self.live
        dialect = self.endpoint.dialect
        operation = self.endpoint.find_operation(request.method)
        row = live.journal.open(
            request,
            dialect.name,
            operation="" if operation is None else operation.name,
            query=query,
            weight=weigh(request.headers) if weight is None else weight,
        )
        if is_whole:
            row.asked = row.began
        return Visit(
            live=live,
            journal=live.journal,
            row=row,
            dialect=dialect,
            operation=operation,
            request=request,
            receive=receive,
            settings=live.settings,
            engine=live.engine,
        )

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
            response = visit.refuse(CRASHED.replace(defect=summarize_crash(error)))
        return visit.finish(response)

    async def _answer(self, visit: Visit) -> Response:
        """Return the response to a request that is not refused. Raises Failure, StateLostError, ClientLeftError."""
        live = self.live
        if live.fleet is not None:
            await live.catch_up(visit.row.namespace)
        self.refuse_page(visit)
        visit.enter()
        if live.namespaces.evicted:
            await live.forget_evicted()
        operation = visit.operation
        if operation is None or visit.row.method == "GET":  # which may ask for a WebSocket
            chosen = self._choose_operation(visit)
            if isinstance(chosen, Response):
                return chosen
            operation = visit.operation = chosen
        if visit.settings.keys is not None and operation.needs_key:
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
            plan = await plan_within_limits(call, visit)
        visit.release = plan.release
        if plan.carried_out or plan.events:
            self._announce(plan, visit)
        if visit.remarks or live.budgets:
            plan = self._complete_plan(plan, visit)

        outcome = plan.outcome
        if type(outcome) is Forward:
            return _leave_to_upstream(call, plan, visit)
        if plan.source == "unmatched" and self.endpoint.is_unknown:
            report = outcome.details.get("report") if isinstance(outcome, Failure) else None
            return answer_unknown_path(visit, self.hints, call=call, report=report)
        renderer = PlanRenderer(visit.dialect, visit.engine, visit.settings, visit.timed)
        if large or is_long(call, outcome):
            response = await on_thread(renderer.render, operation, call, plan)
        else:
            response = renderer.render(operation, call, plan)
        if len(response.reply.body) > LARGE_REPLY and not isinstance(outcome, Raw | Recorded):
            visit.hold(len(response.reply.body))  # rules and cassettes keep their bodies anyway
        return response

    # What lets a request in

    def refuse_page(self, visit: Visit) -> None:
        """Raise Failure for a request of a web page that may not send it; none reaches a client in this process."""
        if not (visit.sender.passes_page_check or visit.sender.in_process):
            check_page(visit.request, visit.live.settings)

    def require_key(self, visit: Visit) -> None:
        """Raise Failure for a request without a key of the settings, unless its clients log in otherwise."""
        if not has_own_login(visit.request, self.dialect.name, visit.engine.servers):
            keys = visit.settings.keys
            visit.key = self.dialect.read_credential(visit.request)
            if visit.key is None and keys is not None:
                visit.key = find_signer(visit.request, self.dialect, keys)
            check_key(visit.key, keys)

    def _choose_operation(self, visit: Visit) -> Operation | Response:
        """Return what a request asks for, or the response that it gets whatever rules say.

        Raises Failure for a method that the path does not take, and for a WebSocket.
        """
        request = visit.request
        endpoint = self.endpoint
        if endpoint.is_unknown:
            stub = choose_operation(endpoint, request.method) if may_be_stubbed(visit, self.hints) else None
            return stub or answer_unknown_path(visit, self.hints)
        if request.method == "OPTIONS":
            return _list_methods(endpoint.operations)
        if is_handshake(request):
            raise refuse_handshake(request, endpoint, visit.settings)
        operation = endpoint.find_operation(request.method)
        if operation is None:
            raise refuse_method(request, endpoint, self.live.routes.endpoints)
        return operation

    # What a plan entails beside the answer

    def _announce(self, plan: Plan, visit: Visit) -> None:
        """Note what a request carried out, and send the webhooks of what happened by it."""
        if plan.carried_out:
            note_carried_out(plan.carried_out, visit)
        if plan.events and visit.settings.webhook_url is not None and not visit.sender.in_process:
            from mockserver.server.webhook_delivery import send_events  # few servers need it

            send_events(plan.events, self.live, journal=visit.journal, namespace=visit.row.namespace)

    def _complete_plan(self, plan: Plan, visit: Visit) -> Plan:
        """Return a plan with the remarks on its request, or what refuses a call beyond a budget."""
        budget = self.live.budgets.get(visit.row.namespace)
        if budget is not None:
            plan = budget.spend(plan)
        outcome = plan.outcome
        is_taken = isinstance(outcome, Recorded) and outcome.status < 300  # by the provider, as was recorded
        if visit.remarks and not is_taken and not isinstance(outcome, Forward):
            plan = replace(plan, history_remarks=visit.remarks)
        return plan


def _list_methods(operations: Collection[str]) -> Response:
    """Return the answer to OPTIONS at an endpoint."""
    allowed = (*operations, *(("HEAD",) if "GET" in operations else ()), "OPTIONS")
    return Response(Plan(None, "generated"), Reply(204, (("allow", ", ".join(allowed)),)))


def _leave_to_upstream(call: Call, plan: Plan, visit: Visit) -> Response:
    """Return a response that the upstream is to give. Raises Failure for a page that may not ask it."""
    sent = visit.sent or visit.request
    if not visit.sender.in_process:
        check_page(sent, visit.settings, forwarded=True)
    return Response(replace(plan, faults=()), _NO_REPLY, call, forwarded=sent)  # neither faults nor timing apply


_NO_REPLY = Reply(0, ())
