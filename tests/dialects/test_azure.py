"""Azure AI Model Inference on the wire: versions, extra parameters, 400 against 422, flat errors."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from azure.ai.inference.models import ChatCompletions, StreamingChatCompletionsUpdate
from pydantic import TypeAdapter

from mockserver.core.call import Message, ToolCall, ToolChoice
from mockserver.core.http import HttpRequest
from mockserver.core.plan import Choice, Failure, Logprob, Models, Reasoning, Refusal, Text, ToolUse

USER = {"role": "user", "content": "hi"}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {}}}
AUTH = {"authorization": "Bearer k"}


@pytest.fixture
def azure(speak: Callable[[str], Any]) -> Any:
    return speak("azure")


def test_completion(azure: Any, answer: Any, completion_shape: TypeAdapter[Any]) -> None:
    reply = azure.render(answer("No"))
    assert reply.body == (
        b'{"id":"41613141613141613141613141613141","model":"gpt-x",'
        b'"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"No"}}],'
        b'"created":1700000000,"object":"chat.completion",'
        b'"usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11}}'
    )
    completion_shape.validate_python(json.loads(reply.body))
    read = ChatCompletions(json.loads(reply.body))
    assert (read.choices[0].message.content, read.created.year) == ("No", 2023)


def test_stream(azure: Any, answer: Any, chunk_shape: TypeAdapter[Any]) -> None:
    head = '{"id":"41613141613141613141613141613141","object":"chat.completion.chunk","created":1700000000,'
    head += '"model":"gpt-x","choices":[{"index":0,"finish_reason":'
    usage = ',"usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11}}'
    frames = [frame.data.decode() for frame in azure.frames(answer("Hello there"))]
    assert frames == [
        head + 'null,"delta":{"role":"assistant","content":""}}]}',
        head + 'null,"delta":{"content":"Hello"}}]}',
        head + 'null,"delta":{"content":" there"}}]}',
        head + '"stop","delta":{}}]' + usage,
        "[DONE]",
    ]
    for frame in frames[:-1]:
        chunk_shape.validate_python(json.loads(frame))
        StreamingChatCompletionsUpdate(json.loads(frame))


def test_usage_stands_on_the_last_of_several_finishes(azure: Any, answer: Any) -> None:
    chunks = azure.chunks(answer("a longer one", "b"), {"n": 2}, headers={"extra-parameters": "pass-through"})
    assert ["usage" in chunk for chunk in chunks] == [False] * (len(chunks) - 1) + [True]


def test_usage_trails_when_it_is_asked_for(azure: Any, answer: Any) -> None:
    asked = {"stream_options": {"include_usage": True}}
    chunks = azure.chunks(answer("Hi"), asked, headers={"extra-parameters": "pass-through"})
    assert ["usage" in chunk for chunk in chunks] == [False, False, False, True]
    assert chunks[-1]["choices"] == []


def test_tool_calls(azure: Any, answer: Any) -> None:
    given = answer((ToolUse(ToolCall("call_a", "f", "{}")),), finish="tool_calls")
    choice = json.loads(azure.render(given).body)["choices"][0]
    function = {"name": "f", "arguments": "{}"}
    calls = [{"id": "call_a", "type": "function", "function": function}]
    assert choice["message"] == {"role": "assistant", "content": None, "tool_calls": calls}
    assert azure.chunks(given)[0]["choices"][0]["delta"] == {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"index": 0, "id": "call_a", "type": "function", "function": {"name": "f", "arguments": ""}}],
    }


def test_a_refusal_is_said_in_the_content(azure: Any, answer: Any) -> None:
    given = answer((Refusal("I will not."),))
    assert json.loads(azure.render(given).body)["choices"][0]["message"]["content"] == "I will not."
    said = [chunk["choices"][0]["delta"].get("content", "") for chunk in azure.chunks(given)]
    assert "".join(said) == "I will not."


def test_reasoning_is_shown(azure: Any, answer: Any) -> None:
    body = json.loads(azure.render(answer((Reasoning("Hm"), Text("Yes")))).body)
    assert body["choices"][0]["message"] == {"role": "assistant", "content": "Yes", "reasoning_content": "Hm"}


def test_logprobs_when_passed_through(azure: Any, answer: Any) -> None:
    given = answer(Choice((Text("Hi"),), logprobs=(Logprob("Hi", -0.5),)))
    body = json.loads(azure.render(given).body)
    assert body["choices"][0]["logprobs"]["content"][0]["logprob"] == -0.5


def test_a_model_that_nobody_named_gets_a_name(azure: Any, answer: Any) -> None:
    call = azure.parse({"model": None})
    assert call.model == ""
    unnamed = answer("Hi")
    object.__setattr__(unnamed, "model", "")
    assert json.loads(azure.operation("chat").render(call, unnamed).body)["model"] == "Phi-4"


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
        assert list(body) == ["code", "error", "message", "status", "param"]
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


def test_filtered_prompt(azure: Any) -> None:
    reply = azure.fail(Failure("content_filter"), azure.parse({}))
    assert dict(reply.headers)["x-ms-error-code"] == "content_filter"
    assert json.loads(reply.body) == {
        "code": "content_filter",
        "error": "Bad Request",
        "message": "The response was filtered",
        "status": 400,
        "param": "messages",
    }


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


def test_info_of_several_models_is_refused(azure: Any) -> None:
    operation = next(operation for operation in azure.dialect.operations if operation.path == "/models/info")
    with pytest.raises(Failure) as caught:
        operation.parse(HttpRequest("GET", "/models/info", query={"api-version": "2024-05-01"}), False)
    reply = azure.fail(caught.value)
    assert (reply.status, json.loads(reply.body)["message"]) == (
        404,
        "An endpoint that serves several models has no /info: it tells about one model. Ask for /info instead.",
    )


def test_chat_stands_under_models_too(azure: Any) -> None:
    paths = [operation.path for operation in azure.dialect.operations if operation.name == "chat"]
    assert paths == ["/chat/completions", "/models/chat/completions"]
