"""OpenAI's own clients over a WebSocket: `responses.connect()` in Python, `ResponsesWS` in JavaScript."""

import asyncio
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openai import AsyncOpenAI, OpenAI
from openai.types.responses import ResponseCompletedEvent

from mockserver.testing import MockServer
from tests.kit.npm import install_packages

# The blocking client opens its connection in a way that websockets will drop.
pytestmark = pytest.mark.filterwarnings("ignore:connect.. must be used as a context manager:DeprecationWarning")

TOOL: Any = {
    "type": "function",
    "name": "get_weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    "strict": False,
}


@pytest.fixture
def server() -> Iterator[MockServer]:
    with MockServer() as running:
        running.on(tool_result={"name": "get_weather"}).reply("It is 5 degrees in {{ tool_result.text }}.")
        running.on(last_user="*weather*").reply(tool_calls=[{"name": "get_weather", "arguments": {"city": "Oslo"}}])
        running.on(last_user="too fast").reply(error=429)
        running.on(last_user="hello").reply("Hi there")
        yield running


@pytest.fixture
def client(server: MockServer) -> OpenAI:
    return OpenAI(base_url=f"{server.url}/v1", api_key="sk-test")


def completed(connection: Any) -> Any:
    for event in connection:
        if isinstance(event, ResponseCompletedEvent):
            return event.response
    raise AssertionError("the connection ended before the response did")


def test_an_agent_loop_on_one_connection(server: MockServer, client: OpenAI) -> None:
    with client.responses.connect() as connection:
        connection.response.create(model="gpt-5", input="How is the weather?", tools=[TOOL], store=False)
        first = completed(connection)
        (call,) = first.output
        assert (call.name, json.loads(call.arguments)) == ("get_weather", {"city": "Oslo"})
        result: Any = {"type": "function_call_output", "call_id": call.call_id, "output": "Oslo"}
        connection.response.create(model="gpt-5", previous_response_id=first.id, input=[result], store=False)
        assert completed(connection).output_text == "It is 5 degrees in Oslo."
    assert [call.status for call in server.calls] == [200, 200]


def test_an_error_is_an_event_that_the_client_knows(client: OpenAI) -> None:
    with client.responses.connect() as connection:
        connection.response.create(model="gpt-5", input="too fast")
        error = next(iter(connection))
        assert (error.type, error.status) == ("error", 429)  # type: ignore[union-attr]
        assert error.error.code == "rate_limit_exceeded"  # type: ignore[union-attr]
        connection.response.create(model="gpt-5", input="hello")
        assert completed(connection).output_text == "Hi there"


def test_the_async_client(server: MockServer) -> None:
    async def ask() -> str:
        async with (
            AsyncOpenAI(base_url=f"{server.url}/v1", api_key="sk-test") as client,
            client.responses.connect() as connection,
        ):
            await connection.response.create(model="gpt-5", input="hello")
            async for event in connection:
                if isinstance(event, ResponseCompletedEvent):
                    return event.response.output_text
        raise AssertionError("the connection ended before the response did")

    assert asyncio.run(ask()) == "Hi there"


def test_the_environment_of_a_server_leads_the_client_here(server: MockServer) -> None:
    with server.environ(), OpenAI().responses.connect() as connection:
        connection.response.create(model="gpt-5", input="hello")
        assert completed(connection).output_text == "Hi there"


SCRIPT = """
import OpenAI from "openai";
import { ResponsesWS } from "openai/resources/responses/ws";
const socket = new ResponsesWS(new OpenAI({ baseURL: process.env.BASE_URL, apiKey: "sk-test" }));
const inputs = ["hello", "too fast", "hello"];
const next = (...words) => {
  console.log(...words);
  if (!inputs.length) return socket.close();
  socket.send({ type: "response.create", model: "gpt-5", input: inputs.shift() });
};
socket.on("error", (error) => next("error", error.error.error.code));
socket.on("response.completed", (event) => next("text", event.response.output[0].content[0].text));
next("ready");
"""


@pytest.mark.slow  # the first time it needs the npm registry
@pytest.mark.needs("node")
def test_the_client_for_javascript(server: MockServer, tmp_path: Path) -> None:
    (tmp_path / "node_modules").symlink_to(install_packages("sockets"))
    (tmp_path / "ask.mjs").write_text(SCRIPT)
    done = subprocess.run(
        ("node", "ask.mjs"),
        cwd=tmp_path,
        env={**os.environ, "BASE_URL": f"{server.url}/v1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == ["ready", "text Hi there", "error rate_limit_exceeded", "text Hi there"], (
        done.stderr
    )
