"""One server for all that is thrown at it, and how long that goes on."""

from collections.abc import Iterator

import pytest

from tests.fuzz.wire import Connection
from tests.kit.served import Served, served

RULES = """
version: 1
settings: {max_body: 400000}
rules:
  - name: said
    when: {last_user: "*said*"}
    then: {reasoning: hm, text: "Said {{ last_user }}."}
  - name: called
    when: {last_user: "*called*", tools: {exists: true}}
    then: {tool_calls: [{name: f, arguments: auto}]}
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served(RULES) as running:
        yield running


@pytest.fixture(scope="module")
def unchecked() -> Iterator[Connection]:
    """A connection to a server that refuses no request of which it can make a call."""
    with served(RULES.replace("settings: {", "settings: {validation: off, ")) as running:
        found = Connection(running.port)
        yield found
        found.close()


@pytest.fixture(scope="module")
def connection(server: Served) -> Iterator[Connection]:
    """A connection that all requests of a module go over; the server must never have closed it unasked."""
    found = Connection(server.port)
    yield found
    found.close()
