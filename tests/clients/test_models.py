"""What is known of models, seen by the official clients: what does not fit, what a model lacks, other names."""

from collections.abc import Iterator
from typing import Any

import fireworks
import httpx2
import openai
import pytest
import tzafon
from azure.ai.inference import ChatCompletionsClient
from azure.core.credentials import AzureKeyCredential
from azure.core.exceptions import HttpResponseError
from fireworks import Fireworks
from openai import OpenAI
from tzafon import Lightcone

from tests.clients.payloads import WEATHER, Person, say
from tests.kit.served import Served, served

RULES = """
settings:
  models:
    small: {context_window: 40}
    plain: {tools: false, vision: false, json_schema: false, reasoning: false}
    gpt-4o: {resolved: gpt-4o-2024-08-06, aliases: [team/fast]}
    "*":
rules:
  - {when: {model: team/fast}, then: {text: Hello from the alias.}}
  - {when: {last_user: named}, then: {text: Hello., model: quite-another}}
"""
LONG: Any = say("word " * 60)
IMAGE: Any = {"type": "image_url", "image_url": {"url": "https://example.com/cat.png"}}
SEEN: Any = [{"role": "user", "content": [{"type": "text", "text": "See."}, IMAGE]}]
SCHEMA: Any = {"name": "person", "schema": Person.model_json_schema()}
FORMAT: Any = {"type": "json_schema", "json_schema": SCHEMA}
TOOL: Any = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}, "strict": False}
LACKS: dict[str, dict[str, Any]] = {
    "tools": {"messages": say("hi"), "tools": [WEATHER]},
    "vision": {"messages": SEEN},
    "json_schema": {"messages": say("hi"), "response_format": FORMAT},
    "reasoning": {"messages": say("hi"), "reasoning_effort": "low"},
}
PARAMS = {
    "tools": ("tools", "unsupported_parameter"),
    "vision": ("messages.[0].content.[1].type", None),
    "json_schema": ("response_format", None),
    "reasoning": (None, None),  # "Unrecognized request argument supplied: reasoning_effort"
}


@pytest.fixture(scope="module")
def place() -> Iterator[Served]:
    with served(RULES) as running:
        yield running


@pytest.fixture
def client(place: Served, connection: httpx2.Client) -> Iterator[OpenAI]:
    with OpenAI(base_url=place.base("openai"), api_key="any", http_client=connection, max_retries=0) as client:
        yield client


@pytest.fixture
def unheard(place: Served) -> Iterator[OpenAI]:
    """The same without a capture, who knows no stored chats."""
    with OpenAI(base_url=place.base("openai"), api_key="any", max_retries=0) as client:
        yield client


@pytest.fixture
def azure(place: Served) -> Iterator[ChatCompletionsClient]:
    with ChatCompletionsClient(place.base("azure"), AzureKeyCredential("any"), retry_total=0) as client:
        yield client


@pytest.fixture
def fw(place: Served) -> Iterator[Fireworks]:
    base = place.address + "/fireworks/inference"
    with Fireworks(api_key="any", base_url=base, max_retries=0) as client:
        yield client


@pytest.fixture
def lightcone(place: Served) -> Iterator[Lightcone]:
    with Lightcone(base_url=place.base("tzafon").removesuffix("/v1"), api_key="any", max_retries=0) as client:
        yield client


@pytest.mark.parametrize("stream", [False, True])
def test_what_does_not_fit(client: OpenAI, stream: bool) -> None:
    with pytest.raises(openai.BadRequestError, match="maximum context length is 40 tokens") as raised:
        client.chat.completions.create(model="small", messages=LONG, stream=stream)
    assert (raised.value.code, raised.value.param) == ("context_length_exceeded", "messages")
    with pytest.raises(openai.BadRequestError, match=r"\(7 in the messages, 90 in the completion\)"):
        client.chat.completions.create(model="small", messages=say("hi"), max_tokens=90, stream=stream)
    with pytest.raises(openai.BadRequestError) as raised:
        client.responses.create(model="small", input="word " * 60, stream=stream)
    assert (raised.value.code, raised.value.param) == ("context_length_exceeded", "input")
    with pytest.raises(openai.BadRequestError):
        client.completions.create(model="small", prompt="word " * 60, stream=stream)


def test_what_does_not_fit_elsewhere(azure: ChatCompletionsClient, fw: Fireworks, lightcone: Lightcone) -> None:
    with pytest.raises(HttpResponseError, match="maximum context length") as raised:
        azure.complete(model="small", messages=LONG)
    assert raised.value.response is not None
    assert (raised.value.status_code, raised.value.response.headers["x-ms-error-code"]) == (
        400,
        "context_length_exceeded",
    )
    with pytest.raises(fireworks.BadRequestError, match="maximum context length"):
        fw.chat.completions.create(model="small", messages=LONG)
    with pytest.raises(tzafon.BadRequestError, match="maximum context length"):
        lightcone.responses.create(model="small", input="word " * 60)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("feature", LACKS)
def test_what_a_model_lacks(client: OpenAI, feature: str, stream: bool) -> None:
    with pytest.raises(openai.BadRequestError) as raised:
        client.chat.completions.create(model="plain", stream=stream, **LACKS[feature])
    assert (raised.value.param, raised.value.code) == PARAMS[feature]
    assert raised.value.type == "invalid_request_error"
    assert client.chat.completions.create(model="able", **LACKS[feature]).choices


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("gpt-4o", "gpt-4o-2024-08-06"),
        ("team/fast", "gpt-4o-2024-08-06"),
        ("gpt-4o-2024-08-06", "gpt-4o-2024-08-06"),
        ("gpt-5", "gpt-5"),
    ],
)
def test_names(unheard: OpenAI, asked: str, told: str) -> None:
    client = unheard
    plain = client.chat.completions.create(model=asked, messages=say("hello"), store=True)
    assert plain.model == told
    chunks = client.chat.completions.create(model=asked, messages=say("hello"), stream=True)
    assert {chunk.model for chunk in chunks} == {told}
    assert client.chat.completions.retrieve(plain.id).model == told
    assert plain.id in [stored.id for stored in client.chat.completions.list(model=asked)]
    assert client.models.retrieve(asked).id == asked
    response = client.responses.create(model=asked, input="hello")
    assert (response.model, client.responses.retrieve(response.id).model) == (told, told)
    events = client.responses.create(model=asked, input="hello", stream=True)
    models = {event.response.model for event in events if event.type in ("response.created", "response.completed")}
    assert models == {told}
    assert client.completions.create(model=asked, prompt="hello").model == told


def test_a_rule_sees_the_name_that_the_client_sent(client: OpenAI) -> None:
    told = client.chat.completions.create(model="team/fast", messages=say("hello")).choices[0].message.content
    assert told == "Hello from the alias."
    assert client.chat.completions.create(model="gpt-4o", messages=say("named")).model == "quite-another"
