"""Kept objects of a call: those that it refers to, what it does with them, and what it leaves for later calls."""

from msgspec.structs import replace

from mockserver.core.call import Call
from mockserver.core.plan import Answer, Failure, Plan
from mockserver.engine.counters import name_ids_counter
from mockserver.engine.engine import Engine
from mockserver.engine.memory import continue_conversation
from mockserver.kinds import ANSWER_LOOK_UPS, CREATIONS, QUESTIONS
from mockserver.kinds.objects import Objects, References, Work


async def recall(call: Call, objects: Objects) -> Call:
    """Return a call with the conversation that it refers to in front. Raises Failure if something does not exist."""
    references: References = call.references
    beginning = await references.read(call, objects)
    if beginning.tools and not call.tools:
        call = replace(call, tools=beginning.tools, tool_choice=beginning.tool_choice)
    if not call.model:
        call = replace(call, model=beginning.model)
    if beginning.options is not None:
        call = replace(call, options=beginning.options)
    return continue_conversation(call, beginning.messages) if beginning.messages else call


async def do_work(engine: Engine, call: Call, objects: Objects) -> Plan:
    """Do the work of a call with kept objects, and answer the calls within it, such as the lines of a batch.

    Raises Failure.
    """
    work: Work | None = call.work
    assert work is not None  # as of all that only concerns kept objects
    source = objects.source
    if call.operation in CREATIONS:
        times = await engine.counters.count(call.http.namespace, name_ids_counter(call))
        objects = replace(objects, mark=str(times) if times > 1 or engine.policy.unique_ids else "")
    try:
        view = await work(call, objects)
    except Failure as refusal:
        if refusal.source is None:
            raise
        return Plan(refusal, source or refusal.source)
    author = engine.policy.author
    events = [author.make_event(call.dialect, kind, about=about, created=objects.now) for kind, about in objects.events]
    return Plan(view, source or _name_source(call, objects), carried_out=tuple(objects.done), events=tuple(events))


def _name_source(call: Call, objects: Objects) -> str:
    """Return what answers a call about objects: what was kept, unless somebody looks up what nobody made."""
    return "generated" if objects.inventions and call.operation not in CREATIONS else "stored"


async def keep_answer(engine: Engine, call: Call, plan: Plan) -> Plan:
    """Keep what later calls may look up, and return the plan with the event that webhooks tell of it."""
    plan = await engine.memory.leave(call, plan)
    outcome = plan.outcome
    if not (engine.policy.announces and call.options.background and type(outcome) is Answer):
        return plan
    event = engine.policy.author.make_event(
        call.dialect, _find_event(outcome), about=outcome.id, created=outcome.created
    )
    return replace(plan, events=(event,))


def _find_event(answer: Answer) -> str:
    """Return the kind of the event that tells how a response ended."""
    if answer.broken is not None:
        return "response.failed"
    return "response.incomplete" if answer.choices[0].finish in ("length", "content_filter") else "response.completed"


ABOUT_KEPT = frozenset((*ANSWER_LOOK_UPS, *QUESTIONS))  # operations whose answers may be about kept ones
