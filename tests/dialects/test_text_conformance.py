"""Every dialect with text completions x every feature, plain and streamed: the laws of a completion."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from math import exp
from typing import Any

import pytest
import yaml

from tests.dialects import laws
from tests.kit.asgi import App, app
from tests.kit.local import Answered
from tests.kit.strict import check_text, check_text_chunk, frames

Json = Any
URLS = {"openai": "/openai/v1/completions", "fireworks": "/fireworks/v1/completions"}
SEA = " The sea is wide, deep and never quite still."
ODD = 'line one\nline two\u2028 "quoted" \\ tab\t 👩\u200d👩\u200d👧 e\u0301 مرحبا 𝔘'

# What the rule answers (None: generated), what the request asks for beside model and prompt, and for whom alone.
FEATURES: Mapping[str, tuple[Json, Mapping[str, Json], str]] = {
    "text": ({"text": SEA}, {}, ""),
    "empty": ({"text": ""}, {}, ""),
    "odd": ({"text": ODD}, {"logprobs": 1}, ""),
    "characters": ({"text": ODD, "chunks": "char"}, {"logprobs": 2, "echo": True}, ""),
    "words": ({"text": SEA, "chunks": "word"}, {"logprobs": 0}, ""),
    "pieces": ({"text": "abcdef", "chunks": ["a", "bcd", "ef"]}, {"logprobs": 5}, ""),
    "n": ({"text": SEA}, {"n": 3, "logprobs": 1}, ""),
    "prompts": (None, {"prompt": ["The sea", "is", "wide"], "max_tokens": 6, "logprobs": 1}, ""),
    "prompts-of-tokens": (None, {"prompt": [[1, 2], [3]], "n": 2, "max_tokens": 4, "echo": True, "logprobs": 2}, ""),
    "tokens": ({"text": SEA}, {"prompt": [5, 6, 7], "echo": True, "logprobs": 1}, ""),
    "echo": ({"text": SEA}, {"echo": True}, ""),
    "echo-alone": ({"text": SEA}, {"echo": True, "max_tokens": 0, "logprobs": 1}, ""),
    "echo-of-nothing": ({"text": SEA}, {"prompt": "", "echo": True, "logprobs": 1}, ""),
    "stop": ({"text": SEA}, {"stop": [", deep"], "logprobs": 1}, ""),
    "max-tokens": ({"text": SEA}, {"max_tokens": 4, "logprobs": 3}, ""),
    "logprobs-stated": ({"text": SEA, "logprobs": [-0.5, -0.25]}, {"logprobs": 2}, ""),
    "logprobs-unasked": ({"text": SEA, "logprobs": [-0.5]}, {}, ""),
    "reasoning": ({"reasoning": "The user wants the sea.", "text": SEA}, {"logprobs": 1}, ""),
    "refusal": ({"refusal": "I can't help with that."}, {"logprobs": 1}, ""),
    "tool-call": ({"tool_calls": [{"name": "look", "arguments": {}}]}, {}, ""),
    "parts": ({"parts": [{"text": "One. "}, {"text": "Two."}]}, {"logprobs": 1}, ""),
    "generated": (None, {"logprobs": 1}, ""),
    "usage": ({"text": SEA, "usage": {"prompt_tokens": 100, "completion_tokens": 50}}, {}, ""),
    "filtered": (
        {"text": SEA, "content_filter": {"on": "completion", "category": "violence", "after_tokens": 3}},
        {"logprobs": 1},
        "",
    ),
    "suffix": ({"text": SEA}, {"suffix": " And so on."}, "openai"),
    "best-of": ({"text": SEA}, {"n": 2, "best_of": 2}, "openai-plain"),
    "new-logprobs": ({"text": SEA}, {"logprobs": True, "echo": True}, "fireworks"),
    "new-logprobs-and-alternatives": ({"text": ODD}, {"logprobs": True, "top_logprobs": 3, "n": 2}, "fireworks"),
    "top-logprobs-wins": ({"text": SEA}, {"logprobs": 1, "top_logprobs": 3}, "fireworks"),
    "echo-last": ({"text": SEA}, {"echo_last": 2, "logprobs": True}, "fireworks"),
    "echo-last-of-all": ({"text": SEA}, {"echo_last": 99, "logprobs": 1}, "fireworks"),
    "token-ids": ({"text": SEA, "chunks": "word"}, {"return_token_ids": True, "echo": True, "n": 2}, "fireworks"),
    "token-ids-of-nothing": ({"text": ""}, {"return_token_ids": True}, "fireworks"),
    "raw-output": ({"text": SEA}, {"raw_output": True, "logprobs": True, "echo": True}, "fireworks"),
    "perf-metrics": ({"text": SEA}, {"perf_metrics_in_response": True, "prediction": " The sea"}, "fireworks"),
    "ignore-eos": (None, {"ignore_eos": True, "max_tokens": 200}, "fireworks"),
    "json": (None, {"response_format": {"type": "json_object"}, "logprobs": 1}, "fireworks"),
}
PAIRS = [
    pytest.param(dialect, name, id=f"{dialect}-{name}")
    for dialect in URLS
    for name, (_, _, alone) in FEATURES.items()
    if alone.partition("-")[0] in ("", dialect)
]
STREAMED = [pair for pair in PAIRS if not FEATURES[str(pair.values[1])][2].endswith("-plain")]


@cache
def server() -> App:
    listed = [
        {"name": name, "when": {"model": name}, "then": then}
        for name, (then, _, _) in FEATURES.items()
        if then is not None
    ]
    return app(yaml.safe_dump({"version": 1, "rules": listed}, sort_keys=False))


def ask(dialect: str, name: str, **more: Json) -> Answered:
    body = {"model": name, "prompt": "Say something about the sea.", **FEATURES[name][1], **more}
    answered = server().ask(URLS[dialect], body)
    assert answered.status == 200, answered.body
    return answered


@pytest.mark.parametrize(("dialect", "name"), PAIRS)
def test_plain(dialect: str, name: str) -> None:
    answered = ask(dialect, name)
    laws.a_body_is_one_line(answered)
    laws.choices_stand_in_order(answered)
    laws.usage_adds_up(answered)
    laws.has_shape(answered.json, dialect, "text_completion")
    check_text(answered.body, dialect)


@pytest.mark.parametrize(("dialect", "name"), PAIRS)
def test_log_probabilities(dialect: str, name: str) -> None:
    for choice in ask(dialect, name).json["choices"]:
        tokens = list(entries(choice["logprobs"]))
        assert bool(tokens) == (choice["logprobs"] is not None and choice["text"] != "")
        if tokens:
            assert "".join(token for _, token, _, _ in tokens) == choice["text"]
        for place, token, logprob, top in tokens:
            assert choice["text"][place : place + len(token)] == token
            assert logprob is None or not top or top[token] == logprob
            assert sum(map(exp, top.values())) <= 1
            assert list(top.values()) == sorted(top.values(), reverse=True)


def entries(block: Json) -> Iterator[tuple[int, str, float | None, Mapping[str, float]]]:
    """Place, token, log probability and alternatives of each token, whichever the shape."""
    if block is None:
        return
    if "content" in block:
        for entry in block["content"]:
            assert bytes(entry["bytes"]).decode() == entry["token"]
            top = {other["token"]: other["logprob"] for other in entry["top_logprobs"]}
            yield entry["text_offset"], entry["token"], entry["logprob"], top
        return
    tops = block["top_logprobs"] or [None] * len(block["tokens"])
    columns = (block["text_offset"], block["tokens"], block["token_logprobs"], tops)
    yield from ((place, token, logprob, top or {}) for place, token, logprob, top in zip(*columns, strict=True))


@pytest.mark.parametrize(("dialect", "name"), STREAMED)
def test_stream(dialect: str, name: str) -> None:
    stream, plain = laws.Stream(ask(dialect, name, stream=True).body), ask(dialect, name).json
    laws.frames_are_strict(stream)
    laws.done_comes_last_and_once(stream)
    laws.the_head_never_changes(stream)
    laws.a_chunk_has_one_choice(stream)
    laws.choices_appear_in_order(stream)
    for chunk, frame in zip(stream.chunks, frames(stream.body), strict=False):
        laws.has_shape(chunk, dialect, "text_chunk")
        check_text_chunk(frame, dialect)
    for key in ("id", "object", "created", "model"):
        assert stream.chunks[0][key] == plain[key]
    for choice, steps in zip(plain["choices"], stream.of_each_choice().values(), strict=True):
        assert joined(steps) == {**choice, "index": 0}
    told = [chunk.get("usage", "absent") for chunk in stream.chunks]
    last = plain["usage"] if dialect == "fireworks" else "absent"
    assert told == [None if dialect == "fireworks" else "absent"] * (len(told) - 1) + [last]
    assert stream.chunks[-1].get("perf_metrics") == plain.get("perf_metrics")


def joined(steps: list[Json]) -> Json:
    """What a client that adds the chunks up ends with."""
    assert [step["finish_reason"] for step in steps[:-1]] == [None] * (len(steps) - 1)
    assert steps[-1]["text"] == ""
    blocks = [step["logprobs"] for step in steps if step["logprobs"] is not None]
    whole = {**steps[-1], "index": 0, "text": "".join(step["text"] for step in steps)}
    if blocks:
        whole["logprobs"] = {key: added([block[key] for block in blocks]) for key in blocks[0]}
    if "token_ids" in steps[-1]:
        whole["token_ids"] = added([step["token_ids"] for step in steps])
        whole["prompt_token_ids"] = steps[0]["prompt_token_ids"]
        assert not any("prompt_token_ids" in step for step in steps[1:])
    return whole


def added(columns: list[Json]) -> Json:
    return None if columns[0] is None else [entry for column in columns for entry in column]


@pytest.mark.parametrize("name", ["text", "n", "prompts", "echo-alone"])
def test_usage_of_a_stream_when_asked_for(name: str) -> None:
    asked = laws.Stream(ask("openai", name, stream=True, stream_options={"include_usage": True}).body)
    unasked = laws.Stream(ask("openai", name, stream=True).body)
    assert asked.chunks[-1]["choices"] == []
    assert asked.chunks[-1]["usage"] == ask("openai", name).json["usage"]
    assert {json.dumps(chunk["usage"]) for chunk in asked.chunks[:-1]} == {"null"}
    assert [chunk["choices"] for chunk in asked.chunks[:-1]] == [chunk["choices"] for chunk in unasked.chunks]


@pytest.mark.parametrize("dialect", URLS)
def test_the_first_token_of_an_echo(dialect: str) -> None:
    """Nothing stands before it: OpenAI says null, Fireworks (whose types know no null) a number."""
    block = ask(dialect, "echo", logprobs=2).json["choices"][0]["logprobs"]
    assert (block["token_logprobs"][0] is None) == (block["top_logprobs"][0] is None) == (dialect == "openai")
    assert None not in block["token_logprobs"][1:]
    if dialect == "fireworks":
        assert block["token_logprobs"][0] <= 0
