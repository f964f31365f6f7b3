"""Why a call is answered as it is: every rule held against it, without counting anything.

`mockserver explain` prints it and the control API tells it, in the same words.
"""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from mockserver.core.action import Fault
from mockserver.core.call import Call, Json
from mockserver.core.errors import RuleError
from mockserver.core.exchange import Finding
from mockserver.core.plan import Failure, Plan
from mockserver.engine.apart import is_large
from mockserver.engine.counters import STATE, times
from mockserver.engine.draws import next_attempt_of
from mockserver.engine.engine import Engine
from mockserver.engine.memory import Memory, following
from mockserver.engine.nearest import SHOWN, lines, shown
from mockserver.engine.prompts import counted, singles
from mockserver.engine.rules import Rule
from mockserver.engine.scenarios import START
from mockserver.engine.variants import remembering
from mockserver.state.rehearsal import RehearsedShelf, RehearsedStore

_TURN = 100  # rules that are held against a call before others have their turn


@dataclass(frozen=True, slots=True)
class Held:
    """A rule held against a call: `holds`, `does not hold` or `fails: why`; what was found, and what is counted."""

    rule: Rule
    verdict: str
    findings: tuple[Finding, ...]
    counters: tuple[Finding, ...] = ()

    @property
    def lines(self) -> Iterator[str]:
        """A line for each finding."""
        yield from lines(self.findings)
        yield from map(_counter, self.counters)


@dataclass(frozen=True, slots=True)
class Explanation:
    """Where the answer comes from, `why` if it is a refusal, and every rule held against every prompt (often one)."""

    call: Call
    source: str
    why: str
    prompts: tuple[tuple[str, tuple[Held, ...]], ...]
    faults: tuple[Fault, ...] = ()
    bent_by: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The explanation for people."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        why = f": {self.why}" if self.why else ""
        place = "" if self.call.operation == "chat" else f"  (at {self.call.http.path})"
        yield f"answered by: {self.source}{why}{befallen(self.faults)}{place}"
        yield from (f"how it goes out: {source}" for source in self.bent_by)
        for at, (prompt, held) in enumerate(self.prompts):
            if len(self.prompts) > 1:
                yield f"\nprompt {at}: {prompt}"
            for rule in held:
                yield f'\n{rule.rule.where} "{rule.rule.name}" {rule.verdict}'
                yield from (f"  {line}" for line in rule.lines)


async def explained(engine: Engine, call: Call) -> Explanation:
    """How the engine answers a call now; its counters, scenarios and kept answers stay as they are."""
    shelf = RehearsedShelf(engine.memory.shelf)
    rehearsing = remembering(engine, RehearsedStore(engine.store), Memory(shelf, engine.memory.polls))
    plan = await _planned(rehearsing, call)
    why = str(plan.outcome) if plan.source == "invalid" or _of_cassette(plan) else ""
    seen = await whole(engine, call)
    singly = singles(seen) if len(seen.prompts) > 1 else (seen,)
    prompts = [(shown(single.last_user), await _held(engine, single)) for single in singly]
    return Explanation(call, plan.source, why, tuple(prompts), plan.faults, plan.bent_by)


def befallen(faults: Sequence[Fault]) -> str:
    """What goes wrong with an answer that is not sent here, behind where it came from."""
    return f"; served, it is befallen by {', '.join(fault.name for fault in faults)}" if faults else ""


def _of_cassette(plan: Plan) -> bool:
    """Whether a cassette was looked into, and says why it holds no answer."""
    return isinstance(plan.outcome, Failure) and "cassette" in plan.outcome.details


async def whole(engine: Engine, call: Call) -> Call:
    """The call with all that the engine knows of it: its tokens, the conversation before it, and which try it is."""
    call = counted(call, engine.policy.tokenizer(call.model))
    if call.previous is not None:
        resumed = await engine.memory.resumed(call)
        call = resumed if isinstance(resumed, Call) else following(call, ())
    return replace(call, attempt=await next_attempt_of(call, engine.store))


def as_json(held: Held) -> dict[str, Json]:
    """A rule held against a call, for programs."""
    return {
        "name": held.rule.name,
        "source": held.rule.source,
        "verdict": held.verdict,
        "findings": [finding_as_json(finding) for finding in (*held.findings, *held.counters)],
    }


def finding_as_json(finding: Finding) -> dict[str, Json]:
    """A finding, for programs; what is long is cut as it is for people."""
    return {
        "field": finding.field,
        "predicate": finding.predicate,
        "expected": _short(finding.expected),
        "actual": _short(finding.actual),
        "ok": finding.ok,
    }


async def _planned(engine: Engine, call: Call) -> Plan:
    try:
        return await engine.plan(call)
    except Failure as failure:
        return Plan(failure, "invalid")


async def _held(engine: Engine, call: Call) -> tuple[Held, ...]:
    held, each = list[Held](), 1 if is_large(call) else _TURN
    for rule in engine.rules:
        counters = await _counters(engine, rule, call.http.namespace)
        verdict = _verdict(rule, call) if all(finding.ok for finding in counters) else "does not hold"
        held.append(Held(rule, verdict, rule.when.findings(call), counters))
        if not len(held) % each:
            await asyncio.sleep(0)
    return tuple(held)


async def _counters(engine: Engine, rule: Rule, namespace: str) -> tuple[Finding, ...]:
    """What else must hold for rules that count."""
    found = list[Finding]()
    if rule.state is not None:
        state = await engine.store.get(namespace, STATE) or START
        found.append(Finding("state", "is", rule.state.is_, state, ok=state == rule.state.is_))
    if rule.times is not None:
        time = int(await engine.store.get(namespace, times(rule.name)) or 0) + 1
        found.append(Finding("times", "lte", rule.times, time, ok=time <= rule.times))
    return tuple(found)


def _counter(finding: Finding) -> str:
    if finding.field == "times":
        return f"{'ok   ' if finding.ok else 'MISS '} times {finding.expected}: got {finding.actual}"
    wanted = f"state {shown(finding.expected)}"
    return f"ok    {wanted}" if finding.ok else f"MISS  {wanted}: got {shown(finding.actual)}"


def _verdict(rule: Rule, call: Call) -> str:
    try:
        return "does not hold" if rule.when.holds(call) is None else "holds"
    except RuleError as error:
        return f"fails: {error}"


def _short(value: Json) -> Json:
    """The value itself where it is short, else its beginning."""
    if isinstance(value, str):
        return value if len(value) <= SHOWN else f"{value[: SHOWN - 1]}…"
    text = shown(value)
    return text if text.endswith("…") else value
