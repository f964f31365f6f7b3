"""What Azure's own client makes of errors, and when it tries again on its own."""

from collections.abc import Iterator
from typing import Any

import pytest
from azure.ai.inference import ChatCompletionsClient
from azure.ai.inference.models import UserMessage
from azure.core.credentials import AzureKeyCredential
from azure.core.exceptions import (
    ClientAuthenticationError,
    HttpResponseError,
    ResourceExistsError,
    ResourceNotFoundError,
)

from tests.clients.conftest import STATUSES
from tests.kit.served import Served

KEY = AzureKeyCredential("sk-test")
RAISED: dict[int, type[HttpResponseError]] = {
    401: ClientAuthenticationError,
    404: ResourceNotFoundError,
    409: ResourceExistsError,
}
BRIEF = {"error", "message", "status"}
SHAPES = {401: BRIEF, 404: BRIEF, 429: BRIEF, 422: BRIEF | {"code", "detail"}}


@pytest.fixture
def azure(server: Served) -> Iterator[ChatCompletionsClient]:
    """Azure's own client, which tries once."""
    with ChatCompletionsClient(server.base("azure"), KEY, retry_total=0) as client:
        yield client


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
