"""For tests: a running server, rules declared in Python, and the calls it received."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mockserver.config.yaml_reader import pause_collector
from mockserver.core.namesake import find_overwriting

if (overwritten := find_overwriting()) is not None:
    raise ImportError(overwritten)

with pause_collector():  # imports leave no garbage, and the search for it takes a tenth of their time
    from mockserver.reports.calls import ReceivedCall
    from mockserver.testing.assertions import Calls
    from mockserver.testing.clock import Clock
    from mockserver.testing.coding_agents import AgentEnvironment, AgentRun, CodingAgent
    from mockserver.testing.connections import BlockedConnectionError
    from mockserver.testing.declared import Asked, Declared
    from mockserver.testing.server import MockServer
    from mockserver.testing.setup import MockServerWarning, Setup

if TYPE_CHECKING:
    from mockserver.testing.transport import Transport
    from mockserver.testing.unittest import MockServerTestCase, mocked

__all__ = [
    "AgentEnvironment",
    "AgentRun",
    "Asked",
    "BlockedConnectionError",
    "Calls",
    "Clock",
    "CodingAgent",
    "Declared",
    "MockServer",
    "MockServerTestCase",
    "MockServerWarning",
    "ReceivedCall",
    "Setup",
    "Transport",
    "mocked",
]

# Not imported before they are used: most tests need neither unittest nor Starlette in their own process.
_MODULES = {
    "MockServerTestCase": "unittest",
    "Transport": "transport",
    "mocked": "unittest",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
