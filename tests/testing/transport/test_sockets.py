"""WebSockets of clients that a transport serves otherwise: they go to the same server, at a URL of its own."""

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from openai import AsyncOpenAI, OpenAI
from openai.types.responses import ResponseCompletedEvent

from mockserver.config.errors import ConfigError
from mockserver.testing import MockServer

pytestmark = pytest.mark.filterwarnings("ignore:connect.. must be used as a context manager:DeprecationWarning")


@pytest.fixture
def server() -> Iterator[MockServer]:
    server = MockServer()  # not started
    server.on(last_user="hello").reply("Hi there")
    yield server
    server.stop()


def completed(connection: Any) -> Any:
    return next(event.response for event in connection if isinstance(event, ResponseCompletedEvent))


def test_one_client_uses_the_transport_and_a_websocket(server: MockServer) -> None:
    client = OpenAI(
        api_key="any",
        http_client=httpx2.Client(transport=server.transport()),
        websocket_base_url=server.websocket_base_url(),
    )
    assert client.responses.create(model="gpt-5", input="hello").output_text == "Hi there"
    with client.responses.connect() as connection:
        connection.response.create(model="gpt-5", input="hello")
        first = completed(connection)
        assert first.output_text == "Hi there"
    assert client.responses.retrieve(first.id).output_text == "Hi there"
    assert [call.method for call in server.calls] == ["POST", "POST", "GET"]


async def test_an_asynchronous_client(server: MockServer) -> None:
    client = AsyncOpenAI(
        api_key="any",
        http_client=httpx2.AsyncClient(transport=server.transport()),
        websocket_base_url=server.websocket_base_url(),
    )
    async with client.responses.connect() as connection:
        await connection.response.create(model="gpt-5", input="hello")
        async for event in connection:
            if isinstance(event, ResponseCompletedEvent):
                assert event.response.output_text == "Hi there"
                break
    assert (await client.responses.create(model="gpt-5", input="hello")).output_text == "Hi there"
    assert len(server.calls) == 2


def test_the_url_stays_the_same_and_is_of_a_dialect_that_has_sockets(server: MockServer) -> None:
    url = server.websocket_base_url()
    assert url == server.websocket_base_url("openai") == f"ws{server.base_url().removeprefix('http')}"
    assert server.websocket_base_url("azure_openai").endswith("/azure-openai/openai/v1")
    with pytest.raises(ConfigError, match='the dialect "anthropic" has no WebSockets'):
        server.websocket_base_url("anthropic")
    with pytest.raises(ConfigError, match='there is no dialect "opeai"; did you mean "openai"'):
        server.websocket_base_url("opeai")


def test_a_handshake_to_the_transport_says_where_to_go(server: MockServer) -> None:
    headers = {"connection": "Upgrade", "upgrade": "websocket", "sec-websocket-version": "13"}
    headers["sec-websocket-key"] = "AAAAAAAAAAAAAAAAAAAAAA=="
    with httpx2.Client(transport=server.transport(), base_url="https://api.openai.com/v1") as client:
        refused = client.get("/responses", headers=headers)
    assert refused.status_code == 426
    assert "websocket_base_url()" in refused.json()["error"]["message"]
