"""TextCompletion: an Answer as one body. `text_stream.py` makes frames of it in the same style.

The objects hold every key of the family; a TextStyle says which of them a provider shows, and in which order.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from mockserver.core.call import Prompt
from mockserver.core.json import Json
from mockserver.core.plan import Answer, Choice, Text, Usage, tokens_of
from mockserver.core.tokens import Tokenizer, token_id
from mockserver.wire.chat import pick
from mockserver.wire.extras import PromptFilterResults, completion_filter, prompt_filter
from mockserver.wire.logprobs import LogprobsShape, Placed, block, content, placed
from mockserver.wire.text_objects import RawOutput, TextChoice, TextCompletion, TextUsage


@dataclass(frozen=True, slots=True)
class TextStyle:
    """Which keys a provider shows and in which order, and the words that it has for an end."""

    completion: tuple[str, ...]
    choice: tuple[str, ...]
    usage: tuple[str, ...]
    finishes: Mapping[str, str]  # reasons that it has no word for, and the word that stands in
    # Whether a stream tells of its prompts in a chunk of its own, without choices or head, before the first one.
    prompt_apart: bool = False
    # Where usage goes in a stream: a chunk without choices when asked for ("asked"), or the chunk with the last finish
    # reason, and null in the others ("finish").
    stream_usage: Literal["asked", "finish"] = "asked"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a request wants shown: the shape of log probabilities, token ids, the raw output, usage of a stream."""

    prompts: tuple[Prompt, ...] = ()
    logprobs: LogprobsShape = field(default_factory=LogprobsShape)
    token_ids: bool = False
    raw_output: bool = False
    usage: bool = False  # a last chunk that tells it
    perf_metrics: Mapping[str, Json] | None = None
    images: tuple[tuple[str, ...], ...] = ()  # of each prompt
    grammar: str | None = None


def text_completion(answer: Answer, style: TextStyle, wanted: Wanted) -> Mapping[str, Json]:
    """The body of a plain answer (`wire/openai.md` section 5, in the style's keys and order)."""
    body: TextCompletion = {
        "id": answer.id,
        "object": "text_completion",
        "created": answer.created,
        "model": answer.model,
        "choices": [_choice(answer, index, style, wanted) for index in range(len(answer.choices))],
        "usage": usage_block(answer.usage, style),
    }
    if "prompt_filter_results" in style.completion:
        body["prompt_filter_results"] = seen_in_prompts(answer, wanted)
    if wanted.perf_metrics is not None:
        body["perf_metrics"] = wanted.perf_metrics
    return pick(body, style.completion)


def _choice(answer: Answer, index: int, style: TextStyle, wanted: Wanted) -> Any:
    choice = answer.choices[index]
    full: TextChoice = {
        "index": index,
        "text": choice.echo + said(choice),
        "logprobs": logprobs_of(choice, placed(choice), wanted),
        "finish_reason": finish_of(choice, style),  # type: ignore[typeddict-item]  # known words only
    }
    if "content_filter_results" in style.choice:
        full["content_filter_results"] = completion_filter(choice.safety)
    if wanted.raw_output:
        full["raw_output"] = raw_output(answer, index, wanted)
    if wanted.token_ids:
        full["prompt_token_ids"] = ids(prompt_of(answer, index, wanted).tokens(answer.tokenizer))
        full["token_ids"] = ids(written(choice, answer.tokenizer))
    return pick(full, style.choice)


def seen_in_prompts(answer: Answer, wanted: Wanted) -> list[PromptFilterResults]:
    """What the filter saw in each prompt."""
    return [prompt_filter(answer.prompt_safety, index) for index in range(len(wanted.prompts) or 1)]


def said(choice: Choice) -> str:
    """The text that the model wrote."""
    return "".join(part.text for part in choice.parts if isinstance(part, Text))


def written(choice: Choice, tokenizer: Tokenizer) -> list[str]:
    """The tokens that the model wrote."""
    return [token for part in choice.parts if isinstance(part, Text) for token in tokens_of(part, tokenizer)]


def finish_of(choice: Choice, style: TextStyle) -> str:
    """Why the choice ended, in a word that the provider has."""
    return style.finishes.get(choice.finish, choice.finish)


def logprobs_of(choice: Choice, tokens: Sequence[Placed], wanted: Wanted) -> Any:
    """The log probabilities of some of the choice's tokens, or None where the choice has none."""
    return None if choice.logprobs is None else block(tokens, wanted.logprobs, echoes=bool(choice.echo))


def raw_output(answer: Answer, index: int, wanted: Wanted) -> RawOutput:
    """What the model saw and wrote; `completion` is without what is repeated of the prompt."""
    choice, prompt = answer.choices[index], prompt_of(answer, index, wanted).tokens(answer.tokenizer)
    weighed = [(place, token) for place, token in placed(choice) if place >= len(choice.echo)]
    images = list(of_prompt(wanted.images, answer, index) or ())
    return {
        "prompt_fragments": ["".join(prompt)],
        "prompt_token_ids": ids(prompt),
        "completion": said(choice),
        "completion_token_ids": ids(written(choice, answer.tokenizer)),
        "completion_logprobs": None if choice.logprobs is None else content(weighed, wanted.logprobs),
        "images": images or None,
        "videos": None,
        "grammar": wanted.grammar,
    }


def prompt_of(answer: Answer, index: int, wanted: Wanted) -> Prompt:
    """The prompt that a choice goes on from: they stand prompt by prompt, as many for each."""
    return of_prompt(wanted.prompts, answer, index) or Prompt("")


def of_prompt(of_each: Sequence[Any], answer: Answer, index: int) -> Any:
    """What stands for the choice's prompt in a sequence of one value for each prompt; None where that is empty."""
    return of_each[index * len(of_each) // len(answer.choices)] if of_each else None


def ids(tokens: Sequence[str]) -> list[int]:
    """The numbers of some tokens."""
    return [token_id(token) for token in tokens]


def usage_block(usage: Usage, style: TextStyle) -> TextUsage:
    """Token counts, in the style's keys."""
    full: TextUsage = {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.total,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
    }
    return pick(full, style.usage)  # type: ignore[return-value]  # some of the keys of a TextUsage
