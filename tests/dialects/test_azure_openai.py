"""Azure OpenAI: what its paths need and mean, and the three bodies of its errors. The wire is in cases/."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from mockserver.core.http import HttpRequest
from mockserver.core.plan import Failure
from mockserver.dialects import Operation
from mockserver.dialects.azure_openai import DIALECT

USER = {"role": "user", "content": "hi"}
DATED = {"api-version": "2024-10-21"}
OF_DEPLOYMENTS = "/openai/deployments/{deployment}/chat/completions"


@pytest.fixture
def azure_openai(speak: Callable[[str], Any]) -> Any:
    return speak("azure_openai")


def operation(path: str) -> Operation:
    return next(one for one in DIALECT.operations if one.path == path)


def request(body: Mapping[str, Any], query: Mapping[str, str] = DATED, **params: str) -> HttpRequest:
    return HttpRequest(
        "POST", "/x", query=query, body=json.dumps({"messages": [USER], **body}).encode(), path_params=params
    )


def test_the_same_deployment_means_the_same_under_every_path() -> None:
    dated = operation(OF_DEPLOYMENTS).parse(request({}, deployment="ours"), False)
    v1 = operation("/openai/v1/chat/completions").parse(request({"model": "ours"}, {}), False)
    assert dated.fingerprint == v1.fingerprint


@pytest.mark.parametrize("query", [{}, *({"api-version": v} for v in ("", "latest", "2024", "2024-10-21 ", "preview"))])
def test_dated_paths_need_a_date(query: Mapping[str, str]) -> None:
    for one in DIALECT.operations:
        if "/v1" not in one.path:
            with pytest.raises(Failure) as caught:
                one.parse(asked := request({}, query, deployment="d"), False)
            meant = f"{asked.method} {asked.path}?api-version=2024-10-21"
            assert caught.value == Failure("route_not_found", details={"nearest": meant})


def test_every_operation_stands_under_v1_too() -> None:
    paths = {one.path for one in DIALECT.operations}
    for path in paths - {path for path in paths if "/v1" in path}:
        assert path.replace("/openai", "/openai/v1", 1) in paths
        assert path.replace("/deployments/{deployment}", "").replace("/openai", "/openai/v1", 1) in paths


@pytest.mark.parametrize(
    ("headers", "key"),
    [
        ({"api-key": "k"}, "k"),
        ({"authorization": "Bearer t"}, "t"),
        ({"api-key": "k", "authorization": "Bearer t"}, "k"),
        ({"api-key": " "}, None),
    ],
)
def test_credential(azure_openai: Any, headers: Mapping[str, str], key: str | None) -> None:
    assert DIALECT.credential(azure_openai.request(headers=headers)) == key


def test_a_rate_limit_tells_when_to_come_back(azure_openai: Any) -> None:
    waiting = azure_openai.fail(Failure("rate_limit", retry_after=7))
    assert ("retry-after", "7") in waiting.headers
    assert ("retry-after-ms", "7000") in waiting.headers
    assert "Please retry after 7 seconds." in json.loads(waiting.body)["error"]["message"]
    assert "retry-after" not in dict(azure_openai.fail(Failure("rate_limit")).headers)


def test_a_type_makes_a_failure_of_the_gateway_one_of_the_model(azure_openai: Any) -> None:
    error = json.loads(azure_openai.fail(Failure("rate_limit", "Wait.", kind="tokens")).body)["error"]
    assert error == {"message": "Wait.", "type": "tokens", "param": None, "code": "429"}
