"""Azure AI Model Inference on the wire: objects, streams, flat errors, headers."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from azure.ai.inference.models import ChatCompletions, StreamingChatCompletionsUpdate
from pydantic import TypeAdapter

from mockserver.core.call import ToolCall
from mockserver.core.http import HttpRequest
from mockserver.core.plan import Choice, Failure, Logprob, Models, Reasoning, Refusal, Text, ToolUse


@pytest.fixture
def azure(speak: Callable[[str], Any]) -> Any:
    return speak("azure")


def test_completion(azure: Any, answer: Any, completion_shape: TypeAdapter[Any]) -> None:
    reply = azure.render(answer("No"))
    assert reply.body == (
        b'{"id":"chatcmpl-Aa1Aa1Aa1Aa1Aa1Aa1Aa1Aa1Aa1Aa","model":"gpt-x",'
        b'"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"No"}}],'
        b'"created":1700000000,"object":"chat.completion",'
        b'"usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11}}'
    )
    completion_shape.validate_python(json.loads(reply.body))
    read = ChatCompletions(json.loads(reply.body))
    assert (read.choices[0].message.content, read.created.year) == ("No", 2023)


def test_stream(azure: Any, answer: Any, chunk_shape: TypeAdapter[Any]) -> None:
    head = '{"id":"chatcmpl-Aa1Aa1Aa1Aa1Aa1Aa1Aa1Aa1Aa1Aa","object":"chat.completion.chunk","created":1700000000,'
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
