"""Ollama's own client: chats, thinking, tools, formats, prompts, embeddings, models, errors, and faults of a stream."""

import json
from collections.abc import Iterator
from typing import Any

import ollama
import openai
import pytest
from pydantic import BaseModel

from mockserver.testing import MockServer
from tests.kit.served import Served, served

RULES = """
rules:
  - when: {last_user: think}
    then: {reasoning: Six times seven., text: "42"}
  - when: {last_user: hello}
    then: {text: Hello there!}
  - {when: {model: missing}, then: {error: model_not_found}}
  - {when: {model: full}, then: {error: overloaded}}
  - {when: {model: flat}, then: {error: {status: 500, message: out of memory}}}
"""
Json = Any


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served(RULES) as running:
        yield running


@pytest.fixture
def client(server: Served) -> Iterator[ollama.Client]:
    with ollama.Client(f"{server.address}/ollama", trust_env=False) as client:
        yield client


def said(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def get_weather(city: str) -> str:
    """Get the weather.

    Args:
        city: where
    """
    return json.dumps({"sky": "clear", "city": city})


def test_a_chat_plain_and_streamed(client: ollama.Client) -> None:
    plain = client.chat("llama3.2", said("hello"))
    assert (plain.message.content, plain.done_reason, plain.eval_count) == ("Hello there!", "stop", 3)
    parts = list(client.chat("llama3.2", said("hello"), stream=True))
    assert [part.message.content for part in parts] == ["Hello", " there", "!", ""]
    assert [part.done for part in parts] == [False, False, False, True]
    assert parts[-1].total_duration == plain.total_duration


async def test_the_same_without_blocking(server: Served) -> None:
    async with ollama.AsyncClient(f"{server.address}/ollama", trust_env=False) as client:
        found = [part.message.content async for part in await client.chat("llama3.2", said("hello"), stream=True)]
    assert "".join(text or "" for text in found) == "Hello there!"


def test_thinking(client: ollama.Client) -> None:
    plain = client.chat("qwen3", said("think"), think=True).message
    parts = [part.message for part in client.chat("qwen3", said("think"), think=True, stream=True)]
    assert "".join(part.thinking or "" for part in parts) == plain.thinking == "Six times seven."
    assert "".join(part.content or "" for part in parts) == plain.content == "42"
    assert client.chat("qwen3", said("think"), think=False).message.thinking is None


@pytest.mark.parametrize("stream", [False, True])
def test_a_loop_of_tools_ends(client: ollama.Client, stream: bool) -> None:
    messages: list[Json] = said("How is the weather in Oslo and in Rome?")
    for _ in range(5):
        answered: Json = client.chat("llama3.2", messages, tools=[get_weather], stream=stream)
        parts = [part.message for part in (answered if stream else [answered])]
        calls = [call for part in parts for call in part.tool_calls or ()]
        text = "".join(part.content or "" for part in parts)
        messages.append({"role": "assistant", "content": text, "tool_calls": calls})
        if not calls:
            break
        for call in calls:
            result = get_weather(**call.function.arguments)
            messages.append({"role": "tool", "tool_name": call.function.name, "content": result})
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "tool", "assistant"]
    assert "clear" in messages[-1]["content"]


class Pet(BaseModel):
    name: str
    age: int


def test_a_format(client: ollama.Client) -> None:
    found = client.chat("llama3.2", said("Rex is 5 years old."), format=Pet.model_json_schema()).message.content
    assert Pet.model_validate_json(found or "") == Pet(name="Rex", age=5)
    assert isinstance(json.loads(client.generate("llama3.2", "Tell me of Rex.", format="json").response), dict)


def test_a_prompt(client: ollama.Client) -> None:
    plain = client.generate("llama3.2", "hello", system="Be brief.")
    assert (plain.response, plain.done_reason, bool(plain.context)) == ("Hello there!", "stop", True)
    assert "".join(part.response for part in client.generate("llama3.2", "hello", stream=True)) == plain.response
    assert client.generate("llama3.2").done_reason == "load"
    with pytest.raises(ollama.ResponseError, match="raw mode does not support template, system, or context"):
        client.generate("llama3.2", "hello", system="Be brief.", raw=True)


def test_options(client: ollama.Client) -> None:
    short = client.chat("llama3.2", said("hello"), options={"num_predict": 1})
    assert (short.message.content, short.done_reason) == ("Hello", "length")
    assert client.chat("llama3.2", said("hello"), options={"stop": [" there"]}).message.content == "Hello"
    assert client.chat("llama3.2", said("hello"), options={"num_predict": -1}).done_reason == "stop"
    weighed = client.chat("llama3.2", said("hello"), logprobs=True, top_logprobs=2).logprobs or []
    assert [token.token for token in weighed] == ["Hello", " there", "!"]


def test_an_image(server: Served, client: ollama.Client) -> None:
    image = bytes.fromhex("89504e470d0a1a0a")
    assert client.chat("llava", [{"role": "user", "content": "hello", "images": [image]}]).message.content


def test_embeddings(client: ollama.Client) -> None:
    found = client.embed("nomic-embed-text", ["One", "Two"], dimensions=8)
    assert [len(vector) for vector in found.embeddings] == [8, 8]
    assert sum(number * number for number in found.embeddings[0]) == pytest.approx(1)
    assert client.embed("nomic-embed-text", "One", dimensions=8).embeddings == found.embeddings[:1]
    assert len(client.embeddings("nomic-embed-text", "One").embedding) == 768
    assert client.embed("nomic-embed-text", []).embeddings == []


def test_models(client: ollama.Client) -> None:
    assert "llama3.2:latest" in [model.model for model in client.list().models]
    shown = client.show("llama3.2")
    assert (shown.modelinfo or {})["llama.context_length"] == 131_072
    assert "tools" in (shown.capabilities or [])
    assert client.ps().models[0].expires_at is not None
    assert client.delete("llama3.2").status == client.copy("a", "b").status == "success"


def test_progress(client: ollama.Client) -> None:
    assert client.pull("llama3.2").status == client.create("mine", from_="llama3.2").status == "success"
    steps = list(client.pull("llama3.2", stream=True))
    assert (steps[0].status, steps[-1].status) == ("pulling manifest", "success")
    loaded = [step for step in steps if step.digest]
    assert loaded[-1].completed == loaded[-1].total
    assert [step.status for step in client.push("mine", stream=True)][-1] == "success"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("model", "status", "text"),
    [
        ("missing", 404, "model 'missing' not found"),
        ("full", 503, "server busy, please try again.  maximum pending requests exceeded"),
        ("flat", 500, "out of memory"),
    ],
)
def test_errors(client: ollama.Client, model: str, status: int, text: str, stream: bool) -> None:
    with pytest.raises(ollama.ResponseError) as raised:
        list(client.chat(model, said("anything"), stream=stream))
    assert (raised.value.status_code, raised.value.error) == (status, text)


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [("/models/chat", 405, "405 method not allowed"), ("/chat", 404, "/v1/chat/completions")],
)
def test_openai_s_client_shows_hints(server: Served, path: str, status: int, text: str) -> None:
    client = openai.OpenAI(base_url=f"{server.address}/ollama/v1", api_key="any", max_retries=0)
    with client, pytest.raises(openai.APIStatusError) as raised:
        client.post(path, cast_to=object)
    assert raised.value.status_code == status
    assert text in str(raised.value)


def seen(fault: Json) -> tuple[str, Json]:
    """The text that came, and how it ended: whether a line said so, or the exception."""
    text, ended = "", None
    with MockServer() as server:
        server.on("hello").then({"text": "One two three four.", "faults": [fault]})
        try:
            with ollama.Client(server.base_url("ollama"), trust_env=False, timeout=2) as client:
                for part in client.chat("llama3.2", said("hello"), stream=True):
                    text, ended = text + (part.message.content or ""), part.done_reason
        except Exception as error:
            ended = type(error).__name__
    return text, ended


WHOLE = "One two three four."
SEEN: dict[str, tuple[Json, str, Json]] = {
    "cut": ({"cut": {"after_tokens": 2}}, "One two", None),
    "cut before the last line": ("cut", WHOLE, None),
    "disconnect": ({"disconnect": {"after_tokens": 2}}, "One two", "RemoteProtocolError"),
    "stall": ({"stall": {"after_tokens": 2, "for": "9s"}}, "One two", "ReadTimeout"),
    "error": ({"error_event": {"after_tokens": 2}}, "One two", "ResponseError"),
    "malformed": ({"malformed_json": {"after_tokens": 2}}, "One two", "JSONDecodeError"),
    "blank lines": ("keepalive", "", "JSONDecodeError"),
    "carriage returns": ("crlf", WHOLE, "stop"),
    "split": ("split_frame", WHOLE, "stop"),
    "usage": ("drop_usage", WHOLE, "stop"),
    "twice": ({"duplicate": {"after_tokens": 1}}, "One two two three four.", "stop"),
}


@pytest.mark.parametrize(("fault", "text", "ended"), SEEN.values(), ids=SEEN.keys())
def test_faults(fault: Json, text: str, ended: Json) -> None:
    assert seen(fault) == (text, ended)


def test_counts_are_dropped_and_arguments_are_cut() -> None:
    with MockServer() as server, ollama.Client(server.base_url("ollama"), trust_env=False) as client:
        server.on("hello").then({"text": "Hi!", "faults": ["drop_usage"]})
        assert client.chat("llama3.2", said("hello")).eval_count is None
        call = {"tool_calls": [{"name": "get_weather", "arguments": {"city": "Oslo"}}]}
        server.on("weather").then({**call, "faults": ["bad_tool_arguments"]})
        message = client.chat("llama3.2", said("weather"), tools=[get_weather]).message
    assert (message.tool_calls, message.content) == (None, '{"name": "get_weather", "arguments": {"city":"Oslo"')


def test_the_environment_leads_here() -> None:
    with MockServer() as server:
        server.on("hello").reply("Hi!")
        with server.environ(), ollama.Client(trust_env=False) as client:
            assert client.chat("llama3.2", said("hello")).message.content == "Hi!"
        assert [(call.dialect, call.operation) for call in server.calls] == [("ollama", "chat")]


def test_listed_models_are_the_only_ones() -> None:
    with (
        MockServer(models=["llama3.2"], unmatched="generate") as server,
        ollama.Client(server.base_url("ollama"), trust_env=False) as client,
    ):
        assert [model.model for model in client.list().models] == ["llama3.2"]
        for ask in (client.show, client.pull, client.delete, client.embed):
            with pytest.raises(ollama.ResponseError, match="x"):
                ask("x")
