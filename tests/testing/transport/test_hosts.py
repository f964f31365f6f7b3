"""Where a request leads that is meant for a provider's own host."""

import pytest

from mockserver.testing.transport import ProviderHosts


@pytest.fixture(scope="module")
def hosts() -> ProviderHosts:
    return ProviderHosts()


@pytest.mark.parametrize(
    ("host", "path", "leads"),
    [
        ("api.openai.com", "/v1/chat/completions", "/openai/v1/chat/completions"),
        ("api.fireworks.ai", "/inference/v1/chat/completions", "/fireworks/inference/v1/chat/completions"),
        ("api.tzafon.ai", "/v1/chat/completions", "/tzafon/v1/chat/completions"),
        ("models.inference.ai.azure.com", "/chat/completions", "/azure/chat/completions"),
        ("x.services.ai.azure.com", "/models/chat/completions", "/azure/models/chat/completions"),
        ("x.openai.azure.com", "/openai/deployments/d/embeddings", "/azure-openai/openai/deployments/d/embeddings"),
        ("api.openai.com", "/v1/nothing/here", "/v1/nothing/here"),
        ("127.0.0.1", "/fireworks/v1/chat/completions", "/fireworks/v1/chat/completions"),
        ("localhost", "/v1/models", "/v1/models"),
        ("llm.example.com", "/v1/chat/completions", "/v1/chat/completions"),
        ("", "/v1/models", "/v1/models"),
    ],
)
def test_where_it_leads(hosts: ProviderHosts, host: str, path: str, leads: str) -> None:
    method = "GET" if path.endswith("models") else "POST"
    assert hosts.path(method, host, path) == leads
