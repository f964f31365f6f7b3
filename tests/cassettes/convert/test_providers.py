"""Whose a URL is, and where it leads in this server."""

import pytest

from mockserver.cassettes.addresses import find_dialect, find_local_target
from tests.cassettes.convert.kit import KNOWN

PLACES = [
    ("https://api.openai.com/v1/chat/completions", "openai", "/openai/v1/chat/completions", "chat"),
    (
        "https://mine.openai.azure.com/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21",
        "azure_openai",
        "/azure-openai/openai/deployments/gpt-4o/chat/completions",
        "chat",
    ),
    (
        "https://mine.services.ai.azure.com/openai/v1/chat/completions",
        "azure_openai",
        "/azure-openai/openai/v1/chat/completions",
        "chat",
    ),
    (
        "https://mine.services.ai.azure.com/models/chat/completions?api-version=2024-05-01-preview",
        "azure",
        "/azure/models/chat/completions",
        "chat",
    ),
    (
        "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions",
        "openai",
        "/openai/v1/chat/completions",
        "chat",
    ),
    ("https://mine.services.ai.azure.com/anthropic/v1/messages", "anthropic", "/anthropic/v1/messages", "chat"),
    ("http://localhost:8000/deepseek/anthropic/v1/messages", "anthropic", "/anthropic/v1/messages", "chat"),
    ("https://models.github.ai/inference/chat/completions", "azure", "/azure/chat/completions", "chat"),
    ("https://api.tzafon.ai/v1/responses", "tzafon", "/tzafon/v1/responses", "responses"),
    (
        "http://127.0.0.1:8000/ns/a/fireworks/v1/chat/completions",
        "fireworks",
        "/fireworks/inference/v1/chat/completions",
        "chat",
    ),
    (
        "http://localhost:8000/azure/openai/v1/chat/completions",
        "azure_openai",
        "/azure-openai/openai/v1/chat/completions",
        "chat",
    ),
    (
        "https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/us-east5/publishers/anthropic/models/claude-opus-4-8:rawPredict",
        "anthropic",
        "/anthropic/v1/projects/p/locations/us-east5/publishers/anthropic/models/claude-opus-4-8:rawPredict",
        "chat",
    ),
    ("http://localhost:8000/v1/chat/completions", "openai", "/openai/v1/chat/completions", "chat"),
    ("/tzafon/v1/chat/completions", "tzafon", "/tzafon/v1/chat/completions", "chat"),
]


@pytest.mark.parametrize(("url", "dialect", "path", "operation"), PLACES)
def test_urls_lead_to_places(url: str, dialect: str, path: str, operation: str) -> None:
    assert find_dialect(url, KNOWN) == dialect
    assert find_local_target("POST", url, dialect=dialect, routes=KNOWN) == (path, operation)


@pytest.mark.parametrize(
    "url", ["https://example.com/v1/chat/completions", "https://api.openai.com.evil.com/v1/responses", "http://[::1]/x"]
)
def test_strangers(url: str) -> None:
    assert find_dialect(url, KNOWN) is None


def test_what_a_dialect_does_not_have() -> None:
    assert find_local_target("POST", "https://api.openai.com/v1/vaults", dialect="openai", routes=KNOWN) is None
    found = find_local_target("GET", "https://api.openai.com/v1/models/gpt-4o", dialect="openai", routes=KNOWN)
    assert found == ("/openai/v1/models/gpt-4o", "model")
