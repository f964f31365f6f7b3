"""Which faults of a rule befall a call: by chance, of which each attempt has its own, and by how many it may befall."""

from dataclasses import dataclass

from mockserver.core.action import Fault
from mockserver.core.call import Call
from mockserver.core.seed import Seed
from mockserver.core.store import Store
from mockserver.engine.counters import attempts, befallen
from mockserver.engine.draft import Affliction, Draft, Made, Response

RETRIES = "x-stainless-retry-count"  # the header in which clients tell how often they have tried before
Afflictions = tuple[Affliction, ...]


@dataclass(frozen=True, slots=True)
class Draws:
    """The chance of faults: seeded by rule, fault, meaning of the call and attempt, if that is not `counted` yet."""

    seed: Seed
    store: Store
    counted: bool = False

    async def befalling(self, call: Call, rule: str, response: Response) -> Afflictions:
        """Those that befall this attempt of a call, in order."""
        afflictions = response.faults
        if not any(each.counts for each in afflictions):
            return afflictions
        attempt = 0
        if any(each.probability is not None for each in afflictions):
            attempt = call.attempt if self.counted else await attempt_of(call, self.store)
        befalling = [each for each in afflictions if await self._befalls(each, call, rule, attempt)]
        return tuple(befalling)

    async def _befalls(self, affliction: Affliction, call: Call, rule: str, attempt: int) -> bool:
        chance, label = affliction.probability, f"{rule} {affliction.label}"
        if chance is not None and self.seed.fraction("fault", label, call.fingerprint, str(attempt)) >= chance:
            return False
        if affliction.times is None:
            return True
        return await self.store.incr(call.http.namespace, befallen(rule, affliction.label)) <= affliction.times


async def attempt_of(call: Call, store: Store) -> int:
    """The client's tries: from the retry header where it sends one, else repeats of the same meaning."""
    told = attempt_told(call.http.header(RETRIES))
    return await store.incr(call.http.namespace, attempts(call)) if told is None else told


async def next_attempt_of(call: Call, store: Store) -> int:
    """The same, without counting it."""
    told = attempt_told(call.http.header(RETRIES))
    return int(await store.get(call.http.namespace, attempts(call)) or 0) + 1 if told is None else told


def attempt_told(retries: str | None) -> int | None:
    """Which try of the client a request is by its retry header, where it has one."""
    return int(retries) + 1 if retries is not None and retries.isdecimal() and len(retries) < 4 else None


def faults_of(afflictions: Afflictions, call: Call, seed: Seed) -> tuple[Fault, ...]:
    """The faults as delivery takes them, each with chance of its own."""
    return tuple(
        Fault(each.name, each.bend, seed.branch("fault", each.label, call.fingerprint)) for each in afflictions
    )


def changed(outcome: Made, afflictions: Afflictions, call: Call) -> Made:
    """What is answered, after the faults that are in what it says."""
    for each in afflictions:
        if each.change is not None and isinstance(outcome, Draft):
            outcome = each.change(outcome, call)
    return outcome
