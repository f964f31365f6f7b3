"""OpenAI's own client: models, headers, base URLs and what is not there."""

import openai
import pytest
from openai import OpenAI

from tests.clients.payloads import MODEL, say
from tests.kit.capture import ResponseCapture
from tests.kit.served import Served


@pytest.mark.parametrize("name", ["gpt-4o", "accounts/fireworks/models/llama-v3", "a model: 100% ünusual?"])
def test_one_model(client: OpenAI, name: str) -> None:
    assert client.models.retrieve(name).id == name
    gone = client.models.delete("ft:gpt-4o-mini:acme::abc123")
    assert (gone.id, gone.deleted) == ("ft:gpt-4o-mini:acme::abc123", True)


def test_headers(client: OpenAI, capture: ResponseCapture) -> None:
    completion = client.chat.completions.create(model=MODEL, messages=say("hello"))
    headers = capture.last.headers

    assert completion._request_id == headers["x-request-id"]
    assert headers["x-request-id"].startswith("req_")
    assert headers["openai-version"] == "2020-10-01"
    assert headers["openai-processing-ms"].isdecimal()
    assert headers["openai-organization"]
    for kind in ("requests", "tokens"):
        assert int(headers[f"x-ratelimit-remaining-{kind}"]) < int(headers[f"x-ratelimit-limit-{kind}"])
        assert headers[f"x-ratelimit-reset-{kind}"]
    assert headers["x-mockserver-source"].endswith("greeting")
    assert headers["content-type"] == "application/json"
    assert int(headers["content-length"]) == len(capture.last.body)


@pytest.mark.parametrize("path", ["/v1", "/openai/v1", "/ns/mine/v1", "/ns/mine/openai/v1"])
def test_every_base(client: OpenAI, server: Served, path: str) -> None:
    own = client.with_options(base_url=server.address + path)

    assert own.chat.completions.create(model=MODEL, messages=say("hello")).choices[0].message.content


def test_the_environment_alone(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.base("openai"))
    monkeypatch.setenv("OPENAI_API_KEY", "anything")
    with OpenAI() as client:
        assert client.chat.completions.create(model=MODEL, messages=say("hello")).choices[0].message.content


def test_an_unknown_path_names_the_nearest(client: OpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as raised:
        client.post("/chat/completion", cast_to=object, body={})

    assert "Invalid URL (POST /openai/v1/chat/completion)" in raised.value.message
    assert "Did you mean POST /openai/v1/chat/completions?" in raised.value.message
    assert raised.value.type == "invalid_request_error"
