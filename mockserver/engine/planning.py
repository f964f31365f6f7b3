"""Plans the answer to a call. Start here: `plan_call` begins the story, `plan_turn` and `ask_rules` are most of it.

    plan_call              a call, or its refusal
      _plan_each           each prompt, if it has several
      plan_message         a message to an MCP server
      plan_continuation    a call that goes on after a kept response, or refers to kept objects
      plan_answer          a whole answer, with the calls of MCP tools that the provider makes
        plan_turn          a turn of the model, within its limits
          ask_rules        the answer of the first rule that gives one
            _plan_stated   a text, tool calls, an error, ...
          _plan_without_rule  an answer that is recorded, kept or made up

Each step has its module, none of which imports this one: conversations and objects that a call continues (`memory.py`,
`keeping.py`), messages to MCP servers (`mcp_planning.py`) and their tools (`hosted_mcp.py`), limits (`catalogue.py`),
rules (`rule_set.py`, `rule_answers.py`, `overrides.py`), calls without a rule (`unruled.py`), and the outcome of each
(`outcomes.py`). Nothing here reads or writes a wire format, or opens a connection.
"""

import asyncio
from collections.abc import Awaitable
from copy import copy
from functools import partial
from itertools import tee

from msgspec.structs import replace

from mockserver.core.call import Call
from mockserver.core.draft import ArtifactDraft, Draft, RuleOutcome
from mockserver.core.plan import Answer, Artifact, Failure, Forward, Plan, Timing, blame_rule
from mockserver.engine.answer import ALONE, join_plans, split_prompts, use_tokenizer
from mockserver.engine.catalogue import apply_limits
from mockserver.engine.counters import ScenarioState, count_attempt
from mockserver.engine.engine import CallContext, Engine
from mockserver.engine.hosted_mcp import HostedAnswer
from mockserver.engine.keeping import ABOUT_KEPT, do_work, keep_answer, recall
from mockserver.engine.mcp_planning import plan_message
from mockserver.engine.memory import continue_conversation
from mockserver.engine.offload import is_large, on_thread
from mockserver.engine.outcomes import FORWARDED, finish, plan_draft, plan_outcome
from mockserver.engine.overrides import NO_OVERRIDES, DeliveryOverrides, select_faults
from mockserver.engine.rule_answers import add_remarks, ask_rule, check_fit
from mockserver.engine.rule_set import list_counting
from mockserver.engine.unruled import SILENCE, plan_unruled, replay, replay_refused
from mockserver.kinds import CONVERSATIONS
from mockserver.kinds.objects import Objects
from mockserver.model.budget import RequestWork
from mockserver.rules.load import Rule


async def plan_call(engine: Engine, call: Call, work: RequestWork | None = None) -> Plan:
    """Plan the answer to a call, or its refusal. The calls of one request share the `work` that generating may cost."""
    terms = engine.policy.terms[call.dialect, call.model]
    context = CallContext(engine, call, terms, work)
    if terms.tokenizer is not call.tokenizer:
        call = use_tokenizer(call, terms.tokenizer)
    try:
        if len(call.prompts) > 1:
            plan = await _plan_each(context, call)
        elif call.mcp is not None:
            plan = await plan_message(context, call, plan_turn)
        elif call.references is not None or call.previous_response_id is not None:
            plan = await plan_continuation(context, call)
        else:
            plan = await plan_answer(context, call)
            if call.options.store or call.http.turn is not None or call.operation in ABOUT_KEPT:
                plan = await keep_answer(engine, call, plan)
    except Failure as refusal:
        return Plan(refusal, "invalid")
    if call.remarks and engine.policy.lints:
        plan = replace(plan, remarks=(*call.remarks, *plan.remarks))
    return plan


async def _plan_each(context: CallContext, call: Call) -> Plan:
    """Plan each prompt of a call as it would be alone; the first that fails ends the work and answers the whole call.

    Cassettes record the whole call. Raises Failure if a prompt is refused.
    """
    context = replace(context, work=context.work or RequestWork())
    plans = list[Plan]()
    for single in split_prompts(call):
        plans.append(await plan_turn(context, single))
        if isinstance(plans[-1].outcome, ALONE):
            break
        await asyncio.sleep(0)  # let other requests run: there may be thousands of prompts
    return join_plans(plans)


async def plan_continuation(context: CallContext, call: Call) -> Plan:
    """Plan the answer to a call that goes on after a kept response, or refers to kept objects. Raises Failure."""
    engine = context.engine
    objects = open_objects(engine, call, locks=engine.memory.locks if engine.policy.unmatched == "error" else None)
    try:
        plan = await _plan_recalled(context, call, objects)
    except BaseException:
        objects.release()
        raise
    return replace(plan, release=objects.release) if objects.held else plan


async def _plan_recalled(context: CallContext, call: Call, objects: Objects) -> Plan:
    """Plan the answer to a call after what it continues and refers to. `objects` keeps its locks."""
    engine = context.engine
    references = call.references
    if references is not None:
        try:
            call = await recall(call, objects)
        except Failure:
            forward = engine.rule_set.find_forward(call)  # the provider may know what this server does not
            plan = await replay_refused(context, call) if forward is None else Plan(forward, FORWARDED)
            if plan is None:
                raise
            return plan
        if call.model != context.original.model:
            context = replace(context, terms=engine.policy.terms[call.dialect, call.model])
    if call.previous_response_id is not None:
        resumed = await engine.memory.resume(call)
        conversation = CONVERSATIONS.get(call.operation)
        needed = engine.policy.unmatched == "error" or (conversation is not None and conversation.needs_previous)
        lost = isinstance(resumed, Failure) or (resumed is None and needed)
        context = replace(context, lost=lost)
        call = resumed if isinstance(resumed, Call) else continue_conversation(call, ())
    plan = await plan_answer(context, call)
    if references is not None and isinstance(plan.outcome, Answer | Artifact):
        own = replace(objects, call=call, locks=None)
        is_generated = plan.source == "generated"
        plan = replace(plan, outcome=await references.write(call, plan.outcome, own, is_generated=is_generated))
    plan = await keep_answer(engine, call, plan)
    outcome = plan.outcome  # that has the messages of the conversation before it
    return replace(plan, outcome=replace(outcome, prompt=call.messages)) if isinstance(outcome, Answer) else plan


def plan_answer(context: CallContext, call: Call) -> Awaitable[Plan]:
    """Plan the answer to a call that is complete, with the calls of MCP tools that the provider makes."""
    if call.connectors:
        return HostedAnswer(context, call, plan_turn=plan_turn, plan_call=plan_call).plan()
    return plan_turn(context, call)


async def plan_turn(context: CallContext, call: Call) -> Plan:
    """Plan the answer of the model, or of what stands in its place, to a call that is complete. Raises Failure.

    That is the first rule that answers, else the cassette, a kept answer, or the model without weights.
    """
    turn = call.http.turn
    if turn is not None and not turn.writes and not context.lost:
        return await _warm_up(context, call)
    try:
        if is_large(call):
            context = replace(context, large=True)
            call = await on_thread(apply_limits, call, context.terms.model, context.terms.refusing)
        else:
            call = apply_limits(call, context.terms.model, context.terms.refusing)
    except Failure:
        plan = await replay_refused(context, call)
        if plan is None:
            raise
        return plan
    if context.engine.rule_set.counts_attempts:
        call = replace(call, attempt=await count_attempt(call, context.engine.counters))
    return await ask_rules(context, call)


async def ask_rules(context: CallContext, call: Call) -> Plan:
    """Plan the answer of the first rule that gives one, or one without a rule; others may change its delivery."""
    engine = context.engine
    overrides = NO_OVERRIDES
    scenario = None
    found = engine.rule_set.find_matches(call, lost=context.lost)
    (matches,) = tee(await on_thread(list, found) if context.large else found, 1)  # which can be copied
    for match in matches:
        rule = match.rule
        if match.failure is not None:
            return Plan(blame_rule(f"{rule.source}: {match.failure}"), rule.source)
        if match.counts:
            scenario = scenario or ScenarioState(call.http.namespace, engine.counters)
            if not await scenario.allows(rule, list_counting(copy(matches))):
                continue
        try:
            stated = rule.then.known or await ask_rule(context, call, match)
            outcome = stated.outcome
            if type(outcome) is not Draft or call.operation not in CONVERSATIONS:  # most are texts
                check_fit(rule, outcome, call)
            if stated.timing is not None or stated.path or stated.faults:
                overrides = overrides.add(rule, stated, await select_faults(engine, call, rule, stated))
            if outcome is None:
                overrides = overrides.add_modifier(rule)
                continue
            plan = await _plan_stated(context, call, rule, outcome, overrides)
        except Failure as failure:  # goes out at once and whole, but tells which rules led to it
            return Plan(failure, rule.source, modified_by=overrides.modified_by, trace=overrides.trace)
        break
    else:
        plan = await _plan_without_rule(context, call, overrides)
    return plan if overrides is NO_OVERRIDES else overrides.apply(call, engine.policy.seed, plan)


async def _plan_stated(
    context: CallContext, call: Call, rule: Rule, outcome: RuleOutcome, overrides: DeliveryOverrides
) -> Plan:
    """Plan the outcome of a rule. Of an object that a call makes, it states how that ends. Raises Failure."""
    engine = context.engine
    if type(outcome) is Draft:
        draft = overrides.change(outcome, call) if overrides.faults else outcome
        plan = await plan_draft(context, call, draft, rule.source)
        return await add_remarks(engine, call, rule, outcome, plan) if engine.policy.lints else plan
    if call.work is not None and type(outcome) is ArtifactDraft:
        objects = replace(open_objects(engine, call), statuses=outcome.stated, source=rule.source)
        return await do_work(engine, call, objects)
    return await plan_outcome(context, call, outcome, rule.source)


async def _plan_without_rule(context: CallContext, call: Call, overrides: DeliveryOverrides) -> Plan:
    """Plan an answer that is recorded, kept or made up; faults of `overrides` may change its content."""
    plan = await replay(context, call)
    if plan is not None:
        return plan
    if context.lost:
        return Plan(Failure("previous_not_found"), "unmatched")
    if call.work is not None:
        return await do_work(context.engine, call, open_objects(context.engine, call))
    return await plan_unruled(context, call, overrides)


async def _warm_up(context: CallContext, call: Call) -> Plan:
    """Plan the answer to a turn of a socket that only prepares the next one: silence, unless a provider answers it."""
    forward = context.engine.rule_set.find_forward(call)
    passed = Plan(forward, FORWARDED) if forward is not None else await context.engine.replay(context.original)
    if passed is not None and not isinstance(passed.outcome, Failure):  # later calls name the provider's id
        return passed
    silence = finish(context, call, SILENCE, "generated", _WARM_UP)
    return replace(silence, timing=Timing())


def open_objects(engine: Engine, call: Call, locks: set[tuple[str, str]] | None = None) -> Objects:
    """Return the kept objects of a call's namespace. `locks` has what calls hold; None: this one holds nothing."""
    return Objects(
        call=call,
        store=engine.memory.store,
        seed=engine.policy.seed,
        clock=engine.policy.clock,
        on_thread=on_thread,
        answer=partial(_plan_part, engine, RequestWork()),
        invents=engine.policy.unmatched == "generate",
        announces=engine.policy.announces,
        unique_ids=engine.policy.unique_ids,
        rule_files=(data for rule in engine.rules for data in rule.then.files),
        locks=locks,
    )


async def _plan_part(engine: Engine, work: RequestWork, part: Call) -> Plan:
    """Plan a part of a batch as if it had come by itself; the remarks on it are those on the batch."""
    plan = await plan_call(engine, replace(part, remarks=()), work)
    if plan.release is not None:
        plan.release()
    return replace(plan, outcome=_NOT_FORWARDED) if type(plan.outcome) is Forward else plan


_NOT_FORWARDED = Failure(
    "unsupported",
    "Parts of a batch cannot be forwarded: forward the whole batch, or answer it with another rule.",
    status=400,
)
_WARM_UP = "warm up"  # so that the id of its answer differs from that of the answer to an equal call
