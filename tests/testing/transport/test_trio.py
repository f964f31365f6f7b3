"""Calls without a socket where trio runs: they are as on asyncio, but for those that would wait for others."""

import time
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import httpx2
import openai
import pytest
import trio
from openai import AsyncOpenAI

from mockserver.testing import MockServer, Setup

HI: Any = [{"role": "user", "content": "hi"}]
CHAT = "https://api.openai.com/v1/chat/completions"
STALL = {"stall": {"after_tokens": 1, "for": "30s"}}


@pytest.fixture
def mock() -> MockServer:
    """A server that never runs."""
    return MockServer()


def body(**more: Any) -> Any:
    return {"model": "gpt-4o", "messages": HI, **more}


def asked(mock: MockServer, work: Callable[[httpx.AsyncClient], Awaitable[Any]]) -> Any:
    """What comes of calls by a client on trio."""

    async def main() -> Any:
        async with httpx.AsyncClient(transport=mock.transport(), timeout=60) as client:
            return await work(client)

    return trio.run(main)


def test_an_official_client(mock: MockServer) -> None:
    mock.on().reply("one two", faults=[STALL])

    async def main() -> str | None:
        http = httpx2.AsyncClient(transport=mock.transport())
        async with AsyncOpenAI(api_key="k", max_retries=0, http_client=http) as client:
            answer = await client.chat.completions.create(model="gpt-4o", messages=HI)
            with pytest.raises(openai.APITimeoutError):
                await client.chat.completions.create(model="gpt-4o", messages=HI, timeout=20)
            return answer.choices[0].message.content

    began = time.monotonic()
    assert trio.run(main) == "one two"
    assert time.monotonic() - began < 10


@pytest.mark.filterwarnings("ignore:Async generator 'httpx:ResourceWarning")  # over the socket too
def test_a_stream_comes_piece_by_piece(mock: MockServer) -> None:
    mock.on().stream(["one ", "two"])

    async def left_early(client: httpx.AsyncClient) -> int:
        async with client.stream("POST", CHAT, json=body(stream=True)) as answer:
            pieces = answer.aiter_raw()
            size = len(await anext(pieces)) + len(await anext(pieces))
            await pieces.aclose()  # type: ignore[attr-defined]
            return size

    asked(mock, left_early)
    assert mock.calls[0].ended == "client left after 2 frames"


def test_who_would_have_to_wait_for_others_is_refused(mock: MockServer) -> None:
    mock.reset(Setup.of(limits={"concurrent_requests": 1, "queue": 5}))
    mock.on().stream(["one ", "two"])

    async def crowded(client: httpx.AsyncClient) -> list[int]:
        async with client.stream("POST", CHAT, json=body(stream=True)):
            refused = await client.post(CHAT, json=body())
        return [refused.status_code, (await client.post(CHAT, json=body())).status_code]

    assert asked(mock, crowded) == [503, 200]
