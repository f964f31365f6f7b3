"""Gets the answer of a rule that matches a call, and checks it."""

from functools import partial

from msgspec.structs import replace

from mockserver.core.call import Call
from mockserver.core.draft import Draft, RenderContext, RuleAnswer, RuleOutcome
from mockserver.core.plan import Plan, blame_rule
from mockserver.engine.engine import CallContext, Engine
from mockserver.engine.generation import make_generator
from mockserver.engine.offload import is_demanding, on_thread
from mockserver.engine.rule_set import RuleMatch
from mockserver.model import GENERATORS
from mockserver.model.budget import AnswerWork
from mockserver.rules.checks import explain_misfit
from mockserver.rules.lint.contradictions import find_contradictions, follows_schema, recall_contradictions
from mockserver.rules.load import Rule


async def ask_rule(context: CallContext, call: Call, match: RuleMatch) -> RuleAnswer:
    """Return the answer of a rule to a call that it matches. Raises Failure."""
    rule = match.rule
    work = context.work
    generator = make_generator if work is None else partial(make_generator, budget=AnswerWork(work))
    scope = RenderContext(call, match.groups, context.engine.policy.seed, generator)
    kinds = rule.then.generators
    demands = kinds and (is_demanding(call) or not all(map(GENERATORS.is_imported, kinds)))
    slow = context.large or rule.slow or demands
    return await on_thread(rule.then.respond, scope) if slow else rule.then.respond(scope)


def check_fit(rule: Rule, outcome: RuleOutcome | None, call: Call) -> None:
    """Raise Failure for an outcome that does not suit the operation of the call."""
    if outcome is not None and (why := explain_misfit(outcome, call)):
        raise blame_rule(f"{rule.source}: {why}")


async def add_remarks(engine: Engine, call: Call, rule: Rule, draft: Draft, plan: Plan) -> Plan:
    """Return the plan of a rule's draft, with remarks if no model could answer so."""
    whys = recall_contradictions(call, draft)
    if whys is None:
        shown = draft.plain is not None or call.operation in engine.thinking.get(call.dialect, (call.operation,))
        if follows_schema(call) and is_demanding(call):
            whys = await on_thread(find_contradictions, call, draft, shows_reasoning=shown)
        else:
            whys = find_contradictions(call, draft, shows_reasoning=shown)
    if not whys:
        return plan
    return replace(plan, remarks=tuple([f"{rule.where}{rule.quoted_name}: the answer {why}" for why in whys]))
