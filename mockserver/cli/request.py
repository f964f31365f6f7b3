"""A request described in a file or by flags, put to the engine in this process, without a socket."""

import asyncio

from mockserver.core.call import Call
from mockserver.core.plan import Failure, Plan
from mockserver.server.explain import Reached, RequestFile, reach
from mockserver.server.handler import Handler
from mockserver.server.live import Live


def put(described: RequestFile, live: Live) -> tuple[Handler, Reached]:
    """The handler that a described request reaches, and what it reaches there. Raises ConfigError."""
    reached = reach(described, live.settings.dialect)
    return Handler(live, reached.place.dialect, reached.place.operations), reached


def planned(call: Call, live: Live) -> Plan:
    """What the engine answers; a refusal of its own, such as an unlisted model, is an outcome like any other."""
    try:
        return asyncio.run(live.engine.plan(call))
    except Failure as failure:
        return Plan(failure, "invalid")
