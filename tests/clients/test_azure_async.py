"""Azure's own asynchronous client, over the transport of azure-core that needs nothing besides `requests`."""

from collections.abc import AsyncIterator

import pytest
from azure.ai.inference.aio import ChatCompletionsClient
from azure.ai.inference.models import UserMessage
from azure.core.credentials import AzureKeyCredential
from azure.core.exceptions import HttpResponseError
from azure.core.pipeline.transport import AsyncioRequestsTransport

from tests.kit.served import Served

KEY = AzureKeyCredential("sk-test")


@pytest.fixture
async def azure(server: Served) -> AsyncIterator[ChatCompletionsClient]:
    """Azure's own asynchronous client, which tries once."""
    transport = AsyncioRequestsTransport()
    async with ChatCompletionsClient(server.base("azure"), KEY, transport=transport, retry_total=0) as client:
        yield client


async def test_a_stream(azure: ChatCompletionsClient) -> None:
    async with await azure.complete(messages=[UserMessage("hello")], stream=True) as stream:
        updates = [update async for update in stream]

    text = "".join(update.choices[0].delta.content or "" for update in updates)
    assert text == "Hello! How can I help you today?"
    assert updates[-1].choices[0].finish_reason == "stop"


async def test_an_error(azure: ChatCompletionsClient) -> None:
    with pytest.raises(HttpResponseError) as raised:
        await azure.complete(messages=[UserMessage("filtered prompt")], stream=True)

    assert raised.value.response
    assert raised.value.response.headers["x-ms-error-code"] == "content_filter"
