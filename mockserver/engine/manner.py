"""How an answer goes out, by the rules that hold: those that say no more than that, and the one that answers."""

from dataclasses import dataclass, replace

from mockserver.core.call import Call
from mockserver.core.plan import Plan
from mockserver.core.seed import Seed
from mockserver.core.timing import Timing
from mockserver.engine.draft import Made, Response
from mockserver.engine.draws import Afflictions, changed, faults_of


@dataclass(frozen=True, slots=True)
class Manner:
    """A timing (None: nobody states one), the faults that befall, and the rules that leave it to others what is said.

    Rules in front stand around those behind: their timing wins, and their faults befall what those behind have bent.
    """

    timing: Timing | None = None
    faults: Afflictions = ()
    bent_by: tuple[str, ...] = ()
    through: tuple[str, ...] = ()  # which of their steps, branches and faults

    def within(self, source: str, response: Response, faults: Afflictions) -> "Manner":
        """The manner with what a rule behind says of it, and those of its faults that befall."""
        through = self.through
        if response.path or faults:
            paths = (response.path, *(each.path for each in faults))
            through = (*through, *(f"{source}: {path}" for path in paths if path))
        timing = self.timing or response.timing
        return replace(self, timing=timing, faults=(*faults, *self.faults), through=through)

    def by(self, source: str) -> "Manner":
        """The manner with the name of a rule that does not answer."""
        return replace(self, bent_by=(*self.bent_by, source))

    def changed(self, said: Made, call: Call) -> Made:
        """What is answered, after the faults that are in what it says."""
        return changed(said, self.faults, call)

    def of(self, call: Call, seed: Seed, plan: Plan) -> Plan:
        """The plan of an answer that goes out in this manner."""
        faults = faults_of(self.faults, call, seed)
        timing = self.timing or plan.timing
        return replace(plan, timing=timing, faults=faults, bent_by=self.bent_by, through=self.through)
