"""Azure AI Model Inference: versions, extra parameters, parts, keys, errors that rules state, headers."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from mockserver.core.call import Message
from mockserver.core.http import HttpRequest
from mockserver.core.plan import Failure, Models

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


@pytest.mark.parametrize("header", [None, "error", "Error"])
def test_extra_parameters_are_refused(azure: Any, header: str | None) -> None:
    headers = {} if header is None else {"extra-parameters": header}
    reply = azure.refuses({"n": 2, "foo": 1}, headers=headers)
    body = json.loads(reply.body)
    assert (reply.status, body["code"], body["param"]) == (400, "BadRequest", "n")
    assert body["message"] == (
        "Extra parameters ['n', 'foo'] are not allowed when extra-parameters is not set or set to be 'error'. "
        "Set extra-parameters to 'pass-through' to pass to the model."
    )


@pytest.mark.parametrize("header", ["drop", "ignore"])
def test_extra_parameters_are_dropped(azure: Any, header: str) -> None:
    call = azure.parse({"n": "many", "foo": 1, "temperature": 0}, headers={"extra-parameters": header})
    assert call.raw == {"model": "gpt-x", "messages": [USER], "temperature": 0}
    assert (call.options.n, call.fingerprint) == (1, azure.parse({"temperature": 0}).fingerprint)


def test_extra_parameters_are_passed_through(azure: Any) -> None:
    extras = {"n": 2, "foo": 1, "logprobs": True, "top_logprobs": 1, "max_completion_tokens": 4}
    call = azure.parse(extras, headers={"extra-parameters": "pass-through"})
    assert (call.options.n, call.options.logprobs, call.options.max_tokens, call.raw["foo"]) == (2, 1, 4, 1)
    assert call.fingerprint != azure.parse({}).fingerprint
    thinking = azure.parse(
        {"reasoning_effort": "low", "verbosity": "high"}, headers={"extra-parameters": "pass-through"}
    )
    assert (thinking.options.effort, thinking.options.verbosity) == ("low", "high")


def test_both_forms_of_parts(azure: Any) -> None:
    parts = [
        {"type": "text", "content": "a"},
        {"type": "text", "text": "b"},
        {"type": "image", "content": "http://x", "detail": "low"},
        {"type": "image_url", "content": "http://y"},
        {"type": "image_url", "image_url": {"url": "http://z"}},
    ]
    images = tuple(
        {"type": "image_url", "image_url": image}
        for image in ({"url": "http://x", "detail": "low"}, {"url": "http://y"}, {"url": "http://z"})
    )
    assert azure.parse({"messages": [{"role": "user", "content": parts}]}).messages == (
        Message("user", "ab", parts=images),
    )


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
    ("reason", "status", "error"),
    [("invalid_key", 401, "Unauthorized"), ("unmatched", 404, "Not Found"), ("rate_limit", 429, "Too Many Requests")],
)
def test_errors_of_three_fields(azure: Any, reason: str, status: int, error: str) -> None:
    reply = azure.fail(Failure(reason, "Because."))
    assert json.loads(reply.body) == {"error": error, "message": "Because.", "status": status}
    assert "retry-after" not in dict(reply.headers)


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


def test_info(azure: Any) -> None:
    operation = azure.operation("info")
    call = operation.parse(HttpRequest("GET", "/info", query={"api-version": "2024-05-01-preview"}), False)
    assert (call.operation, call.model) == ("info", "")
    assert operation.render(call, Models(("Phi-4", "x"), 0)).body == (
        b'{"model_name":"Phi-4","model_type":"chat_completion","model_provider_name":"mockserver"}'
    )
    assert json.loads(operation.render(call, Models((), 0)).body)["model_name"] == "Phi-4"


@pytest.mark.parametrize("path", ["/info", "/models/info"])
def test_info_wants_a_version(azure: Any, path: str) -> None:
    operation = next(operation for operation in azure.dialect.operations if operation.path == path)
    with pytest.raises(Failure, match="api-version query parameter"):
        operation.parse(HttpRequest("GET", path), False)
