"""OpenAI's client, and the environment variables of clients."""

import os

import pytest

from mockserver.config.errors import ConfigError
from mockserver.testing import MockServer, Setup
from mockserver.testing.clients import EnvironmentPatch

HELLO = [{"role": "user", "content": "hello"}]
SPOKEN = ("openai", "azure_openai", "crazyrouter", "fireworks", "skytells", "tzafon")


@pytest.mark.parametrize("dialect", SPOKEN)
async def test_every_dialect_that_it_can_speak(server: MockServer, dialect: str) -> None:
    server.on(dialect=dialect).reply("Hi!")
    with server.client(dialect, max_retries=0) as usual:
        answer = usual.chat.completions.create(model="m", messages=HELLO)
    assert answer.choices[0].message.content == "Hi!"
    async with server.async_client(dialect) as client:
        answer = await client.chat.completions.create(model="m", messages=HELLO)
    assert answer.choices[0].message.content == "Hi!"
    assert [call.dialect for call in server.calls] == [dialect, dialect]


def test_the_usual_one_is_the_same_each_time(server: MockServer) -> None:
    assert server.client() is server.client()
    assert server.client(max_retries=0) is not server.client()


def test_one_that_was_closed_is_not_used_again(server: MockServer) -> None:
    server.on().reply("Hi!")
    for _ in range(2):
        with server.client() as client:
            assert client.chat.completions.create(model="m", messages=HELLO).choices


def test_the_usual_one_is_closed_with_the_server() -> None:
    with MockServer() as server:
        client = server.client()
    assert client.is_closed()


def test_it_has_a_key_that_is_taken_and_goes_where_the_server_is(monkeypatch: pytest.MonkeyPatch) -> None:
    server = MockServer(unmatched="generate")
    for options in ({}, {"keys": ["sk-mine"]}):
        with server:
            server.reset(Setup.make(unmatched="generate", **options))
            for made in (server.client(), server.client("azure_openai"), server.client("skytells", timeout=9)):
                with made as client:
                    assert client.chat.completions.create(model="gpt-4o", messages=HELLO).choices
    monkeypatch.setenv("OPENAI_API_KEY", "sk-real")
    with MockServer(upstream={"openai": "https://api.example/v1"}) as server:
        assert server.client().api_key == "sk-real"


def test_others_are_named(server: MockServer) -> None:
    with pytest.raises(ConfigError, match="OpenAI's client can't call azure; use azure-ai-inference"):
        server.client("azure")
    with pytest.raises(ConfigError, match=r"OpenAI's client can't call anthropic; use anthropic: Anthropic\(base_url="):
        server.client("anthropic")
    with pytest.raises(ConfigError, match='there is no dialect "fierworks"; did you mean "fireworks"'):
        server.async_client("fierworks")


def test_they_are_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X_THERE", "before")
    monkeypatch.setenv("X_CHANGED", "before")
    monkeypatch.delenv("X_NEW", raising=False)
    environs = EnvironmentPatch()
    environs.set({"X_THERE": "now", "X_NEW": "now", "X_CHANGED": "now"})
    environs.set({"X_THERE": "later"})
    assert (os.environ["X_THERE"], os.environ["X_NEW"]) == ("later", "now")
    os.environ["X_CHANGED"] = "by somebody else"
    environs.restore()
    assert (os.environ["X_THERE"], os.environ.get("X_NEW")) == ("before", None)
    assert os.environ["X_CHANGED"] == "by somebody else"
    environs.restore()
    assert os.environ["X_THERE"] == "before"


def test_what_somebody_had_changed_is_put_back_once_that_is_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X_THERE", "before")
    environs = EnvironmentPatch()
    environs.set({"X_THERE": "now"})
    with pytest.MonkeyPatch.context() as other:
        other.setenv("X_THERE", "by somebody else")
        environs.restore()
    assert os.environ["X_THERE"] == "now"
    environs.restore()
    assert os.environ["X_THERE"] == "before"
