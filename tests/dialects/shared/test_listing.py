"""The list of models, and one of them, where they are told as OpenAI tells them."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from openai.types import Model

from mockserver.core.http import HttpRequest
from mockserver.core.plan import Models


@pytest.mark.parametrize("name", ["openai", "skytells", "crazyrouter"])
def test_models(speak: Callable[[str], Any], name: str) -> None:
    operation = speak(name).operation("models")
    call = operation.parse(HttpRequest("GET", "/models"), True)
    reply = operation.render(call, Models(("gpt-x", "gpt-y"), 1_700_000_000))
    body = json.loads(reply.body)
    assert (call.dialect, call.operation, call.model) == (name, "models", "")
    assert list(body) == ["object", "data"]
    assert body["data"][1] == {"id": "gpt-y", "object": "model", "created": 1_700_000_000, "owned_by": "mockserver"}
    Model.model_validate(body["data"][0], strict=True)
    headers = dict(reply.headers)
    assert headers["content-length"] == str(len(reply.body))
    assert headers["x-request-id"] == f"req_{call.fingerprint}"


@pytest.mark.parametrize("name", ["openai", "skytells", "crazyrouter"])
def test_one_model(speak: Callable[[str], Any], name: str) -> None:
    operation = speak(name).operation("model")
    call = operation.parse(HttpRequest("GET", "/models/a/b", path_params={"model": "a/b"}), False)
    assert (call.operation, call.model) == ("model", "a/b")
    assert json.loads(operation.render(call, Models(("a/b",), 5)).body)["id"] == "a/b"
