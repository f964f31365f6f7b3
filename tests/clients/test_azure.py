"""Azure's own clients for chat and vectors. They read SSE byte by byte: a stream that they read is well framed."""

import json
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from typing import Any

import httpx2
import pytest
from azure.ai.inference import ChatCompletionsClient, EmbeddingsClient, load_client
from azure.ai.inference.aio import ChatCompletionsClient as AsyncClient
from azure.ai.inference.models import (
    AssistantMessage,
    ChatCompletions,
    ChatCompletionsToolDefinition,
    EmbeddingEncodingFormat,
    EmbeddingInputType,
    FunctionDefinition,
    JsonSchemaFormat,
    StreamingChatCompletionsUpdate,
    ToolMessage,
    UserMessage,
)
from azure.core.credentials import AccessToken, AzureKeyCredential
from azure.core.exceptions import (
    ClientAuthenticationError,
    HttpResponseError,
    ResourceExistsError,
    ResourceNotFoundError,
)
from azure.core.pipeline.transport import AsyncioRequestsTransport
from openai import AzureOpenAI, NotFoundError, OpenAI

from tests.clients.conftest import STATUSES
from tests.clients.payloads import TIME, WEATHER, ZONE
from tests.kit.served import Served

KEY = AzureKeyCredential("sk-test")
TOOLS = [ChatCompletionsToolDefinition(function=FunctionDefinition(dict(tool["function"]))) for tool in (WEATHER, TIME)]
FROZEN = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)

RAISED: dict[int, type[HttpResponseError]] = {
    401: ClientAuthenticationError,
    404: ResourceNotFoundError,
    409: ResourceExistsError,
}
BRIEF = {"error", "message", "status"}
SHAPES = {401: BRIEF, 404: BRIEF, 429: BRIEF, 422: BRIEF | {"code", "detail"}}


@pytest.fixture
def azure(server: Served) -> Iterator[ChatCompletionsClient]:
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
    received = updates(azure, "hello")

    assert text(received) == "Hello! How can I help you today?"
    assert {update.created for update in received} == {FROZEN}
    assert len({(update.id, update.model) for update in received}) == 1
    assert [update.choices[0].delta.role for update in received] == ["assistant"] + [None] * (len(received) - 1)
    assert [update.choices[0].finish_reason for update in received] == [None] * (len(received) - 1) + ["stop"]
    assert received[-1].usage == ask(azure, "hello").usage
    assert [update.usage for update in received[:-1]] == [None] * (len(received) - 1)


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


@pytest.fixture
async def azure_async(server: Served) -> AsyncIterator[AsyncClient]:
    transport = AsyncioRequestsTransport()
    async with AsyncClient(server.base("azure"), KEY, transport=transport, retry_total=0) as client:
        yield client


async def test_an_awaited_stream(azure_async: AsyncClient) -> None:
    async with await azure_async.complete(messages=[UserMessage("hello")], stream=True) as stream:
        updates = [update async for update in stream]

    text = "".join(update.choices[0].delta.content or "" for update in updates)
    assert text == "Hello! How can I help you today?"
    assert updates[-1].choices[0].finish_reason == "stop"


async def test_an_awaited_error(azure_async: AsyncClient) -> None:
    with pytest.raises(HttpResponseError) as raised:
        await azure_async.complete(messages=[UserMessage("filtered prompt")], stream=True)

    assert raised.value.response
    assert raised.value.response.headers["x-ms-error-code"] == "content_filter"


@pytest.fixture
def vectors(server: Served) -> Iterator[EmbeddingsClient]:
    with EmbeddingsClient(server.base("azure"), KEY, retry_total=0) as client:
        yield client


def test_vectors(vectors: EmbeddingsClient) -> None:
    answer = vectors.embed(input=["the quiet sea", "a loud street"])

    assert answer.id
    assert answer.model == "Cohere-embed-v3-english"
    assert [(item.index, len(item.embedding)) for item in answer.data] == [(0, 1024), (1, 1024)]
    assert sum(float(number) ** 2 for number in answer.data[0].embedding) == pytest.approx(1.0)
    assert (answer.usage.prompt_tokens, answer.usage.total_tokens) == (6, 6)


def test_everything_that_can_be_asked(vectors: EmbeddingsClient) -> None:
    answer = vectors.embed(
        input=["the quiet sea"],
        model="mine",
        dimensions=16,
        encoding_format=EmbeddingEncodingFormat.INT8,
        input_type=EmbeddingInputType.QUERY,
    )

    assert answer.model == "mine"
    assert [type(number) for number in answer.data[0].embedding] == [int] * 16
    packed = vectors.embed(input=["the quiet sea"], encoding_format=EmbeddingEncodingFormat.BASE64)
    assert isinstance(packed.data[0].embedding, str)


def error_of(azure: ChatCompletionsClient, prompt: str = "please", **asked: Any) -> HttpResponseError:
    with pytest.raises(HttpResponseError) as raised:
        azure.complete(messages=[UserMessage(prompt)], **asked)
    return raised.value


def body_of(error: HttpResponseError) -> dict[str, Any]:
    assert error.response
    body: dict[str, Any] = error.response.json()
    return body


def code_of(error: HttpResponseError) -> str:
    assert error.response
    return str(error.response.headers["x-ms-error-code"])


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("status", STATUSES)
def test_every_status(azure: ChatCompletionsClient, *, status: int, stream: bool) -> None:
    error = error_of(azure, model=f"status-{status}", stream=stream)
    body = body_of(error)

    assert type(error) is RAISED.get(status, HttpResponseError)
    assert error.status_code == body["status"] == status
    assert error.error is None, "a flat body has no error in OData's sense"
    assert body.keys() == SHAPES.get(status, BRIEF | {"code", "param"})
    assert {type(body[key]) for key in body.keys() - {"status", "detail"}} == {str}
    assert body["message"] in str(error)
    assert code_of(error)
    assert error.response
    assert error.response.headers["content-type"] == "application/json"
    assert "retry-after" not in error.response.headers


@pytest.mark.parametrize("stream", [False, True])
def test_a_filtered_prompt(azure: ChatCompletionsClient, stream: bool) -> None:
    error = error_of(azure, "filtered prompt", stream=stream)

    assert code_of(error) == "content_filter"
    assert body_of(error) == {
        "status": 400,
        "code": "content_filter",
        "error": "Bad Request",
        "message": "The response was filtered",
        "param": "messages",
    }


def test_a_parameter_that_the_model_does_not_support(azure: ChatCompletionsClient) -> None:
    error = error_of(azure, temperature=-1)

    assert (error.status_code, code_of(error)) == (422, "parameter_not_supported")
    detail = body_of(error)["detail"]
    assert detail["loc"] == ["body", "temperature"]
    assert float(detail["value"]) == -1
    assert isinstance(detail["value"], str)


def test_an_unknown_path(server: Served) -> None:
    with ChatCompletionsClient(f"{server.base('azure')}/v1", KEY, retry_total=0) as client:
        error = error_of(client)

    assert type(error) is ResourceNotFoundError
    assert "/azure/chat/completions" in body_of(error)["message"]


@pytest.mark.parametrize("model", ["refused-once", "broken-twice"])
def test_the_client_tries_again(server: Served, model: str) -> None:
    """Any status is tried again when it says how long to wait, and a 500 even when it does not."""
    with ChatCompletionsClient(server.base("azure", f"azure-{model}"), KEY, retry_backoff_factor=0) as client:
        completion = client.complete(messages=[UserMessage("please")], model=model)

    assert completion.choices[0].message.content == "At last."


def test_the_server_sees_every_try(server: Served) -> None:
    numbers: list[int] = []
    with ChatCompletionsClient(server.base("azure", "azure-tries"), KEY) as client:
        client.complete(
            messages=[UserMessage("please")],
            model="busy-twice",
            raw_response_hook=lambda response: numbers.append(int(response.http_response.headers["x-mockserver-call"])),
        )

    last = numbers[-1]
    assert [server.logged(number)["status"] for number in range(last - 2, last + 1)] == [429, 429, 200]


@pytest.mark.parametrize("namespace", [None, "one-address"])
def test_one_address_serves_azure_openai_too(server: Served, connection: httpx2.Client, namespace: str | None) -> None:
    base = server.base("azure", namespace)
    with ChatCompletionsClient(base, KEY, retry_total=0) as client:
        assert "prompt_filter_results" not in ask(client, "hello").as_dict()
    own = {"api_key": "sk-test", "http_client": connection, "max_retries": 0}
    made = (
        AzureOpenAI(azure_endpoint=base, api_version="2024-10-21", **own),
        AzureOpenAI(azure_endpoint=base, api_version="2024-10-21", azure_deployment="gpt-4o", **own),
        OpenAI(base_url=f"{base}/openai/v1", **own),
    )
    for other in made:
        said = other.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": "hello"}])
        assert "prompt_filter_results" in said.model_dump()
    with pytest.raises(NotFoundError, match="Resource not found") as caught:
        made[2].get("/nothing", cast_to=object)
    assert isinstance(caught.value.body, dict)
    assert caught.value.body["code"] == "404"
