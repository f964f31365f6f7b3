"""Servers with the RULES of a test module, and OpenAI's client, whose objects nobody else sees: those of one test."""

import re
from collections.abc import Iterator

import pytest
from openai import OpenAI

from tests.kit.served import Served, served


@pytest.fixture(scope="module")
def generating(request: pytest.FixtureRequest) -> Iterator[Served]:
    """Return a server with the rules of the module, which answers what no rule does."""
    with served(f"settings: {{unmatched: generate}}\n{request.module.RULES}") as running:
        yield running


@pytest.fixture(scope="module")
def strict(request: pytest.FixtureRequest) -> Iterator[Served]:
    """Return the same, where what is unknown is an error."""
    with served(f"settings: {{unmatched: error}}\n{request.module.RULES}") as running:
        yield running


@pytest.fixture
def client(generating: Served, request: pytest.FixtureRequest) -> Iterator[OpenAI]:
    with _connect(generating, request) as client:
        yield client


@pytest.fixture
def strict_client(strict: Served, request: pytest.FixtureRequest) -> Iterator[OpenAI]:
    with _connect(strict, request) as client:
        yield client


def _connect(server: Served, request: pytest.FixtureRequest) -> OpenAI:
    """Return a client in a namespace of the test's own."""
    namespace = re.sub(r"\W+", "-", request.node.name)[:60]
    return OpenAI(base_url=server.base("openai", namespace=namespace), api_key="sk-test", max_retries=0)
