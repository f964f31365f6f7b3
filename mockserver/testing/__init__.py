"""For tests: a running server, rules declared in Python, and the calls it received."""

from mockserver.config.yaml_reader import collector_at_rest

with collector_at_rest():  # imports leave no garbage, and the search for it takes a tenth of their time
    from mockserver.reports.calls import ReceivedCall as Call
    from mockserver.testing.assertions import Calls
    from mockserver.testing.connections import BlockedConnectionError
    from mockserver.testing.server import Asked, Declared, MockServer
    from mockserver.testing.setup import MockServerWarning, Setup
    from mockserver.testing.transport import Transport
    from mockserver.testing.transport.in_process import Clock
    from mockserver.testing.unittest import MockServerTestCase, mocked

__all__ = [
    "Asked",
    "BlockedConnectionError",
    "Call",
    "Calls",
    "Clock",
    "Declared",
    "MockServer",
    "MockServerTestCase",
    "MockServerWarning",
    "Setup",
    "Transport",
    "mocked",
]
