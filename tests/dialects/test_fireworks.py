"""What Fireworks' bodies ask beyond OpenAI's, and what its answers tell beside the text."""

import json
from typing import Any

import pytest

from mockserver.core.call import Call
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.plan import Answer, Choice, Failure, Text, Usage
from mockserver.dialects.fireworks import DIALECT
from mockserver.dialects.fireworks.request import metrics, parse_chat, parse_completion, wanted

HTTP = HttpRequest("POST", "/completions")
SCHEMA = {"type": "object", "properties": {"b": {}, "a": {}}}
ANSWER = Answer("cmpl-1", 7, "m", (Choice((Text(" Hi you"),)),), Usage(3, 2, cached=1))


def parse(**body: Any) -> Call:
    return parse_completion(HTTP, {"model": "m", "prompt": "Say it.", **body}, dialect="fireworks")


def chat(strict: bool = False, **body: Any) -> Call:
    whole = {"model": "m", "messages": [{"role": "user", "content": "hi"}], **body}
    return parse_chat(HTTP, whole, dialect="fireworks", strict=strict)


def refused(**body: Any) -> Any:
    with pytest.raises(Failure) as caught:
        parse(**body)
    return caught.value.details["detail"]


@pytest.mark.parametrize(
    ("body", "alternatives", "kind"),
    [
        ({}, None, "legacy"),
        ({"logprobs": False}, None, "content"),
        ({"top_logprobs": 3}, None, "legacy"),
        ({"logprobs": 0}, 0, "legacy"),
        ({"logprobs": 1}, 1, "legacy"),
        ({"logprobs": 2, "top_logprobs": 4}, 4, "legacy"),
        ({"logprobs": True}, 0, "content"),
        ({"logprobs": True, "top_logprobs": 4}, 4, "content"),
    ],
)
def test_log_probabilities(body: Any, alternatives: int | None, kind: str) -> None:
    call = parse(**body)
    assert call.logprobs == alternatives
    assert wanted(call, ANSWER).logprobs.kind == kind


@pytest.mark.parametrize(
    ("body", "field", "value"),
    [
        ({}, "overflow", "truncate"),
        ({"context_length_exceeded_behavior": "error"}, "overflow", "error"),
        ({"ignore_eos": True}, "ignore_eos", True),
        ({"max_completion_tokens": 5}, "max_tokens", 5),
        ({"max_tokens": -3}, "max_tokens", 0),
        ({}, "usual_tokens", None),
        ({"echo_last": 2}, "echo", 2),
        ({"echo_last": -2}, "echo", 0),
        ({"echo": True, "echo_last": 1}, "echo", 1 << 62),
        ({"response_format": {"type": "grammar", "grammar": "g"}}, "response_format", "text"),
        ({"response_format": {"type": "json_object"}}, "response_format", "json_object"),
        ({"response_format": {"type": "json_object", "schema": SCHEMA}}, "response_format", "json_schema"),
        ({"response_format": {"type": "json_schema", "json_schema": SCHEMA}}, "schema", SCHEMA),
        ({"response_format": {"type": "json_schema", "schema": json.dumps(SCHEMA)}}, "schema", SCHEMA),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}},
            "schema",
            SCHEMA,
        ),
    ],
)
def test_fields(body: Any, field: str, value: Any) -> None:
    assert getattr(parse(**body), field) == value


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"raw_output": True, "return_token_ids": True, "perf_metrics_in_response": True}, {}, True),
        ({"metadata": {"a": "b"}, "user": "u", "prompt_cache_isolation_key": "k"}, {}, True),
        ({"images": ["a"]}, {}, False),
        ({"images": ["a"]}, {"images": [["a"]]}, True),
        (
            {"response_format": {"type": "json_schema", "json_schema": SCHEMA}},
            {"response_format": {"type": "json_schema", "schema": json.dumps(SCHEMA)}},
            True,
        ),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"properties": {"b": {}, "a": {}}}}},
            {"response_format": {"type": "json_schema", "json_schema": {"properties": {"a": {}, "b": {}}}}},
            False,
        ),
    ],
)
def test_meaning(one: Any, other: Any, same: bool) -> None:
    assert (parse(**one).fingerprint == parse(**other).fingerprint) is same


@pytest.mark.parametrize(
    ("body", "loc", "words"),
    [
        ({"max_tokens": 1, "max_completion_tokens": 1}, ["body"], "max_tokens and max_completion_tokens"),
        ({"thinking": {"type": "disabled"}, "reasoning_effort": False}, ["body"], "thinking and reasoning_effort"),
        ({"prompt": ["a"] * 200, "n": 20}, ["body", "n"], "4000 choices"),
        (
            {"response_format": {"type": "json_schema", "json_schema": "{"}},
            ["body", "response_format", "json_schema"],
            "cannot be read: EOF",
        ),
        (
            {"response_format": {"type": "json_schema", "schema": "[]"}},
            ["body", "response_format", "schema"],
            "it is no object",
        ),
    ],
)
def test_what_excludes_what(body: Any, loc: list[str], words: str) -> None:
    (detail,) = refused(**body)
    assert (detail["loc"], detail["type"]) == (loc, "value_error")
    assert words in detail["msg"]


@pytest.mark.parametrize(
    ("body", "predicted"),
    [
        ({}, None),
        ({"speculation": " Hi me"}, (2, 1)),
        ({"speculation": [1, 2, 3]}, (3, 0)),
        ({"prediction": " Hi"}, (1, 1)),
        ({"prediction": {"content": " Hi you all"}}, (3, 2)),
        (
            {"prediction": {"type": "content", "content": [{"type": "text", "text": " Hi"}, {"type": "image_url"}]}},
            (1, 1),
        ),
    ],
)
def test_metrics(body: Any, predicted: tuple[int, int] | None) -> None:
    told = metrics(parse(**body), ANSWER)
    assert (told["prompt-tokens"], told["cached-prompt-tokens"]) == (3, 1)
    assert 0 < told["server-time-to-first-token"] < told["server-processing-time"]
    names = ("speculation-prompt-tokens", "speculation-prompt-matched-tokens")
    assert tuple(told[name] for name in names if name in told) == (predicted or ())


def test_a_chat() -> None:
    call = chat(logprobs=3, ignore_eos=True, response_format={"type": "json_schema", "schema": json.dumps(SCHEMA)})
    assert (call.operation, call.last_user, call.logprobs, call.ignore_eos) == ("chat", "hi", 3, True)
    assert (call.response_format, call.schema, call.overflow) == ("json_schema", SCHEMA, "truncate")
    assert call.raw["response_format"]["schema"] == json.dumps(SCHEMA)


def test_a_chat_is_closed_only_when_strict() -> None:
    assert chat(foo=1).raw["foo"] == 1
    with pytest.raises(Failure) as caught:
        chat(strict=True, foo=1, bar=2)
    assert [detail["loc"] for detail in caught.value.details["detail"]] == [["body", "foo"], ["body", "bar"]]


@pytest.mark.parametrize("more", [{"tool_choice": "required"}, {"messages": [{"role": "assistant"}]}])
def test_a_chat_that_cannot_be(more: Any) -> None:
    with pytest.raises(Failure) as caught:
        chat(**more)
    assert caught.value.status == 422


def render(call: Call, answer: Answer = ANSWER) -> Reply:
    operation = next(operation for operation in DIALECT.operations if operation.name == call.operation)
    return operation.render(call, answer)


def test_only_plain_answers_tell_in_headers_how_they_performed() -> None:
    for parsed in (parse, chat):
        plain, streamed = (dict(render(parsed(stream=stream)).headers) for stream in (False, True))
        assert plain["fireworks-prompt-tokens"] == "3"
        assert plain["fireworks-sampling-options"] == "{}"
        assert not [name for name in streamed if name.startswith("fireworks-")]
        assert (
            plain["x-ratelimit-remaining-tokens-prompt"] == streamed["x-ratelimit-remaining-tokens-prompt"] == "599997"
        )


def test_a_filter_is_an_error_in_a_chat_as_well() -> None:
    filtered = Answer("chatcmpl-1", 7, "m", (Choice((Text("x"),), finish="content_filter"),), Usage(1, 1))
    assert json.loads(render(chat(), filtered).body)["choices"][0]["finish_reason"] == "error"


@pytest.mark.parametrize(
    ("body", "most"),
    [({}, None), ({"ignore_eos": True}, 65_536), ({"ignore_eos": True, "n": 128, "prompt": ["a", "b"]}, 256)],
)
def test_texts_that_never_end_share_what_there_is(body: Any, most: int | None) -> None:
    assert parse(**body).usual_tokens == most


def test_chats_that_never_end_do_too() -> None:
    assert chat(ignore_eos=True, n=2).usual_tokens == 32_768
    assert chat(n=2).usual_tokens is None


@pytest.mark.parametrize(
    "more", [{"echo": True}, {"raw_output": True}, {"return_token_ids": True}, {"echo_last": 3, "logprobs": 0}]
)
def test_prompts_without_end_are_not_repeated(more: Any) -> None:
    huge = [1] * 70_000
    assert parse(prompt=huge, n=1, **more).n == 1
    assert parse(prompt=huge, n=2, echo_last=3).echo == 3
    detail = refused(prompt=huge, n=2, **more)[0]
    assert (detail["loc"], detail["type"]) == (["body", next(iter(more))], "value_error")
    assert "You requested 140000 tokens of prompts to be repeated" in detail["msg"]


@pytest.mark.parametrize(
    ("body", "effort"),
    [
        ({}, None),
        ({"reasoning_effort": "high"}, "high"),
        ({"reasoning_effort": True}, "medium"),
        ({"reasoning_effort": False}, "none"),
        ({"reasoning_effort": 0}, "none"),
        ({"reasoning_effort": 512}, "low"),
        ({"reasoning_effort": 4096}, "medium"),
        ({"reasoning_effort": 100_000}, "high"),
        ({"thinking": {"type": "enabled"}}, "medium"),
        ({"thinking": {"type": "enabled", "budget_tokens": 1024}}, "low"),
        ({"thinking": {"type": "disabled"}}, "none"),
    ],
)
def test_how_hard_the_model_is_to_think(body: dict[str, Any], effort: str | None) -> None:
    assert chat(**body).effort == effort
