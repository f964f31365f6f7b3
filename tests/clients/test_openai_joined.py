"""OpenAI's own client, asking by `.stream()`, which joins the chunks as they come and tells of what is whole."""

from collections import Counter
from typing import Any

import openai
import pytest
from openai import OpenAI

from tests.clients.payloads import MODEL, TIME, WEATHER, ZONE, Person, say


def test_texts(client: OpenAI) -> None:
    with client.chat.completions.stream(model=MODEL, messages=say("hello")) as stream:
        events = list(stream)
        final = stream.get_final_completion()

    assert Counter(event.type for event in events).keys() == {"chunk", "content.delta", "content.done"}
    deltas = [event.delta for event in events if event.type == "content.delta"]
    assert "".join(deltas) == "Hello! How can I help you today?"
    [done] = [event.content for event in events if event.type == "content.done"]
    assert done == final.choices[0].message.content == "Hello! How can I help you today?"
    assert final.choices[0].message.role == "assistant"


def test_it_ends_with_what_a_plain_answer_says(client: OpenAI) -> None:
    asked: dict[str, Any] = {"model": MODEL, "messages": say("alternatives"), "n": 2}
    options = {"include_usage": True}
    with client.chat.completions.stream(**asked, stream_options=options) as stream:
        streamed = stream.get_final_completion()
    plain = client.chat.completions.create(**asked)

    assert streamed.id == plain.id
    assert streamed.usage == plain.usage
    assert [choice.message.content for choice in streamed.choices] == [c.message.content for c in plain.choices]


def test_tool_calls(client: OpenAI) -> None:
    tools = [WEATHER, TIME]
    with client.chat.completions.stream(model=MODEL, messages=say("weather and time"), tools=tools) as stream:
        events = list(stream)
        message = stream.get_final_completion().choices[0].message

    done = [event for event in events if event.type == "tool_calls.function.arguments.done"]
    assert [(event.index, event.name, event.parsed_arguments) for event in done] == [
        (0, "get_weather", {"city": "Paris", "unit": "celsius"}),
        (1, "get_time", {"zone": ZONE}),
    ]
    calls = message.tool_calls or []
    assert [call.function.name for call in calls] == ["get_weather", "get_time"]
    assert [call.function.parsed_arguments for call in calls] == [event.parsed_arguments for event in done]
    plain = client.chat.completions.create(model=MODEL, messages=say("weather and time"), tools=tools)
    assert [call.id for call in calls] == [call.id for call in plain.choices[0].message.tool_calls or []]


def test_structured_output(client: OpenAI) -> None:
    with client.chat.completions.stream(model=MODEL, messages=say("a person"), response_format=Person) as stream:
        final = stream.get_final_completion()

    assert final.choices[0].message.parsed == Person(name="Ada Lovelace", age=36)


@pytest.mark.parametrize(
    ("prompt", "error"),
    [
        ("long story", openai.LengthFinishReasonError),
        ("filtered completion", openai.ContentFilterFinishReasonError),
    ],
)
def test_what_is_not_whole(client: OpenAI, prompt: str, error: type[Exception]) -> None:
    with client.chat.completions.stream(model=MODEL, messages=say(prompt)) as stream:
        for _ in stream:
            pass
        with pytest.raises(error):
            stream.get_final_completion()
