"""Every error class that OpenAI's client maps, in each dialect that it speaks, and what stands in the exception."""

from collections.abc import Mapping
from typing import Any

import openai
import pytest
from openai import OpenAI

from tests.clients.conftest import STATUSES
from tests.clients.payloads import MODEL, say
from tests.kit.capture import ResponseCapture
from tests.kit.served import Served

DIALECTS = ("openai", "crazyrouter", "skytells")

# What the client raises; any other 4xx is the bare class, any other 5xx the same as 500.
RAISED: Mapping[int, type[openai.APIStatusError]] = {
    400: openai.BadRequestError,
    401: openai.AuthenticationError,
    403: openai.PermissionDeniedError,
    404: openai.NotFoundError,
    409: openai.ConflictError,
    422: openai.UnprocessableEntityError,
    429: openai.RateLimitError,
}

# The keys of an error's body.
SHAPES: Mapping[str, set[str]] = {
    "openai": {"message", "type", "param", "code"},
    "crazyrouter": {"message", "type", "code"},
    "skytells": {"message", "type", "code", "error_id", "status", "param", "request_id", "details"},
}


@pytest.fixture(params=DIALECTS)
def dialect(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def once(client: OpenAI, server: Served, dialect: str) -> OpenAI:
    return client.with_options(base_url=server.base(dialect), max_retries=0)


def error_of(client: OpenAI, *, model: str = MODEL, prompt: str = "please", **asked: Any) -> openai.APIStatusError:
    with pytest.raises(openai.APIStatusError) as raised:
        client.chat.completions.create(model=model, messages=say(prompt), **asked)
    return raised.value


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("status", STATUSES)
def test_every_status(once: OpenAI, capture: ResponseCapture, dialect: str, *, status: int, stream: bool) -> None:
    error = error_of(once, model=f"status-{status}", stream=stream)
    headers = capture.last.headers

    bare = openai.InternalServerError if status >= 500 else openai.APIStatusError
    assert type(error) is RAISED.get(status, bare)
    assert error.status_code == status
    assert error.request_id == headers["x-request-id"]
    assert headers["content-type"] == "application/json"
    assert int(headers["content-length"]) == len(capture.last.body)
    assert "retry-after" not in headers
    assert isinstance(error.body, dict)
    assert error.body.keys() == SHAPES[dialect]
    assert error.body["message"]
    assert (error.type, error.param) == (error.body["type"], error.body.get("param"))


def test_what_skytells_adds(client: OpenAI, server: Served, capture: ResponseCapture) -> None:
    skytells = client.with_options(base_url=server.base("skytells"), max_retries=0)
    error = error_of(skytells, model="status-429")

    assert isinstance(error.body, dict)
    assert error.body["error_id"] == "RATE_LIMIT_EXCEEDED"
    assert error.body["status"] == 429
    assert error.body["request_id"] == capture.last.headers["x-request-id"]
    assert error.body["details"]["category"]


def test_a_free_error(once: OpenAI, dialect: str) -> None:
    error = error_of(once, model="teapot")

    assert (error.status_code, error.type, error.code) == (418, "short_and_stout", "teapot")
    assert error.param == (None if dialect == "crazyrouter" else "pot")
    assert isinstance(error.body, dict)
    assert error.body["message"] == "I am a teapot."


def test_a_client_with_half_a_base_url_is_told_the_rest(server: Served) -> None:
    with OpenAI(base_url=f"{server.address}/healthz", api_key="any", max_retries=0) as client:
        with pytest.raises(openai.NotFoundError, match=r"Did you mean /health\?"):
            client.get("", cast_to=object)
        with pytest.raises(openai.NotFoundError, match="Requests go below it, as POST /anthropic/v1/messages does"):
            client.with_options(base_url=f"{server.address}/anthropic").get("", cast_to=object)
