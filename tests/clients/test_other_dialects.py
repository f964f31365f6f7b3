"""The dialects that are like OpenAI's, through their own client or OpenAI's: what all of them have in common."""

from collections.abc import Iterator

import httpx2
import openai
import pytest
from crazyrouter import Crazyrouter
from openai import AzureOpenAI, OpenAI

from tests.clients.payloads import MODEL, TIME, WEATHER, ZONE, Person, say
from tests.kit.capture import ResponseCapture
from tests.kit.served import Served

ERRORS = {
    "azure_openai": {"code", "innererror", "message", "param", "status", "type"},
    "crazyrouter": {"code", "message", "type"},
    "fireworks": {"code", "message", "param", "type"},
    "skytells": {"code", "details", "error_id", "message", "param", "request_id", "status", "type"},
    "tzafon": {"code", "message", "param", "type"},
}


@pytest.fixture(params=ERRORS)
def dialect(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def client(server: Served, connection: httpx2.Client, dialect: str) -> Iterator[OpenAI]:
    base = server.base(dialect)
    if dialect == "azure_openai":
        made: OpenAI = AzureOpenAI(
            azure_endpoint=base, api_key="k", api_version="2024-10-21", http_client=connection, max_retries=0
        )
    else:
        kind = Crazyrouter if dialect == "crazyrouter" else OpenAI
        made = kind(base_url=base, api_key="k", http_client=connection, max_retries=0)
    with made:
        yield made


def test_texts(client: OpenAI) -> None:
    whole = client.chat.completions.create(model=MODEL, messages=say("hello"))
    with client.chat.completions.stream(model=MODEL, messages=say("hello")) as stream:
        final = stream.get_final_completion()

    assert whole.choices[0].message.content == final.choices[0].message.content == "Hello! How can I help you today?"
    assert final.id == whole.id


@pytest.mark.parametrize("dialect", ["skytells"])
def test_a_stated_fingerprint_and_usage(client: OpenAI, dialect: str) -> None:
    made = client.chat.completions.create(model=MODEL, messages=say("stated"))
    assert made.system_fingerprint == "fp_mine"
    assert made.usage
    assert made.usage.completion_tokens_details
    assert made.usage.prompt_tokens_details
    assert made.usage.completion_tokens_details.accepted_prediction_tokens == 3
    assert made.usage.prompt_tokens_details.audio_tokens == 2


def test_tools(client: OpenAI) -> None:
    tools = [WEATHER, TIME]
    whole = client.chat.completions.create(model=MODEL, messages=say("weather and time"), tools=tools)
    with client.chat.completions.stream(model=MODEL, messages=say("weather and time"), tools=tools) as stream:
        final = stream.get_final_completion()

    calls = final.choices[0].message.tool_calls or []
    assert [call.function.parsed_arguments for call in calls] == [{"city": "Paris", "unit": "celsius"}, {"zone": ZONE}]
    assert [call.id for call in calls] == [call.id for call in whole.choices[0].message.tool_calls or []]


def test_parse(client: OpenAI) -> None:
    completion = client.chat.completions.parse(model=MODEL, messages=say("a person"), response_format=Person)

    assert completion.choices[0].message.parsed == Person(name="Ada Lovelace", age=36)


def test_models(client: OpenAI) -> None:
    assert {model.object for model in client.models.list()} == {"model"}
    assert client.models.retrieve(MODEL).id == MODEL


@pytest.mark.parametrize("stream", [False, True])
def test_a_filtered_prompt(client: OpenAI, capture: ResponseCapture, dialect: str, stream: bool) -> None:
    with pytest.raises(openai.BadRequestError) as raised:
        client.chat.completions.create(model=MODEL, messages=say("filtered prompt"), stream=stream)

    assert capture.last.headers["content-type"] == "application/json"
    assert isinstance(raised.value.body, dict)
    assert raised.value.body.keys() == ERRORS[dialect]
