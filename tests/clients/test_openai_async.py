"""OpenAI's own client, asynchronous. It differs from the other by its connection, so each way is gone once."""

import asyncio
import json

from openai import AsyncOpenAI

from tests.clients.payloads import MODEL, TIME, WEATHER, ZONE, say


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


async def test_many_at_once(async_client: AsyncOpenAI) -> None:
    asked = [async_client.chat.completions.create(model=MODEL, messages=say(f"hello {n}")) for n in range(40)]
    completions = await asyncio.gather(*asked)

    assert {completion.choices[0].message.content for completion in completions} == {"Hello! How can I help you today?"}
    assert len({completion.id for completion in completions}) == 40
