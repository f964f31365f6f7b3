"""Admits a call to the engine: within the limits of its key and model, and only a few large answers at once."""

from collections.abc import Awaitable

from mockserver.core.call import Call
from mockserver.core.plan import Answer, Plan
from mockserver.engine.planning import plan_call
from mockserver.server.access import check_model_allowed
from mockserver.server.limits import LIMITED, Limiter, Reservation
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
        check_model_allowed(call.model, visit.key, keys, visit.engine.policy.models)
    limiter = visit.live.limiter
    if limiter is not None and call.operation in LIMITED:
        return _plan_within(limiter, call, visit)
    return _plan_in_turn(call, visit) if _has_many_choices(call) else plan_call(visit.engine, call)


async def _plan_within(limiter: Limiter, call: Call, visit: Visit) -> Plan:
    """Reserve what a call takes of its limits, plan its answer, and settle."""
    dialect = visit.dialect
    visit.reservation = reservation = Reservation(
        limiter, call.http.namespace, dialect.rate_limit_headers, patient=visit.sender.patient
    )
    key = dialect.read_credential(call.http)
    call = await reservation.reserve(call, key, visit.engine.policy, receive=visit.listen)
    plan = await (_plan_in_turn(call, visit) if _has_many_choices(call) else plan_call(visit.engine, call))
    visit.release = plan.release  # also if the rest fails
    await reservation.settle(plan.outcome)
    return plan


async def _plan_in_turn(call: Call, visit: Visit) -> Plan:
    """Plan an answer with many choices, of which few are planned at once."""
    if visit.sender.in_process:
        return await plan_call(visit.engine, call)
    async with visit.live.planning:
        plan = await plan_call(visit.engine, call)
        visit.release = plan.release  # also if the rest fails
        tokens = plan.outcome.weight if isinstance(plan.outcome, Answer) else 0  # known only now
        visit.hold(BYTES_PER_PROMPT * len(call.prompts) + BYTES_PER_TOKEN * tokens)
    return plan


def _has_many_choices(call: Call) -> bool:
    return call.options.n * max(1, len(call.prompts)) > MANY_CHOICES
