"""Failures of every reason in every dialect, and the words and small forms they are made of."""

import json
import re
from typing import Any

import pytest

from mockserver.core.http import HttpRequest, Reply
from mockserver.core.plan import REASONS, Failure
from mockserver.dialects._errors import OPENAI_MESSAGES, ErrorRow, ErrorTable, write_duration, write_retry_lines
from mockserver.dialects._parse import read_bearer
from tests.dialects.invariants import has_shape

STATUS = {
    ("crazyrouter", "model_not_found"): 503,
    ("crazyrouter", "quota"): 403,
    ("azure", "unsupported"): 422,
    ("anthropic", "quota"): 400,
    ("anthropic", "timeout"): 504,
    ("anthropic", "overloaded"): 529,
    ("cohere", "content_filter"): 498,
    ("azure_openai", "previous_not_found"): 400,
    ("bedrock", "invalid_key"): 403,
    ("bedrock", "missing_key"): 403,
    ("bedrock", "billing"): 403,
    ("bedrock", "model_not_found"): 400,
    ("bedrock", "unknown_model"): 400,
    ("bedrock", "unprocessable"): 400,
    ("bedrock", "quota"): 400,
    ("gemini", "invalid_key"): 401,  # of a bearer token
    ("gemini", "missing_key"): 403,
    ("gemini", "previous_not_found"): 403,
    ("gemini", "unsupported_media_type"): 400,
    ("gemini", "timeout"): 504,
    ("mistral", "model_not_found"): 400,
    ("mistral", "unknown_model"): 400,
    ("ollama", "timeout"): 504,
    ("openai", "previous_not_found"): 400,
    ("tzafon", "unsupported_media_type"): 400,
}


@pytest.mark.parametrize("known", [True, False], ids=["with a call", "without"])
def test_every_reason_has_an_envelope(anyone: Any, known: bool) -> None:
    name = anyone.dialect.name
    for reason in REASONS:
        if reason == "content_filter" and known and name in ("anthropic", "bedrock", "gemini"):
            continue  # which is no error there, but an answer that refuses
        reply = anyone.fail(Failure(reason), anyone.parse({"stream": True}) if known else None)
        assert reply.status == STATUS.get((name, reason), REASONS[reason]), reason
        has_the_envelope(reply, name, reason)


def has_the_envelope(reply: Reply, name: str, reason: str) -> None:
    assert reply.frames is None
    headers = dict(reply.headers)
    assert headers["content-length"] == str(len(reply.body))
    if name == "ollama" and reason in ("route_not_found", "method_not_allowed"):  # from the router, before its API
        assert headers["content-type"] == "text/plain"
        return
    assert headers["content-type"].lower().removesuffix("; charset=utf-8") == "application/json"
    if (name, reply.status) == ("tzafon", 401):
        assert reply.body == b'{"error":"Unauthorized"}'
    else:
        has_shape(json.loads(reply.body), name, "error")
    assert not re.search(rb"\{\w+\}", reply.body), "a fact that nobody filled in"


@pytest.mark.parametrize("status", [418, 499, 529, 599])
def test_a_reason_that_nobody_foresaw(anyone: Any, status: int) -> None:
    reply = anyone.fail(Failure("who knows", status=status))
    assert reply.status == status
    assert json.loads(reply.body)


def test_what_the_failure_states_wins(anyone: Any) -> None:
    failure = Failure(
        "server_error", "Mine.", status=529, code="my_code", kind="my_type", param="my.param", headers=(("x-a", "b"),)
    )
    reply = anyone.fail(failure)
    assert reply.status == 529
    assert ("x-a", "b") in reply.headers
    text = reply.body.decode()
    assert "Mine." in text
    if anyone.dialect.name == "bedrock":
        assert dict(reply.headers)["x-amzn-errortype"].startswith("my_type:")
        return
    assert "my_code" in text
    assert "my_type" in text
    assert anyone.dialect.name in ("anthropic", "cohere", "crazyrouter") or "my.param" in text


def test_the_key_is_never_told(anyone: Any) -> None:
    for reason in REASONS:
        reply = anyone.fail(Failure(reason))
        assert b"sk-test-0123456789abcdef" not in reply.body + repr(reply.headers).encode()


def test_a_key_that_came_by_another_way_is_masked_too(anyone: Any) -> None:
    reply = anyone.fail(Failure("invalid_key", details={"key": "super-secret-key-of-mine"}))
    assert b"super-secret-key-of-mine" not in reply.body


def test_a_model_of_any_name_is_told_within_bounds(anyone: Any) -> None:
    call = anyone.parse({"model": "{key}" + "x" * (250 if anyone.dialect.name == "anthropic" else 5000)})
    message = anyone.fail(Failure("model_not_found"), call).body.decode()
    assert anyone.dialect.name in ("azure_openai", "bedrock") or "{key}xxx" in message  # which do not tell the name
    assert len(message) < 600


def test_the_404_of_an_unknown_path_ends_with_a_hint() -> None:
    book = ErrorTable(
        rows={"route_not_found": ErrorRow(status=404)}, messages=OPENAI_MESSAGES, read_credential=read_bearer
    )
    http = HttpRequest("POST", "/chat/completion\ud800")
    failure = Failure("route_not_found", details={"hint": "Did you mean /v1/chat/completions?"})
    assert book.resolve(failure, http, None).message == (
        "Invalid URL (POST /chat/completion?). Did you mean /v1/chat/completions?"
    )


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, "0ms"), (0.012, "12ms"), (1, "1s"), (1.5, "1.5s"), (59.9, "59.9s"), (360, "6m0s"), (90.5, "1m30.5s")],
)
def test_duration(seconds: float, shown: str) -> None:
    assert write_duration(seconds) == shown


@pytest.mark.parametrize(("wait", "value"), [(2.0, "2"), (3, "3"), (0.25, "0.25"), (1e6, "1000000"), (0, "0")])
def test_retry_after(wait: float, value: str) -> None:
    assert write_retry_lines(Failure("rate_limit", retry_after=wait)) == f"retry-after: {value}\r\n"
