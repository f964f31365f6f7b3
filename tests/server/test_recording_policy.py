"""What recordings go through, by the settings and the environment."""

import json

import pytest

from mockserver.config.errors import CassetteError
from mockserver.config.settings import Settings
from mockserver.core.episode import Episode, Recorded, Sent
from mockserver.server.recorder import recording_policy

ENVIRON = {"MOCKSERVER_UPSTREAM_KEY_OPENAI": "sk-upstream-0123456789abcdef"}
LEAK = "sk-proj-8fK2qLmN0pR4sT6vX9zB1dF3"


def sent(text: str, **headers: str) -> Sent:
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": text}]}).encode()
    return Sent("POST", "/v1/chat/completions", "", tuple(headers.items()), body)


def episode(asked: str, answered: str, **headers: str) -> Episode:
    return Episode("openai", "chat", "m", sent(asked, **headers), Recorded(200, (), answered.encode()))


def test_no_credential_of_the_request_or_the_environment_is_kept() -> None:
    made = recording_policy(Settings(), ENVIRON)
    kept = made.kept(
        episode(
            "hi", f"{ENVIRON['MOCKSERVER_UPSTREAM_KEY_OPENAI']} abcdef-123456", authorization="Bearer abcdef-123456"
        )
    )
    assert kept.reply.body == b"<API_KEY> <API_KEY>"
    assert kept.request.headers == ()


def test_what_looks_like_a_secret_is_not_recorded_unless_that_is_allowed() -> None:
    with pytest.raises(CassetteError, match="allow_secrets"):
        recording_policy(Settings(), {}).kept(episode("hi", LEAK))
    assert (
        recording_policy(Settings(allow_secrets=("sk-proj-*",)), {}).kept(episode("hi", LEAK)).reply.body
        == LEAK.encode()
    )


def test_headers_that_are_compared_are_kept() -> None:
    made = recording_policy(Settings(match={"also": ("header.x-tenant",)}), {})
    headers = {"x-tenant": "blue", "x-other": "red"}
    assert made.kept(episode("hi", "a", **headers)).request.headers == (("x-tenant", "blue"),)
