"""A server that is set otherwise: keys and models that it knows, nothing made up, another dialect at the bare paths."""

from collections.abc import Iterator

import httpx2
import openai
import pytest
from azure.ai.inference import ChatCompletionsClient
from azure.ai.inference.models import UserMessage
from azure.core.credentials import AzureKeyCredential
from azure.core.exceptions import ClientAuthenticationError, ResourceNotFoundError
from openai import OpenAI

from tests.clients.asked import say
from tests.kit.served import Served, served

RULES = """
version: 1
settings:
  keys: [sk-right]
  models: ["gpt-4o*", org/own-model]
  unmatched: error
  dialect: skytells
  ids: unique
  clock: 2024-05-01T12:00:00Z
rules:
  - name: greeting
    when: {last_user: hello, model: gpt-4o}
    then: {text: Hi!}
"""


@pytest.fixture(scope="module")
def other() -> Iterator[Served]:
    """The server."""
    with served(RULES) as running:
        yield running


@pytest.fixture
def client(other: Served, connection: httpx2.Client) -> Iterator[OpenAI]:
    """OpenAI's own client with the right key."""
    base = other.base("openai")
    with OpenAI(base_url=base, api_key="sk-right", http_client=connection, max_retries=0) as client:
        yield client


def test_the_right_key(client: OpenAI) -> None:
    completion = client.chat.completions.create(model="gpt-4o", messages=say("hello"))

    assert completion.choices[0].message.content == "Hi!"
    assert completion.created == 1_714_564_800


@pytest.mark.parametrize("dialect", ["openai", "crazyrouter", "skytells"])
def test_a_wrong_key(client: OpenAI, other: Served, dialect: str) -> None:
    wrong = client.with_options(base_url=other.base(dialect), api_key="sk-this-is-wrong-0123")
    with pytest.raises(openai.AuthenticationError) as raised:
        wrong.chat.completions.create(model="gpt-4o", messages=say("hello"))

    assert raised.value.code == "invalid_api_key"
    assert "Incorrect API key provided: sk-th" in raised.value.message
    assert "this-is-wrong" not in raised.value.message


def test_azure_with_a_wrong_key(other: Served) -> None:
    client = ChatCompletionsClient(other.base("azure"), AzureKeyCredential("sk-wrong"), retry_total=0)
    with client, pytest.raises(ClientAuthenticationError):
        client.complete(messages=[UserMessage("hello")], model="gpt-4o")


def test_a_model_that_does_not_exist(client: OpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as raised:
        client.chat.completions.create(model="gpt-3", messages=say("hello"))

    assert (raised.value.code, raised.value.param) == ("model_not_found", "model")
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("gpt-3")


def test_azure_with_a_model_that_does_not_exist(other: Served) -> None:
    client = ChatCompletionsClient(other.base("azure"), AzureKeyCredential("sk-right"), retry_total=0)
    with client, pytest.raises(ResourceNotFoundError):
        client.complete(messages=[UserMessage("hello")], model="gpt-3")


def test_the_models_that_exist(client: OpenAI) -> None:
    assert [model.id for model in client.models.list()] == ["gpt-4o", "gpt-4o-mini", "org/own-model"]
    assert client.models.retrieve("org/own-model").id == "org/own-model"


@pytest.mark.parametrize("stream", [False, True])
def test_what_no_rule_answers_names_the_nearest(client: OpenAI, stream: bool) -> None:
    with pytest.raises(openai.NotFoundError) as raised:
        client.chat.completions.create(model="gpt-4o-mini", messages=say("hello"), stream=stream)

    assert "greeting" in raised.value.message
    assert "gpt-4o-mini" in raised.value.message


def test_ids_that_never_repeat(client: OpenAI) -> None:
    one, two = (client.chat.completions.create(model="gpt-4o", messages=say("hello")) for _ in range(2))

    assert one.id != two.id


def test_the_dialect_of_the_bare_paths(other: Served) -> None:
    with OpenAI(base_url=f"{other.address}/v1", api_key="sk-right") as bare:
        completion = bare.chat.completions.create(model="gpt-4o", messages=say("hello"))

    assert completion.model_extra
    assert completion.model_extra.keys() == {"prompt_filter_results"}
