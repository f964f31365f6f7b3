"""Official clients that run into limits: what they raise, and that they come back in time by themselves."""

import pytest
from azure.ai.inference import ChatCompletionsClient
from azure.ai.inference.models import UserMessage
from azure.core.credentials import AzureKeyCredential
from azure.core.exceptions import HttpResponseError
from openai import OpenAI, RateLimitError

from tests.kit.served import Served

PATIENCE = 30  # seconds


def openai(server: Served, namespace: str, key: str = "sk-test", retries: int = 0) -> OpenAI:
    return OpenAI(base_url=server.base("openai", namespace), api_key=key, max_retries=retries, timeout=PATIENCE)


def ask(client: OpenAI, model: str = "gpt-4o") -> str | None:
    answer = client.chat.completions.create(model=model, messages=[{"role": "user", "content": "hi"}])
    return answer.choices[0].message.content


def test_openai_raises_what_says_when_to_come_back(server: Served, namespace: str) -> None:
    with openai(server, namespace) as client:
        assert [ask(client) for _ in range(3)] == ["Good day."] * 3
        with pytest.raises(RateLimitError) as raised:
            ask(client)
    error = raised.value
    assert (error.type, error.code, error.status_code) == ("requests", "rate_limit_exceeded", 429)
    assert 10 < int(error.response.headers["retry-after-ms"]) / 1000 <= 20
    assert error.response.headers["x-ratelimit-remaining-requests"] == "0"


def test_azure_is_told_once(server: Served, namespace: str) -> None:
    asked = list[int]()
    with ChatCompletionsClient(
        server.base("azure", namespace),
        AzureKeyCredential("sk-poor"),
        raw_response_hook=lambda response: asked.append(response.http_response.status_code),
    ) as client:
        client.complete(model="gpt-4o", messages=[UserMessage("hi")])
        with pytest.raises(HttpResponseError) as raised:
            client.complete(model="gpt-4o", messages=[UserMessage("hi")])
    assert asked == [200, 429]
    assert raised.value.response is not None
    assert "retry-after" not in raised.value.response.headers
