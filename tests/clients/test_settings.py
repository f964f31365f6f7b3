"""A server that is set otherwise: keys and models that it knows, nothing made up, another dialect at the bare paths."""

from collections.abc import Iterator

import httpx2
import openai
import pytest
from openai import OpenAI

from tests.clients.payloads import say
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
    with served(RULES) as running:
        yield running


@pytest.fixture
def client(other: Served, connection: httpx2.Client) -> Iterator[OpenAI]:
    base = other.base("openai")
    with OpenAI(base_url=base, api_key="sk-right", http_client=connection, max_retries=0) as client:
        yield client


@pytest.mark.parametrize("dialect", ["openai", "crazyrouter", "skytells"])
def test_a_wrong_key(client: OpenAI, other: Served, dialect: str) -> None:
    wrong = client.with_options(base_url=other.base(dialect), api_key="sk-this-is-wrong-0123")
    with pytest.raises(openai.AuthenticationError) as raised:
        wrong.chat.completions.create(model="gpt-4o", messages=say("hello"))

    assert raised.value.code == "invalid_api_key"
    assert "Incorrect API key provided: sk-th" in raised.value.message
    assert "this-is-wrong" not in raised.value.message


def test_a_model_that_does_not_exist(client: OpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as raised:
        client.chat.completions.create(model="gpt-3", messages=say("hello"))

    assert (raised.value.code, raised.value.param) == ("model_not_found", None)
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("gpt-3")


@pytest.mark.parametrize("stream", [False, True])
def test_what_no_rule_answers_names_the_nearest(client: OpenAI, stream: bool) -> None:
    with pytest.raises(openai.NotFoundError) as raised:
        client.chat.completions.create(model="gpt-4o-mini", messages=say("hello"), stream=stream)

    assert "greeting" in raised.value.message
    assert "gpt-4o-mini" in raised.value.message
