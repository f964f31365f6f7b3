"""OpenAI's own client, asynchronous. It differs from the other by its connection, so each way is gone once."""

import asyncio
import json

import openai
import pytest
from openai import AsyncOpenAI

from tests.clients.asked import MODEL, TIME, WEATHER, ZONE, Person, say


async def test_a_text(async_client: AsyncOpenAI) -> None:
    completion = await async_client.chat.completions.create(model=MODEL, messages=say("hello"))

    assert completion.choices[0].message.content == "Hello! How can I help you today?"
    assert completion._request_id
    assert completion._request_id.startswith("req_")


async def test_a_stream(async_client: AsyncOpenAI) -> None:
    stream = await async_client.chat.completions.create(
        model=MODEL, messages=say("hello"), stream=True, stream_options={"include_usage": True}
    )
    *chunks, last = [chunk async for chunk in stream]

    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert text == "Hello! How can I help you today?"
    assert last.usage
    assert last.usage.total_tokens > 0


async def test_a_joined_stream(async_client: AsyncOpenAI) -> None:
    tools = [WEATHER, TIME]
    asked = async_client.chat.completions.stream(model=MODEL, messages=say("weather and time"), tools=tools)
    async with asked as stream:
        names = [event.name async for event in stream if event.type == "tool_calls.function.arguments.done"]
        message = (await stream.get_final_completion()).choices[0].message

    assert names == ["get_weather", "get_time"]
    arguments = [json.loads(call.function.arguments) for call in message.tool_calls or []]
    assert arguments == [{"city": "Paris", "unit": "celsius"}, {"zone": ZONE}]


async def test_parse(async_client: AsyncOpenAI) -> None:
    asked = async_client.chat.completions.parse(model=MODEL, messages=say("a person"), response_format=Person)

    assert (await asked).choices[0].message.parsed == Person(name="Ada Lovelace", age=36)


async def test_a_joined_stream_is_parsed(async_client: AsyncOpenAI) -> None:
    asked = async_client.chat.completions.stream(model=MODEL, messages=say("a person"), response_format=Person)
    async with asked as stream:
        final = await stream.get_final_completion()

    assert final.choices[0].message.parsed == Person(name="Ada Lovelace", age=36)


@pytest.mark.parametrize(
    ("prompt", "error"),
    [
        ("long story", openai.LengthFinishReasonError),
        ("filtered completion", openai.ContentFilterFinishReasonError),
    ],
)
async def test_what_is_not_whole(async_client: AsyncOpenAI, prompt: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        await async_client.chat.completions.parse(model=MODEL, messages=say(prompt))


async def test_an_error(async_client: AsyncOpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as raised:
        await async_client.chat.completions.create(model=MODEL, messages=say("filtered prompt"), stream=True)

    assert raised.value.code == "content_policy_violation"


async def test_models(async_client: AsyncOpenAI) -> None:
    names = [model.id async for model in async_client.models.list()]

    assert "gpt-4o" in names
    assert (await async_client.models.retrieve("org/team/model")).id == "org/team/model"


async def test_many_at_once(async_client: AsyncOpenAI) -> None:
    asked = [async_client.chat.completions.create(model=MODEL, messages=say(f"hello {n}")) for n in range(40)]
    completions = await asyncio.gather(*asked)

    assert {completion.choices[0].message.content for completion in completions} == {"Hello! How can I help you today?"}
    assert len({completion.id for completion in completions}) == 40
