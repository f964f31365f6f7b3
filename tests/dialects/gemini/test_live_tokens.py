"""Tokens that open Live sessions: how often, how long, and for whom."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from mockserver.core.call import Call
from mockserver.core.http import HttpRequest
from mockserver.core.json import Json
from mockserver.core.plan import Failure
from mockserver.core.seed import FROZEN_AT, WallClock
from mockserver.dialects.gemini.live import hash_key, use_token
from mockserver.engine.planning import open_objects
from tests.kit.local import Local, local

EXPIRED = "The ephemeral token has expired."
USED = "The ephemeral token has no uses left."


def make_token(server: Local, **asked: Json) -> str:
    """Return the name of a new token."""
    answered = server.ask("/gemini/v1alpha/auth_tokens", asked, headers={"x-goog-api-key": "secret"})
    assert answered.status == 200, answered.body
    return str(answered.json["name"])


def use(server: Local, name: str, *, after: int = 0) -> Any:
    """Return what a token was made for, or the words of its refusal, some seconds after it was made."""
    http = HttpRequest("GET", "/", namespace="default")
    call = Call("gemini", "create_auth_token", model="", http=http, meaning={})
    objects = replace(open_objects(server.live.find_engine("default"), call), clock=WallClock(FROZEN_AT + after))
    try:
        return asyncio.run(use_token(name, objects))
    except Failure as failure:
        return failure.message


def test_a_token_stands_for_a_key_that_is_not_kept() -> None:
    server = local()
    made_for = use(server, make_token(server))
    assert made_for["key"] == hash_key("secret")
    assert "secret" not in str(made_for)
    assert use(server, "auth_tokens/unknown") is None


@pytest.mark.parametrize(("uses", "times"), [(None, 1), (1, 1), (3, 3), (0, 9), (-1, 9)])
def test_a_token_is_used_as_often_as_it_says(uses: int | None, times: int) -> None:
    server = local()
    name = make_token(server, uses=uses)
    found = [use(server, name) for _ in range(9)]
    assert [each for each in found if each == USED] == found[times:]


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [
        ({}, 60),
        ({"newSessionExpireTime": "2023-11-14T23:03:20Z"}, 1_800),
        ({"newSessionExpireTime": "2023-11-14T22:13:30.123456789Z"}, 11),
        ({"expireTime": "2023-11-14T22:13:30Z"}, 10),
        ({"expireTime": "2026-01-01T00:00:00Z", "newSessionExpireTime": "2026-01-01T00:00:00Z"}, 60_000_000),
    ],
)
def test_a_token_opens_sessions_until_it_expires(asked: dict[str, Json], seconds: int) -> None:
    server = local()
    name = make_token(server, uses=0, **asked)
    assert use(server, name, after=seconds - 1) != EXPIRED
    if seconds < 60_000_000:
        assert use(server, name, after=seconds) == EXPIRED


@pytest.mark.parametrize("stated", [None, 1, "x", {}, "9999-99-99T00:00:00Z", "0001-01-01T00:00:00Z"])
def test_odd_times_and_uses_make_a_token_where_nothing_is_checked(stated: Json) -> None:
    server = local("settings: {validation: off}\n")
    use(server, make_token(server, expireTime=stated, newSessionExpireTime=stated, uses=stated))
