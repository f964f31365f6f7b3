"""Recorded requests become calls again."""

import pytest

from mockserver.server.cassette_store import parse_episode, parse_sent
from tests.kit.reels import CHAT, chat, episode


@pytest.mark.parametrize(
    ("path", "dialect"),
    [
        (CHAT, "openai"),
        ("/openai/v1/chat/completions", "openai"),
        ("/v1/chat/completions", "skytells"),
        ("/azure/chat/completions?api-version=2024-05-01-preview", "azure"),
        ("/azure-openai/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21", "azure_openai"),
        ("/fireworks/inference/v1/chat/completions", "fireworks"),
    ],
)
def test_paths_belong_to_the_dialect_that_was_recorded(path: str, dialect: str) -> None:
    call = parse_episode(episode(chat("Hello"), "", path=path, dialect=dialect))
    assert call is not None
    assert (call.dialect, call.operation, call.last_user) == (dialect, "chat", "Hello")


def test_parameters_of_paths_are_read() -> None:
    call = parse_episode(episode(None, "", path="/v1/responses/resp_1?stream=true", method="GET"))
    assert call is not None
    assert (call.operation, call.id, call.stream) == ("response", "resp_1", True)


@pytest.mark.parametrize(
    ("path", "dialect", "method", "body"),
    [
        ("/nowhere", "openai", "POST", chat("a")),
        (CHAT, "nobody", "POST", chat("a")),
        (CHAT, "openai", "PUT", chat("a")),
        (CHAT, "openai", "POST", {"messages": 7}),
    ],
)
def test_what_a_dialect_refuses_is_no_call(path: str, dialect: str, method: str, body: dict[str, object]) -> None:
    assert parse_sent(dialect, episode(body, "", path=path, method=method).request) is None
