"""What clients see where only some requests are at work at once, over real sockets."""

import asyncio
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.kit.served import Served, served

RULES = """
version: 1
settings:
  limits: {concurrent_requests: 1, queue: 2, requests_per_minute: 1000}
rules:
  - when: {last_user: "slow*"}
    then: {text: "That took some time.", timing: {total: 600ms}}
  - when: {last_user: "endless*"}
    then: {text: "That will take more.", timing: {first_token: 1h}}
  - when: {last_user: "*"}
    then: {text: Done.}
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served(RULES) as running:
        yield running


def chat(text: str, **more: Any) -> dict[str, Any]:
    return {"model": "gpt-4o", "messages": [{"role": "user", "content": text}], **more}


def client(server: Served, namespace: str) -> httpx.AsyncClient:
    limits = httpx.Limits(max_connections=100)
    return httpx.AsyncClient(base_url=server.base("openai", namespace), trust_env=False, timeout=30, limits=limits)


async def begun(http: httpx.AsyncClient, text: str, **more: Any) -> "asyncio.Task[httpx.Response]":
    """A request that is on its way, and has surely arrived."""
    task = asyncio.create_task(http.post("/chat/completions", json=chat(text, **more)))
    await asyncio.sleep(0.15)
    return task


async def status(http: httpx.AsyncClient, text: str = "quick") -> int:
    return (await http.post("/chat/completions", json=chat(text))).status_code


async def until(http: httpx.AsyncClient, wanted: int) -> None:
    for _ in range(100):
        if await status(http) == wanted:
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"it never came to {wanted}")


async def queued(http: httpx.AsyncClient) -> "asyncio.Task[httpx.Response]":
    """A request that waits for its turn; asked for until it may."""
    for _ in range(40):
        task = await begun(http, "quick")
        if not task.done():
            return task
        assert (await task).status_code == 503
    raise AssertionError("there was never room in the queue")


async def test_some_wait_in_order_of_arrival_and_the_rest_is_refused(server: Served, namespace: str) -> None:
    async with client(server, namespace) as http:
        came = list[str]()

        async def ask(text: str) -> int:
            code = await status(http, text)
            came.append(text)
            return code

        tasks = []
        for text in ("slow 1", "slow 2", "slow 3", "slow 4"):
            tasks.append(asyncio.create_task(ask(text)))
            await asyncio.sleep(0.08)
        assert await asyncio.gather(*tasks) == [200, 200, 200, 503]
        assert came == ["slow 4", "slow 1", "slow 2", "slow 3"]


async def test_the_refusal_is_the_providers_and_takes_nothing_from_the_rates(server: Served, namespace: str) -> None:
    async with client(server, namespace) as http:
        waiting = [await begun(http, f"endless {number}") for number in range(3)]
        refused = await http.post("/chat/completions", json=chat("quick"))
        assert (refused.status_code, refused.json()["error"]["type"]) == (503, "server_error")
        assert refused.json()["error"]["message"] == ("The engine is currently overloaded, please try again later.")
        assert "retry-after" not in refused.headers
        assert refused.headers["x-mockserver-source"] == "limited"
        for task in waiting:
            task.cancel()
        await until(http, 200)
        told = (await http.post("/chat/completions", json=chat("quick"))).headers
        assert int(told["x-ratelimit-remaining-requests"]) >= 997  # those at work, and these two


async def test_a_client_that_leaves_the_queue_makes_room_once_that_is_sure(server: Served, namespace: str) -> None:
    async with client(server, namespace) as http:
        working, *waiting = [await begun(http, f"endless {number}") for number in range(3)]
        assert await status(http) == 503
        waiting[0].cancel()  # who has stopped sending may still listen, for all that the server knows
        third = await queued(http)
        assert await status(http) == 503
        working.cancel()
        waiting[1].cancel()
        assert (await third).status_code == 200


@pytest.mark.parametrize("stream", [True, False])
async def test_a_client_that_leaves_while_it_is_answered_gives_its_turn_back(
    server: Served, namespace: str, stream: bool
) -> None:
    async with client(server, namespace) as http:
        working = await begun(http, "endless", stream=stream)
        waiting = await begun(http, "quick")
        assert not waiting.done()
        working.cancel()
        assert (await waiting).status_code == 200


async def test_many_clients_that_come_and_go_leave_nothing_behind(server: Served, namespace: str) -> None:
    async with client(server, namespace) as http:
        tasks = [asyncio.create_task(http.post("/chat/completions", json=chat(f"slow {n}"))) for n in range(40)]
        for at, task in enumerate(tasks):
            if at % 3:
                await asyncio.sleep(0.005)
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await until(http, 200)
        assert await asyncio.gather(*(status(http) for _ in range(3))) == [200, 200, 200]
