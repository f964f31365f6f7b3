"""A client of OpenAI whose objects nobody else sees: those of one test."""

import re

import pytest
from openai import OpenAI

from tests.kit.served import Served


def connect(server: Served, request: pytest.FixtureRequest) -> OpenAI:
    """Return a client in a namespace of the test's own."""
    namespace = re.sub(r"\W+", "-", request.node.name)[:60]
    return OpenAI(base_url=server.base("openai", namespace=namespace), api_key="sk-test", max_retries=0)
