"""Skytells through OpenAI's client, as its own has no chat: filter results on prompt, choice and every chunk."""

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import openai
import pytest
from openai import OpenAI
from openai.types.chat import ChatCompletionChunk

from tests.clients.asked import MODEL, TIME, WEATHER, ZONE, Person, say
from tests.kit.served import Served
from tests.kit.strict import frames
from tests.kit.witness import Witness

SAFE = {"filtered": False, "severity": "safe"}
UNDETECTED = {"detected": False, "filtered": False}
HARMLESS = {"hate": SAFE, "self_harm": SAFE, "sexual": SAFE, "violence": SAFE}
COMPLETION = {**HARMLESS, "protected_material_code": UNDETECTED, "protected_material_text": UNDETECTED}
PROMPT = [{"prompt_index": 0, "content_filter_results": {**HARMLESS, "jailbreak": UNDETECTED}}]


@pytest.fixture
def client(server: Served, connection: httpx2.Client) -> Iterator[OpenAI]:
    """OpenAI's client at Skytells."""
    base = server.base("skytells")
    with OpenAI(api_key="sk-test", base_url=base, http_client=connection, max_retries=0) as client:
        yield client


def chunks(client: OpenAI, prompt: str, **asked: Any) -> list[ChatCompletionChunk]:
    return list(client.chat.completions.create(model=MODEL, messages=say(prompt), stream=True, **asked))


def test_a_text(client: OpenAI, witness: Witness) -> None:
    completion = client.chat.completions.create(model=MODEL, messages=say("hello"))

    assert completion.choices[0].message.content == "Hello! How can I help you today?"
    assert completion.model_extra == {"prompt_filter_results": PROMPT}
    assert completion.choices[0].model_extra == {"content_filter_results": COMPLETION}
    body = json.loads(witness.last.body)
    assert list(body) == [
        *("id", "object", "created", "model", "system_fingerprint"),
        *("choices", "prompt_filter_results", "usage"),
    ]
    assert body["system_fingerprint"] is None
    assert list(body["choices"][0]) == ["index", "message", "finish_reason", "logprobs", "content_filter_results"]


def test_a_stream(client: OpenAI) -> None:
    first, second, *others = heard = chunks(client, "hello")

    assert first.model_extra == {"prompt_filter_results": PROMPT}
    assert first.choices[0].delta.model_dump(exclude_unset=True) == {}
    assert second.choices[0].delta.role == "assistant"
    assert second.choices[0].delta.content
    assert [chunk.choices[0].delta.role for chunk in others] == [None] * len(others)
    assert [chunk.model_extra for chunk in (second, *others)] == [{}] * (len(others) + 1)
    assert [chunk.choices[0].model_extra for chunk in heard] == [{"content_filter_results": COMPLETION}] * len(heard)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in heard) == "Hello! How can I help you today?"
    assert [chunk.choices[0].finish_reason for chunk in heard] == [None] * (len(heard) - 1) + ["stop"]


def test_every_chunk_says_that_usage_is_null(client: OpenAI, witness: Witness) -> None:
    chunks(client, "hello")
    *data, end = frames(bytes(witness.last.body))

    assert {json.loads(frame)["usage"] for frame in data} == {None}
    assert end == b"[DONE]"


def test_usage_when_asked_for(client: OpenAI) -> None:
    *before, last = chunks(client, "hello", stream_options={"include_usage": True})

    assert last.choices == []
    assert last.usage == client.chat.completions.create(model=MODEL, messages=say("hello")).usage
    assert {chunk.usage for chunk in before} == {None}


def test_alternatives_open_one_after_the_other(client: OpenAI) -> None:
    with client.chat.completions.stream(model=MODEL, messages=say("alternatives"), n=2) as stream:
        final = stream.get_final_completion()

    assert [choice.message.content for choice in final.choices] == ["the first", "and the second"]
    assert [choice.message.role for choice in final.choices] == ["assistant", "assistant"]


def test_tools(client: OpenAI) -> None:
    tools = [WEATHER, TIME]
    first_with_role = chunks(client, "weather and time", tools=tools)[1].choices[0].delta
    with client.chat.completions.stream(model=MODEL, messages=say("weather and time"), tools=tools) as stream:
        message = stream.get_final_completion().choices[0].message

    assert first_with_role.role == "assistant"
    assert first_with_role.tool_calls
    assert "content" not in first_with_role.model_fields_set
    parsed = [call.function.parsed_arguments for call in message.tool_calls or []]
    assert parsed == [{"city": "Paris", "unit": "celsius"}, {"zone": ZONE}]


def test_parse(client: OpenAI) -> None:
    completion = client.chat.completions.parse(model=MODEL, messages=say("a person"), response_format=Person)

    assert completion.choices[0].message.parsed == Person(name="Ada Lovelace", age=36)


def test_a_refusal(client: OpenAI) -> None:
    with client.chat.completions.stream(model=MODEL, messages=say("forbidden")) as stream:
        message = stream.get_final_completion().choices[0].message

    assert (message.role, message.refusal) == ("assistant", "I cannot help with that.")


def test_a_resolved_model(client: OpenAI) -> None:
    assert client.chat.completions.create(model="deepbrain-router", messages=say("extras")).model == "resolved-model"


def test_a_filtered_completion(client: OpenAI) -> None:
    choice = client.chat.completions.create(model=MODEL, messages=say("filtered completion")).choices[0]

    assert choice.finish_reason == "content_filter"
    assert choice.model_extra
    seen = choice.model_extra["content_filter_results"]
    assert seen == {**COMPLETION, "violence": {"filtered": True, "severity": "medium"}}


def test_a_filtered_completion_in_a_stream_trips_in_its_last_chunk(client: OpenAI) -> None:
    *before, last = chunks(client, "filtered completion")

    assert last.choices[0].finish_reason == "content_filter"
    assert last.choices[0].model_extra
    tripped = last.choices[0].model_extra["content_filter_results"]["violence"]
    assert tripped == {"filtered": True, "severity": "medium"}
    assert [chunk.choices[0].model_extra for chunk in before] == [{"content_filter_results": COMPLETION}] * len(before)


@pytest.mark.parametrize("stream", [False, True])
def test_a_filtered_prompt(client: OpenAI, stream: bool) -> None:
    with pytest.raises(openai.BadRequestError) as raised:
        client.chat.completions.create(model=MODEL, messages=say("filtered prompt"), stream=stream)

    error = raised.value
    assert (error.code, error.param) == ("content_filter", "messages")
    assert isinstance(error.body, dict)
    assert error.body["error_id"] == "CONTENT_FILTERED"
    seen = error.body["details"]["prompt_filter_results"][0]["content_filter_results"]
    assert seen["violence"] == {"filtered": True, "severity": "high"}
    assert seen["hate"] == SAFE


def test_its_own_header_for_the_key(connection: httpx2.Client, server: Served) -> None:
    body = {"model": MODEL, "messages": say("x")}
    url = server.base("skytells") + "/chat/completions"
    wrong = connection.post(url, json=body, headers={"x-api-key": "sk-wrong"})
    right = connection.post(url, json=body, headers={"x-api-key": "sk-right"})

    assert (wrong.status_code, wrong.json()["error"]["error_id"]) == (401, "UNAUTHORIZED")
    assert right.status_code == 200


def test_streaming_by_the_query(client: OpenAI, witness: Witness) -> None:
    client.chat.completions.with_raw_response.create(model=MODEL, messages=say("hello"), extra_query={"stream": "true"})

    assert witness.last.headers["content-type"] == "text/event-stream; charset=utf-8"


def test_models(client: OpenAI) -> None:
    assert "deepbrain-router" in [model.id for model in client.models.list()]
    assert client.models.retrieve("anthropic/claude").id == "anthropic/claude"
