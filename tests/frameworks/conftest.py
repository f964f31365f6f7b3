"""One server without rules for every test, where each framework looks for a provider."""

import os
from collections.abc import Iterator

import pytest

from tests.kit.served import Served, served

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"  # which it reads when it is imported


@pytest.fixture(scope="session")
def server() -> Iterator[Served]:
    with served() as running:
        yield running


@pytest.fixture(autouse=True)
def address(server: Served, monkeypatch: pytest.MonkeyPatch) -> str:
    """The base URL of the server, and the variables in which clients look for one."""
    monkeypatch.setenv("OPENAI_BASE_URL", server.base("openai"))
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    monkeypatch.setenv("OPENAI_AGENTS_DISABLE_TRACING", "1")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.base("anthropic"))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "any")
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.base("gemini"))
    monkeypatch.setenv("GOOGLE_API_KEY", "any")
    return server.base("openai")
