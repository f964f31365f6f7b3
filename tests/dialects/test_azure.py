"""Azure AI Model Inference: versions, extra parameters, parts, keys, errors that rules state, headers."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from mockserver.core.http import HttpRequest
from mockserver.core.plan import Failure

USER = {"role": "user", "content": "hi"}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {}}}


@pytest.fixture
def azure(speak: Callable[[str], Any]) -> Any:
    return speak("azure")


@pytest.mark.parametrize("version", ["2024-04-01-preview", "2024-05-01-preview", "2025-01-01"])
def test_versions_that_pass(azure: Any, version: str) -> None:
    assert azure.parse({}, query={"api-version": version}).model == "gpt-x"


@pytest.mark.parametrize(
    ("query", "code", "message"),
    [
        (
            {},
            "MissingApiVersionParameter",
            "The api-version query parameter (?api-version=) is required for all requests.",
        ),
        (
            {"api-version": ""},
            "MissingApiVersionParameter",
            "The api-version query parameter (?api-version=) is required for all requests.",
        ),
        *(
            (
                {"api-version": version},
                "InvalidApiVersionParameter",
                f"The api-version '{version}' is invalid. The format is YYYY-MM-DD, optionally followed by -preview.",
            )
            for version in ("v1", "2024-05-01-beta", "2024-5-1", "2024-05-01-preview ", "２０２４-05-01")
        ),
    ],
)
def test_versions_that_do_not(azure: Any, query: dict[str, str], code: str, message: str) -> None:
    reply = azure.refuses({}, query=query)
    assert dict(reply.headers)["x-ms-error-code"] == code
    assert json.loads(reply.body) == {
        "code": code,
        "error": "Bad Request",
        "message": message,
        "status": 400,
        "param": "api-version",
    }


@pytest.mark.parametrize(
    ("headers", "key"),
    [
        ({"api-key": "a"}, "a"),
        ({"authorization": "Bearer b", "api-key": "a"}, "b"),
        ({"authorization": "Bearer b"}, "b"),
        ({"api-key": ""}, None),
        ({}, None),
    ],
)
def test_credential(azure: Any, headers: dict[str, str], key: str | None) -> None:
    assert azure.dialect.credential(azure.request(headers=headers)) == key


@pytest.mark.parametrize(
    ("param", "loc", "value"),
    [
        (None, ["body"], ""),
        ("response_format", ["body", "response_format"], '{"type":"json_object"}'),
        ("messages[0].content", ["body", "messages", "0", "content"], "hi"),
        ("messages[3].content", ["body", "messages", "3", "content"], ""),
        ("foo.bar", ["body", "foo", "bar"], ""),
    ],
)
def test_a_rule_that_names_a_parameter(azure: Any, param: str | None, loc: list[str], value: str) -> None:
    call = azure.parse({"response_format": {"type": "json_object"}})
    body = json.loads(azure.fail(Failure("unprocessable", param=param), call).body)
    assert body["detail"] == {"loc": loc, "value": value, "input": value}


def test_headers(azure: Any, answer: Any) -> None:
    headers = dict(azure.render(answer("Hi"), headers={"x-ms-client-request-id": "ab\u00e9c"}).headers)
    name = headers["x-ms-request-id"]
    assert [len(part) for part in name.split("-")] == [8, 4, 4, 4, 12]
    assert name.replace("-", "") == azure.parse({}).fingerprint
    assert headers["apim-request-id"] == name
    assert headers["x-ms-client-request-id"] == "abc"
    assert "x-request-id" not in headers
    failed = dict(azure.fail(Failure("overloaded", retry_after=3), headers={"x-ms-client-request-id": "me"}).headers)
    assert (failed["x-ms-client-request-id"], failed["retry-after"]) == ("me", "3")


@pytest.mark.parametrize("path", ["/info", "/models/info"])
def test_info_wants_a_version(azure: Any, path: str) -> None:
    operation = next(operation for operation in azure.dialect.operations if operation.path == path)
    with pytest.raises(Failure, match="api-version query parameter"):
        operation.parse(HttpRequest("GET", path), False)
