"""How Ollama's bodies are read: which are refused and in which words, what becomes of them, and what they mean."""

# ruff: noqa: E501  (a message is one line)

import json
from typing import Any

import pytest

from mockserver.core.call import Call
from mockserver.core.http import HttpRequest
from mockserver.core.plan import Failure
from mockserver.core.validation import Validation
from mockserver.dialects import discover
from tests.kit.local import local

Json = Any
OLLAMA = discover()["ollama"]
SAID = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
THINK = 'must be "high", "medium", "low", "max", true, or false'


def parse(path: str, body: Json, validation: Validation = Validation.PUBLISHED) -> Call:
    operation = next(each for each in OLLAMA.operations if each.path == path)
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return operation.read_call(HttpRequest("POST", f"/ollama{path}", body=data), validation)


def chat(**added: Json) -> Call:
    return parse("/api/chat", {**SAID, **added})


REFUSED: list[tuple[str, Json, str]] = [
    ("chat", b"", "missing request body"),
    ("chat", b" \n", "missing request body"),
    ("chat", b'{"model": "m"', "unexpected EOF"),
    ("chat", b'{"model": "m",}', "invalid character '}' looking for beginning of object key string"),
    ("chat", b'{"model" "m"}', "invalid character '\"' after object key"),
    ("chat", b'{"model": m}', "invalid character 'm' looking for beginning of value"),
    ("chat", b'{"model": "m"} x', "invalid character 'x' after top-level value"),
    ("chat", b'["m"]', "json: cannot unmarshal array into Go value of type api.ChatRequest"),
    ("chat", {}, "model is required"),
    ("generate", {"prompt": "hi"}, "model is required"),
    ("show", {}, "model is required"),
    ("pull", {"model": ""}, "model is required"),
    ("chat", {"model": 5}, "json: cannot unmarshal number into Go struct field ChatRequest.model of type string"),
    ("generate", {"model": "m", "prompt": []}, "json: cannot unmarshal array into Go struct field GenerateRequest.prompt of type string"),
    ("chat", {**SAID, "stream": "no"}, "json: cannot unmarshal string into Go struct field ChatRequest.stream of type bool"),
    ("chat", {**SAID, "top_logprobs": 1.5}, "json: cannot unmarshal number 1.5 into Go struct field ChatRequest.top_logprobs of type int"),
    ("chat", {"model": "m", "messages": "hi"}, "json: cannot unmarshal string into Go struct field ChatRequest.messages of type []api.Message"),
    ("chat", {"model": "m", "messages": [{"content": {}}]}, "json: cannot unmarshal object into Go struct field Alias.content of type string"),
    ("chat", {"model": "m", "messages": [{"tool_calls": [{"function": {"arguments": "{}"}}]}]}, "json: cannot unmarshal string into Go struct field Alias.tool_calls.function.arguments of type api.ToolCallFunctionArguments"),
    ("chat", {**SAID, "options": []}, "json: cannot unmarshal array into Go struct field ChatRequest.options of type map[string]interface {}"),
    ("chat", {**SAID, "options": {"temperature": "hot"}}, 'option "temperature" must be of type float32'),
    ("chat", {**SAID, "options": {"num_predict": True}}, 'option "num_predict" must be of type integer'),
    ("chat", {**SAID, "options": {"stop": 5}}, 'option "stop" must be of type array'),
    ("chat", {**SAID, "top_logprobs": 21}, "top_logprobs must be between 0 and 20"),
    ("chat", {**SAID, "think": "hard"}, f'invalid think value: "hard" ({THINK})'),
    ("chat", {**SAID, "think": 5}, f'think must be a boolean or string ({THINK.removeprefix("must be ")})'),
    ("chat", {**SAID, "format": "xml"}, 'invalid format: "xml"; expected "json" or a valid JSON Schema object'),
    ("generate", {"model": "m", "prompt": "hi", "raw": True, "context": [1]}, "raw mode does not support template, system, or context"),
    ("embed", {"model": "m", "input": 5}, "invalid input type"),
    ("embed", {"model": "m", "input": ["a", 5]}, "invalid input type"),
    ("embed", {"model": "m", "input": "word " * 9000, "truncate": False}, "the input length exceeds the context length"),
    ("copy", {"source": "a"}, 'destination "" is invalid'),
]  # fmt: skip


@pytest.mark.parametrize(("path", "body", "message"), REFUSED)
def test_what_is_refused(path: str, body: Json, message: str) -> None:
    answered = local().ask(f"/ollama/api/{path}", body)
    assert (answered.status, answered.json) == (400, {"error": message})


def test_an_image_must_be_base64() -> None:
    with pytest.raises(Failure, match="illegal base64 data"):
        chat(messages=[{"role": "user", "content": "hi", "images": ["@"]}])
    (message,) = chat(messages=[{"role": "user", "content": "hi", "images": ["/9j/"]}]).messages
    assert message.parts[0]["image_url"]["url"] == "data:image/jpeg;base64,/9j/"


@pytest.mark.parametrize(
    "added",
    [
        {"options": {"num_ctx": 4096, "nonesuch": "x"}},
        {"options": None, "format": None, "think": None, "tools": None, "keep_alive": -1},
        {"format": "", "truncate": True, "shift": False, "nonesuch": 5},
        {"messages": [{"role": "wizard", "content": "hi"}, {"content": None}]},
        {"tools": [{"type": "function", "function": {"name": "f"}}, {}]},
        {"options": {"stop": "x", "temperature": 1, "seed": 1.0}},
    ],
)
def test_what_is_accepted(added: Json) -> None:
    assert chat(**added).operation == "chat"


def test_any_media_type_is_read() -> None:
    headers = ((b"content-type", b"application/x-www-form-urlencoded"),)
    http = HttpRequest("POST", "/ollama/api/chat", headers=headers, body=json.dumps(SAID).encode())
    assert OLLAMA.operations[0].read_call(http, Validation.PUBLISHED).last_user == "hi"


def test_what_becomes_of_options() -> None:
    options = chat(options={"num_predict": 5, "stop": ["a", ""], "seed": 7}, logprobs=True, top_logprobs=2).options
    assert (options.max_tokens, options.stop, options.seed, options.logprobs) == (5, ("a",), 7, 2)
    assert [chat(options={"num_predict": most}).options.max_tokens for most in (-1, -2, 0)] == [None] * 3
    assert [chat(think=think).options.effort for think in (True, False, "high", None)] == [
        "medium",
        "none",
        "high",
        None,
    ]
    assert chat(format={"type": "object"}).options.schema == {"type": "object"}
    assert chat(format="json").options.response_format == "json_object"
    assert [chat(**asked).stream for asked in ({}, {"stream": None}, {"stream": False})] == [True, True, False]


SAME: list[tuple[Json, Json]] = [
    ({}, {"stream": False, "keep_alive": "5m", "truncate": True}),
    ({}, {"options": {"num_ctx": 1, "temperature": 0.8, "stop": None}, "tools": [], "format": "", "logprobs": False}),
]
_CALLED = {"role": "assistant", "content": "", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": {}}}]}
_RENAMED = {**_CALLED, "tool_calls": [{"id": "b", "function": {"index": 0, "name": "f", "arguments": {}}}]}
SAME.append(
    (
        {"messages": [_CALLED, {"role": "tool", "content": "1", "tool_call_id": "a"}]},
        {"messages": [_RENAMED, {"role": "tool", "content": "1", "tool_call_id": "b"}]},
    )
)


@pytest.mark.parametrize(("one", "other"), SAME)
def test_what_means_the_same(one: Json, other: Json) -> None:
    assert chat(**one).fingerprint == chat(**other).fingerprint


@pytest.mark.parametrize(
    "added", [{"think": True}, {"format": "json"}, {"options": {"temperature": 0}}, {"options": {"num_predict": 5}}]
)
def test_what_means_something_else(added: Json) -> None:
    assert chat(**added).fingerprint != chat().fingerprint


def test_the_order_of_a_schema_counts() -> None:
    first, second = ({"format": {"properties": {name: {} for name in names}}} for names in ("ab", "ba"))
    assert chat(**first).fingerprint != chat(**second).fingerprint


def test_unchecked_bodies_are_read_as_far_as_possible() -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}], "think": "x"}
    call = parse("/api/chat", body, Validation.OFF)
    assert (call.last_user, call.is_checked) == ("hi", False)
    used = {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{}"}}],
    }
    call = parse("/api/chat", {"model": "m", "messages": [*SAID["messages"], used]}, Validation.OFF)
    assert call.messages[1].tool_calls[0].arguments == "{}"


IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
MADE = {"role": "assistant", "content": None}
REFUSED_AS_CHAT: list[tuple[Json, str]] = [
    ({"messages": []}, "[] is too short - 'messages'"),
    ({"messages": [{"role": "user", "content": 5}]}, "invalid message content type: float64"),
    ({"messages": [{"role": "user"}]}, "invalid message content type: <nil>"),
    ({"messages": [{"role": "user", "content": [{"type": "input_audio"}]}]}, "invalid message format"),
    (
        {"messages": [{"role": "user", "content": [{**IMAGE, "image_url": {"url": "https://a.example/b.png"}}]}]},
        "image URLs are not currently supported, please use base64 encoded data instead",
    ),
    (
        {"messages": [{"role": "user", "content": [{**IMAGE, "image_url": {"url": "data:image/bmp;base64,AA"}}]}]},
        "invalid image input",
    ),
    (
        {"messages": [{**MADE, "tool_calls": [{"id": "a", "type": "function", "function": {"arguments": "{"}}]}]},
        "invalid tool call arguments",
    ),
    (
        {"reasoning_effort": "minimal"},
        'invalid reasoning value: \'minimal\' (must be "high", "medium", "low", or "none")',
    ),
]


@pytest.mark.parametrize(("added", "message"), REFUSED_AS_CHAT, ids=str)
def test_chats_below_v1_that_are_refused(added: Json, message: str) -> None:
    answered = local().ask("/ollama/v1/chat/completions", {**SAID, **added})
    told = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    assert (answered.status, answered.json["error"]) == (400, told)


CALL = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
TAKEN: list[Json] = [
    {"temperature": 3, "foo": 1, "options": {"num_ctx": 4096}},
    {"max_tokens": 5, "max_completion_tokens": 5, "stream_options": {"include_usage": True}},
    {"tools": [{"type": "function", "function": {"name": "a.b c"}}], "tool_choice": "required"},
    {"tool_choice": "required"},
    {"messages": [*SAID["messages"], {"role": "tool", "tool_call_id": "x", "content": "y"}]},
    {"messages": [*SAID["messages"], {**MADE, "tool_calls": [CALL]}, *SAID["messages"]]},
    {"messages": [{"role": "user", "content": [IMAGE, {**IMAGE, "image_url": "data:image/png;base64,iVBORw0KGgo="}]}]},
    {"response_format": {"type": "json_object"}},
    {"reasoning_effort": "none"},
]


@pytest.mark.parametrize("added", TAKEN, ids=str)
def test_chats_below_v1_that_openai_would_refuse(added: Json) -> None:
    answered = local(validation="live", replay="error").ask("/ollama/v1/chat/completions", {**SAID, **added})
    assert (answered.status, answered.remarks) == (200, ()), answered.body


def test_responses_below_v1_that_openai_would_refuse() -> None:
    asked = {"model": "m", "input": "hi", "temperature": 3, "options": {"num_ctx": 4096}}
    assert local(validation="live").ask("/ollama/v1/responses", asked).status == 200
