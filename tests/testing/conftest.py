"""One server for all tests of a module, which find it empty."""

from collections.abc import Iterator

import pytest

from mockserver.testing import MockServer


@pytest.fixture(scope="module")
def running() -> Iterator[MockServer]:
    """A server that runs; the environment is left alone."""
    server = MockServer().start()
    yield server
    server.stop()


@pytest.fixture
def server(running: MockServer) -> MockServer:
    """The same, cleared."""
    running.reset()
    return running
