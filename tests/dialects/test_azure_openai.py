"""Azure OpenAI: what its paths need and mean, and the three bodies of its errors. The wire is in cases/."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from mockserver.core.http import HttpRequest
from mockserver.core.plan import REASONS, Answer, Failure
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


def test_the_deployment_is_the_model() -> None:
    parse = operation(OF_DEPLOYMENTS).parse
    call = parse(request({"model": "theirs"}, deployment="ours"), False)
    assert call.model == "ours"
    assert call.fingerprint == parse(request({}, deployment="ours"), False).fingerprint
    assert call.fingerprint != parse(request({}, deployment="other"), False).fingerprint


def test_the_same_deployment_means_the_same_under_every_path() -> None:
    dated = operation(OF_DEPLOYMENTS).parse(request({}, deployment="ours"), False)
    v1 = operation("/openai/v1/chat/completions").parse(request({"model": "ours"}, {}), False)
    assert dated.fingerprint == v1.fingerprint


@pytest.mark.parametrize("version", ["2024-10-21", "2025-04-01-preview", "1999-01-01"])
def test_any_date_will_do(version: str) -> None:
    operation(OF_DEPLOYMENTS).parse(request({}, {"api-version": version}, deployment="d"), False)


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


def test_headers_of_an_answer(azure_openai: Any, answer: Callable[..., Answer]) -> None:
    headers = dict(azure_openai.render(answer("Hi")).headers)
    assert headers["x-request-id"] == headers["apim-request-id"]
    assert list(map(len, headers["x-request-id"].split("-"))) == [8, 4, 4, 4, 12]
    assert headers["x-ms-region"]
    assert headers["x-ratelimit-remaining-requests"] == "999"
    assert headers["x-ratelimit-remaining-tokens"] == "999991"


def test_a_rate_limit_tells_when_to_come_back(azure_openai: Any) -> None:
    waiting = azure_openai.fail(Failure("rate_limit", retry_after=7))
    assert ("retry-after", "7") in waiting.headers
    assert ("retry-after-ms", "7000") in waiting.headers
    assert "Please retry after 7 seconds." in json.loads(waiting.body)["error"]["message"]
    assert "retry-after" not in dict(azure_openai.fail(Failure("rate_limit")).headers)


OF_THE_GATEWAY = {
    *("invalid_key", "missing_key", "billing", "forbidden", "model_not_found", "unknown_model", "route_not_found"),
    *("method_not_allowed", "timeout", "conflict", "too_large", "unsupported_media_type", "rate_limit", "bad_gateway"),
    *("overloaded", "gateway_timeout", "key_not_allowed", "model_not_allowed", "over_limit"),
}


@pytest.mark.parametrize("reason", sorted(set(REASONS) - {"content_filter"}))
def test_the_gateway_has_a_body_of_its_own(azure_openai: Any, reason: str) -> None:
    keys = ["code", "message"] if reason in OF_THE_GATEWAY else ["message", "type", "param", "code"]
    assert list(json.loads(azure_openai.fail(Failure(reason)).body)["error"]) == keys


def test_a_type_makes_a_failure_of_the_gateway_one_of_the_model(azure_openai: Any) -> None:
    error = json.loads(azure_openai.fail(Failure("rate_limit", "Wait.", kind="tokens")).body)["error"]
    assert error == {"message": "Wait.", "type": "tokens", "param": None, "code": "429"}
