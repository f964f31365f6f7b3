"""Admits a call to the engine: within the limits of its key and model, and only a few large answers at once."""

from collections.abc import Awaitable

from mockserver.core.call import Call
from mockserver.core.plan import Answer, Plan
from mockserver.engine.planning import plan_call
from mockserver.server.access import check_model_allowed
from mockserver.server.limits import LIMITED, Reservation
from mockserver.server.visit import Visit

MANY_CHOICES = 16  # an answer with more of them waits until few others like it are planned
BYTES_PER_TOKEN = 100  # of memory that such an answer takes
BYTES_PER_PROMPT = 5_000  # the same of a call with many prompts


def plan_within_limits(call: Call, visit: Visit) -> Awaitable[Plan]:
    """Plan the answer to a call, within limits if there are any. Raises Failure for a model that a key may not use.

    No key is for single models of MCP, whose calls name none.
    """
    keys = visit.settings.keys
    if keys is not None and call.mcp is None:
        check_model_allowed(call.model, visit.dialect.read_credential(visit.request), keys, visit.engine.policy.models)
    if visit.live.limiter is None and _count_choices(call) <= MANY_CHOICES:
        return plan_call(visit.engine, call)
    return _reserve_and_plan(call, visit)


async def _reserve_and_plan(call: Call, visit: Visit) -> Plan:
    """Reserve what a call takes of its limits, plan its answer, and settle; of those with many choices few at once."""
    live = visit.live
    limiter = live.limiter
    charge = None
    if limiter is not None and call.operation in LIMITED:
        visit.reservation = Reservation(
            limiter,
            call.http.namespace,
            visit.dialect.rate_limit_headers,
            patient=visit.sender.patient,
        )
        key = visit.dialect.read_credential(call.http)
        call, charge = await visit.reservation.reserve(call, key, visit.engine.policy, receive=visit.listen)
    if visit.sender.in_process or _count_choices(call) <= MANY_CHOICES:
        plan = await plan_call(visit.engine, call)
        visit.release = plan.release  # also if the rest fails
    else:
        async with live.planning:
            plan = await plan_call(visit.engine, call)
            visit.release = plan.release
            tokens = plan.outcome.weight if isinstance(plan.outcome, Answer) else 0  # known only now
            visit.hold(BYTES_PER_PROMPT * len(call.prompts) + BYTES_PER_TOKEN * tokens)
    if visit.reservation is not None and charge is not None:
        await visit.reservation.settle(charge, plan.outcome)
    return plan


def _count_choices(call: Call) -> int:
    return call.options.n * max(1, len(call.prompts))
