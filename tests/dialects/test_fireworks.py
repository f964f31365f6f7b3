"""What Fireworks' bodies ask beyond OpenAI's, and what its answers tell beside the text."""

import json
from typing import Any

import pytest

from mockserver.core.call import Call
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.plan import Answer, Choice, Failure, Text, Usage
from mockserver.core.validation import Validation
from mockserver.dialects.fireworks import DIALECT
from mockserver.dialects.fireworks.request import measure_performance, parse_chat, parse_completion

SCHEMA = {"type": "object", "properties": {"b": {}, "a": {}}}
ANSWER = Answer("cmpl-1", 7, "m", (Choice((Text(" Hi you"),)),), Usage(3, 2, cached=1))


def request(**body: Any) -> HttpRequest:
    return HttpRequest("POST", "/", body=json.dumps(body).encode())


def parse(**body: Any) -> Call:
    return parse_completion(request(**{"model": "m", "prompt": "Say it.", **body}), False)


def chat(validation: Validation = Validation.PUBLISHED, **body: Any) -> Call:
    return parse_chat(request(model="m", messages=[{"role": "user", "content": "hi"}], **body), validation)


@pytest.mark.parametrize(
    "stated",
    [{"n": 1}, {"echo": False}, {"ignore_eos": False}, {"logprobs": None}, {"response_format": {"type": "text"}}],
)
def test_a_default_can_be_stated(stated: Any) -> None:
    assert parse(**stated).options == parse().options


def test_a_message_may_have_no_parts() -> None:
    made = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    history = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": [], "tool_calls": [made]}]
    call = parse_chat(request(model="m", messages=history), Validation.PUBLISHED)
    assert [(message.role, message.text) for message in call.messages] == [("user", "hi"), ("assistant", "")]


def refused(**body: Any) -> Any:
    with pytest.raises(Failure) as caught:
        parse(**body)
    return caught.value.details["detail"]


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
    told = measure_performance(parse(**body).raw, ANSWER)
    assert (told["prompt-tokens"], told["cached-prompt-tokens"]) == (3, 1)
    assert 0 < told["server-time-to-first-token"] < told["server-processing-time"]
    names = ("speculation-prompt-tokens", "speculation-prompt-matched-tokens")
    assert tuple(told[name] for name in names if name in told) == (predicted or ())


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


@pytest.mark.parametrize(
    "more", [{"echo": True}, {"raw_output": True}, {"return_token_ids": True}, {"echo_last": 3, "logprobs": 0}]
)
def test_prompts_without_end_are_not_repeated(more: Any) -> None:
    huge = [1] * 70_000
    assert parse(prompt=huge, n=1, **more).options.n == 1
    assert parse(prompt=huge, n=2, echo_last=3).options.echo == 3
    detail = refused(prompt=huge, n=2, **more)[0]
    assert (detail["loc"], detail["type"]) == (["body", next(iter(more))], "value_error")
    assert "You requested 140000 tokens of prompts to be repeated" in detail["msg"]
