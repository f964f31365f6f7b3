"""Azure OpenAI through the classes AzureOpenAI and AsyncAzureOpenAI, in each of the ways they are set up."""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import httpx2
import openai
import pytest
from openai import AsyncAzureOpenAI, AzureOpenAI
from openai.types.chat import ChatCompletionChunk

from tests.clients.payloads import MODEL, say
from tests.kit.capture import ResponseCapture
from tests.kit.served import Served

VERSION = "2024-10-21"
SAFE = {"filtered": False, "severity": "safe"}
UNDETECTED = {"detected": False, "filtered": False}
HARMLESS = {"hate": SAFE, "self_harm": SAFE, "sexual": SAFE, "violence": SAFE}
COMPLETION = {**HARMLESS, "protected_material_code": UNDETECTED, "protected_material_text": UNDETECTED}
PROMPT = [{"prompt_index": 0, "content_filter_results": {**HARMLESS, "jailbreak": UNDETECTED}}]
SETUPS: dict[str, Callable[[str], dict[str, Any]]] = {
    "endpoint": lambda base: {"azure_endpoint": base},
    "endpoint and deployment": lambda base: {"azure_endpoint": base, "azure_deployment": MODEL},
    "base URL of a deployment": lambda base: {"base_url": f"{base}/openai/deployments/{MODEL}"},
    "base URL of v1": lambda base: {"base_url": f"{base}/openai/v1"},
}


@pytest.fixture
def client(server: Served, connection: httpx2.Client) -> Iterator[AzureOpenAI]:
    base = server.base("azure_openai")
    with AzureOpenAI(
        azure_endpoint=base, api_key="sk-test", api_version=VERSION, http_client=connection, max_retries=0
    ) as client:
        yield client


@pytest.fixture
async def async_client(server: Served, async_connection: httpx2.AsyncClient) -> AsyncIterator[AsyncAzureOpenAI]:
    """The asynchronous one, with a token of Entra ID."""

    async def token() -> str:
        return "a-token"

    async with AsyncAzureOpenAI(
        azure_endpoint=server.base("azure_openai"),
        azure_deployment=MODEL,
        azure_ad_token_provider=token,
        api_version=VERSION,
        http_client=async_connection,
        max_retries=0,
    ) as client:
        yield client


def chunks(client: AzureOpenAI, prompt: str, **asked: Any) -> list[ChatCompletionChunk]:
    return list(client.chat.completions.create(model=MODEL, messages=say(prompt), stream=True, **asked))


@pytest.mark.parametrize("setup", SETUPS.values(), ids=SETUPS.keys())
def test_every_way_to_set_it_up(server: Served, connection: httpx2.Client, setup: Callable[[str], Any]) -> None:
    where = setup(server.base("azure_openai"))
    with AzureOpenAI(**where, api_key="sk-test", api_version=VERSION, http_client=connection) as client:
        completion = client.chat.completions.create(model=MODEL, messages=say("hello"))
        streamed = list(client.chat.completions.create(model=MODEL, messages=say("hello"), stream=True))

    assert completion.choices[0].message.content == "Hello! How can I help you today?"
    assert completion.model == MODEL
    assert "".join(c.delta.content or "" for one in streamed for c in one.choices) == "Hello! How can I help you today?"


def test_a_text(client: AzureOpenAI, capture: ResponseCapture) -> None:
    completion = client.chat.completions.create(model=MODEL, messages=say("hello"))

    assert completion.model_extra == {"prompt_filter_results": PROMPT}
    assert completion.choices[0].model_extra == {"content_filter_results": COMPLETION}
    assert completion.system_fingerprint
    assert completion.usage
    assert completion._request_id == capture.last.headers["apim-request-id"]


def test_a_stream_opens_with_the_prompt(client: AzureOpenAI) -> None:
    before, first, *others = chunks(client, "hello")

    assert (before.choices, before.id, before.model, before.object, before.created) == ([], "", "", "", 0)
    assert before.model_extra == {"prompt_filter_results": PROMPT}
    assert first.choices[0].delta.role == "assistant"
    assert {chunk.id for chunk in others} == {first.id}
    assert [chunk.choices[0].model_extra for chunk in others] == [{"content_filter_results": COMPLETION}] * len(others)
    assert [chunk.choices[0].finish_reason for chunk in others] == [None] * (len(others) - 1) + ["stop"]


def test_a_filtered_completion(client: AzureOpenAI) -> None:
    choice = client.chat.completions.create(model=MODEL, messages=say("filtered completion")).choices[0]
    *_, last = chunks(client, "filtered completion")

    assert choice.finish_reason == last.choices[0].finish_reason == "content_filter"
    assert choice.model_extra
    assert choice.model_extra["content_filter_results"]["violence"] == {"filtered": True, "severity": "medium"}
    assert last.choices[0].model_extra == choice.model_extra


@pytest.mark.parametrize("stream", [False, True])
def test_a_filtered_prompt(client: AzureOpenAI, stream: bool) -> None:
    with pytest.raises(openai.BadRequestError) as raised:
        client.chat.completions.create(model=MODEL, messages=say("filtered prompt"), stream=stream)

    error = raised.value
    assert (error.code, error.param, error.type) == ("content_filter", "prompt", None)
    assert isinstance(error.body, dict)
    inner = error.body["innererror"]
    assert inner["code"] == "ResponsibleAIPolicyViolation"
    assert inner["content_filter_result"]["violence"] == {"filtered": True, "severity": "high"}


@pytest.mark.parametrize(
    ("status", "error", "code"),
    [
        (400, openai.BadRequestError, "None"),
        (401, openai.AuthenticationError, "401"),
        (403, openai.PermissionDeniedError, "403"),
        (404, openai.NotFoundError, "DeploymentNotFound"),
        (429, openai.RateLimitError, "429"),
        (500, openai.InternalServerError, "None"),
    ],
)
def test_errors(client: AzureOpenAI, status: int, error: type[openai.APIStatusError], code: str) -> None:
    with pytest.raises(error) as raised:
        client.chat.completions.create(model=f"status-{status}", messages=say("x"))

    assert str(raised.value.code) == code
    assert raised.value.request_id == raised.value.response.headers["apim-request-id"]


def test_responses(client: AzureOpenAI, capture: ResponseCapture) -> None:
    whole = client.responses.create(model=MODEL, input="hello")
    with client.responses.stream(model=MODEL, input="hello") as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_response()

    assert capture.last.path == "/azure-openai/openai/responses"
    assert whole.output_text == final.output_text == "Hello! How can I help you today?"
    assert (kinds[0], kinds[-1]) == ("response.created", "response.completed")
    assert final.id == whole.id


def test_kept_responses(client: AzureOpenAI) -> None:
    first = client.responses.create(model=MODEL, input="hello")
    second = client.responses.create(model=MODEL, input="and now?", previous_response_id=first.id)

    assert client.responses.retrieve(first.id) == first
    assert second.previous_response_id == first.id
    assert len(client.responses.input_items.list(second.id).data) >= 1
    client.responses.delete(first.id)


async def test_asynchronous(async_client: AsyncAzureOpenAI) -> None:
    completion = await async_client.chat.completions.create(model=MODEL, messages=say("hello"))
    async with async_client.chat.completions.stream(model=MODEL, messages=say("hello")) as stream:
        final = await stream.get_final_completion()

    assert final.choices[0].message.content == completion.choices[0].message.content
    assert final.id == completion.id
    with pytest.raises(openai.BadRequestError):
        await async_client.chat.completions.create(model=MODEL, messages=say("filtered prompt"))


@pytest.mark.parametrize("is_new", [False, True], ids=["openai", "openai/v1"])
def test_objects_are_kept_with_and_without_a_version_in_the_path(server: Served, is_new: bool) -> None:
    base = server.base("azure_openai", namespace=f"objects-{is_new}")
    if is_new:
        client = openai.OpenAI(base_url=f"{base}/openai/v1", api_key="any")
    else:
        client = AzureOpenAI(azure_endpoint=base, api_key="any", api_version=VERSION)
    with client:
        store = client.vector_stores.create(name="docs").id
        file = client.vector_stores.files.upload_and_poll(vector_store_id=store, file=("a.txt", b"Trains to Oslo"))
        assert [each.file_id for each in client.vector_stores.search(store, query="trains")] == [file.id]
        conversation = client.conversations.create().id
        client.responses.create(model="gpt-4o", input="hello", conversation=conversation)
        assert len(client.conversations.items.list(conversation).data) == 2


def test_images_and_sounds_of_a_deployment(client: AzureOpenAI) -> None:
    made = client.images.generate(model="pictures", prompt="a teal sea", size="1024x1024")
    assert (made.data or [])[0].b64_json
    said = client.audio.speech.create(model="voice", voice="alloy", input="Hello there", response_format="wav")
    heard = client.audio.transcriptions.create(model="whisper", file=("said.wav", said.content))
    assert heard.text == "Hello there"
