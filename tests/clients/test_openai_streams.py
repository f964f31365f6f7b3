"""OpenAI's own client, asking for streams and reading them chunk by chunk."""

import json
from typing import Any

import openai
import pytest
from openai import OpenAI
from openai.types.chat import ChatCompletionChunk

from tests.clients.payloads import MODEL, TIME, WEATHER, ZONE, say
from tests.kit.capture import ResponseCapture
from tests.kit.served import Served
from tests.kit.strict import frames

MANY_SCRIPTS = 'Grüße, 世界! 👩‍🚀 naïve "quotes"\n\\ and a tab\t.'


def chunks(client: OpenAI, prompt: str, **asked: Any) -> list[ChatCompletionChunk]:
    return list(client.chat.completions.create(model=MODEL, messages=say(prompt), stream=True, **asked))


def text(chunks: list[ChatCompletionChunk], index: int = 0) -> str:
    return "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices if choice.index == index)


def finishes(chunks: list[ChatCompletionChunk]) -> list[tuple[int, str]]:
    return [
        (choice.index, choice.finish_reason) for chunk in chunks for choice in chunk.choices if choice.finish_reason
    ]


def test_a_text(client: OpenAI) -> None:
    received = chunks(client, "hello")

    assert {(chunk.id, chunk.object, chunk.created, chunk.model) for chunk in received} == {
        (received[0].id, "chat.completion.chunk", 1_700_000_000, MODEL)
    }
    assert received[0].choices[0].delta.role == "assistant"
    assert [chunk.choices[0].delta.role for chunk in received[1:]] == [None] * (len(received) - 1)
    assert text(received) == "Hello! How can I help you today?"
    assert len(received) > 4
    assert finishes(received) == [(0, "stop")]
    assert received[-1].choices[0].finish_reason == "stop"
    assert [chunk.usage for chunk in received] == [None] * len(received)


def test_headers(client: OpenAI, capture: ResponseCapture) -> None:
    chunks(client, "hello")
    headers = capture.last.headers

    assert headers["content-type"] == "text/event-stream; charset=utf-8"
    assert headers["cache-control"] == "no-cache"
    assert "content-length" not in headers
    assert "content-encoding" not in headers
    assert headers["x-request-id"].startswith("req_")


def test_the_terminator_comes_last_and_once(client: OpenAI, capture: ResponseCapture) -> None:
    received = chunks(client, "hello")
    *data, end = frames(bytes(capture.last.body))

    assert end == b"[DONE]"
    assert len(data) == len(received)


def test_many_scripts_one_character_at_a_time(client: OpenAI) -> None:
    received = chunks(client, "many scripts")

    assert text(received) == MANY_SCRIPTS
    assert {len(chunk.choices[0].delta.content or "") for chunk in received} == {0, 1}


def test_usage_when_asked_for(client: OpenAI) -> None:
    *before, last = chunks(client, "hello", stream_options={"include_usage": True})

    assert [chunk.usage for chunk in before] == [None] * len(before)
    assert last.choices == []
    plain = client.chat.completions.create(model=MODEL, messages=say("hello"))
    assert last.usage == plain.usage
    assert last.id == plain.id


@pytest.mark.parametrize(
    ("prompt", "asked", "expected"),
    [
        ("count", {"max_tokens": 3}, ("one two three", "length")),
        ("count", {"max_completion_tokens": 3}, ("one two three", "length")),
        ("count", {"stop": " five"}, ("one two three four", "stop")),
        ("long story", {}, ("Once upon a time there was", "length")),
    ],
)
def test_where_it_ends(client: OpenAI, prompt: str, asked: dict[str, Any], expected: tuple[str, str]) -> None:
    received = chunks(client, prompt, **asked)

    assert (text(received), received[-1].choices[0].finish_reason) == expected


def test_fragments_of_tool_calls(client: OpenAI) -> None:
    received = chunks(client, "weather and time", tools=[WEATHER, TIME])
    fragments = [call for chunk in received for call in chunk.choices[0].delta.tool_calls or []]

    assert [fragment.index for fragment in fragments] == sorted(fragment.index for fragment in fragments)
    assert [fragment.function.name for fragment in fragments if fragment.function and fragment.function.name] == [
        "get_weather",
        "get_time",
    ]
    assert len({fragment.id for fragment in fragments if fragment.id}) == 2
    pieces = ["", ""]
    for fragment in fragments:
        assert fragment.function
        assert len(fragment.function.arguments or "") <= 3
        pieces[fragment.index] += fragment.function.arguments or ""
    assert [json.loads(piece) for piece in pieces] == [{"city": "Paris", "unit": "celsius"}, {"zone": ZONE}]
    assert finishes(received) == [(0, "tool_calls")]


def test_an_error_after_a_chunk(server: Served) -> None:
    received: list[ChatCompletionChunk] = []
    with OpenAI(base_url=server.base("openai"), api_key="sk-test") as client:
        stream = client.chat.completions.create(model=MODEL, messages=say("fail half-way"), stream=True)
        with pytest.raises(openai.APIError, match="The server had an error") as raised:
            received.extend(stream)

    assert [chunk.id for chunk in received] == ["1"]
    assert type(raised.value) is openai.APIError
    assert raised.value.type == "server_error"


def test_a_filtered_prompt_is_refused_before_any_chunk(client: OpenAI, capture: ResponseCapture) -> None:
    with pytest.raises(openai.BadRequestError) as raised:
        chunks(client, "filtered prompt")

    assert raised.value.code == "content_policy_violation"
    assert capture.last.headers["content-type"] == "application/json"
