"""Bodies of text completions become Calls; answers go out whole or as frames."""

import json
from typing import Any

import pytest

from mockserver.core.call import Call, Prompt
from mockserver.core.http import HttpRequest
from mockserver.core.plan import Failure
from mockserver.dialects._completions import (
    STYLE,
    WHOLE,
    live_only,
    parse_completion,
    prompts_of,
    text_reply,
    too_many,
    wanted,
)

HTTP = HttpRequest("POST", "/completions")


def parse(**body: Any) -> Call:
    return parse_completion(HTTP, {"model": "m", "prompt": "Say it.", **body}, "openai", strict=False)


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("Say it.", [Prompt("Say it.")]),
        ("", [Prompt("")]),
        (None, [Prompt("")]),
        ([], [Prompt("")]),
        (["a", ""], [Prompt("a"), Prompt("")]),
        ([1, 23], [Prompt("<|1|><|23|>", (1, 23))]),
        ([[1], [2, 3]], [Prompt("<|1|>", (1,)), Prompt("<|2|><|3|>", (2, 3))]),
    ],
)
def test_prompts_of_every_kind(prompt: Any, expected: list[Prompt]) -> None:
    assert list(prompts_of(prompt)) == expected


def test_a_call() -> None:
    call = parse(n=2, stop="x", logprobs=3, max_tokens=9, seed=4, echo=True, stream=True)
    assert (call.operation, call.model, call.last_user) == ("completions", "m", "Say it.")
    assert (call.n, call.stop, call.logprobs, call.max_tokens, call.seed) == (2, ("x",), 3, 9, 4)
    assert (call.echo, call.stream, call.include_usage, call.usual_tokens) == (WHOLE, True, False, None)
    assert call.prompt_tokens == 3


def test_defaults() -> None:
    call = parse(n=None, stop=None, max_tokens=None)
    assert (call.n, call.stop, call.logprobs, call.max_tokens, call.usual_tokens, call.echo) == (
        1,
        (),
        None,
        None,
        16,
        0,
    )


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"prompt": "a"}, {"prompt": ["a"]}, True),
        ({"prompt": "<|1|>"}, {"prompt": [[1]]}, True),
        ({"stream": True, "user": "u"}, {}, True),
        ({"prompt": ["a", "b"]}, {"prompt": ["b", "a"]}, False),
        ({"suffix": "x"}, {}, False),
        ({"seed": 1}, {"seed": 2}, False),
    ],
)
def test_meaning(one: Any, other: Any, same: bool) -> None:
    assert (parse(**one).fingerprint == parse(**other).fingerprint) is same


@pytest.mark.parametrize(
    ("body", "param", "message"),
    [
        ({"best_of": 1, "n": 2}, "best_of", "more choices than it will generate"),
        ({"best_of": 0}, "best_of", "more choices than it will generate"),
        ({"best_of": 2, "stream": True}, "best_of", "cannot be streamed"),
        ({"best_of": 21}, "best_of", "Expected a value <= 20"),
        ({"stream_options": {}}, "stream_options", "only allowed when 'stream' is enabled"),
        ({"max_tokens": -1}, "max_tokens", "Expected a value >= 0"),
        ({"logprobs": -1}, "logprobs", "Expected a value >= 0"),
        ({"prompt": []}, "prompt", "minimum length 1"),
        ({"prompt": [[]]}, "prompt[0]", "minimum length 1"),
        ({"prompt": [[1], ["a"]]}, "prompt[1][0]", "expected an integer, but got a string"),
        ({"prompt": ["a"] * 2049}, "prompt", "maximum length 2048"),
        ({"prompt": ["a"] * 20, "n": 128}, "n", "You requested 2560 choices"),
        ({"echo": "yes"}, "echo", "expected a boolean"),
        ({"suffix": 1}, "suffix", "expected a string"),
    ],
)
def test_what_is_refused(body: Any, param: str, message: str) -> None:
    with pytest.raises(Failure) as caught:
        parse(**body)
    assert caught.value.param == param
    assert message in (caught.value.message or "")


@pytest.mark.parametrize("missing", ["model", "prompt"])
def test_what_is_required(missing: str) -> None:
    body = {key: value for key, value in {"model": "m", "prompt": "p"}.items() if key != missing}
    with pytest.raises(Failure, match=f"Missing required parameter: '{missing}'"):
        parse_completion(HTTP, body, "openai", strict=False)


def test_what_only_the_live_service_refuses() -> None:
    found = list(live_only({"model": "", "prompt": "", "foo": 1}))
    assert [(complaint.kind, complaint.where) for complaint in found] == [("unknown", "foo"), ("conflict", "model")]
    assert not list(live_only({"model": "m", "prompt": "", "best_of": 1}))


@pytest.mark.parametrize(
    ("prompt", "n", "fine"),
    [
        ("a", 128, True),
        (list(range(3000)), 1, True),
        (["a"] * 16, 128, True),
        (["a"] * 17, 128, False),
        ([[1]] * 9, None, True),
    ],
)
def test_how_many_choices_can_be_made_at_once(prompt: Any, n: int | None, fine: bool) -> None:
    assert (too_many({"prompt": prompt, "n": n}) is None) is fine


def test_a_plain_reply(answer: Any) -> None:
    call = parse()
    reply = text_reply(call, answer(" Hi", headers=(("x-a", "b"),)), STYLE, wanted(call))
    assert json.loads(reply.body)["choices"][0]["text"] == " Hi"
    assert ("x-a", "b") in reply.headers
    assert reply.tokens == 2


def test_a_streamed_reply(answer: Any) -> None:
    call = parse(stream=True, stream_options={"include_usage": True})
    reply = text_reply(call, answer(" Hi"), STYLE, wanted(call))
    assert reply.frames is not None
    frames = [frame.data for frame in reply.frames if not isinstance(frame, bytes)]
    assert len(frames) == 4
    assert json.loads(frames[-2])["usage"]["total_tokens"] == 11
    assert frames[-1] == b"[DONE]"


def test_prompts_without_end_are_not_repeated() -> None:
    with pytest.raises(Failure, match="140000 tokens of prompts to be repeated, but at most 131072"):
        parse(prompt=[1] * 70_000, n=2, echo=True)
    assert parse(prompt=[1] * 70_000, n=2).n == 2
