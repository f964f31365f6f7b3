"""Answers that cassettes hold, as plans. Whole calls are looked up, as they came: nothing that is known beside matters.

Knows no cassette: what has them stands behind a protocol.
"""

from dataclasses import replace

from mockserver.core.call import Call
from mockserver.core.plan import Failure, Forward, Plan
from mockserver.core.store import Store
from mockserver.core.tapes import Played, Tapes
from mockserver.engine.draft import Replay

FORWARDED = "forwarded"


async def taped(tapes: Tapes | None, call: Call, store: Store) -> Plan | None:
    """What the cassette that is loaded has for a call that no rule answers; None where none is."""
    played = None if tapes is None else await tapes.play(call, store)
    return None if played is None else _plan(played)


async def admitted_by(tapes: Tapes | None, call: Call, store: Store) -> Plan | None:
    """The same for a call that would be refused: what was recorded, or is to be, is what the provider said itself."""
    plan = await taped(tapes, call, store)
    return None if plan is None or isinstance(plan.outcome, Failure) else plan


async def ruled(tapes: Tapes | None, call: Call, store: Store, said: Replay | Forward) -> Plan:
    """What a rule comes to that leaves the answer to a cassette, or to the provider's own server."""
    if isinstance(said, Forward):
        return Plan(said, FORWARDED)
    played = None if tapes is None else await tapes.play(call, store, said.cassette)
    if played is None:
        return Plan(Failure("server_error", _NO_TAPES, status=500), "unmatched")
    return _plan(played)


def after(plan: Plan, *, settled: bool) -> Plan:
    """The plan of a call for which other things were looked at, and maybe counted, before."""
    return plan if settled else replace(plan, settled=False)


def _plan(played: Played) -> Plan:
    return Plan(played.outcome, played.source, settled=played.settled)


_NO_TAPES = "a rule plays a cassette, but there are none here"
