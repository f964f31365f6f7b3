"""How rules change the way in which an answer goes out: their timing, and their faults, by chance and by counts."""

from typing import TypeVar, final

from msgspec import Struct
from msgspec.structs import replace

from mockserver.core.action import Fault
from mockserver.core.call import Call
from mockserver.core.draft import ArtifactDraft, Draft, FaultSpec, RuleAnswer
from mockserver.core.plan import Plan, Timing
from mockserver.core.seed import Seed
from mockserver.core.state import Precondition
from mockserver.engine.counters import count_attempt, name_fault_counter
from mockserver.engine.engine import Engine
from mockserver.rules.load import Rule

FaultSpecs = tuple[FaultSpec, ...]
Drafted = TypeVar("Drafted", Draft, Draft | ArtifactDraft)


async def select_faults(engine: Engine, call: Call, rule: Rule, stated: RuleAnswer) -> FaultSpecs:
    """Return the faults of a rule's answer that apply to this call.

    By probability, seeded by rule, fault, fingerprint and attempt; and by `times`.
    """
    specs = stated.faults
    if not any(each.counts for each in specs):
        return specs
    attempt = 0
    if any(each.probability is not None for each in specs):
        is_known = engine.rule_set.counts_attempts
        attempt = call.attempt if is_known else await count_attempt(call, engine.counters)
    return tuple([each for each in specs if await _applies(each, engine, call=call, rule=rule.name, attempt=attempt)])


async def _applies(spec: FaultSpec, engine: Engine, *, call: Call, rule: str, attempt: int) -> bool:
    """Return whether a fault of a rule applies to a call."""
    chance = spec.probability
    label = f"{rule} {spec.label}"
    if (
        chance is not None
        and engine.policy.seed.draw_fraction("fault", label, call.fingerprint, str(attempt)) >= chance
    ):
        return False
    if spec.times is None:
        return True
    gate = Precondition(name_fault_counter(rule, spec.label), spec.times)
    return await engine.counters.open(call.http.namespace, (gate,), None) is not None


@final
class DeliveryOverrides(Struct, frozen=True):
    """What the rules so far change in the delivery of the answer.

    The first rule that states a timing wins. Faults of earlier rules apply after those of later ones.
    """

    timing: Timing | None = None
    faults: FaultSpecs = ()
    modified_by: tuple[str, ...] = ()  # rules that changed the delivery and left the answer to others
    trace: tuple[str, ...] = ()  # which of their steps, branches and faults

    def add(self, rule: Rule, stated: RuleAnswer, faults: FaultSpecs) -> "DeliveryOverrides":
        """Add the timing that a rule states, and those of its faults that apply to this attempt."""
        trace = self.trace
        if stated.path or faults:
            paths = (stated.path, *(each.path for each in faults))
            trace = (*trace, *(f"{rule.source}: {path}" for path in paths if path))
        return replace(
            self,
            timing=self.timing or stated.timing,
            faults=(*faults, *self.faults),
            trace=trace,
        )

    def add_modifier(self, rule: Rule) -> "DeliveryOverrides":
        """Add a rule that leaves the answer to others."""
        return replace(self, modified_by=(*self.modified_by, rule.source))

    def change(self, draft: Drafted, call: Call) -> Drafted:
        """Apply the faults that change what an answer says, such as wrong tool arguments."""
        for each in self.faults:
            if each.change_draft is not None and type(draft) is Draft:
                draft = each.change_draft(draft, call)
        return draft

    def apply(self, call: Call, seed: Seed, plan: Plan) -> Plan:
        """Apply the timing, and the faults of delivery, to a plan."""
        faults = [
            Fault(each.name, each.change_actions, seed.branch("fault", each.label, call.fingerprint))
            for each in self.faults
        ]
        return replace(
            plan,
            timing=self.timing or plan.timing,
            faults=tuple(faults),
            modified_by=(*self.modified_by, *plan.modified_by),
            trace=self.trace,
        )


NO_OVERRIDES = DeliveryOverrides()
