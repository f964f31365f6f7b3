"""The laws of text completions notice when they are broken."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.dialects import text_laws
from tests.dialects.laws import Stream
from tests.kit.local import Answered

Json = Any


def block(*tokens: str, logprob: float = -0.1, at: int = 0) -> Json:
    places = [at + sum(map(len, tokens[:index])) for index in range(len(tokens))]
    return {
        "tokens": list(tokens),
        "token_logprobs": [logprob] * len(tokens),
        "top_logprobs": [{token: logprob, "?": -9.0} for token in tokens],
        "text_offset": places,
    }


def choice(text: str, *, finish: str | None = None, logprobs: Json = None, index: int = 0) -> Json:
    return {"text": text, "index": index, "logprobs": logprobs, "finish_reason": finish}


def stream(*choices: Json) -> Stream:
    head = {"id": "c", "object": "text_completion", "created": 1, "model": "m"}
    frames = [json.dumps({**head, "choices": [one]}).encode() for one in choices] + [b"[DONE]"]
    return Stream(b"".join(b"data: " + frame + b"\n\n" for frame in frames))


def plain(*choices: Json) -> Answered:
    usage = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    body = json.dumps({"choices": choices, "usage": usage}, separators=(",", ":")).encode()
    return Answered(200, {"content-type": "application/json", "content-length": str(len(body))}, body, "")


SAYS, ENDS = choice("Hi"), choice("", finish="stop")


@pytest.mark.parametrize("law", text_laws.TEXT_STREAM_LAWS)
def test_good_streams_keep_every_law(law: Callable[[Stream], None]) -> None:
    law(stream(SAYS, ENDS))
    law(stream(choice("a"), choice("b", index=1), ENDS, choice("", finish="length", index=1)))


@pytest.mark.parametrize(
    ("law", "broken"),
    [
        (text_laws.only_the_end_says_nothing, stream(choice(""), SAYS, ENDS)),
        (text_laws.every_text_ends_once, stream(SAYS)),
        (text_laws.every_text_ends_once, stream(ENDS, SAYS)),
        (text_laws.every_text_ends_once, stream(SAYS, ENDS, ENDS)),
    ],
)
def test_a_broken_stream_is_found(law: Callable[[Stream], None], broken: Stream) -> None:
    with pytest.raises(AssertionError):
        law(broken)


@pytest.mark.parametrize("law", text_laws.TEXT_PLAIN_LAWS)
def test_good_answers_keep_every_law(law: Callable[[Answered], None]) -> None:
    law(plain(choice("Hi you", finish="stop", logprobs=block("Hi", " you"))))
    law(plain(choice("Hi you", finish="stop", logprobs=block(" you", at=2))))


UNSORTED = {**block("Hi"), "top_logprobs": [{"?": -9.0, "Hi": -0.1}]}
CERTAIN = {**block("Hi"), "top_logprobs": [{"Hi": -0.1, "?": -0.1}]}
ANOTHER = {**block("Hi"), "top_logprobs": [{"Hi": -0.2}]}


@pytest.mark.parametrize(
    ("law", "logprobs"),
    [
        (text_laws.log_probabilities_agree_with_the_text, block("Ho")),
        (text_laws.log_probabilities_agree_with_the_text, block("Hi", at=1)),
        (text_laws.log_probabilities_are_probabilities, block("Hi", logprob=0.5)),
        (text_laws.log_probabilities_are_probabilities, UNSORTED),
        (text_laws.log_probabilities_are_probabilities, CERTAIN),
        (text_laws.log_probabilities_are_probabilities, ANOTHER),
    ],
)
def test_a_broken_answer_is_found(law: Callable[[Answered], None], logprobs: Json) -> None:
    with pytest.raises(AssertionError):
        law(plain(choice("Hi", finish="stop", logprobs=logprobs)))


def test_a_stream_adds_up_to_a_plain_answer() -> None:
    parts = (choice("Hi", logprobs=block("Hi")), choice(" you", logprobs=block(" you", at=2)), ENDS)
    whole = plain(choice("Hi you", finish="stop", logprobs=block("Hi", " you")))
    assert text_laws.joined_texts(stream(*parts)) == text_laws.told_texts(whole)
    assert text_laws.joined_texts(stream(parts[0], ENDS)) != text_laws.told_texts(whole)
