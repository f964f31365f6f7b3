"""Clients of httpx and httpx2 without a socket: official clients, streams, time, limits, threads and loops."""

import asyncio
import gc
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import httpx
import httpx2
import openai
import pytest
from crazyrouter import Crazyrouter
from fireworks import Fireworks
from openai import AsyncOpenAI, AzureOpenAI, OpenAI
from tzafon import Lightcone

from mockserver.config.errors import ConfigError
from mockserver.testing import MockServer, Setup
from mockserver.testing.drivers import EndlessError
from mockserver.testing.transport import make_path_finder

HI: Any = [{"role": "user", "content": "hi"}]
CHAT = "https://api.openai.com/v1/chat/completions"
STALL = {"stall": {"after_tokens": 1, "for": "30s"}}


@pytest.fixture(scope="module")
def unstarted() -> MockServer:
    """A server that never runs."""
    return MockServer()


@pytest.fixture
def mock(unstarted: MockServer) -> MockServer:
    """The same, cleared."""
    unstarted.reset()
    return unstarted


@pytest.fixture
def direct(mock: MockServer) -> Iterator[httpx.Client]:
    """A client of it."""
    with httpx.Client(transport=mock.transport()) as client:
        yield client


@pytest.fixture
def client(mock: MockServer) -> Iterator[OpenAI]:
    """OpenAI's."""
    with OpenAI(api_key="k", max_retries=0, http_client=httpx2.Client(transport=mock.transport())) as client:
        yield client


@pytest.fixture
def async_client(mock: MockServer) -> AsyncOpenAI:
    """The same, asynchronous."""
    http = httpx2.AsyncClient(transport=mock.transport())
    return AsyncOpenAI(api_key="k", max_retries=0, http_client=http)


def body(**more: Any) -> Any:
    return {"model": "gpt-4o", "messages": HI, **more}


def test_official_clients_come_by_their_own_addresses(mock: MockServer) -> None:
    mock.on().reply("Hello!")
    httpx_client, httpx2_client = httpx.Client(transport=mock.transport()), httpx2.Client(transport=mock.transport())
    azure = {"azure_endpoint": "https://me.openai.azure.com", "api_version": "2024-10-21"}
    chatting: list[Any] = [
        OpenAI(api_key="k", http_client=httpx2_client),
        Fireworks(api_key="k", http_client=httpx_client),
        AzureOpenAI(api_key="k", http_client=httpx2_client, **azure),
        Crazyrouter(api_key="k", http_client=httpx2_client),
    ]
    said = [_text(client.chat.completions.create(model="gpt-4o", messages=HI)) for client in chatting]
    said.append(Lightcone(api_key="k", http_client=httpx_client).responses.create(model="m", input="hi").status)
    assert said == ["Hello!"] * 4 + ["completed"]
    dialects = ["openai", "fireworks", "azure_openai", "crazyrouter", "tzafon"]
    assert [call.dialect for call in mock.calls] == dialects


def _text(answer: Any) -> str:
    text: str = answer.choices[0].message.content
    return text


def test_a_stream_is_handed_over_as_it_is_asked_for(mock: MockServer, client: OpenAI) -> None:
    mock.on().stream(["one ", "two ", "three"])
    with client.chat.completions.create(model="gpt-4o", messages=HI, stream=True) as stream:
        came = [chunk.choices[0].delta.content for chunk, _ in zip(stream, range(3), strict=False)]
        call = mock.calls[0]
        assert came == ["", "one ", "two "]
        assert (call.ended, len(call.frames)) == ("open", 4)  # OpenAI's client holds the one that it reads next
    assert mock.calls[0].ended == "client left after 4 frames"


@pytest.mark.usefixtures("frozen_heap")
def test_a_response_that_nobody_closes_ends_with_it(mock: MockServer, direct: httpx.Client) -> None:
    mock.on().stream(["one ", "two"])
    response = direct.send(direct.build_request("POST", CHAT, json=body(stream=True)), stream=True)
    next(response.iter_raw())
    del response
    gc.collect()
    assert mock.calls[0].ended == "client left after 1 frame"


def test_timeouts_of_the_client_fire(mock: MockServer, client: OpenAI) -> None:
    mock.on().reply("one two", faults=[STALL])
    virtual = mock.clock.now()
    stream = client.chat.completions.create(model="gpt-4o", messages=HI, stream=True, timeout=20)
    assert [next(stream).choices[0].delta.content for _ in range(2)] == ["", "one"]
    with pytest.raises(openai.APITimeoutError):
        next(stream)
    assert 20 <= mock.clock.now() - virtual < 25
    assert mock.calls[0].ended == "client left after 2 frames"


def test_timing_takes_no_time_and_may_be_too_slow(mock: MockServer, direct: httpx.Client) -> None:
    mock.reset(Setup.make(timing=True))
    mock.on().reply("one two three", timing={"first_token": "8s", "tokens_per_second": 0.5})
    virtual = mock.clock.now()
    assert direct.post(CHAT, json=body(), timeout=20).json()["choices"][0]["message"]["content"] == "one two three"
    assert mock.clock.now() - virtual > 8
    with pytest.raises(httpx.ReadTimeout):
        direct.post(CHAT, json=body(), timeout=5)


def test_who_would_wait_for_ever_is_told(mock: MockServer, direct: httpx.Client) -> None:
    mock.on().reply("one two", faults=["stall"])
    with pytest.raises(EndlessError):
        direct.post(CHAT, json=body(), timeout=None)
    assert mock.calls[0].ended == "client left after 0 bytes"


def test_threads_do_not_get_in_each_others_way(mock: MockServer, client: OpenAI) -> None:
    mock.on().reply("Hello!")
    met = threading.Barrier(4, timeout=20)
    mock.on(last_user="meet").reply(lambda call: f"met {met.wait() >= 0}")

    def ask(text: str) -> str:
        message: Any = [{"role": "user", "content": text}]
        return _text(client.chat.completions.create(model="gpt-4o", messages=message))

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(ask, ["hi"] * 100)) == {"Hello!"}
        mock.reset()
        mock.on().reply(lambda call: f"met {met.wait() >= 0}")
        assert set(pool.map(ask, ["meet"] * 4)) == {"met True"}
    assert [call.number for call in mock.calls] == [1, 2, 3, 4]


def test_what_its_provider_is_to_answer_is_refused(mock: MockServer, direct: httpx.Client) -> None:
    mock.reset(Setup.make(upstream={"openai": "http://127.0.0.1:1"}))
    mock.on().then({"forward": True})
    with pytest.raises(ConfigError, match=r"is forwarded to its provider .* at its base_url"):
        direct.post(CHAT, json=body())
    assert mock.calls[0].ended == "disconnected after 0 bytes"


def test_namespaces_heads_and_bodies_in_pieces(mock: MockServer, direct: httpx.Client) -> None:
    mock.reset(Setup.make(unmatched="generate"))
    answer = direct.head("http://localhost/ns/mine/v1/models")
    assert (answer.status_code, answer.content, int(answer.headers["content-length"]) > 9) == (200, b"", True)
    pieces = iter([b'{"model": "gpt-4o", "input":', b' "hi"}'])
    assert direct.post("http://localhost/v1/embeddings", content=pieces).json()["object"] == "list"
    closing = direct.get("http://localhost/v1/models", headers={"connection": "close"})
    assert closing.headers["connection"] == "close"


def test_a_sync_client_that_would_have_to_wait_for_others_is_refused(mock: MockServer, direct: httpx.Client) -> None:
    mock.reset(Setup.make(limits={"concurrent_requests": 1, "queue": 5}))
    mock.on().stream(["one ", "two"])
    with direct.stream("POST", CHAT, json=body(stream=True)):
        assert direct.post(CHAT, json=body()).status_code == 503
    assert direct.post(CHAT, json=body()).status_code == 200


async def test_in_a_loop_time_passes_at_once_too(mock: MockServer, async_client: AsyncOpenAI) -> None:
    mock.on().reply("one two", faults=[STALL])
    began, virtual = time.monotonic(), mock.clock.now()
    stream = await async_client.chat.completions.create(model="gpt-4o", messages=HI, stream=True)
    assert "".join([chunk.choices[0].delta.content or "" async for chunk in stream]) == "one two"
    assert time.monotonic() - began < 10 < 30 < mock.clock.now() - virtual
    with pytest.raises(openai.APITimeoutError):
        await async_client.chat.completions.create(model="gpt-4o", messages=HI, timeout=20)
    assert [call.ended for call in mock.calls] == ["complete", "client left after 289 bytes"]


async def test_of_several_the_quicker_comes_first(mock: MockServer) -> None:
    for model, seconds in (("slow", 30), ("quick", 5), ("between", 10)):
        mock.on(model=model).reply("Hello!", faults=[{"stall": {"for": f"{seconds}s"}}])
    async with httpx.AsyncClient(transport=mock.transport(), timeout=60) as client:
        asked = [client.post(CHAT, json=body() | {"model": model}) for model in ("slow", "quick", "between")]
        came = [(await each).json()["model"] for each in asyncio.as_completed(asked)]
    assert came == ["quick", "between", "slow"]


async def test_who_gives_up_has_left(mock: MockServer) -> None:
    mock.on(last_user="hi").reply("Hello!", faults=["stall"])
    waiting = threading.Event()
    async with httpx.AsyncClient(transport=mock.transport(), timeout=None) as client:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await client.post(CHAT, json=body())
        mock.on(last_user="wait").reply(lambda call: str(waiting.wait(20)))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await client.post(CHAT, json=body() | {"messages": [{"role": "user", "content": "wait"}]})
    waiting.set()
    assert [call.ended for call in mock.calls] == ["client left after 0 bytes", "client left after 0 bytes"]


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
def test_where_it_leads(host: str, path: str, leads: str) -> None:
    method = "GET" if path.endswith("models") else "POST"
    assert make_path_finder()(method, host, path) == leads


BODY = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}]}


def test_hanging_up_while_others_ask() -> None:
    transport, over = MockServer(unmatched="generate").transport(), threading.Event()

    def ask() -> None:
        with httpx.Client(transport=transport) as client:
            while not over.is_set():
                with suppress(httpx.ReadError):
                    client.post(CHAT, json=BODY)

    with ThreadPoolExecutor(2) as pool:
        asking = [pool.submit(ask) for _ in range(2)]
        try:
            for _ in range(2_000):
                transport.hang_up()
        finally:
            over.set()
    assert [each.result() for each in asking] == [None, None]


@pytest.mark.parametrize("model", ["a#b", "a?b", "a%2Fb", "ä b"])
def test_a_path_of_a_provider_is_decoded_once(model: str) -> None:
    find = make_path_finder()
    assert find("GET", "api.openai.com", f"/v1/models/{model}") == f"/openai/v1/models/{model}"


def test_threads_that_ask_for_the_url_at_once_start_one_server() -> None:
    with MockServer() as server, ThreadPoolExecutor(8) as threads:
        server.stop()
        assert len(set(threads.map(lambda _: server.local.find_address(), range(8)))) == 1
