"""Gemini's answers held against their schema, with the order of keys, and against the client's strict types."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from google.genai import types

from tests.dialects.invariants import has_shape

Json = Any


def check_response(body: Json) -> None:
    has_shape(body, "gemini", "response")
    usage = {key: value for key, value in body["usageMetadata"].items() if key != "serviceTier"}
    types.GenerateContentResponse.model_validate({**body, "usageMetadata": usage})
    counts = [usage.get(key, 0) for key in ("promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount")]
    assert usage["totalTokenCount"] == sum(counts)


def responses(body: bytes) -> list[Json]:
    """The responses of a plain answer, of events, or of an array."""
    if not body.startswith(b"data: "):
        found = json.loads(body)
        return found if isinstance(found, list) else [found]
    *frames, rest = body.split(b"\r\n\r\n")
    assert rest == b""
    assert all(frame.startswith(b"data: {") and b"\n" not in frame for frame in frames)
    return [json.loads(frame.removeprefix(b"data: ")) for frame in frames]


def check_contents(body: bytes) -> None:
    for response in responses(body):
        check_response(response)


def _with_keys(*keys: str) -> Callable[[bytes], None]:
    def check(body: bytes) -> None:
        assert set(keys) <= set(json.loads(body)), body

    return check


def _any_of(*keys: str) -> Callable[[bytes], None]:
    def check(body: bytes) -> None:
        assert not set(json.loads(body)).isdisjoint(keys), body

    return check


def _empty_or_file(body: bytes) -> None:
    assert not body or json.loads(body)["file"]["name"].startswith("files/")


CHECKS: Mapping[str, Callable[[bytes], object]] = {
    "chat": check_contents,
    "input_tokens": _with_keys("totalTokens", "promptTokensDetails"),
    "embeddings": _any_of("embedding", "embeddings", "predictions"),
    "models": _with_keys("models"),
    "model": _with_keys("name", "supportedGenerationMethods"),
    **dict.fromkeys(
        ("create_cached_content", "update_cached_content", "cached_content"),
        _with_keys("name", "expireTime", "usageMetadata"),
    ),
    "create_batch": _with_keys("name", "metadata"),
    "create_auth_token": _with_keys("name"),
    "create_file": _empty_or_file,
    "file": _with_keys("name", "state"),
    "create_video": _with_keys("name"),
    "video": _with_keys("name", "done"),
    "create_vector_store": _with_keys("name", "createTime"),
    "create_vector_store_file": json.loads,
    "tokenize": _with_keys("tokensInfo"),
    **dict.fromkeys(("cached_contents", "files", "delete_cached_content", "delete_file"), json.loads),
    **dict.fromkeys(("interaction", "cancel_interaction", "delete_interaction"), json.loads),
}
