"""Every error class that OpenAI's client maps, in each dialect that it speaks, and what stands in the exception."""

from collections.abc import Mapping
from typing import Any

import openai
import pytest
from openai import OpenAI

from tests.clients.asked import MODEL, say
from tests.clients.conftest import STATUSES
from tests.kit.served import Served
from tests.kit.witness import Witness

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

# Type and code that a provider gives a bare status, where that is known (`errors.md` section 1).
KNOWN: Mapping[str, Mapping[int, tuple[str, str | None]]] = {
    "openai": {
        401: ("invalid_request_error", "invalid_api_key"),
        403: ("invalid_request_error", None),
        404: ("invalid_request_error", "model_not_found"),
        405: ("invalid_request_error", "method_not_supported"),
        413: ("invalid_request_error", None),
        415: ("invalid_request_error", "unsupported_media_type"),
        422: ("invalid_request_error", "unprocessable"),
        429: ("requests", "rate_limit_exceeded"),
        500: ("server_error", None),
        502: ("server_error", None),
        503: ("server_error", None),
        504: ("server_error", None),
    },
    "crazyrouter": {
        400: ("invalid_request_error", "invalid_parameter"),
        401: ("authentication_error", "invalid_api_key"),
        422: ("invalid_request_error", "unprocessable"),
        429: ("rate_limit_error", "rate_limit_exceeded"),
        500: ("server_error", "get_channel_failed"),
        502: ("server_error", "bad_gateway"),
    },
    "skytells": {
        400: ("invalid_request_error", "invalid_parameter"),
        401: ("authentication_error", "invalid_api_key"),
        403: ("permission_error", "forbidden"),
        404: ("invalid_request_error", "model_not_found"),
        429: ("rate_limit_error", "rate_limit_exceeded"),
        500: ("server_error", "internal_error"),
    },
}

# The keys of an error's body.
SHAPES: Mapping[str, set[str]] = {
    "openai": {"message", "type", "param", "code"},
    "crazyrouter": {"message", "type", "code"},
    "skytells": {"message", "type", "code", "error_id", "status", "param", "request_id", "details"},
}


@pytest.fixture(params=DIALECTS)
def dialect(request: pytest.FixtureRequest) -> str:
    """Who answers."""
    return str(request.param)


@pytest.fixture
def once(client: OpenAI, server: Served, dialect: str) -> OpenAI:
    """A client of the dialect that tries once."""
    return client.with_options(base_url=server.base(dialect), max_retries=0)


def error_of(client: OpenAI, *, model: str = MODEL, prompt: str = "please", **asked: Any) -> openai.APIStatusError:
    with pytest.raises(openai.APIStatusError) as raised:
        client.chat.completions.create(model=model, messages=say(prompt), **asked)
    return raised.value


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("status", STATUSES)
def test_every_status(once: OpenAI, witness: Witness, dialect: str, *, status: int, stream: bool) -> None:
    error = error_of(once, model=f"status-{status}", stream=stream)
    headers = witness.last.headers

    bare = openai.InternalServerError if status >= 500 else openai.APIStatusError
    assert type(error) is RAISED.get(status, bare)
    assert error.status_code == status
    assert error.request_id == headers["x-request-id"]
    assert headers["content-type"] == "application/json"
    assert int(headers["content-length"]) == len(witness.last.body)
    assert "retry-after" not in headers
    assert isinstance(error.body, dict)
    assert error.body.keys() == SHAPES[dialect]
    assert error.body["message"]
    assert (error.type, error.param) == (error.body["type"], error.body.get("param"))
    if known := KNOWN[dialect].get(status):
        assert (error.type, error.code) == known


def test_what_skytells_adds(client: OpenAI, server: Served, witness: Witness) -> None:
    skytells = client.with_options(base_url=server.base("skytells"), max_retries=0)
    error = error_of(skytells, model="status-429")

    assert isinstance(error.body, dict)
    assert error.body["error_id"] == "RATE_LIMIT_EXCEEDED"
    assert error.body["status"] == 429
    assert error.body["request_id"] == witness.last.headers["x-request-id"]
    assert error.body["details"]["category"]


def test_a_free_error(once: OpenAI, dialect: str) -> None:
    error = error_of(once, model="teapot")

    assert (error.status_code, error.type, error.code) == (418, "short_and_stout", "teapot")
    assert error.param == (None if dialect == "crazyrouter" else "pot")
    assert isinstance(error.body, dict)
    assert error.body["message"] == "I am a teapot."


@pytest.mark.parametrize(
    ("dialect", "status", "code"),
    [("openai", 404, "model_not_found"), ("skytells", 404, "model_not_found"), ("crazyrouter", 503, "model_not_found")],
)
def test_a_missing_model(once: OpenAI, dialect: str, status: int, code: str) -> None:
    error = error_of(once, model="missing")

    assert (error.status_code, error.code) == (status, code)
    assert "The model `missing` does not exist" in error.message
    assert error.param == (None if dialect == "crazyrouter" else "model")


@pytest.mark.parametrize(("dialect", "status"), [("openai", 429), ("crazyrouter", 403)])
def test_a_used_up_quota(once: OpenAI, status: int) -> None:
    error = error_of(once, model="no-quota")

    assert (error.status_code, error.type, error.code) == (status, "insufficient_quota", "insufficient_quota")
    assert "You exceeded your current quota" in error.message


def test_a_wrong_key(once: OpenAI) -> None:
    error = error_of(once.with_options(api_key="sk-wrong"))

    assert type(error) is openai.AuthenticationError
    assert "Incorrect API key provided" in error.message
    assert "sk-wrong" not in error.message


@pytest.mark.parametrize(
    ("asked", "code", "param"),
    [
        ({"temperature": 3}, "decimal_above_max_value", "temperature"),
        ({"n": 0}, "integer_below_min_value", "n"),
        ({"top_logprobs": 2}, None, "top_logprobs"),
        ({"stream_options": {"include_usage": True}}, None, "stream_options"),
        ({"extra_body": {"messages": []}}, "empty_array", "messages"),
        ({"extra_body": {"messages": [{"role": "nobody", "content": "x"}]}}, "invalid_value", "messages[0].role"),
        ({"extra_body": {"stop": 5}}, "invalid_type", "stop"),
    ],
)
def test_a_refused_parameter(client: OpenAI, asked: dict[str, Any], code: str | None, param: str) -> None:
    error = error_of(client, **asked)

    assert type(error) is openai.BadRequestError
    assert error.type == "invalid_request_error"
    assert error.param == param
    if code is not None:
        assert error.code == code


def test_a_missing_parameter(client: OpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as raised:
        client.post("/chat/completions", cast_to=object, body={"messages": say("hello")})

    assert (raised.value.code, raised.value.param) == ("missing_required_parameter", "model")
