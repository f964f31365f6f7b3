"""Plans the outcome that a rule or a generator gives: an answer, a failure, a recording, or a call that is passed on.

Arguments are positional on the way of every answer, here and in `answer.py` and `planning.py`: keywords take longer.
"""

from msgspec.structs import replace

from mockserver.core.call import Call
from mockserver.core.draft import ArtifactDraft, Draft, PlayCassette, RuleOutcome
from mockserver.core.plan import Failure, Forward, Plan, Raw, blame_rule
from mockserver.engine.answer import answer, finish_artifact
from mockserver.engine.counters import name_ids_counter
from mockserver.engine.engine import CallContext
from mockserver.engine.offload import makes_long, on_thread
from mockserver.kinds import CONVERSATIONS

FORWARDED = "forwarded"
_NO_CASSETTES = "a rule plays a cassette, but none are loaded"


async def plan_outcome(context: CallContext, call: Call, outcome: RuleOutcome, source: str) -> Plan:
    """Plan the outcome that a source, such as `rule greeting`, gives a call. Raises Failure."""
    if isinstance(outcome, Forward):
        return Plan(outcome, FORWARDED, modified_by=(source,))
    if isinstance(outcome, PlayCassette):
        played = await context.engine.replay(context.original, outcome.cassette)
        plan = played or Plan(Failure("server_error", _NO_CASSETTES, status=500), "unmatched")
        return replace(plan, modified_by=(source,))
    if isinstance(outcome, Failure | Raw):
        return Plan(outcome, source, context.terms.timing)
    if isinstance(outcome, ArtifactDraft) and call.operation in CONVERSATIONS:
        outcome = _write_conversation(call.operation, outcome, source)
    return await plan_draft(context, call, outcome, source)


async def plan_draft(context: CallContext, call: Call, draft: Draft | ArtifactDraft, source: str) -> Plan:
    """Plan the answer that a draft becomes."""
    mark = ""
    if context.engine.policy.unique_ids:
        mark = str(await context.engine.counters.count(call.http.namespace, name_ids_counter(call)))
    if context.large or makes_long(call, draft):
        return await on_thread(finish, context, call, draft, source, mark)
    return finish(context, call, draft, source, mark)


def finish(context: CallContext, call: Call, draft: Draft | ArtifactDraft, source: str, mark: str = "") -> Plan:
    """Plan what a draft becomes; a `mark` makes its ids unique."""
    terms = context.terms
    author = context.engine.policy.author
    if terms.model.name != call.model:
        call = call.use_model(terms.model.name)
    if type(draft) is Draft:
        return Plan(answer(call, draft, author, mark), source, terms.timing)
    return Plan(finish_artifact(call, draft, author, mark), source, terms.timing)


def _write_conversation(operation: str, stated: ArtifactDraft, source: str) -> Draft:
    """Return the draft that a key beside text, such as `transcript`, stands for in a conversation. Raises Failure."""
    write = CONVERSATIONS[operation].write
    assert write is not None  # `explain_misfit` has found that it suits
    try:
        return write(stated)
    except ValueError as why:
        raise blame_rule(f"{source}: {why}") from None
