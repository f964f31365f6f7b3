"""For tests: a running server, rules declared in Python, and the calls it received."""

from mockserver.reports.calls import ReceivedCall as Call
from mockserver.testing.calls import Calls as Calls
from mockserver.testing.server import Asked as Asked
from mockserver.testing.server import Declared as Declared
from mockserver.testing.server import MockServer as MockServer
from mockserver.testing.setup import MockServerWarning as MockServerWarning
from mockserver.testing.setup import Setup as Setup
from mockserver.testing.transport import Transport as Transport
from mockserver.testing.transport.in_process import Clock as Clock
from mockserver.testing.unittest import MockServerTestCase as MockServerTestCase
from mockserver.testing.unittest import mocked as mocked

__all__ = [
    "Asked",
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
