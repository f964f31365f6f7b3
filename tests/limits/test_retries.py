"""Official clients come back by themselves when they were told to, and then succeed."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import httpx
import pytest
from azure.ai.inference import ChatCompletionsClient
from azure.core.credentials import AzureKeyCredential
from crazyrouter import Crazyrouter
from fireworks import Fireworks
from openai import OpenAI
from tzafon import Lightcone

from tests.kit.served import Served, served

# An answer takes more than there is: 20 tokens come back in a second.
RULES = """
version: 1
settings: {limits: {tokens_per_minute: 1200}}
rules:
  - {when: {operation: {in: [chat, responses]}}, then: {text: Hi., usage: {prompt_tokens: 9, completion_tokens: 1215}}}
  - {when: {operation: info, header.x-case: tells}, times: 1, then: {error: 429, retry_after: 200ms}}
  - {when: {operation: info, header.x-case: silent}, times: 3, then: {error: 429}}
"""
MESSAGES: Any = [{"role": "user", "content": "hi"}]


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served(RULES) as running:
        yield running


def _openai(base: str) -> tuple[httpx.Client, Callable[[], Any]]:
    client = OpenAI(base_url=base, api_key="k")
    return client._client, lambda: client.chat.completions.create(model="m", messages=MESSAGES)


def _streaming(base: str) -> tuple[httpx.Client, Callable[[], Any]]:
    client = OpenAI(base_url=base, api_key="k")
    return client._client, lambda: list(client.chat.completions.create(model="m", messages=MESSAGES, stream=True))


def _responses(base: str) -> tuple[httpx.Client, Callable[[], Any]]:
    client = OpenAI(base_url=base, api_key="k")
    return client._client, lambda: client.responses.create(model="m", input="hi")


def _crazyrouter(base: str) -> tuple[httpx.Client, Callable[[], Any]]:
    client = Crazyrouter(base_url=base, api_key="k")
    return client._client, lambda: client.chat.completions.create(model="m", messages=MESSAGES)


def _fireworks(base: str) -> tuple[httpx.Client, Callable[[], Any]]:
    client = Fireworks(base_url=base.removesuffix("/v1"), api_key="k")
    return client._client, lambda: client.chat.completions.create(model="m", messages=MESSAGES)


def _tzafon(base: str) -> tuple[httpx.Client, Callable[[], Any]]:
    client = Lightcone(base_url=base.removesuffix("/v1"), api_key="k")
    return client._client, lambda: client.responses.create(model="m", input="hi")


CLIENTS: Mapping[str, tuple[str, Callable[[str], tuple[httpx.Client, Callable[[], Any]]]]] = {
    "openai": ("openai", _openai),
    "openai, stream": ("openai", _streaming),
    "openai, responses": ("openai", _responses),
    "crazyrouter": ("crazyrouter", _crazyrouter),
    "fireworks": ("fireworks", _fireworks),
    "tzafon": ("tzafon", _tzafon),
}


@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_comes_back_once_and_succeeds(server: Served, name: str) -> None:
    dialect, opened = CLIENTS[name]
    http, ask = opened(server.base(dialect, f"retries-{list(CLIENTS).index(name)}"))
    statuses = list[int]()
    http.event_hooks["response"].append(lambda response: statuses.append(response.status_code))
    while 429 not in statuses:
        ask()
    assert statuses[-2:] == [429, 200]  # neither too early nor never
    http.close()


@pytest.mark.parametrize(("case", "statuses"), [("tells", [429, 200]), ("silent", [429, 429, 429, 200])])
def test_azure_asks_again_for_what_it_looks_up(server: Served, case: str, statuses: list[int]) -> None:
    heard = list[int]()
    namespace = f"retries-azure-{case}"
    with _azure(server, namespace, heard) as client:
        client.get_model_info(headers={"x-case": case}, retry_backoff_factor=0.01)
    assert heard == statuses


def _azure(server: Served, namespace: str, heard: list[int]) -> ChatCompletionsClient:
    return ChatCompletionsClient(
        server.base("azure", namespace),
        AzureKeyCredential("k"),
        raw_response_hook=lambda response: heard.append(response.http_response.status_code),
    )
