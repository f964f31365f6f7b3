"""Text completions through OpenAI's own client."""

from typing import Any

import pytest
from openai import OpenAI

MODEL = "gpt-3.5-turbo-instruct"


def test_a_text(client: OpenAI) -> None:
    made = client.completions.create(model=MODEL, prompt="hello")
    assert (made.object, made.model, made.choices[0].finish_reason) == ("text_completion", MODEL, "stop")
    assert made.choices[0].text == "Hello! How can I help you today?"
    assert made.usage
    assert made.usage.total_tokens == made.usage.prompt_tokens + made.usage.completion_tokens


def test_a_stream(client: OpenAI) -> None:
    *before, last = client.completions.create(
        model=MODEL, prompt="hello", stream=True, stream_options={"include_usage": True}
    )
    assert "".join(chunk.choices[0].text for chunk in before) == "Hello! How can I help you today?"
    assert {chunk.object for chunk in before} == {"text_completion"}
    assert last.choices == []
    assert last.usage == client.completions.create(model=MODEL, prompt="hello").usage


@pytest.mark.parametrize("prompt", ["hello", ["hello", "hello"], [1, 2], [[1], [2, 3]], None])
def test_prompts_of_every_kind(client: OpenAI, prompt: Any) -> None:
    made = client.completions.create(model=MODEL, prompt=prompt, n=2, max_tokens=5)
    assert [choice.index for choice in made.choices] == list(range(len(made.choices)))


def test_every_parameter_at_once(client: OpenAI) -> None:
    made = client.completions.create(
        model=MODEL,
        prompt=["hello", "you"],
        best_of=2,
        echo=True,
        frequency_penalty=0.5,
        logit_bias={"50256": -100},
        logprobs=5,
        max_tokens=4,
        n=2,
        presence_penalty=-0.5,
        seed=3,
        stop=["never"],
        stream=False,
        suffix=" bye",
        temperature=0.3,
        top_p=0.9,
        user="u",
    )
    assert [choice.index for choice in made.choices] == [0, 1, 2, 3]
