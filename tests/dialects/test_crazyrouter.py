"""Crazyrouter's errors, beyond its cases."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from mockserver.core.plan import Failure


@pytest.fixture
def crazyrouter(speak: Callable[[str], Any]) -> Any:
    return speak("crazyrouter")


ERRORS = [
    ("quota", 403, "insufficient_quota", "insufficient_quota"),
    ("model_not_found", 503, "server_error", "model_not_found"),
    ("invalid_key", 401, "authentication_error", "invalid_api_key"),
    ("rate_limit", 429, "rate_limit_error", "rate_limit_exceeded"),
    ("server_error", 500, "server_error", "get_channel_failed"),
]


@pytest.mark.parametrize(("reason", "status", "kind", "code"), ERRORS)
def test_errors(crazyrouter: Any, reason: str, status: int, kind: str, code: str) -> None:
    reply = crazyrouter.fail(Failure(reason, retry_after=2.0))
    error = json.loads(reply.body)["error"]
    assert (reply.status, error["type"], error["code"]) == (status, kind, code)
    assert list(error) == ["message", "type", "code"]
    headers = dict(reply.headers)
    assert (headers["retry-after"], headers["content-length"]) == ("2", str(len(reply.body)))
    assert headers["x-request-id"].startswith("req_")
