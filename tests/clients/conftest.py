"""One server in a process of its own for the whole family, and a client of each kind to ask it."""

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx2
import openai
import pytest
from openai import AsyncOpenAI, OpenAI

from tests.kit.capture import ResponseCapture
from tests.kit.served import Served, served

STATUSES = (400, 401, 402, 403, 404, 405, 408, 409, 412, 413, 415, 418, 422, 429, 500, 502, 503, 504, 529)
KEY = "sk-test"


@pytest.fixture(scope="session")
def rules() -> str:
    """The text of the rules: those of rules.yaml, and `status-429` and its kin for models that fail."""
    failing = [f"  - {{when: {{model: status-{status}}}, then: {{error: {status}}}}}\n" for status in STATUSES]
    return (Path(__file__).parent / "rules.yaml").read_text() + "".join(failing)


@pytest.fixture(scope="session")
def server(rules: str) -> Iterator[Served]:
    with served(rules) as running:
        yield running


@pytest.fixture(autouse=True)
def _no_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither proxies nor keys of this machine reach a client."""
    for name in list(os.environ):
        if name.lower().endswith("_proxy") or name.startswith(("OPENAI_", "AZURE_", "GOOGLE_", "GEMINI_")):
            monkeypatch.delenv(name)


@pytest.fixture
def capture() -> Iterator[ResponseCapture]:
    """What the test's client hears; in the end every chat object of it is held against the types."""
    capture = ResponseCapture()
    yield capture
    capture.check()


@pytest.fixture
def connection(capture: ResponseCapture) -> Iterator[httpx2.Client]:
    """An HTTP client for an official one, which the capture hears."""
    hooks = {"response": [capture.on_response]}
    with openai.DefaultHttpxClient(event_hooks=hooks, verify=False) as client:  # reading certificates takes long
        yield client


@pytest.fixture
async def async_connection(capture: ResponseCapture) -> AsyncIterator[httpx2.AsyncClient]:
    hooks = {"response": [capture.on_response_async]}
    async with openai.DefaultAsyncHttpxClient(event_hooks=hooks, verify=False) as client:
        yield client


@pytest.fixture
def client(server: Served, connection: httpx2.Client) -> Iterator[OpenAI]:
    with OpenAI(base_url=server.base("openai"), api_key=KEY, http_client=connection) as client:
        yield client


@pytest.fixture
async def async_client(server: Served, async_connection: httpx2.AsyncClient) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=server.base("openai"), api_key=KEY, http_client=async_connection) as client:
        yield client
