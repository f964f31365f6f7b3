"""Calls without a socket: a transport for httpx and httpx2, and a clock on which nothing takes time."""

from mockserver.testing.transport.clock import Clock as Clock
from mockserver.testing.transport.transport import Transport as Transport
