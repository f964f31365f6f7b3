"""OpenAI's own client: models, headers, base URLs and what is not there, with other clients at the wrong place too."""

import re
from collections.abc import Callable

import anthropic
import fireworks
import httpx2
import openai
import pytest
import tzafon
from anthropic import Anthropic
from azure.ai.inference import ChatCompletionsClient
from azure.ai.inference.models import UserMessage
from azure.core.credentials import AzureKeyCredential
from crazyrouter import Crazyrouter
from fireworks import Fireworks
from google import genai
from google.genai import errors, types
from openai import AzureOpenAI, OpenAI
from tzafon import Lightcone

from mockserver.cli.serve import write_banner
from mockserver.server.compose import start
from mockserver.server.sources import Sources
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


def ask_openai(base: str) -> object:
    with OpenAI(base_url=base, api_key="k") as client:
        return client.chat.completions.create(model=MODEL, messages=say("hello"))


def ask_azure(base: str) -> object:
    with AzureOpenAI(azure_endpoint=base, api_key="k", api_version="2024-10-21") as client:
        return client.chat.completions.create(model=MODEL, messages=say("hello"))


def ask_anthropic(base: str) -> object:
    with Anthropic(base_url=base, api_key="k") as client:
        return client.messages.create(
            model="claude-sonnet-5-5", max_tokens=9, messages=[{"role": "user", "content": "hi"}]
        )


def ask_gemini(base: str) -> object:
    with genai.Client(api_key="k", http_options=types.HttpOptions(base_url=base)) as client:
        return client.models.generate_content(model="gemini-2.5-flash", contents="hello")


def ask_fireworks(base: str) -> object:
    with Fireworks(base_url=base, api_key="k") as client:
        return client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": "hello"}])


def ask_tzafon(base: str) -> object:
    with Lightcone(base_url=base, api_key="k") as client:
        return client.responses.create(model=MODEL, input="hello")


def ask_azure_inference(base: str) -> object:
    with ChatCompletionsClient(base, AzureKeyCredential("k")) as client:
        return client.complete(messages=[UserMessage("hello")])


def ask_crazyrouter(base: str) -> object:
    with Crazyrouter(base_url=base, api_key="k") as client:
        return client.chat.completions.create(model=MODEL, messages=say("hello"))


OWN_CLIENTS = {
    "anthropic": ask_anthropic,
    "azure": ask_azure_inference,
    "azure_openai": ask_azure,
    "crazyrouter": ask_crazyrouter,
    "fireworks": ask_fireworks,
    "gemini": ask_gemini,
    "openai": ask_openai,
    "skytells": ask_openai,
    "tzafon": ask_tzafon,
}


@pytest.mark.parametrize("dialect", OWN_CLIENTS)
def test_the_base_url_that_serve_prints_is_that_of_the_own_client(server: Served, dialect: str) -> None:
    _, _, port = server.address.rpartition(":")
    text = write_banner(start(sources := Sources()), sources, int(port))
    printed = re.search(rf"^  {dialect} +(\S+)", text, re.MULTILINE)
    assert printed is not None
    assert OWN_CLIENTS[dialect](printed[1])


def test_openai_s_client_chats_at_anthropic_s_address(server: Served) -> None:
    assert ask_openai(f"{server.address}/anthropic/v1/")


DEPLOYMENTS = "/azure-openai/openai/deployments/{deployment}/chat/completions"


@pytest.mark.parametrize(
    ("ask", "base", "meant"),
    [
        (ask_openai, "/v1/v1", "/v1/chat/completions"),
        (ask_openai, "/v1/chat/completions", "/v1/chat/completions"),
        (ask_openai, "/ns/mine/openai/v1/v1", "/openai/v1/chat/completions"),
        (ask_openai, "/anthropic", "/anthropic/v1/chat/completions"),
        (ask_openai, "/gemini/v1beta", "/gemini/v1beta/openai/chat/completions"),
        (ask_azure, "/v1", DEPLOYMENTS),
        (ask_azure, "", DEPLOYMENTS),
        (ask_anthropic, "/openai/v1", "/anthropic/v1/messages"),
        (ask_anthropic, "/anthropic/v1", "/anthropic/v1/messages"),
        (ask_anthropic, "/gemini", "/anthropic/v1/messages"),
        (ask_gemini, "/openai/v1", "/gemini/v1beta/models/{model}:generateContent"),
        (ask_gemini, "/gemini/v1beta", "/gemini/v1beta/models/{model}:generateContent"),
        (ask_tzafon, "/tzafon/v1", "/tzafon/v1/responses"),
    ],
)
def test_a_base_url_that_is_too_long_or_anothers_is_explained(
    server: Served, ask: Callable[[str], object], base: str, meant: str
) -> None:
    missing = (*(module.NotFoundError for module in (openai, anthropic, fireworks, tzafon)), errors.ClientError)
    with pytest.raises(missing, match=re.escape(f"Did you mean POST {meant}?")):
        ask(server.address + base)


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("/ns/mine/__mockserver__/api/calls", "/__mockserver__/api/calls?namespace=mine"),
        ("/ns/a%20b/v1/__mockserver__/metrics", "/__mockserver__/metrics?namespace=a%20b"),
        ("/v1/__mockserver__", "/__mockserver__"),
    ],
)
def test_a_control_path_behind_another_is_explained(server: Served, path: str, meant: str) -> None:
    answered = httpx2.get(server.address + path, trust_env=False)
    assert answered.status_code == 404
    assert answered.json()["error"]["message"].endswith(f"). Did you mean GET {meant}?")
