"""Azure's own client for model inference. It reads SSE byte by byte: a stream that it reads is well framed."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from azure.ai.inference import ChatCompletionsClient, load_client
from azure.ai.inference.models import (
    AssistantMessage,
    ChatCompletions,
    ChatCompletionsToolDefinition,
    FunctionDefinition,
    JsonSchemaFormat,
    StreamingChatCompletionsUpdate,
    ToolMessage,
    UserMessage,
)
from azure.core.credentials import AccessToken, AzureKeyCredential
from azure.core.exceptions import HttpResponseError

from tests.clients.payloads import TIME, WEATHER, ZONE
from tests.kit.served import Served

KEY = AzureKeyCredential("sk-test")
TOOLS = [ChatCompletionsToolDefinition(function=FunctionDefinition(dict(tool["function"]))) for tool in (WEATHER, TIME)]
FROZEN = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)


@pytest.fixture
def azure(server: Served) -> Iterator[ChatCompletionsClient]:
    """Azure's own client, which tries once."""
    with ChatCompletionsClient(server.base("azure"), KEY, retry_total=0) as client:
        yield client


def ask(azure: ChatCompletionsClient, prompt: str, **asked: Any) -> ChatCompletions:
    return azure.complete(messages=[UserMessage(prompt)], **asked)


def updates(azure: ChatCompletionsClient, prompt: str, **asked: Any) -> list[StreamingChatCompletionsUpdate]:
    with azure.complete(messages=[UserMessage(prompt)], stream=True, **asked) as stream:
        return list(stream)


def text(updates: list[StreamingChatCompletionsUpdate]) -> str:
    return "".join(choice.delta.content or "" for update in updates for choice in update.choices)


def test_a_text(azure: ChatCompletionsClient) -> None:
    completion = ask(azure, "hello", model="Phi-4")

    assert completion.created == FROZEN
    assert completion.model == "Phi-4"
    assert completion.id
    [choice] = completion.choices
    assert (choice.index, choice.finish_reason) == (0, "stop")
    assert (choice.message.role, choice.message.content) == ("assistant", "Hello! How can I help you today?")
    assert choice.message.tool_calls is None
    usage = completion.usage
    assert usage.as_dict().keys() == {"prompt_tokens", "completion_tokens", "total_tokens"}
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens > 0


def test_a_stream(azure: ChatCompletionsClient) -> None:
    heard = updates(azure, "hello")

    assert text(heard) == "Hello! How can I help you today?"
    assert {update.created for update in heard} == {FROZEN}
    assert len({(update.id, update.model) for update in heard}) == 1
    assert [update.choices[0].delta.role for update in heard] == ["assistant"] + [None] * (len(heard) - 1)
    assert [update.choices[0].finish_reason for update in heard] == [None] * (len(heard) - 1) + ["stop"]
    assert heard[-1].usage == ask(azure, "hello").usage
    assert [update.usage for update in heard[:-1]] == [None] * (len(heard) - 1)


def test_tools_and_what_follows(azure: ChatCompletionsClient) -> None:
    messages = [UserMessage("weather in Paris, please")]
    choice = azure.complete(messages=messages, tools=TOOLS).choices[0]

    assert choice.finish_reason == "tool_calls"
    [call] = choice.message.tool_calls
    assert (call.type, call.function.name) == ("function", "get_weather")
    assert json.loads(call.function.arguments) == {"city": "Paris", "unit": "celsius"}

    answer = ToolMessage('{"sky": "sunny", "city": "Paris"}', tool_call_id=call.id)
    told = azure.complete(messages=[*messages, AssistantMessage(tool_calls=[call]), answer], tools=TOOLS)

    assert told.choices[0].message.content == "It is sunny in Paris."


def test_fragments_of_tool_calls(azure: ChatCompletionsClient) -> None:
    names: list[str] = []
    arguments: dict[int, str] = {}
    for update in updates(azure, "weather and time", tools=TOOLS):
        for fragment in update.choices[0].delta.tool_calls or []:
            names += [fragment.function.name] if fragment.function.name else []
            arguments[fragment["index"]] = arguments.get(fragment["index"], "") + fragment.function.arguments

    assert names == ["get_weather", "get_time"]
    assert [json.loads(arguments[at]) for at in (0, 1)] == [{"city": "Paris", "unit": "celsius"}, {"zone": ZONE}]


def test_structured_output(azure: ChatCompletionsClient) -> None:
    schema = JsonSchemaFormat(name="person", schema={"type": "object"}, strict=False)
    completion = ask(azure, "a person", response_format=schema)

    assert json.loads(completion.choices[0].message.content) == {"name": "Ada Lovelace", "age": 36}


@pytest.mark.parametrize("stream", [False, True])
def test_where_it_ends(azure: ChatCompletionsClient, stream: bool) -> None:
    for asked, expected in (
        ({"max_tokens": 3}, ("one two three", "length")),
        ({"stop": [" five"]}, ("one two three four", "stop")),
    ):
        if stream:
            heard = updates(azure, "count", **asked)
            seen = text(heard), heard[-1].choices[0].finish_reason
        else:
            choice = ask(azure, "count", **asked).choices[0]
            seen = choice.message.content, choice.finish_reason
        assert seen == expected


def test_a_token_in_place_of_a_key(server: Served) -> None:
    """Over plain HTTP the client sends a token only when it is told that this is meant."""

    class Tokens:
        def get_token(self, *scopes: str, **options: Any) -> AccessToken:
            return AccessToken("token", 4_102_444_800)

    with ChatCompletionsClient(server.base("azure"), Tokens(), retry_total=0) as client:
        completion = ask(client, "hello", enforce_https=False)

    assert completion.choices[0].message.content == "Hello! How can I help you today?"


def test_usage_on_a_chunk_of_its_own_when_asked_for(azure: ChatCompletionsClient) -> None:
    *before, last = updates(azure, "hello", model_extras={"stream_options": {"include_usage": True}})

    assert (last.choices, last.usage) == ([], ask(azure, "hello").usage)
    assert {update.usage for update in before} == {None}


def test_the_version_of_the_api(server: Served) -> None:
    with ChatCompletionsClient(server.base("azure"), KEY, api_version="2024-04-01-preview") as earlier:
        assert ask(earlier, "x").choices[0].message.content == "An earlier version."
    wrong = ChatCompletionsClient(server.base("azure"), KEY, api_version="yesterday", retry_total=0)
    with wrong, pytest.raises(HttpResponseError) as raised:
        ask(wrong, "x")
    assert raised.value.response
    assert raised.value.response.headers["x-ms-error-code"] == "InvalidApiVersionParameter"


def test_a_client_for_what_the_endpoint_serves(server: Served) -> None:
    with load_client(server.base("azure"), KEY) as client:
        assert isinstance(client, ChatCompletionsClient)
        assert ask(client, "hello").choices[0].message.content == "Hello! How can I help you today?"


def test_a_request_is_named_as_the_client_named_it(azure: ChatCompletionsClient) -> None:
    seen: list[str] = []
    ask(
        azure,
        "hello",
        headers={"x-ms-client-request-id": "run-7"},
        raw_response_hook=lambda response: seen.append(response.http_response.headers["x-ms-client-request-id"]),
    )

    assert seen == ["run-7"]
