"""What single dialects need and show, beyond their cases: keys, versions, headers, ids, limits."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from mockserver.core.call import ToolCall
from mockserver.core.http import HttpRequest
from mockserver.core.plan import Answer, Choice, Failure, Logprob, Reasoning, Refusal, Text, ToolUse, Usage
from mockserver.dialects import discover
from mockserver.dialects._openai_api.completions import explain_many_choices
from mockserver.dialects.tzafon import CONTEXT

Speak = Callable[[str], Any]
USER = {"role": "user", "content": "hi"}
BOTH = {"authorization": "Bearer t", "api-key": "k", "x-api-key": "x"}


@pytest.mark.parametrize(
    ("dialect", "headers", "key"),
    [
        ("azure", BOTH, "t"),
        ("azure", {"api-key": "k"}, "k"),
        ("azure", {"api-key": ""}, None),
        ("azure_openai", BOTH, "k"),
        ("azure_openai", {"api-key": " "}, None),
        ("skytells", BOTH, "x"),
        ("skytells", {"x-api-key": " "}, None),
    ],
)
def test_credential(speak: Speak, dialect: str, headers: Mapping[str, str], key: str | None) -> None:
    assert speak(dialect).dialect.read_credential(speak(dialect).request(headers=headers)) == key


def test_openai_only_counts_reasoning(speak: Speak, answer: Any) -> None:
    openai, given = speak("openai"), answer((Reasoning("Let me think about it"), Text("Yes")), usage=Usage(9, 6, 5))
    assert json.loads(openai.render(given).body)["usage"]["completion_tokens_details"]["reasoning_tokens"] == 5
    assert b"think" not in b"".join(frame.data for frame in openai.frames(given))
    assert [frame.tokens for frame in openai.frames(given)] == [0, 6, 0, 0]


def test_headers_of_openai(speak: Speak, answer: Any) -> None:
    reply, call = speak("openai").render(answer("Hi")), speak("openai").parse({})
    assert dict(reply.headers) == {
        "content-type": "application/json",
        "content-length": str(len(reply.body)),
        "x-request-id": f"req_{call.fingerprint}",
        "openai-organization": "mockserver",
        "openai-processing-ms": str(20 + int(call.fingerprint[:2], 16)),
        "openai-version": "2020-10-01",
        "x-ratelimit-limit-requests": "10000",
        "x-ratelimit-limit-tokens": "2000000",
        "x-ratelimit-remaining-requests": "9999",
        "x-ratelimit-remaining-tokens": "1999991",
        "x-ratelimit-reset-requests": "6ms",
        "x-ratelimit-reset-tokens": "0ms",
    }


@pytest.mark.parametrize(("operation", "param"), [("chat", "messages"), ("responses", "input")])
def test_a_prompt_that_is_too_long_is_named_by_its_field(speak: Speak, operation: str, param: str) -> None:
    openai = speak("openai")
    call = openai.parse({}) if operation == "chat" else openai.responses({})
    assert json.loads(openai.fail(Failure("context_length"), call).body)["error"]["param"] == param
    stated = Failure("context_length", param="messages")
    assert json.loads(openai.fail(stated, call).body)["error"]["param"] == "messages"


@pytest.mark.parametrize(
    ("prompt", "n", "fine"), [(list(range(3000)), 1, True), (["a"] * 16, 128, True), (["a"] * 17, 128, False)]
)
def test_how_many_choices_can_be_made_at_once(prompt: Any, n: int | None, fine: bool) -> None:
    assert (explain_many_choices({"prompt": prompt, "n": n}) is None) is fine


@pytest.mark.parametrize("version", ["2024-04-01-preview", "2025-01-01"])
def test_versions_that_azure_takes(speak: Speak, version: str) -> None:
    assert speak("azure").parse({}, query={"api-version": version}).model == "gpt-x"


@pytest.mark.parametrize("version", ["", "v1", "2024-05-01-beta", "2024-5-1", "2024-05-01-preview ", "２０２４-05-01"])
def test_versions_that_azure_refuses(speak: Speak, version: str) -> None:
    reply = speak("azure").refuses({}, query={"api-version": version})
    code = f"{'Invalid' if version else 'Missing'}ApiVersionParameter"
    assert dict(reply.headers)["x-ms-error-code"] == json.loads(reply.body)["code"] == code


@pytest.mark.parametrize(
    ("param", "loc", "value"),
    [
        (None, ["body"], ""),
        ("response_format", ["body", "response_format"], '{"type":"json_object"}'),
        ("messages[0].content", ["body", "messages", "0", "content"], "hi"),
        ("messages[3].content", ["body", "messages", "3", "content"], ""),
    ],
)
def test_a_rule_that_names_a_parameter_of_azure(speak: Speak, param: str | None, loc: list[str], value: str) -> None:
    call = speak("azure").parse({"response_format": {"type": "json_object"}})
    body = json.loads(speak("azure").fail(Failure("unprocessable", param=param), call).body)
    assert body["detail"] == {"loc": loc, "value": value, "input": value}


def test_headers_of_azure(speak: Speak, answer: Any) -> None:
    azure = speak("azure")
    headers = dict(azure.render(answer("Hi"), headers={"x-ms-client-request-id": "ab\u00e9c"}).headers)
    name = headers["x-ms-request-id"]
    assert [len(part) for part in name.split("-")] == [8, 4, 4, 4, 12]
    assert name.replace("-", "") == azure.parse({}).fingerprint
    assert (headers["apim-request-id"], headers["x-ms-client-request-id"]) == (name, "abc")
    failed = dict(azure.fail(Failure("overloaded", retry_after=3), headers={"x-ms-client-request-id": "me"}).headers)
    assert (failed["x-ms-client-request-id"], failed["retry-after"]) == ("me", "3")


@pytest.mark.parametrize("path", ["/info", "/models/info"])
def test_info_of_azure_needs_a_version(speak: Speak, path: str) -> None:
    operation = next(operation for operation in speak("azure").dialect.operations if operation.path == path)
    with pytest.raises(Failure, match="api-version query parameter"):
        operation.parse(HttpRequest("GET", path), False)


@pytest.mark.parametrize("query", [{}, *({"api-version": v} for v in ("", "latest", "2024", "2024-10-21 ", "preview"))])
def test_dated_paths_of_azure_openai_need_a_date(query: Mapping[str, str]) -> None:
    asked = HttpRequest("POST", "/x", query=query, path_params={"deployment": "d"})
    for one in discover()["azure_openai"].operations:
        if "/v1" not in one.path:
            with pytest.raises(Failure) as caught:
                one.parse(asked, False)
            assert caught.value == Failure(
                "route_not_found", details={"hint": "Did you mean POST /x?api-version=2024-10-21?"}
            )


def test_a_deployment_of_azure_openai_means_the_same_under_every_path() -> None:
    operations = {one.path: one for one in reversed(discover()["azure_openai"].operations)}
    paths = {f"/openai/{front}/chat/completions" for front in ("v1", "deployments/{deployment}")}
    body = json.dumps({"model": "ours", "messages": [USER]}).encode()
    http = HttpRequest("POST", "/x", {"api-version": "2024-10-21"}, body=body, path_params={"deployment": "ours"})
    assert len({operations[path].parse(http, False).fingerprint for path in paths}) == 1
    for path in {path for path in operations if "/v1" not in path}:
        assert path.replace("/openai", "/openai/v1", 1) in operations
        assert path.replace("/deployments/{deployment}", "").replace("/openai", "/openai/v1", 1) in operations


def test_a_rate_limit_of_azure_openai_says_when_to_come_back(speak: Speak) -> None:
    waiting = speak("azure_openai").fail(Failure("rate_limit", retry_after=7))
    assert {("retry-after", "7"), ("retry-after-ms", "7000")} <= set(waiting.headers)
    assert "Please retry after 7 seconds." in json.loads(waiting.body)["error"]["message"]
    typed = json.loads(speak("azure_openai").fail(Failure("rate_limit", "Wait.", kind="tokens")).body)["error"]
    assert typed == {"message": "Wait.", "type": "tokens", "param": None, "code": "429"}


FIRST = {"index": 0, "id": "call_a", "type": "function", "function": {"name": "f", "arguments": ""}}
ROLES: dict[str, tuple[Any, Any]] = {
    "call": ((ToolUse(ToolCall("call_a", "f", "{}")),), {"role": "assistant", "tool_calls": [FIRST]}),
    "refusal": ((Refusal("No"),), {"role": "assistant", "refusal": "No"}),
    "nothing": ((), {"role": "assistant", "content": ""}),
    "annotated": ((Text("Yes", annotations=({"type": "x"},)),), {"role": "assistant", "content": "Yes"}),
    "logprobs": (Choice((Text("Yes"),), logprobs=(Logprob("Yes", -1.0),)), {"role": "assistant", "content": "Yes"}),
}


@pytest.mark.parametrize(("choice", "delta"), ROLES.values(), ids=ROLES.keys())
def test_the_role_comes_with_the_second_chunk_of_skytells(speak: Speak, answer: Any, choice: Any, delta: Any) -> None:
    chunks = speak("skytells").chunks(answer(choice))
    assert [one["choices"][0]["delta"] for one in chunks[:2]] == [{}, delta]
    assert {one["choices"][0]["logprobs"] for one in chunks} == {None}
    assert not any("annotations" in one["choices"][0]["delta"] for one in chunks)


@pytest.mark.parametrize(
    ("query", "body", "streams"),
    [
        ({"stream": "True"}, {"stream": False}, True),
        ({"stream": "true"}, {"stream_options": {"include_usage": True}}, True),
        ({"stream": "1"}, {}, False),
        ({}, {"stream": True}, True),
    ],
)
def test_the_query_of_skytells_can_ask_for_a_stream(speak: Speak, query: Any, body: Any, streams: bool) -> None:
    call = speak("skytells").parse(body, query=query)
    assert call.stream is streams
    assert call.fingerprint == speak("skytells").parse({}).fingerprint


@pytest.mark.parametrize(
    ("asked", "most"),
    [
        ({"max_output_tokens": 5}, 5),
        ({"max_output_tokens": -5}, 0),
        ({"max_output_tokens": None}, CONTEXT - 7),
        ({"input": "word " * CONTEXT}, 1),
    ],
)
def test_the_limit_of_tzafon_is_always_a_number(speak: Speak, asked: Any, most: int) -> None:
    tzafon, answer = speak("tzafon"), Answer("resp_1", 7, "", (Choice((Text("Hi"),)),), Usage(9, 2))
    reply = tzafon.operation("responses").render(tzafon.responses({"input": "hi", **asked}), answer)
    assert json.loads(reply.body)["max_output_tokens"] == most


def test_a_rule_may_word_a_wrong_key_of_tzafon(speak: Speak) -> None:
    error = json.loads(speak("tzafon").fail(Failure("invalid_key", "Mine.")).body)["error"]
    assert (error["message"], error["code"]) == ("Mine.", 401)


@pytest.mark.parametrize("kind", ["computer_use_preview", "computer_use"])
def test_a_computer_of_tzafon_has_two_names(speak: Speak, kind: str) -> None:
    screen = {"type": kind, "display_width": 1, "display_height": 1, "environment": "desktop"}
    call = speak("tzafon").responses({"input": "hi", "tools": [screen], "tool_choice": {"type": kind}})
    assert (call.tools[0].name, call.tools[0].options, call.tool_choice.names) == (kind, screen, (kind,))
