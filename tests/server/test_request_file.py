"""A request as a person describes it reaches the operation that a client would reach."""

import pytest

from mockserver.config.errors import ConfigError
from mockserver.server.explain import RequestFile, path_for, reach, read_request, usual_path

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
    assert usual_path(dialect) == path


def test_an_unknown_dialect_is_told_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r'unknown dialect "x"; known: azure, .*, openai, skytells'):
        usual_path("x")


def test_an_operation_that_a_dialect_does_not_have_is_told_those_it_has() -> None:
    with pytest.raises(ConfigError, match=r'"crazyrouter" has no operation "responses"; it has chat$'):
        usual_path("crazyrouter", "responses")


@pytest.mark.parametrize(
    ("dialect", "body", "path"),
    [
        ("openai", {"input": "x"}, "/openai/v1/responses"),
        ("openai", {"input": "x", "model": "text-embedding-3-small"}, "/openai/v1/embeddings"),
        ("openai", {"input": "x", "model": "omni-moderation-latest"}, "/openai/v1/moderations"),
        ("openai", {"prompt": "x"}, "/openai/v1/completions"),
        ("openai", {"prompt": {"id": "p"}, "messages": []}, "/openai/v1/chat/completions"),
        ("openai", [], "/openai/v1/chat/completions"),
        ("azure", {"input": ["x"], "model": "m"}, "/azure/embeddings?api-version=2024-05-01-preview"),
        ("crazyrouter", {"input": "x"}, "/crazyrouter/v1/chat/completions"),
    ],
)
def test_a_body_tells_where_it_goes(dialect: str, body: object, path: str) -> None:
    assert path_for(body, dialect) == path


@pytest.mark.parametrize(
    ("text", "described"),
    [
        ('{"model": "m"}', RequestFile("/p", {"model": "m"})),
        ('{"body": {"model": "m"}}', RequestFile("/p", {"model": "m"})),
        ('{"path": "/v1/responses/resp_1"}', RequestFile("/v1/responses/resp_1", {}, "GET")),
        ('{"path": "/q", "method": "DELETE"}', RequestFile("/q", {}, "DELETE")),
        ('{"body": {}, "path": "/q", "method": "GET", "headers": {"A": 1}}', RequestFile("/q", {}, "GET", {"A": 1})),  # type: ignore[dict-item]
    ],
)
def test_a_file_is_a_body_or_a_whole_request(text: str, described: RequestFile) -> None:
    assert read_request(text, "r.json", "openai", "/p") == described


def test_headers_that_are_no_object_are_told() -> None:
    with pytest.raises(ConfigError, match=r"r\.json: headers must be an object of names and values"):
        read_request('{"body": {}, "headers": ["a"]}', "r.json", "openai")


def test_what_is_reached_makes_a_call() -> None:
    path = "/azure/chat/completions?api-version=2024-05-01-preview"
    reached = reach(RequestFile(path, BODY, headers={"Api-Key": "k"}, namespace="mine"), "openai")
    assert (reached.place.dialect.name, reached.operation.name) == ("azure", "chat")
    assert (reached.http.header("api-key"), reached.http.namespace) == ("k", "mine")
    assert reached.call(strict=False).last_user == "x"


def test_bytes_are_put_as_they_are() -> None:
    assert reach(RequestFile("/v1/chat/completions", b"{ }"), "openai").http.body == b"{ }"


def test_what_the_provider_would_refuse_is_told() -> None:
    reached = reach(RequestFile("/v1/chat/completions", {"model": "m"}), "openai")
    with pytest.raises(
        ConfigError,
        match=r"the provider would refuse this request to /v1/chat/completions: Missing required parameter: 'messages'",
    ):
        reached.call(strict=False)
