"""A request as a person describes it reaches the operation that a client would reach."""

import pytest

from mockserver.cli.request import Described, chat_path, parsed, put, read_request
from mockserver.core.errors import ConfigError
from mockserver.server.live import Sources, start

BODY = {"model": "m", "messages": [{"role": "user", "content": "x"}]}


@pytest.mark.parametrize(
    ("dialect", "path"),
    [
        ("openai", "/openai/v1/chat/completions"),
        ("azure", "/azure/chat/completions?api-version=2024-05-01-preview"),
        ("azure_openai", "/azure-openai/openai/v1/chat/completions"),
    ],
)
def test_the_chat_of_a_dialect(dialect: str, path: str) -> None:
    assert chat_path(dialect) == path


def test_an_unknown_dialect_is_told_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r'unknown dialect "x"; known: azure, .*, openai, skytells'):
        chat_path("x")


@pytest.mark.parametrize(
    ("text", "described"),
    [
        ('{"model": "m"}', Described("/p", {"model": "m"})),
        ('{"body": {}, "path": "/q", "method": "GET", "headers": {"A": 1}}', Described("/q", {}, "GET", {"A": 1})),  # type: ignore[dict-item]
    ],
)
def test_a_file_is_a_body_or_a_whole_request(text: str, described: Described) -> None:
    assert read_request(text, "r.json", "/p") == described


def test_what_is_put_can_be_parsed() -> None:
    live = start(Sources())
    described = Described("/azure/chat/completions?api-version=2024-05-01-preview", BODY, headers={"Api-Key": "k"})
    endpoint, operation, http = put(described, live)
    assert (endpoint.dialect.name, operation.name, http.header("api-key")) == ("azure", "chat", "k")
    assert parsed(operation, http, live).last_user == "x"


def test_what_the_provider_would_refuse_is_told() -> None:
    live = start(Sources())
    _, operation, http = put(Described("/v1/chat/completions", {"model": "m"}), live)
    with pytest.raises(
        ConfigError, match=r"the provider would refuse this request: Missing required parameter: 'messages'\."
    ):
        parsed(operation, http, live)
