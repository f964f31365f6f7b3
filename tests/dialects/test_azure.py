"""Azure AI Model Inference as it reads requests: versions, extra parameters, 400 against 422."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from mockserver.core.call import Message, ToolChoice

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
    assert (call.n, call.fingerprint) == (1, azure.parse({"temperature": 0}).fingerprint)


def test_extra_parameters_are_passed_through(azure: Any) -> None:
    extras = {"n": 2, "foo": 1, "logprobs": True, "top_logprobs": 1, "max_completion_tokens": 4}
    call = azure.parse(extras, headers={"extra-parameters": "pass-through"})
    assert (call.n, call.logprobs, call.max_tokens, call.raw["foo"]) == (2, 1, 4, 1)
    assert call.fingerprint != azure.parse({}).fingerprint
    thinking = azure.parse(
        {"reasoning_effort": "low", "verbosity": "high"}, headers={"extra-parameters": "pass-through"}
    )
    assert (thinking.effort, thinking.verbosity) == ("low", "high")


def test_extra_parameters_otherwise(azure: Any) -> None:
    body = json.loads(azure.refuses({}, headers={"extra-parameters": "maybe"}).body)
    assert (body["status"], body["param"]) == (400, "extra-parameters")
    assert body["message"] == (
        "The extra-parameters header is 'maybe'; it may be 'error', 'pass-through', 'drop' or 'ignore'."
    )


# fields, status, loc and value of a 422 or param of a 400
SPLIT: dict[str, tuple[dict[str, Any], int, Any]] = {
    "null messages": ({"messages": None}, 400, "messages"),
    "empty messages": ({"messages": []}, 400, "messages"),
    "content of another type": ({"messages": [{"role": "user", "content": 5}]}, 400, "messages[0].content"),
    "no content": ({"messages": [{"role": "user"}]}, 400, "messages[0].content"),
    "null content": ({"messages": [{"role": "user", "content": None}]}, 400, "messages[0].content"),
    "no role": ({"messages": [{"content": "x"}]}, 400, "messages[0].role"),
    "part without text": (
        {"messages": [{"role": "user", "content": [{"type": "text"}]}]},
        400,
        "messages[0].content[0].text",
    ),
    "part without image": (
        {"messages": [{"role": "user", "content": [{"type": "image"}]}]},
        400,
        "messages[0].content[0].image_url",
    ),
    "unknown role": (
        {"messages": [{"role": "wizard", "content": "x"}]},
        422,
        (["body", "messages", "0", "role"], "wizard"),
    ),
    "unknown part": (
        {"messages": [{"role": "user", "content": [{"type": "smell"}]}]},
        422,
        (["body", "messages", "0", "content", "0", "type"], "smell"),
    ),
    "model of another type": ({"model": 5}, 400, "model"),
    "seed of another type": ({"seed": "x"}, 400, "seed"),
    "stop of another type": ({"stop": 5}, 400, "stop"),
    "stream of another type": ({"stream": "yes"}, 400, "stream"),
    "temperature below": ({"temperature": -0.5}, 422, (["body", "temperature"], "-0.5")),
    "temperature as text": ({"temperature": "hot"}, 422, (["body", "temperature"], "hot")),
    "top_p above": ({"top_p": 2}, 422, (["body", "top_p"], "2")),
    "penalty above": ({"presence_penalty": 3}, 422, (["body", "presence_penalty"], "3")),
    "length below": ({"max_tokens": -1}, 422, (["body", "max_tokens"], "-1")),
    "unknown format": (
        {"response_format": {"type": "xml"}},
        422,
        (["body", "response_format", "type"], "xml"),
    ),
    "format as text": ({"response_format": ["text"]}, 422, (["body", "response_format"], '["text"]')),
    "custom tool": ({"tools": [{"type": "custom"}]}, 422, (["body", "tools", "0", "type"], "custom")),
    "tool without a name": (
        {"tools": [{"type": "function", "function": {}}]},
        422,
        (["body", "tools", "0", "function", "name"], ""),
    ),
    "choice without tools": ({"tool_choice": "required"}, 422, (["body", "tool_choice"], "required")),
    "choice of an unknown tool": (
        {"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "g"}}},
        422,
        (["body", "tool_choice"], '{"type":"function","function":{"name":"g"}}'),
    ),
}


@pytest.mark.parametrize(("fields", "status", "where"), SPLIT.values(), ids=SPLIT.keys())
def test_400_against_422(azure: Any, fields: dict[str, Any], status: int, where: Any) -> None:
    reply = azure.refuses(fields)
    body = json.loads(reply.body)
    assert reply.status == body["status"] == status
    if status == 400:
        assert list(body) == ["code", "error", "message", "param", "status"]
        assert (body["code"], body["param"]) == ("BadRequest", where)
    else:
        loc, value = where
        assert list(body) == ["code", "detail", "error", "message", "status"]
        assert body["detail"] == {"loc": loc, "value": value, "input": value}
        assert dict(reply.headers)["x-ms-error-code"] == body["code"] == "parameter_not_supported"
        assert body["message"].startswith("One of the parameters has an unsupported value. ")


def test_messages_are_required(azure: Any) -> None:
    body = json.loads(azure.refuses(b'{"model":"m"}').body)
    assert (body["status"], body["message"]) == (400, "Missing required parameter: 'messages'.")


def test_extras_that_are_passed_through_are_checked_by_the_model(azure: Any) -> None:
    reply = azure.refuses({"n": 0}, headers={"extra-parameters": "pass-through"})
    assert json.loads(reply.body)["detail"] == {"loc": ["body", "n"], "value": "0", "input": "0"}


ACCEPTED: list[dict[str, Any]] = [
    {"temperature": 5, "max_tokens": None, "stop": "<|endoftext|>", "seed": 42, "top_p": 1},
    {"stop": ["a", "b", "c", "d", "e"], "response_format": {"type": "text"}, "frequency_penalty": 0},
    {"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "f"}}},
    {"messages": [{"role": "tool", "content": "x"}, {"role": "developer", "content": "x"}]},
    {"messages": [{"role": "assistant", "content": None}, {"role": "assistant"}]},
    {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {}}}},
]


@pytest.mark.parametrize("fields", ACCEPTED)
def test_accepted(azure: Any, fields: dict[str, Any]) -> None:
    assert azure.parse(fields).raw == {"model": "gpt-x", "messages": [USER], **fields}


def test_named_choice(azure: Any) -> None:
    choice = {"type": "function", "function": {"name": "f"}}
    assert azure.parse({"tools": [TOOL], "tool_choice": choice}).tool_choice == ToolChoice("named", ("f",))


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
