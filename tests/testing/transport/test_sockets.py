"""WebSockets of clients that a transport serves otherwise: they go to the same server, at a URL of its own."""

import json
from collections.abc import Iterator
from typing import Any

import anyio
import httpx
import httpx2
import pytest
from openai import AsyncOpenAI, OpenAI
from openai.types.responses import ResponseCompletedEvent
from websockets.client import ClientProtocol
from websockets.frames import Frame
from websockets.protocol import OPEN
from websockets.uri import parse_uri

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


EVENT = json.dumps({"type": "response.create", "model": "gpt-5", "input": "hello"})


class FrameReader:
    """A client's side of the WebSocket that a response of httpx carries (`network_stream`)."""

    def __init__(self) -> None:
        self.protocol = ClientProtocol(parse_uri("ws://localhost/"), state=OPEN)
        self.events: list[Any] = []

    def ask(self) -> bytes:
        self.protocol.send_text(EVENT.encode())
        return b"".join(self.protocol.data_to_send())

    def read(self, data: bytes) -> bool:
        """Take what has come; return whether that ends the response."""
        self.protocol.receive_data(data)
        frames = self.protocol.events_received()
        self.events += [json.loads(bytes(frame.data)) for frame in frames if isinstance(frame, Frame)]
        return bool(self.events) and self.events[-1]["type"] == "response.completed"


def handshake() -> dict[str, str]:
    return {
        "connection": "Upgrade",
        "upgrade": "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
    }


@pytest.mark.parametrize("library", [httpx, httpx2])
def test_a_client_that_opens_it_with_httpx_needs_only_the_transport(library: Any, server: MockServer) -> None:
    frames = FrameReader()
    url = "https://api.openai.com/v1/responses"
    with (
        library.Client(transport=server.transport()) as client,
        client.stream("GET", url, headers=handshake()) as opened,
    ):
        assert opened.status_code == 101
        stream = opened.extensions["network_stream"]
        stream.write(frames.ask())
        while not frames.read(stream.read(65_536, timeout=10)):
            pass
    assert frames.events[-1]["response"]["output"][0]["content"][0]["text"] == "Hi there"
    assert [(call.path, call.websocket) for call in server.calls] == [("/openai/v1/responses", True)]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_an_asynchronous_client_that_opens_it_with_httpx(backend: str, server: MockServer) -> None:
    url, frames = "https://mine.openai.azure.com/openai/v1/responses", FrameReader()

    async def talk() -> None:
        async with (
            httpx2.AsyncClient(transport=server.transport()) as client,
            client.stream("GET", url, headers=handshake()) as opened,
        ):
            stream = opened.extensions["network_stream"]
            await stream.write(frames.ask())
            while not frames.read(await stream.read(65_536, timeout=10)):
                pass

    anyio.run(talk, backend=backend)
    assert [(call.dialect, call.websocket) for call in server.calls] == [("azure_openai", True)]


def test_a_handshake_that_is_refused_has_the_answer_of_the_server(server: MockServer) -> None:
    with httpx2.Client(transport=server.transport(), base_url="https://api.openai.com/v1") as client:
        refused = client.get("/models", headers=handshake())
    assert (refused.status_code, refused.json()["error"]["code"]) == (426, "method_not_supported")
