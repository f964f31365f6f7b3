"""A client over the socket and one over the transport, of one server."""

from collections.abc import Iterator

import httpx
import pytest

from mockserver.testing import MockServer


@pytest.fixture(scope="session")
def socket() -> Iterator[httpx.Client]:
    """A client over the socket, on a new connection each time: some answers leave something behind on theirs."""
    with httpx.Client(trust_env=False, limits=httpx.Limits(max_keepalive_connections=0)) as client:
        yield client


@pytest.fixture
def direct(server: MockServer) -> Iterator[httpx.Client]:
    """A client over the transport."""
    with httpx.Client(transport=server.transport()) as client:
        yield client
