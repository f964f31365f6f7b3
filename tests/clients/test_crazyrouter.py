"""Crazyrouter's own client, which is OpenAI's under another name: the smallest objects."""

import json
from collections.abc import Iterator

import httpx2
import openai
import pytest
from crazyrouter import Crazyrouter

from tests.clients.asked import MODEL, TIME, WEATHER, ZONE, Person, say
from tests.kit.served import Served
from tests.kit.strict import frames
from tests.kit.witness import Witness


@pytest.fixture
def client(server: Served, connection: httpx2.Client) -> Iterator[Crazyrouter]:
    """Crazyrouter's own client."""
    base = server.base("crazyrouter")
    with Crazyrouter(api_key="sk-test", base_url=base, http_client=connection, max_retries=0) as client:
        yield client


def test_a_text(client: Crazyrouter, witness: Witness) -> None:
    completion = client.chat.completions.create(model=MODEL, messages=say("hello"))

    assert completion.choices[0].message.content == "Hello! How can I help you today?"
    body = json.loads(witness.last.body)
    assert list(body) == ["id", "object", "created", "model", "choices", "usage", "system_fingerprint"]
    assert list(body["choices"][0]) == ["index", "message", "finish_reason"]
    assert list(body["choices"][0]["message"]) == ["role", "content"]
    assert list(body["usage"]) == ["prompt_tokens", "completion_tokens", "total_tokens"]


def test_a_stream(client: Crazyrouter, witness: Witness) -> None:
    chunks = list(client.chat.completions.create(model=MODEL, messages=say("hello"), stream=True))

    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "Hello! How can I help you today?"
    first, *_, end = frames(bytes(witness.last.body))
    assert list(json.loads(first)) == ["id", "object", "created", "model", "choices"]
    assert json.loads(first)["choices"] == [
        {"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}
    ]
    assert end == b"[DONE]"


def test_usage_of_a_stream(client: Crazyrouter) -> None:
    options = {"include_usage": True}
    *chunks, last = client.chat.completions.create(
        model=MODEL, messages=say("hello"), stream=True, extra_body={"stream_options": options}
    )

    assert [chunk.usage for chunk in chunks] == [None] * len(chunks)
    assert last.choices == []
    assert last.usage


def test_tools(client: Crazyrouter) -> None:
    tools = [WEATHER, TIME]
    plain = client.chat.completions.create(model=MODEL, messages=say("weather and time"), tools=tools)
    with client.chat.completions.stream(model=MODEL, messages=say("weather and time"), tools=tools) as stream:
        streamed = stream.get_final_completion()

    calls = streamed.choices[0].message.tool_calls or []
    assert [call.function.parsed_arguments for call in calls] == [{"city": "Paris", "unit": "celsius"}, {"zone": ZONE}]
    assert [call.id for call in calls] == [call.id for call in plain.choices[0].message.tool_calls or []]


def test_parse(client: Crazyrouter) -> None:
    completion = client.chat.completions.parse(model=MODEL, messages=say("a person"), response_format=Person)

    assert completion.choices[0].message.parsed == Person(name="Ada Lovelace", age=36)


def test_what_is_shown_when_asked_for(client: Crazyrouter) -> None:
    choice = client.chat.completions.create(model=MODEL, messages=say("count"), logprobs=True).choices[0]
    refused = client.chat.completions.create(model=MODEL, messages=say("forbidden")).choices[0]

    assert choice.logprobs
    assert "".join(token.token for token in choice.logprobs.content or []) == choice.message.content
    assert refused.message.refusal == "I cannot help with that."


@pytest.mark.parametrize("stream", [False, True])
def test_reasoning(client: Crazyrouter, stream: bool) -> None:
    if stream:
        chunks = client.chat.completions.create(model=MODEL, messages=say("think"), stream=True)
        deltas = [chunk.choices[0].delta for chunk in chunks]
        thought = "".join(getattr(delta, "reasoning_content", "") for delta in deltas)
        said = "".join(delta.content or "" for delta in deltas)
    else:
        message = client.chat.completions.create(model=MODEL, messages=say("think")).choices[0].message
        thought, said = getattr(message, "reasoning_content", ""), message.content or ""

    assert (thought, said) == ("Six times seven.", "42")


def test_unknown_parameters_go_through(client: Crazyrouter) -> None:
    completion = client.chat.completions.create(model=MODEL, messages=say("x"), extra_body={"safe_mode": True})

    assert completion.choices[0].message.content == "Safely passed through."


def test_a_filtered_completion(client: Crazyrouter) -> None:
    with pytest.raises(openai.ContentFilterFinishReasonError):
        client.chat.completions.parse(model=MODEL, messages=say("filtered completion"))


def test_models(client: Crazyrouter) -> None:
    assert [model.object for model in client.models.list()]
    assert client.models.retrieve("openai/gpt-4o").id == "openai/gpt-4o"


def test_an_unknown_path(client: Crazyrouter) -> None:
    with pytest.raises(openai.NotFoundError) as raised:
        client.get("/nothing", cast_to=object)

    assert isinstance(raised.value.body, dict)
    assert raised.value.body.keys() == {"message", "type", "code"}
