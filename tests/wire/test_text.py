"""Text completions as one body and as frames: keys, echo, ends, usage, raw output, turns, weights."""

import json
from typing import Any

import pytest

from mockserver.core.call import Prompt, ToolCall
from mockserver.core.frames import Frame
from mockserver.core.plan import Answer, Choice, Logprob, Reasoning, Text, ToolUse, Usage
from mockserver.core.tokens import find_token_id
from mockserver.wire.text import CompletionOptions, TextLayout, TextRenderer

LAYOUT = TextLayout(
    completion=("id", "object", "created", "model", "choices", "usage", "perf_metrics"),
    choice=("index", "text", "logprobs", "finish_reason", "raw_output", "prompt_token_ids", "token_ids"),
    usage=("prompt_tokens", "total_tokens", "completion_tokens"),
    finishes={"tool_calls": "stop", "content_filter": "error"},
)
PROMPT = Prompt("Say it.")


def answer(*choices: Choice) -> Answer:
    return Answer("cmpl-1", 7, "m", choices, Usage(3, 2, cached=1))


def body(*choices: Choice, layout: TextLayout = LAYOUT, **wanted: Any) -> Any:
    return TextRenderer(layout).render_body(answer(*choices), CompletionOptions(**wanted))


def test_only_text_is_shown_after_what_is_repeated_of_the_prompt() -> None:
    parts = (Reasoning("Hm."), Text(" Hi"), ToolUse(ToolCall("c", "f", "{}")))
    choice = body(Choice(parts, echo="Say it."))["choices"][0]
    assert choice["text"] == "Say it. Hi"


def test_token_ids_are_of_the_prompt_and_of_the_text_alone() -> None:
    choice = body(Choice((Text(" Hi"),), echo="."), prompts=(PROMPT,), token_ids=True)["choices"][0]
    assert choice["prompt_token_ids"] == [find_token_id(token) for token in ("Say", " it", ".")]
    assert choice["token_ids"] == [find_token_id(" Hi")]


def test_choices_stand_prompt_by_prompt() -> None:
    prompts = (PROMPT, Prompt("<|7|>", (7,)))
    made = body(*[Choice((Text("x"),))] * 4, prompts=prompts, raw_output=True, images=(("one",), ()))
    raws = [choice["raw_output"] for choice in made["choices"]]
    assert [raw["prompt_fragments"] for raw in raws] == [["Say it."], ["Say it."], [7], [7]]
    assert [raw["images"] for raw in raws] == [["one"], ["one"], None, None]
    assert raws[3]["prompt_token_ids"] == [7]


def test_raw_output_is_without_what_is_repeated() -> None:
    weighed = (Logprob(".", -0.5), Logprob(" Hi", -0.25))
    choice = Choice((Text(" Hi"),), echo=".", logprobs=weighed)
    raw = body(choice, prompts=(PROMPT,), raw_output=True, grammar="root")["choices"][0]["raw_output"]
    assert (raw["completion"], raw["grammar"], raw["videos"]) == (" Hi", "root", None)
    assert raw["completion_token_ids"] == [find_token_id(" Hi")]
    assert [entry["token"] for entry in raw["completion_logprobs"]["content"]] == [" Hi"]


KEYS = ("id", "object", "created", "model", "choices", "usage", "perf_metrics")
CHOICE_KEYS = ("index", "text", "logprobs", "finish_reason", "raw_output", "prompt_token_ids", "token_ids")
REQUESTED = TextLayout(KEYS, CHOICE_KEYS, ("total_tokens",), {})
FINISH = TextLayout(KEYS, CHOICE_KEYS, ("total_tokens",), {}, stream_usage="finish")


def frames(*choices: Choice, layout: TextLayout = REQUESTED, model: str = "m", **wanted: Any) -> list[Frame]:
    """The frames of a stream, but for the one that ends it."""
    streamed = Answer("cmpl-1", 7, model, choices, Usage(3, 2))
    return list(TextRenderer(layout).render_frames(streamed, CompletionOptions(**wanted)))[:-1]


@pytest.mark.parametrize("model", ["m", '\0":', '{"\\u0000":0}', '{"\0":0}', "é\u2028"])
def test_chunks_are_whole_whatever_the_model_is_called(model: str) -> None:
    chunks = [json.loads(frame.data) for frame in frames(Choice((Text('a "b" \u2028', "char"),)), model=model)]
    assert {chunk["model"] for chunk in chunks} == {model}
    assert "".join(chunk["choices"][0]["text"] for chunk in chunks) == 'a "b" \u2028'


def test_usage_and_metrics_with_the_last_end() -> None:
    made = frames(Choice((Text("ab", "char"),)), Choice((Text("x"),)), layout=FINISH, perf_metrics={"a": 1})
    told = [(chunk["usage"], chunk.get("perf_metrics")) for chunk in map(json.loads, [frame.data for frame in made])]
    assert told == [(None, None)] * 4 + [({"total_tokens": 5}, {"a": 1})]


def test_log_probabilities_go_with_their_piece() -> None:
    weighed = (Logprob("Say", -0.5), Logprob(" Hi", -0.25), Logprob("!", -0.125))
    choice = Choice((Text(" Hi!", (" H", "i", "!")),), echo="Say", logprobs=weighed)
    chunks = [json.loads(frame.data)["choices"][0] for frame in frames(choice)]
    assert [chunk["logprobs"] and chunk["logprobs"]["tokens"] for chunk in chunks] == [
        ["Say"],
        [],
        [" Hi"],
        ["!"],
        None,
    ]
    assert [chunk["logprobs"] and chunk["logprobs"]["text_offset"] for chunk in chunks[2:4]] == [[3], [6]]


def test_token_ids_once_for_the_prompt_and_with_each_piece_for_the_text() -> None:
    prompt = Prompt("<|7|>", (7,))
    chunks = [
        json.loads(frame.data)["choices"][0]
        for frame in frames(Choice((Text("a b", "word"),), echo="<|7|>"), prompts=(prompt,), token_ids=True)
    ]
    assert [chunk.get("prompt_token_ids") for chunk in chunks] == [[7], None, None, None]
    assert [len(chunk["token_ids"]) for chunk in chunks] == [0, 1, 1, 0]
    (only,) = frames(Choice(()), prompts=(prompt,), token_ids=True)
    assert json.loads(only.data)["choices"][0]["prompt_token_ids"] == [7]


def test_frames_weigh_what_they_bring_and_the_first_waits_for_the_thought() -> None:
    made = frames(Choice((Reasoning("One two"), Text(" three four")), echo="Say"))
    assert [(frame.tokens, frame.part) for frame in made] == [(0, "text"), (3, "text"), (1, "text"), (0, "finish")]
    (only,) = frames(Choice((Reasoning("One two"),)))
    assert only.tokens == 2
