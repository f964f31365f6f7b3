"""OpenAI's own clients in Realtime sessions: `realtime.connect()` in Python, `OpenAIRealtimeWS` in JavaScript."""

import asyncio
import base64
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openai import AsyncOpenAI, OpenAI

from mockserver.media.tone import read_tone, write_tone
from mockserver.testing import MockServer
from tests.kit.npm import install_packages

# The blocking client opens its connection in a way that websockets will drop.
pytestmark = pytest.mark.filterwarnings("ignore:connect.. must be used as a context manager:DeprecationWarning")

TOOL: Any = {
    "type": "function",
    "name": "get_weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


@pytest.fixture
def server() -> Iterator[MockServer]:
    with MockServer() as running:
        running.on(tool_result={"name": "get_weather"}).reply("It is 5 degrees in {{ tool_result.text }}.")
        running.on(last_user="*weather*").reply(tool_calls=[{"name": "get_weather", "arguments": {"city": "Oslo"}}])
        running.on(last_user="hello").reply("Hi there")
        yield running


@pytest.fixture
def client(server: MockServer) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{server.url}/v1", api_key="sk-test") as opened:
        yield opened


def test_a_voice_agent(server: MockServer, client: OpenAI) -> None:
    question = base64.b64encode(write_tone("How is the weather?") + bytes(48_000)).decode()
    sound = b""
    with client.realtime.connect(model="gpt-realtime") as connection:
        connection.session.update(session={"type": "realtime", "tools": [TOOL]})
        connection.input_audio_buffer.append(audio=question)
        for event in connection:
            if event.type == "response.output_audio.delta":
                sound += base64.b64decode(event.delta)
            elif event.type == "response.function_call_arguments.done":
                assert json.loads(event.arguments) == {"city": "Oslo"}
                call_id = event.call_id
            elif event.type == "response.done":
                assert event.response.usage is not None
                if sound:
                    break
                result: Any = {"type": "function_call_output", "call_id": call_id, "output": "Oslo"}
                connection.conversation.item.create(item=result)
                connection.response.create()
            assert event.type != "error", event
    assert read_tone(sound) == "It is 5 degrees in Oslo."
    assert [call.operation for call in server.calls] == ["realtime", "realtime"]


def test_the_async_client(server: MockServer) -> None:
    async def ask() -> str:
        async with (
            AsyncOpenAI(base_url=f"{server.url}/v1", api_key="sk-test") as client,
            client.realtime.connect(model="gpt-realtime") as connection,
        ):
            await connection.session.update(session={"type": "realtime", "output_modalities": ["text"]})
            content: Any = [{"type": "input_text", "text": "hello"}]
            await connection.conversation.item.create(item={"type": "message", "role": "user", "content": content})
            await connection.response.create()
            text = ""
            async for event in connection:
                if event.type == "response.output_text.delta":
                    text += event.delta
                if event.type == "response.done":
                    return text
        raise AssertionError("the connection ended before the response did")

    assert asyncio.run(ask()) == "Hi there"


def test_secrets_and_calls(client: OpenAI) -> None:
    secret = client.realtime.client_secrets.create(session={"type": "realtime", "model": "gpt-realtime"})
    assert secret.value.startswith("ek_")
    assert secret.session.type == "realtime"
    offer = "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\nm=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=mid:0\r\n"
    answer = client.realtime.calls.create(sdp=offer, session={"type": "realtime"})
    assert "a=inactive" in answer.text
    call_id = answer.response.headers["location"].rpartition("/")[2]
    assert call_id.startswith("rtc_")
    client.realtime.calls.accept(call_id=call_id, type="realtime")
    client.realtime.calls.refer(call_id=call_id, target_uri="tel:+123")
    client.realtime.calls.hangup(call_id=call_id)
    client.realtime.calls.reject(call_id=call_id, status_code=486)


SCRIPT = """
import { readFileSync } from "node:fs";
import net from "node:net";
import OpenAI from "openai";
import { OpenAIRealtimeWS } from "openai/realtime/ws";
const client = new OpenAI({ baseURL: process.env.BASE_URL, apiKey: "sk-test" });
const options = { createConnection: (to) => net.connect(to) };
const socket = new OpenAIRealtimeWS({ model: "gpt-realtime", options }, client);
const tools = JSON.parse(readFileSync("tools.json"));
let call;
socket.on("error", (error) => { console.log("error", error.error?.code ?? error.message); });
socket.on("session.created", () => {
  socket.send({ type: "response.cancel" });
  socket.send({ type: "session.update", session: { type: "realtime", tools } });
  socket.send({ type: "input_audio_buffer.append", audio: readFileSync("question.txt", "latin1") });
});
socket.on("response.function_call_arguments.done", (event) => {
  call = event.call_id;
  console.log(event.name, event.arguments);
});
socket.on("response.output_audio_transcript.done", (event) => console.log("said", event.transcript));
socket.on("response.done", (event) => {
  console.log(event.response.status);
  if (!call) return socket.close();
  const item = { type: "function_call_output", call_id: call, output: "Oslo" };
  socket.send({ type: "conversation.item.create", item });
  socket.send({ type: "response.create" });
  call = undefined;
});
"""


@pytest.mark.slow  # the first time it needs the npm registry
@pytest.mark.needs("node")
def test_the_client_for_javascript(server: MockServer, tmp_path: Path) -> None:
    (tmp_path / "node_modules").symlink_to(install_packages("sockets"))
    (tmp_path / "ask.mjs").write_text(SCRIPT)
    (tmp_path / "tools.json").write_text(json.dumps([TOOL]))
    (tmp_path / "question.txt").write_bytes(base64.b64encode(write_tone("How is the weather?") + bytes(48_000)))
    done = subprocess.run(
        ("node", "ask.mjs"),
        cwd=tmp_path,
        env={**os.environ, "BASE_URL": f"{server.url}/v1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == [
        "error response_cancel_not_active",
        'get_weather {"city":"Oslo"}',
        "completed",
        "said It is 5 degrees in Oslo.",
        "completed",
    ], done.stderr
