"""Plans calls that no rule answers: by the cassette, by kept answers, by what is known, or by making answers up."""

from msgspec.structs import replace

from mockserver.core.call import OTHER, WEBSOCKET, Call
from mockserver.core.draft import ArtifactDraft, Draft, DraftChoice
from mockserver.core.plan import Failure, Plan, Timing
from mockserver.engine.catalogue import limit_for_generator
from mockserver.engine.engine import CallContext
from mockserver.engine.generation import generate_draft
from mockserver.engine.mcp_answers import find_resource_draft, generate_mcp_result
from mockserver.engine.outcomes import plan_draft
from mockserver.engine.overrides import DeliveryOverrides
from mockserver.kinds import CONVERSATIONS, LOOK_UPS, OPERATIONS
from mockserver.kinds.kind import ModelListing, Question
from mockserver.kinds.mcp import McpOperation
from mockserver.kinds.stored_answers import AnswerLookUp
from mockserver.rules.load import FOR_FEW_RULES
from mockserver.rules.nearest import explain_no_stub

SILENCE = Draft((DraftChoice(()),))


async def replay(context: CallContext, call: Call) -> Plan | None:
    """Plan the recorded answer to a call; return None without a cassette, and if only this server can answer."""
    engine = context.engine
    if call.operation in FOR_FEW_RULES or (call.mcp is not None and not engine.records_server(call)):
        return None
    if call.operation in LOOK_UPS and await engine.memory.knows(call):
        return None
    return await engine.replay(context.original)


async def replay_refused(context: CallContext, call: Call) -> Plan | None:
    """Plan a call that its model would refuse, if a cassette has an answer: that is what the provider really said.

    The refusal is not passed in: its traceback would hold this frame and this frame would hold it, so that a request of
    megabytes stayed in memory until the next collection.
    """
    context.engine.policy.models.admit(call.model)
    plan = await context.engine.replay(context.original)
    return None if plan is None or isinstance(plan.outcome, Failure) else plan


async def plan_unruled(context: CallContext, call: Call, overrides: DeliveryOverrides) -> Plan:
    """Plan the answer to a call that is not recorded either.

    `overrides` are those of rules that change only how the answer goes out. Raises Failure.
    """
    engine = context.engine
    policy = engine.policy
    if call.operation in CONVERSATIONS and policy.unmatched == "generate":  # as most are
        return await generate(context, limit_for_generator(call), overrides)
    if call.operation == WEBSOCKET:
        return Plan(None, "generated", timing=Timing())
    if call.operation == OTHER:
        report = explain_no_stub(engine.rules, call, await engine.counters.list_entries(call.http.namespace))
        return Plan(Failure("route_not_found", details={"report": report} if report else {}), "unmatched")
    match OPERATIONS[call.operation]:
        case ModelListing(deletes=deletes):
            made = await engine.memory.list_made_models(call, delete=deletes)
            return Plan(engine.find_models(call, made), "generated")
        case Question(silent=True):
            return replace(await _plan_generated(context, call, SILENCE), timing=Timing())
        case Question():
            return await generate(context, call, overrides)
        case AnswerLookUp():
            return await _look_up(context, call, overrides)
        case McpOperation() if call.mcp is not None:
            stated = find_resource_draft(engine.servers[call.mcp.server], call.mcp)
            if stated is not None:
                return replace(await _plan_generated(context, call, stated), source=f"mcp {call.mcp.server}")
    if policy.unmatched == "error":
        why = await engine.explain(call)
        return Plan(Failure("unmatched", **{"message": why, **policy.error}), "unmatched")
    return await generate(context, limit_for_generator(call), overrides)


async def _look_up(context: CallContext, call: Call, overrides: DeliveryOverrides) -> Plan:
    """Plan what a look-up finds; where answers are generated, it finds what nobody made, too."""
    engine = context.engine
    found = await engine.memory.look_up(call)
    if found is not None:
        return Plan(found, "stored")
    if engine.policy.unmatched == "error":
        return Plan(Failure("not_found"), "unmatched")
    named = replace(call, model=next(iter(engine.find_models(call).names), ""))
    return await generate(context, named, overrides)


async def generate(context: CallContext, call: Call, overrides: DeliveryOverrides) -> Plan:
    """Have the model without weights write the answer, or make up what an MCP server returns."""
    engine = context.engine
    if call.mcp is not None:
        server = engine.servers[call.mcp.server]
        draft: Draft | ArtifactDraft = generate_mcp_result(server, call, engine.policy.seed)
    else:
        draft = await generate_draft(call, engine.policy.seed, context.work)
    return await _plan_generated(context, call, overrides.change(draft, call))


async def _plan_generated(context: CallContext, call: Call, draft: Draft | ArtifactDraft) -> Plan:
    """Plan what is made up for a call, which may differ from the one that was asked, even in its model."""
    terms = context.engine.policy.terms[call.dialect, call.model]
    return await plan_draft(replace(context, terms=terms), call, draft, "generated")
