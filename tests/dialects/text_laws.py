"""The general laws of a text completion, plain and streamed. Those that chunks of every kind keep stand in `laws.py`.

A law is a function that asserts. It knows no dialect.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from tests.dialects.laws import (
    Stream,
    a_body_is_one_line,
    a_chunk_has_one_choice,
    choices_appear_in_order,
    choices_stand_in_order,
    done_comes_last_and_once,
    frames_are_strict,
    the_head_never_changes,
    usage_adds_up,
)
from tests.kit.local import Answered

Json = Any


# --- laws of a stream


def only_the_end_says_nothing(stream: Stream) -> None:
    for steps in stream.of_each_choice().values():
        assert all(step["text"] for step in steps[:-1])


def every_text_ends_once(stream: Stream) -> None:
    for steps in stream.of_each_choice().values():
        finished = [at for at, step in enumerate(steps) if step["finish_reason"] is not None]
        assert finished == [len(steps) - 1], "the last step of a choice, and no other, tells why it ended"


TEXT_STREAM_LAWS: tuple[Callable[[Stream], None], ...] = (
    frames_are_strict,
    done_comes_last_and_once,
    the_head_never_changes,
    a_chunk_has_one_choice,
    choices_appear_in_order,
    only_the_end_says_nothing,
    every_text_ends_once,
)


# --- laws of a plain answer


def log_probabilities_agree_with_the_text(answered: Answered) -> None:
    for choice in answered.json["choices"]:
        if choice["logprobs"] is not None:
            tokens = list(entries(choice["logprobs"]))
            assert choice["text"].endswith("".join(token["token"] for token in tokens))
            for token in tokens:
                end = token["at"] + len(token["token"])
                assert choice["text"][token["at"] : end] == token["token"], "an offset points at its token"


def log_probabilities_are_probabilities(answered: Answered) -> None:
    for choice in answered.json["choices"]:
        for token in entries(choice["logprobs"] or {"content": []}):
            weighed = token["top"]
            assert token["logprob"] is None or token["logprob"] <= 0
            assert list(weighed.values()) == sorted(weighed.values(), reverse=True)
            assert sum(map(math.exp, weighed.values())) <= 1.000001
            assert not weighed or weighed[token["token"]] == token["logprob"]


TEXT_PLAIN_LAWS: tuple[Callable[[Answered], None], ...] = (
    a_body_is_one_line,
    choices_stand_in_order,
    usage_adds_up,
    log_probabilities_agree_with_the_text,
    log_probabilities_are_probabilities,
)


# --- what both say


def joined_texts(stream: Stream) -> list[Json]:
    """What a client that adds the steps of each choice up ends with."""
    return [_joined(steps) for _, steps in sorted(stream.of_each_choice().items())]


def told_texts(answered: Answered) -> list[Json]:
    """The same of a plain answer."""
    return [_joined([choice]) for choice in answered.json["choices"]]


def _joined(steps: Sequence[Json]) -> Json:
    weighed = [list(entries(step["logprobs"])) for step in steps if step.get("logprobs")]
    return {
        "text": "".join(step["text"] for step in steps),
        "finish_reason": steps[-1]["finish_reason"],
        "logprobs": list(chain.from_iterable(weighed)),
        "prompt_token_ids": [step["prompt_token_ids"] for step in steps if "prompt_token_ids" in step],
        "token_ids": list(chain.from_iterable(step.get("token_ids") or () for step in steps)),
        "raw_output": steps[-1].get("raw_output"),
        "content_filter_results": steps[-1].get("content_filter_results"),
    }


def entries(block: Mapping[str, Json]) -> Iterator[Json]:
    """The tokens of a block of log probabilities, whichever of the two forms it has."""
    if "content" in block:
        for one in block["content"]:
            weighed = {top["token"]: top["logprob"] for top in one["top_logprobs"]}
            yield {"token": one["token"], "logprob": one["logprob"], "top": weighed, "at": one["text_offset"]}
        return
    columns = (block["tokens"], block["token_logprobs"], block["top_logprobs"] or [None] * len(block["tokens"]))
    for token, logprob, top, at in zip(*columns, block["text_offset"], strict=True):
        yield {"token": token, "logprob": logprob, "top": top or {}, "at": at}
