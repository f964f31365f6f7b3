"""Which faults of a rule befall a call: by chance, of which each attempt has its own, and by how many it may befall."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from mockserver.core.action import Fault
from mockserver.core.call import Call
from mockserver.core.draft import Draft, FaultSpec, LocalOutcome, RuleAnswer
from mockserver.core.plan import Plan, Timing
from mockserver.core.seed import Seed
from mockserver.core.store import Store
from mockserver.rules.load import Rule

STATE = "state"  # where the scenario stands; the one value that is no number
TIMES, ATTEMPT = "times ", "attempt "  # what names of counters begin with


def times_counter(rule: str) -> str:
    """How often a rule has answered that does so `times` often."""
    return TIMES + rule


def attempts_counter(call: Call) -> str:
    """How often a call of this meaning has come."""
    return f"{ATTEMPT}{call.fingerprint} {call.stream}"


def fault_counter(rule: str, label: str) -> str:
    """How many calls a fault of a rule has befallen that does so `times` often; its label is its path in the rule."""
    return f"fault {rule} {label}"


def ids_counter(call: Call) -> str:
    """How many answers a call of this meaning got, where no two may have the same id."""
    return f"ids {call.fingerprint}"


def episodes_counter(cassette: str, key: str) -> str:
    """How often a request of this key has been answered by a cassette that holds several answers to it."""
    return f"episodes {cassette} {key}"


def counters_of_rule(rule: str, names: Iterable[str]) -> Iterator[str]:
    """Those of the names that count something of this rule."""
    own, faults = times_counter(rule), fault_counter(rule, "then/")
    return (name for name in names if name == own or name.startswith(faults))


START = "start"  # the state in which every scenario begins


@dataclass(slots=True)
class ScenarioState:
    """The scenario of a namespace as one request finds it: what its rules change of it is for the next request."""

    namespace: str
    store: Store
    _found: str | None = None  # before this request changed it

    async def opens(self, rule: Rule) -> bool:
        """Whether a rule that holds has its say, by its `times` and `state`; if so, that is counted."""
        state = rule.state
        if state is not None and (self._found or await self.store.get(self.namespace, STATE) or START) != state.is_:
            return False
        if rule.times is not None and await self.store.incr(self.namespace, times_counter(rule.name)) > rule.times:
            return False
        if state is not None and state.becomes != state.is_:
            self._found = state.is_
            await self.store.set(self.namespace, STATE, state.becomes)
        return True


RETRIES = "x-stainless-retry-count"  # the header in which clients tell how often they have tried before
FaultSpecs = tuple[FaultSpec, ...]


@dataclass(frozen=True, slots=True)
class FaultSelection:
    """The chance of faults: seeded by rule, fault, meaning of the call and attempt, if that is not `counted` yet."""

    seed: Seed
    store: Store
    counted: bool = False

    async def befalling(self, call: Call, rule: str, response: RuleAnswer) -> FaultSpecs:
        """Those that befall this attempt of a call, in order."""
        afflictions = response.faults
        if not any(each.counts for each in afflictions):
            return afflictions
        attempt = 0
        if any(each.probability is not None for each in afflictions):
            attempt = call.attempt if self.counted else await attempt_of(call, self.store)
        befalling = [each for each in afflictions if await self._befalls(each, call, rule, attempt)]
        return tuple(befalling)

    async def _befalls(self, affliction: FaultSpec, call: Call, rule: str, attempt: int) -> bool:
        chance, label = affliction.probability, f"{rule} {affliction.label}"
        if chance is not None and self.seed.fraction("fault", label, call.fingerprint, str(attempt)) >= chance:
            return False
        if affliction.times is None:
            return True
        return await self.store.incr(call.http.namespace, fault_counter(rule, affliction.label)) <= affliction.times


async def attempt_of(call: Call, store: Store) -> int:
    """The client's tries: from the retry header where it sends one, else repeats of the same meaning."""
    told = attempt_from_header(call.http.header(RETRIES))
    return await store.incr(call.http.namespace, attempts_counter(call)) if told is None else told


async def next_attempt_of(call: Call, store: Store) -> int:
    """The same, without counting it."""
    told = attempt_from_header(call.http.header(RETRIES))
    return int(await store.get(call.http.namespace, attempts_counter(call)) or 0) + 1 if told is None else told


def attempt_from_header(retries: str | None) -> int | None:
    """Which try of the client a request is by its retry header, where it has one."""
    return int(retries) + 1 if retries is not None and retries.isdecimal() and len(retries) < 4 else None


def faults_of(afflictions: FaultSpecs, call: Call, seed: Seed) -> tuple[Fault, ...]:
    """The faults as delivery takes them, each with chance of its own."""
    return tuple(
        Fault(each.name, each.bend, seed.branch("fault", each.label, call.fingerprint)) for each in afflictions
    )


def changed(outcome: LocalOutcome, afflictions: FaultSpecs, call: Call) -> LocalOutcome:
    """What is answered, after the faults that are in what it says."""
    for each in afflictions:
        if each.change is not None and isinstance(outcome, Draft):
            outcome = each.change(outcome, call)
    return outcome


@dataclass(frozen=True, slots=True)
class DeliveryOverrides:
    """What the rules met so far say about how the answer goes out, and whether its plan can be cached.

    The first rule that states a timing wins. Faults of earlier rules apply after those of later ones.
    """

    timing: Timing | None = None
    faults: FaultSpecs = ()
    modified_by: tuple[str, ...] = ()  # rules that changed the delivery and left the answer to others
    trace: tuple[str, ...] = ()  # which of their steps, branches and faults
    cacheable: bool = True

    def counting(self, rule: Rule) -> "DeliveryOverrides":
        """Add a rule that matched, before its `times` and `state` are checked."""
        return replace(self, cacheable=False) if rule.counts else self

    def within(self, rule: Rule, said: RuleAnswer, faults: FaultSpecs) -> "DeliveryOverrides":
        """Add what a rule says; `faults` are those of its faults that apply to this attempt."""
        trace = self.trace
        if said.path or faults:
            paths = (said.path, *(each.path for each in faults))
            trace = (*trace, *(f"{rule.source}: {path}" for path in paths if path))
        return replace(
            self,
            timing=self.timing or said.timing,
            faults=(*faults, *self.faults),
            trace=trace,
            cacheable=self.cacheable and not any(each.counts for each in said.faults),
        )

    def by(self, rule: Rule) -> "DeliveryOverrides":
        """Add the name of a rule that does not answer."""
        return replace(self, modified_by=(*self.modified_by, rule.source))

    def changed(self, outcome: LocalOutcome, call: Call) -> LocalOutcome:
        """Apply the faults that change what an answer says."""
        return changed(outcome, self.faults, call)

    def applied(self, call: Call, seed: Seed, plan: Plan) -> Plan:
        """Return the plan, delivered this way."""
        return replace(
            plan,
            timing=self.timing or plan.timing,
            faults=faults_of(self.faults, call, seed),
            modified_by=self.modified_by,
            trace=self.trace,
            cacheable=plan.cacheable and self.cacheable,
        )
