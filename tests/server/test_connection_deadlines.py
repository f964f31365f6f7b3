"""One timer for all connections."""

import asyncio
import json
from math import inf

from mockserver.core.plan import Failure
from mockserver.server.http.connection_deadlines import Deadlines, DeadlineWatch, plain_refusal


class One:
    def __init__(self, due: float) -> None:
        self.due, self.seen = due, list[float]()

    def late(self, now: float) -> None:
        self.seen.append(now)


async def test_who_is_late_is_told_once_and_not_before() -> None:
    loop, porter = asyncio.get_running_loop(), DeadlineWatch(deadlines=Deadlines(look=0.01))
    now = loop.time()
    soon, later, never = One(now + 0.05), One(now + 0.1), One(inf)
    for one in (soon, later, never):
        porter.enter(one)
    while not later.seen:
        await asyncio.sleep(0.01)
    assert (len(soon.seen), len(later.seen), never.seen) == (1, 1, [])
    assert soon.seen[0] >= now + 0.05
    assert later.seen[0] >= now + 0.1
    for one in (soon, later, never):
        porter.leave(one)


async def test_nobody_inside_costs_nothing() -> None:
    porter, one = DeadlineWatch(deadlines=Deadlines(look=0.01)), One(inf)
    porter.enter(one)
    porter.leave(one)
    await asyncio.sleep(0.05)
    at = porter.now
    await asyncio.sleep(0.05)
    assert porter.now == at
    porter.enter(one)
    assert porter.now > at
    porter.leave(one)


def test_a_refusal_in_nobody_s_dialect() -> None:
    reply = plain_refusal(Failure("timeout", "Too slow."), "GET", "/")
    assert (reply.status, json.loads(reply.body)) == (408, {"error": {"message": "Too slow.", "type": "timeout"}})
