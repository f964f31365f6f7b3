"""Plans answers to messages of MCP: those of a defined server, or those of recordings or a real server in its place."""

from collections.abc import Awaitable, Callable

from msgspec.structs import replace

from mockserver.core.call import Call
from mockserver.core.draft import Draft, PlayCassette
from mockserver.core.mcp_server import McpServer
from mockserver.core.plan import Forward, Plan
from mockserver.engine.engine import CallContext, Engine
from mockserver.engine.mcp_service import McpService
from mockserver.engine.outcomes import FORWARDED, finish
from mockserver.kinds.mcp import SESSION
from mockserver.rules.checks import is_for_mcp
from mockserver.rules.load import Rule

PlanTurn = Callable[[CallContext, Call], Awaitable[Plan]]  # by rules, cassettes, or made up


async def plan_message(context: CallContext, call: Call, plan_turn: PlanTurn) -> Plan:
    """Plan the answer to a message; `plan_turn` answers calls of tools, resources and prompts. Raises Failure."""
    engine = context.engine
    is_recorded = engine.records_server(call)
    real = None if is_recorded else _find_real_server(engine, call)
    if not is_recorded and real is None:
        return await _serve(context, call, plan_turn)
    engine = replace(engine, servers={call.model: McpServer(call.model), **engine.servers})
    if call.mcp is not None and not engine.servers[call.model].defines(call.mcp):
        engine = replace(engine, policy=replace(engine.policy, unmatched="error"))  # nobody knows its results
    context = replace(context, engine=engine)
    if call.operation != SESSION.name:
        return await plan_turn(context, call)
    if type(real) is Forward:
        return Plan(real, FORWARDED)
    played = await engine.replay(context.original, None if real is None else real.cassette)
    return played or await _serve(context, call, plan_turn)  # which needs no recording


async def _serve(context: CallContext, call: Call, plan_turn: PlanTurn) -> Plan:
    """Plan the answer of a defined server to a message."""
    engine = context.engine

    async def respond(call: Call, server: McpServer, draft: Draft | None) -> Plan:
        if draft is not None:
            return finish(context, call, draft, source="invalid")
        changed = replace(engine, servers={**engine.servers, server.name: server})
        return await plan_turn(replace(context, engine=changed), call)

    service = McpService(
        servers=engine.servers,
        seed=engine.policy.seed,
        counters=engine.counters,
        streams=engine.streams,
        lints=engine.policy.lints,
    )
    return await service.plan(call, respond)


def _find_real_server(engine: Engine, call: Call) -> Forward | PlayCassette | None:
    """Return the outcome for handshakes and lists of an MCP server whose calls rules pass on, or play from a cassette.

    Calls that are passed on need a session of the server that they reach. A defined server, whose calls rules play from
    cassettes, answers handshakes itself.
    """
    is_defined = call.model in engine.servers
    for rule in engine.rules:
        outcome = None if rule.then.known is None else rule.then.known.outcome
        if not isinstance(outcome, Forward | PlayCassette) or not _is_for_server(rule, call):
            continue
        player = engine.player
        is_reached = type(outcome) is Forward and player is not None and player.has_upstream(call)
        if is_reached or not is_defined:
            return outcome
    return None


def _is_for_server(rule: Rule, call: Call) -> bool:
    """Return whether a rule is for calls of the MCP server that a message goes to, whichever calls these are."""
    if is_for_mcp(rule.when):
        return all(result.ok for result in rule.when.explain(call) if result.field == "mcp")
    return "path" in rule.when.uses and bool(rule.when.check(call))
