"""Plans the answer to a call: model limits, rules in file order, the cassette, kept answers, the model.

Reads and writes no wire format, and opens no connection.
"""

import asyncio
from collections.abc import Awaitable, Collection, Mapping, Sequence
from typing import Protocol, cast

from msgspec import Struct, field
from msgspec.structs import replace

from mockserver.core.call import OTHER, WEBSOCKET, Call
from mockserver.core.draft import (
    ArtifactDraft,
    Draft,
    DraftChoice,
    PlayCassette,
    RenderContext,
    RuleAnswer,
    RuleOutcome,
)
from mockserver.core.mcp_server import VERSIONS, McpServer, McpTool
from mockserver.core.plan import Answer, Failure, Forward, Models, Plan, Raw, Timing
from mockserver.core.state import Counters
from mockserver.engine.answer import (
    ALONE,
    answer,
    finish_artifact,
    join_plans,
    split_prompts,
    use_tokenizer,
)
from mockserver.engine.catalogue import apply_limits, limit_for_generator
from mockserver.engine.counters import find_attempt, name_ids_counter
from mockserver.engine.generation import generate_draft, make_generator, share_work
from mockserver.engine.hosted_mcp import HostedAnswer, HostedServer, find_hosted_servers
from mockserver.engine.mcp_answers import find_resource_draft, generate_mcp_result
from mockserver.engine.mcp_service import McpService
from mockserver.engine.mcp_streams import McpStreams
from mockserver.engine.memory import Memory, continue_conversation
from mockserver.engine.offload import is_demanding, is_large, makes_long, on_thread
from mockserver.engine.overrides import NO_OVERRIDES, DeliveryOverrides, FaultSelection, FaultSpecs
from mockserver.engine.policy import Policy, Terms
from mockserver.engine.rule_set import RuleSearch, RuleSet
from mockserver.kinds import ANSWER_LOOK_UPS, CONVERSATIONS, CREATIONS, LOOK_UPS, OPERATIONS, QUESTIONS
from mockserver.kinds.kind import ModelListing, Question
from mockserver.kinds.mcp import SESSION, McpOperation
from mockserver.kinds.objects import STATUS, Objects, References, Work
from mockserver.kinds.stored_answers import AnswerLookUp
from mockserver.model import GENERATORS
from mockserver.model.budget import REQUEST_WORK
from mockserver.rules.checks import explain_misfit, is_for_mcp
from mockserver.rules.lint.contradictions import find_contradictions, recall_contradictions
from mockserver.rules.load import FOR_FEW_RULES, Rule
from mockserver.rules.nearest import explain_no_stub, explain_unmatched

FORWARDED = "forwarded"
_NO_CASSETTES = "a rule plays a cassette, but none are loaded"


class CassettePlayer(Protocol):
    """Looks calls up in cassettes."""

    @property
    def is_empty(self) -> bool:
        """Return whether there is a cassette only for calls that name one."""

    def has_upstream(self, call: Call) -> bool:
        """Return whether a call can be passed on to where it is usually answered."""

    def knows_server(self, call: Call) -> bool:
        """Return whether there are, or will be, recordings of the MCP server that a call is for."""

    async def play(self, call: Call, counters: Counters, cassette: str | None = None) -> Plan | None:
        """Plan a recorded answer, a Forward to the provider, or a Failure that names the nearest episode.

        Looks in the loaded cassette unless `cassette` names one; None if there is none. `counters` count repeats.
        """


class Engine(Struct, frozen=True, eq=False):
    """Rules, policy and memory. `listed` names each dialect's own models; `player` plays cassettes.

    `servers` are what MCP servers offer, by name, `streams` what is open to their clients. `thinking` has the
    operations of each dialect that show reasoning.
    """

    rule_set: RuleSet
    policy: Policy
    counters: Counters
    memory: Memory
    listed: Mapping[str, tuple[str, ...]] = {}
    player: CassettePlayer | None = None
    thinking: Mapping[str, Collection[str]] = {}
    servers: Mapping[str, McpServer] = {}
    streams: McpStreams = field(default_factory=McpStreams)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Return the rules in the order in which they are tried."""
        return self.rule_set.rules

    async def plan(self, call: Call, part_of: Call | None = None) -> Plan:
        """Plan the answer to a call, or its refusal.

        A call with several prompts is planned as that many calls, so that each prompt gets what it would get alone;
        they are `part_of` the call that cassettes record. Raises Failure if such a part is refused.
        """
        asked = call if part_of is None else part_of
        if part_of is None and REQUEST_WORK.get() is not None:  # that of an earlier request on this connection
            REQUEST_WORK.set(None)
        terms = self.policy.terms[call.dialect, call.model]
        if terms.tokenizer is not call.tokenizer:
            call = use_tokenizer(call, terms.tokenizer)
        try:
            if len(call.prompts) > 1:
                plan = await self._plan_each(call, asked)
            else:
                plan = await CallPlanner(self, asked, terms).plan(call)
        except Failure as refusal:
            if part_of is not None:
                raise
            return Plan(refusal, "invalid")
        if asked.remarks and part_of is None and self.policy.lints:
            plan = replace(plan, remarks=(*asked.remarks, *plan.remarks))
        return plan

    async def _plan_each(self, call: Call, asked: Call) -> Plan:
        """Plan each prompt of a call; the first failure ends the work and answers the whole call."""
        share_work()
        plans = list[Plan]()
        for single in split_prompts(call):
            plans.append(await self.plan(single, part_of=asked))
            if isinstance(plans[-1].outcome, ALONE):
                break
            await asyncio.sleep(0)  # let other requests run: there may be thousands of prompts
        return join_plans(plans)

    async def recall(self, call: Call, objects: Objects | None = None) -> Call:
        """Return a call after the conversation that it refers to. Raises Failure if something does not exist."""
        references: References = call.references
        beginning = await references.read(call, objects or self.open_objects(call))
        if beginning.tools and not call.tools:
            call = replace(call, tools=beginning.tools, tool_choice=beginning.tool_choice)
        if not call.model:
            call = replace(call, model=beginning.model)
        return continue_conversation(call, beginning.messages) if beginning.messages else call

    async def replay(self, call: Call, cassette: str | None = None) -> Plan | None:
        """Plan what a cassette has of a call, the loaded one unless named; None where there is no cassette."""
        return None if self.player is None else await self.player.play(call, self.counters, cassette)

    def open_objects(self, call: Call, locks: set[tuple[str, str]] | None = None) -> Objects:
        """Return the kept objects of a call's namespace."""
        return Objects(
            call=call,
            store=self.memory.store,
            seed=self.policy.seed,
            clock=self.policy.clock,
            on_thread=on_thread,
            answer=self._plan_part,
            invents=self.policy.unmatched == "generate",
            announces=self.policy.announces,
            unique_ids=self.policy.unique_ids,
            rule_files=(data for rule in self.rules for data in rule.then.files),
            locks=locks,
        )

    async def _plan_part(self, part: Call) -> Plan:
        """Plan a part of a batch as if it had come by itself; what refuses it is its result."""
        try:
            plan = await self.plan(part, part_of=part)
        except Failure as refusal:
            return Plan(refusal, "invalid")
        if plan.release is not None:
            plan.release()
        return replace(plan, outcome=_NOT_FORWARDED) if type(plan.outcome) is Forward else plan

    async def explain(self, call: Call) -> str:
        """Explain why no rule answers a call."""
        return explain_unmatched(self.rules, call, await self.counters.entries(call.http.namespace))

    def models(self, call: Call, made: Sequence[str] = ()) -> Models:
        """Return the model that a call asks for, or all: those of the settings or the dialect, and those `made`."""
        names = self.policy.models.list_names(call.model, (*self.listed.get(call.dialect, ()), *made))
        names = names if call.model else tuple(dict.fromkeys((*names, *made)))
        known = map(self.policy.models.find_properties, names)
        limits = tuple((model.context_window, model.max_output_tokens) for model in known)
        return Models(names, self.policy.clock.now(), limits)


class OutcomePlanner(Struct, frozen=True, eq=False):
    """Plans what rules and generators say to one call, within what the call asks for.

    It is the base of four planners, each of which inherits how to go on where it has no answer itself:

    - UnruledPlanner: what a call gets that no rule answers; what is made up is an outcome
    - RulePlanner: what the rules say; without one that answers, the call is unruled
    - CallPlanner: a whole answer, after the conversation that the call continues; each turn of it is up to the rules
    - McpPlanner: the same for a message to an MCP server

    Cassettes look a call up as it was `asked`; `terms` are those of its model. If the previous response is `lost`,
    only rules that match on it or forward answer.
    """

    engine: Engine
    asked: Call
    terms: Terms
    lost: bool = False

    async def plan_outcome(self, call: Call, outcome: RuleOutcome, source: str, *, large: bool) -> Plan:
        """Plan what is said. A cassette or the provider's own server may give the answer for it. Raises Failure."""
        if type(outcome) is ArtifactDraft and outcome.key == STATUS.key:
            assert call.work is not None  # as of all that makes an object
            return await self.work(call, call.work, outcome.stated, source)
        if type(outcome) is ArtifactDraft and call.operation in CONVERSATIONS:
            outcome = _write_conversation(call.operation, outcome, source)
        if type(outcome) is Draft or type(outcome) is ArtifactDraft:  # isinstance takes far longer for a Struct
            mark = ""
            if self.engine.policy.unique_ids:
                mark = str(await self.engine.counters.count(call.http.namespace, name_ids_counter(call)))
            if large or makes_long(call, outcome):
                return await on_thread(self.finish, call, outcome, source, mark)
            return self.finish(call, outcome, source, mark)
        if type(outcome) is Forward:
            return Plan(outcome, FORWARDED)
        if type(outcome) is PlayCassette:
            played = await self.engine.replay(self.asked, outcome.cassette)
            return played or Plan(Failure("server_error", _NO_CASSETTES, status=500), "unmatched")
        return Plan(cast(Failure | Raw, outcome), source, self.terms.timing)

    def finish(self, call: Call, draft: Draft | ArtifactDraft, source: str, mark: str = "") -> Plan:
        """Plan what a draft becomes; a `mark` makes its ids unique."""
        if self.terms.model.name != call.model:
            call = call.use_model(self.terms.model.name)
        author = self.engine.policy.author
        if type(draft) is Draft:
            return Plan(answer(call, draft, author, mark), source, self.terms.timing)
        return Plan(finish_artifact(call, draft, author, mark), source, self.terms.timing)

    async def work(self, call: Call, work: Work, statuses: Sequence[str] = (), source: str = "") -> Plan:
        """Do what a call does with kept objects, and answer the calls within it, such as the lines of a batch.

        `statuses` are those that a rule states for a new object, and `source` is that rule. Raises Failure.
        """
        mark = ""
        if call.operation in CREATIONS:
            times = await self.engine.counters.count(call.http.namespace, name_ids_counter(call))
            mark = str(times) if times > 1 or self.engine.policy.unique_ids else ""
        share_work()
        objects = replace(self.engine.open_objects(call), statuses=statuses, source=source, mark=mark)
        try:
            view = await work(call, objects)
        except Failure as refusal:
            if refusal.source is None:
                raise
            return Plan(refusal, source or refusal.source)
        author = self.engine.policy.author
        events = [author.make_event(call.dialect, kind, about, objects.now) for kind, about in objects.events]
        return Plan(view, source or view.source, carried_out=tuple(objects.done), events=tuple(events))


class UnruledPlanner(OutcomePlanner, frozen=True, eq=False):
    """Plans what a call gets that no rule answers: from the cassette, from what is kept, or made up."""

    async def plan_unruled(self, call: Call, overrides: DeliveryOverrides) -> Plan:
        """Plan the answer; `overrides` are those of rules that change only how it goes out. Raises Failure."""
        is_kept = call.operation in LOOK_UPS and await self.engine.memory.knows(call)
        is_ours = call.operation in FOR_FEW_RULES or is_kept or (call.mcp is not None and not self._records(call))
        plan = None if is_ours else await self.engine.replay(self.asked)
        if plan is None and self.lost:
            plan = Plan(Failure("previous_not_found"), "unmatched")
        elif plan is None:
            plan = await self._plan_unrecorded(call, overrides)
        return plan if overrides is NO_OVERRIDES else overrides.apply(call, self.engine.policy.seed, plan)

    def _records(self, call: Call) -> bool:
        """Return whether there are, or will be, recordings of the MCP server that a call is for."""
        return self.engine.player is not None and self.engine.player.knows_server(call)

    async def _plan_unrecorded(self, call: Call, overrides: DeliveryOverrides) -> Plan:
        """Plan what a call gets that is not recorded either, by what it asks for."""
        if call.work is not None:
            return await self.work(call, call.work)
        if call.operation in CONVERSATIONS and self.engine.policy.unmatched == "generate":  # as most are
            return await self.generate(limit_for_generator(call), overrides)
        if call.operation == WEBSOCKET:
            return Plan(None, "generated", timing=Timing())
        if call.operation == OTHER:
            entries = await self.engine.counters.entries(call.http.namespace)
            report = explain_no_stub(self.engine.rules, call, entries)
            return Plan(Failure("route_not_found", details={"report": report} if report else {}), "unmatched")
        match OPERATIONS[call.operation]:
            case ModelListing(deletes=deletes):
                made = await self.engine.memory.list_made_models(call, delete=deletes)
                return Plan(self.engine.models(call, made), "generated")
            case Question(silent=True):
                return replace(await self._plan_generated(call, _SILENCE), timing=Timing())
            case Question():
                return await self.generate(call, overrides)
            case AnswerLookUp():
                return await self._look_up(call, overrides)
            case McpOperation() if call.mcp is not None:
                stated = find_resource_draft(self.engine.servers[call.mcp.server], call.mcp)
                if stated is not None:
                    return replace(await self._plan_generated(call, stated), source=f"mcp {call.mcp.server}")
        if self.engine.policy.unmatched == "error":
            why = await self.engine.explain(call)
            return Plan(Failure("unmatched", **{"message": why, **self.engine.policy.error}), "unmatched")
        return await self.generate(limit_for_generator(call), overrides)

    async def _look_up(self, call: Call, overrides: DeliveryOverrides) -> Plan:
        """Plan what a look-up finds; where answers are generated, it finds what nobody made, too."""
        found = await self.engine.memory.look_up(call)
        if found is not None:
            return Plan(found, "stored")
        if self.engine.policy.unmatched == "error":
            return Plan(Failure("not_found"), "unmatched")
        call = replace(call, model=next(iter(self.engine.models(call).names), ""))
        return await self.generate(call, overrides)

    async def generate(self, call: Call, overrides: DeliveryOverrides) -> Plan:
        """Have the model without weights write the answer, or make up what an MCP server returns."""
        if call.mcp is not None:
            server = self.engine.servers[call.mcp.server]
            draft: Draft | ArtifactDraft = generate_mcp_result(server, call, self.engine.policy.seed)
        else:
            draft = await generate_draft(call, self.engine.policy.seed)
        return await self._plan_generated(call, overrides.change(draft, call))

    def _plan_generated(self, call: Call, outcome: RuleOutcome) -> Awaitable[Plan]:
        """Plan what is made up for a call, which may differ from the one that was asked, even in its model."""
        terms = self.engine.policy.terms[call.dialect, call.model]
        planner = OutcomePlanner(self.engine, asked=call, terms=terms)
        return planner.plan_outcome(call, outcome, "generated", large=is_large(call))


class RulePlanner(UnruledPlanner, frozen=True, eq=False):
    """Plans what a call gets that rules may answer: by the first rule that does, else as if there were none."""

    async def plan_by_rules(self, call: Call) -> Plan:
        """Plan the answer within the limits of the call's model. Raises Failure."""
        engine = self.engine
        turn = call.http.turn
        if turn is not None and not turn.writes and not self.lost:
            return await self._warm_up(call)
        large = is_large(call)
        if call.operation in _LIMITED_BY_MODEL:
            try:
                if large:
                    call = await on_thread(apply_limits, call, self.terms.model, self.terms.refusing)
                else:
                    call = apply_limits(call, self.terms.model, self.terms.refusing)
            except Failure:
                plan = await self._replay_refused(call)
                if plan is None:
                    raise
                return plan
        if engine.rule_set.counts_attempts:
            call = replace(call, attempt=await find_attempt(call, engine.counters))
        overrides = NO_OVERRIDES
        search = RuleSearch(engine.rule_set, call, engine.counters, large=large, lost=self.lost)
        while (match := await search.find_next()) is not None:
            rule = match.rule
            if match.failure is not None:
                return Plan(Failure("server_error", f"{rule.source}: {match.failure}", status=500), rule.source)
            try:
                stated = rule.then.known or await self._ask_rule(rule, call, match.groups, large=large)
                outcome = stated.outcome
                if type(outcome) is not Draft or call.operation not in CONVERSATIONS:  # most are texts
                    _check_fit(rule, outcome, call)
                if stated.timing is not None or stated.path or stated.faults:
                    overrides = overrides.add(rule, stated, await self._draw_faults(rule, call, stated))
                if outcome is not None:
                    return await self._plan_stated(call, outcome, rule, overrides, large=large)
            except Failure as failure:
                return Plan(failure, rule.source, modified_by=overrides.modified_by, trace=overrides.trace)
            overrides = overrides.add_modifier(rule)
        return await self.plan_unruled(call, overrides)

    async def _plan_stated(
        self, call: Call, outcome: RuleOutcome, rule: Rule, overrides: DeliveryOverrides, *, large: bool
    ) -> Plan:
        """Plan what a rule says, with remarks if no model could say it. Raises Failure."""
        policy = self.engine.policy
        changed = overrides.change(outcome, call) if overrides.faults else outcome
        if type(changed) is Draft and not (large or policy.unique_ids or makes_long(call, changed)):
            plan = self.finish(call, changed, rule.source)
        else:
            plan = await self.plan_outcome(call, changed, rule.source, large=large)
        if type(outcome) is Draft and policy.lints:
            whys = recall_contradictions(call, outcome)
            if whys is None:
                whys = await self._find_contradictions(call, outcome)
            if whys:
                plan = replace(plan, remarks=_write_remarks(rule, whys))
        if type(outcome) is Forward or type(outcome) is PlayCassette:
            overrides = overrides.add_modifier(rule)
        return plan if overrides is NO_OVERRIDES else overrides.apply(call, policy.seed, plan)

    async def _warm_up(self, call: Call) -> Plan:
        """Plan what a turn of a socket gets that only prepares the next one: silence, unless a provider answers it."""
        forward = self.engine.rule_set.find_forward(call)
        passed = Plan(forward, FORWARDED) if forward is not None else await self.engine.replay(self.asked)
        if passed is not None and not isinstance(passed.outcome, Failure):  # later calls name the provider's id
            return passed
        silence = self.finish(call, _SILENCE, "generated", _WARM_UP)
        return replace(silence, timing=Timing())

    async def _find_contradictions(self, call: Call, draft: Draft) -> tuple[str, ...]:
        """Return why no model could give an answer that a rule states."""
        shown = call.operation in self.engine.thinking.get(call.dialect, (call.operation,))
        if is_demanding(call):
            return await on_thread(find_contradictions, call, draft, shows_reasoning=shown)
        return find_contradictions(call, draft, shows_reasoning=shown)

    async def _replay_refused(self, call: Call) -> Plan | None:
        """Plan a call that its model would refuse, if a cassette has an answer: that is what the provider really said.

        The refusal is not passed in: its traceback would hold this frame and this frame would hold it, so that a
        request of megabytes stayed in memory until the next collection.
        """
        self.engine.policy.models.admit(call.model)
        plan = await self.engine.replay(self.asked)
        return None if plan is None or isinstance(plan.outcome, Failure) else plan

    async def _ask_rule(self, rule: Rule, call: Call, groups: Mapping[str, str], *, large: bool) -> RuleAnswer:
        """Return what a rule says to a call. Raises Failure."""
        scope = RenderContext(call, groups, self.engine.policy.seed, make_generator)
        kinds = rule.then.generators
        demands = kinds and (is_demanding(call) or not all(map(GENERATORS.is_imported, kinds)))
        slow = large or rule.slow or demands
        return await on_thread(rule.then.respond, scope) if slow else rule.then.respond(scope)

    async def _draw_faults(self, rule: Rule, call: Call, stated: RuleAnswer) -> FaultSpecs:
        """Return which faults of a rule apply to this attempt."""
        engine = self.engine
        draws = FaultSelection(engine.policy.seed, engine.counters, counted=engine.rule_set.counts_attempts)
        return await draws.select(call, rule.name, stated)


class CallPlanner(RulePlanner, frozen=True, eq=False):
    """Plans the whole answer to a call: after the conversation that it continues, with the tools that it has called."""

    async def plan(self, call: Call) -> Plan:
        """Plan the answer, and keep what later calls may look up. Raises Failure."""
        if call.mcp is not None:
            return await McpPlanner(self.engine, self.asked, self.terms).plan(call)
        if call.references is not None:
            return await self._plan_referring(call)
        if call.previous_response_id is not None:
            return await self._plan_continuation(call)
        plan = await self._plan_answer(call)
        if call.options.store or call.operation in _ABOUT_KEPT or call.http.turn is not None:
            plan = self._announce(call, await self.engine.memory.leave(call, plan))
        return plan

    def _plan_answer(self, call: Call) -> Awaitable[Plan]:
        """Plan the answer to a call that is complete, with the calls of MCP tools that the provider makes."""
        if not call.connectors:
            return self.plan_by_rules(call)
        hosted = find_hosted_servers(call.connectors, self.engine.servers, call.tools)
        return HostedAnswer(call, hosted, self).plan()

    async def _plan_referring(self, call: Call) -> Plan:
        """Plan the answer to a call that refers to kept objects, such as the conversation before it."""
        holds = self.engine.policy.unmatched == "error"
        objects = self.engine.open_objects(call, locks=self.engine.memory.locks if holds else None)
        try:
            plan = await self._plan_recalled(call, objects)
        except BaseException:
            objects.release()
            raise
        return replace(plan, release=objects.release) if objects.held else plan

    async def _plan_recalled(self, call: Call, objects: Objects) -> Plan:
        """Plan the answer to a call after what it refers to; `objects` goes on holding what it has locked."""
        try:
            call = await self.engine.recall(call, objects)
        except Failure:
            forward = self.engine.rule_set.find_forward(call)  # the provider may know what this server does not
            plan = await self._replay_refused(call) if forward is None else Plan(forward, FORWARDED)
            if plan is None:
                raise
            return plan
        planner = self  # of the model that the call has now
        if call.model != self.asked.model:
            planner = replace(self, terms=self.engine.policy.terms[call.dialect, call.model])
        if call.previous_response_id is not None:
            return await planner._plan_continuation(call)
        return _show_prompt(call, await self._leave(call, await planner._plan_answer(call)))

    async def _plan_continuation(self, call: Call) -> Plan:
        """Plan the answer to a call that continues a kept conversation."""
        resumed = await self.engine.memory.resume(call)
        conversation = CONVERSATIONS.get(call.operation)
        needed = self.engine.policy.unmatched == "error" or (conversation is not None and conversation.needs_previous)
        lost = isinstance(resumed, Failure) or (resumed is None and needed)
        call = resumed if isinstance(resumed, Call) else continue_conversation(call, ())
        planned = await replace(self, lost=lost)._plan_answer(call)
        return _show_prompt(call, await self._leave(call, planned))

    async def _leave(self, call: Call, plan: Plan) -> Plan:
        """Return the plan for a call, and keep what it adds to objects, and what later calls may look up."""
        if call.references is not None and type(plan.outcome) is Answer:
            references: References = call.references
            objects = self.engine.open_objects(call)
            is_generated = plan.source == "generated"
            written = await references.write(call, plan.outcome, objects, is_generated=is_generated)
            plan = replace(plan, outcome=written)
        return self._announce(call, await self.engine.memory.leave(call, plan))

    def _announce(self, call: Call, plan: Plan) -> Plan:
        """Return the plan for a call, with what webhooks tell of a response of the background."""
        outcome = plan.outcome
        if not (self.engine.policy.announces and call.options.background and type(outcome) is Answer):
            return plan
        event = self.engine.policy.author.make_event(call.dialect, _find_event(outcome), outcome.id, outcome.created)
        return replace(plan, events=(event,))

    # What an answer with tools of MCP servers is made of (`hosted_mcp.Planner`)

    def plan_turn(self, call: Call, *, is_first: bool) -> Awaitable[Plan]:
        """Plan one turn of the model; recordings have the first as it was `asked`."""
        turn = RulePlanner(self.engine, self.asked if is_first else call, self.terms, lost=self.lost)
        return turn.plan_by_rules(call)

    def plan_tool(self, call: Call, hosted: HostedServer) -> Awaitable[Plan]:
        """Plan the result of a tool, whatever a client would have to do before it may call it.

        Of a server that is not defined, a result is made up where no rule states one.
        """
        server = replace(hosted.server, sessions=False, versions=VERSIONS)
        policy = self.engine.policy
        if not hosted.is_defined and call.mcp is not None:
            server = replace(server, tools=(McpTool(call.mcp.target),))
            policy = replace(policy, unmatched="generate")
        servers = {**self.engine.servers, server.name: server}
        return replace(self.engine, servers=servers, policy=policy).plan(call)

    def write_text(self, call: Call) -> Awaitable[Plan]:
        """Have the model without weights write the answer."""
        return self.generate(call, NO_OVERRIDES)


class McpPlanner(RulePlanner, frozen=True, eq=False):
    """Plans what a message to an MCP server gets: from the server itself or recordings of it, if there are any."""

    async def plan(self, call: Call) -> Plan:
        """Plan the answer to a message. Raises Failure."""
        is_recorded = self._records(call)
        real = None if is_recorded else self._find_real_server(call)
        if not is_recorded and real is None:
            return await self._serve(call)
        engine = replace(self.engine, servers={call.model: McpServer(call.model), **self.engine.servers})
        if call.mcp is not None and not engine.servers[call.model].defines(call.mcp):
            engine = replace(engine, policy=replace(self.engine.policy, unmatched="error"))  # nobody knows its results
        if call.operation != SESSION.name:
            return await replace(self, engine=engine).plan_by_rules(call)
        if type(real) is Forward:
            return Plan(real, FORWARDED)
        played = await self.engine.replay(self.asked, None if real is None else real.cassette)
        return played or await replace(self, engine=engine)._serve(call)  # which needs no recording

    def _find_real_server(self, call: Call) -> Forward | PlayCassette | None:
        """Return what answers handshakes and lists of an MCP server, if rules pass its calls on or play them.

        Calls that are passed on need a session of the server that they reach; a defined server has its own cassettes'.
        """
        is_defined = call.model in self.engine.servers
        for rule in self.engine.rules:
            outcome = None if rule.then.known is None else rule.then.known.outcome
            if not isinstance(outcome, Forward | PlayCassette) or not _is_for_server(rule, call):
                continue
            player = self.engine.player
            is_reached = type(outcome) is Forward and player is not None and player.has_upstream(call)
            if is_reached or not is_defined:
                return outcome
        return None

    def _serve(self, call: Call) -> Awaitable[Plan]:
        """Plan what a defined server says to a message."""
        engine = self.engine

        async def respond(call: Call, server: McpServer, draft: Draft | None) -> Plan:
            if draft is not None:
                return self.finish(call, draft, "invalid")
            changed = replace(engine, servers={**engine.servers, server.name: server})
            return await RulePlanner(changed, self.asked, self.terms).plan_by_rules(call)

        service = McpService(engine.servers, engine.policy.seed, engine.counters, engine.streams, engine.policy.lints)
        return service.plan(call, respond)


def _show_prompt(call: Call, plan: Plan) -> Plan:
    """Return the plan for a call; its answer tells the messages of the conversation that led to it."""
    outcome = plan.outcome
    return replace(plan, outcome=replace(outcome, prompt=call.messages)) if isinstance(outcome, Answer) else plan


def _find_event(answer: Answer) -> str:
    """Return which event tells how a response ended."""
    if answer.broken is not None:
        return "response.failed"
    return "response.incomplete" if answer.choices[0].finish in ("length", "content_filter") else "response.completed"


def _check_fit(rule: Rule, outcome: RuleOutcome | None, call: Call) -> None:
    """Raise Failure for what a rule says that its call cannot be answered with."""
    if outcome is not None and (why := explain_misfit(outcome, call)):
        raise Failure("server_error", f"{rule.source}: {why}", status=500)


def _is_for_server(rule: Rule, call: Call) -> bool:
    """Whether a rule is for calls of the MCP server that a message goes to, whichever calls these are."""
    if is_for_mcp(rule.when):
        return all(result.ok for result in rule.when.explain(call) if result.field == "mcp")
    return "path" in rule.when.uses and bool(rule.when.check(call))


def _write_remarks(rule: Rule, whys: Sequence[str]) -> tuple[str, ...]:
    """Return the remarks on a rule's answer that no model could give, for these reasons."""
    return tuple([f"{rule.where}{rule.quoted_name}: the answer {why}" for why in whys])


def _write_conversation(operation: str, stated: ArtifactDraft, source: str) -> Draft:
    """Return what a key beside text says in a conversation. Raises Failure."""
    write = CONVERSATIONS[operation].write
    assert write is not None  # `explain_misfit` has found that it suits
    try:
        return write(stated)
    except ValueError as why:
        raise Failure("server_error", f"{source}: {why}", status=500) from None


_LIMITED_BY_MODEL = frozenset(name for name, kind in OPERATIONS.items() if kind.names_model)
_ABOUT_KEPT = frozenset((*ANSWER_LOOK_UPS, *QUESTIONS))  # the answer is about what is kept, whether it is or not
_SILENCE = Draft((DraftChoice(()),))
_NOT_FORWARDED = Failure(
    "unsupported",
    "Parts of a batch cannot be forwarded: forward the whole batch, or answer it with another rule.",
    status=400,
)
_WARM_UP = "warm up"  # tells the id of its answer from that of the answer to the same call
