"""Text completions as one body: keys, echo, ends, usage, raw output."""

from typing import Any

import pytest

from mockserver.core.call import Prompt, ToolCall
from mockserver.core.plan import Answer, Choice, Logprob, Reasoning, Text, ToolUse, Usage
from mockserver.core.tokens import token_id
from mockserver.wire.text import CompletionOptions, TextLayout, text_completion

STYLE = TextLayout(
    completion=("id", "object", "created", "model", "choices", "usage", "perf_metrics"),
    choice=("index", "text", "logprobs", "finish_reason", "raw_output", "prompt_token_ids", "token_ids"),
    usage=("prompt_tokens", "total_tokens", "completion_tokens"),
    finishes={"tool_calls": "stop", "content_filter": "error"},
)
PROMPT = Prompt("Say it.")


def answer(*choices: Choice) -> Answer:
    return Answer("cmpl-1", 7, "m", choices, Usage(3, 2, cached=1))


def body(*choices: Choice, style: TextLayout = STYLE, **wanted: Any) -> Any:
    return text_completion(answer(*choices), style, CompletionOptions(**wanted))


def test_a_body() -> None:
    assert body(Choice((Text(" Hi"), Text("!")))) == {
        "id": "cmpl-1",
        "object": "text_completion",
        "created": 7,
        "model": "m",
        "choices": [{"index": 0, "text": " Hi!", "logprobs": None, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "total_tokens": 5, "completion_tokens": 2},
    }


def test_the_style_says_which_keys_and_in_which_order() -> None:
    style = TextLayout(("model", "choices", "usage"), ("text", "index"), ("prompt_tokens_details", "prompt_tokens"), {})
    made = body(Choice((Text("x"),)), style=style, token_ids=True, raw_output=True, perf_metrics={"a": 1})
    assert list(made) == ["model", "choices", "usage"]
    assert list(made["choices"][0]) == ["text", "index"]
    assert made["usage"] == {"prompt_tokens_details": {"cached_tokens": 1}, "prompt_tokens": 3}


def test_only_text_is_shown_after_what_is_repeated_of_the_prompt() -> None:
    parts = (Reasoning("Hm."), Text(" Hi"), ToolUse(ToolCall("c", "f", "{}")))
    choice = body(Choice(parts, echo="Say it."))["choices"][0]
    assert choice["text"] == "Say it. Hi"


@pytest.mark.parametrize(
    ("finish", "word"), [("stop", "stop"), ("length", "length"), ("tool_calls", "stop"), ("content_filter", "error")]
)
def test_ends_have_the_words_of_the_provider(finish: str, word: str) -> None:
    assert body(Choice((Text("x"),), finish=finish))["choices"][0]["finish_reason"] == word


def test_token_ids_are_of_the_prompt_and_of_the_text_alone() -> None:
    choice = body(Choice((Text(" Hi"),), echo="."), prompts=(PROMPT,), token_ids=True)["choices"][0]
    assert choice["prompt_token_ids"] == [token_id(token) for token in ("Say", " it", ".")]
    assert choice["token_ids"] == [token_id(" Hi")]


def test_choices_stand_prompt_by_prompt() -> None:
    prompts = (PROMPT, Prompt("<|7|>", (7,)))
    made = body(*[Choice((Text("x"),))] * 4, prompts=prompts, raw_output=True, images=(("one",), ()))
    raws = [choice["raw_output"] for choice in made["choices"]]
    assert [raw["prompt_fragments"] for raw in raws] == [["Say it."], ["Say it."], ["<|7|>"], ["<|7|>"]]
    assert [raw["images"] for raw in raws] == [["one"], ["one"], None, None]
    assert raws[3]["prompt_token_ids"] == [7]


def test_raw_output_is_without_what_is_repeated() -> None:
    weighed = (Logprob(".", -0.5), Logprob(" Hi", -0.25))
    choice = Choice((Text(" Hi"),), echo=".", logprobs=weighed)
    raw = body(choice, prompts=(PROMPT,), raw_output=True, grammar="root")["choices"][0]["raw_output"]
    assert (raw["completion"], raw["grammar"], raw["videos"]) == (" Hi", "root", None)
    assert raw["completion_token_ids"] == [token_id(" Hi")]
    assert [entry["token"] for entry in raw["completion_logprobs"]["content"]] == [" Hi"]


def test_metrics() -> None:
    assert body(Choice(()), perf_metrics={"prompt-tokens": 3})["perf_metrics"] == {"prompt-tokens": 3}
