"""TextCompletion: an Answer as one body. `text_stream.py` makes frames of it in the same style.

The objects hold every key of the family; a TextStyle says which of them a provider shows, and in which order.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat, zip_longest
from typing import Any, Literal

from pydantic_core import to_json

from mockserver.core.call import Prompt
from mockserver.core.http import Frame
from mockserver.core.json import Json
from mockserver.core.plan import Answer, Choice, Text, Usage, tokens_of
from mockserver.core.tokens import Tokenizer, spans, token_id, weighed
from mockserver.wire.chat import pick
from mockserver.wire.content_filter import PromptFilterResults, completion_filter, preamble, prompt_filter
from mockserver.wire.logprobs import (
    LogprobsShape,
    Placed,
    RawOutput,
    TextChoice,
    TextCompletion,
    TextUsage,
    block,
    content,
    ending_within,
    placed,
)


@dataclass(frozen=True, slots=True)
class TextLayout:
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
class CompletionOptions:
    """What a request wants shown: the shape of log probabilities, token ids, the raw output, usage of a stream."""

    prompts: tuple[Prompt, ...] = ()
    logprobs: LogprobsShape = field(default_factory=LogprobsShape)
    token_ids: bool = False
    raw_output: bool = False
    usage: bool = False  # a last chunk that tells it
    perf_metrics: Mapping[str, Json] | None = None
    images: tuple[tuple[str, ...], ...] = ()  # of each prompt
    grammar: str | None = None


def text_completion(answer: Answer, style: TextLayout, wanted: CompletionOptions) -> Mapping[str, Json]:
    """The body of a plain answer (`wire/openai.md` section 5, in the style's keys and order)."""
    body: TextCompletion = {
        "id": answer.id,
        "object": "text_completion",
        "created": answer.created,
        "model": answer.model,
        "choices": [_choice(answer, index, style, wanted) for index in range(len(answer.choices))],
        "usage": text_usage(answer.usage, style),
    }
    if "prompt_filter_results" in style.completion:
        body["prompt_filter_results"] = prompt_filters(answer, wanted)
    if wanted.perf_metrics is not None:
        body["perf_metrics"] = wanted.perf_metrics
    return pick(body, style.completion)


def _choice(answer: Answer, index: int, style: TextLayout, wanted: CompletionOptions) -> Any:
    choice = answer.choices[index]
    full: TextChoice = {
        "index": index,
        "text": choice.echo + generated_text(choice),
        "logprobs": logprobs_of(choice, placed(choice), wanted),
        "finish_reason": finish_of(choice, style),  # type: ignore[typeddict-item]  # known words only
    }
    if "content_filter_results" in style.choice:
        full["content_filter_results"] = completion_filter(choice.safety)
    if wanted.raw_output:
        full["raw_output"] = raw_output(answer, index, wanted)
    if wanted.token_ids:
        full["prompt_token_ids"] = token_ids(prompt_of(answer, index, wanted).tokens(answer.tokenizer))
        full["token_ids"] = token_ids(generated_tokens(choice, answer.tokenizer))
    return pick(full, style.choice)


def prompt_filters(answer: Answer, wanted: CompletionOptions) -> list[PromptFilterResults]:
    """What the filter saw in each prompt."""
    return [prompt_filter(answer.prompt_safety, index) for index in range(len(wanted.prompts) or 1)]


def generated_text(choice: Choice) -> str:
    """The text that the model wrote."""
    return "".join(part.text for part in choice.parts if isinstance(part, Text))


def generated_tokens(choice: Choice, tokenizer: Tokenizer) -> list[str]:
    """The tokens that the model wrote."""
    return [token for part in choice.parts if isinstance(part, Text) for token in tokens_of(part, tokenizer)]


def finish_of(choice: Choice, style: TextLayout) -> str:
    """Why the choice ended, in a word that the provider has."""
    return style.finishes.get(choice.finish, choice.finish)


def logprobs_of(choice: Choice, tokens: Sequence[Placed], wanted: CompletionOptions) -> Any:
    """The log probabilities of some of the choice's tokens, or None where the choice has none."""
    return None if choice.logprobs is None else block(tokens, wanted.logprobs, echoes=bool(choice.echo))


def raw_output(answer: Answer, index: int, wanted: CompletionOptions) -> RawOutput:
    """What the model saw and wrote; `completion` is without what is repeated of the prompt."""
    choice, prompt = answer.choices[index], prompt_of(answer, index, wanted).tokens(answer.tokenizer)
    weighed = [(place, token) for place, token in placed(choice) if place >= len(choice.echo)]
    images = list(for_prompt(wanted.images, answer, index) or ())
    return {
        "prompt_fragments": ["".join(prompt)],
        "prompt_token_ids": token_ids(prompt),
        "completion": generated_text(choice),
        "completion_token_ids": token_ids(generated_tokens(choice, answer.tokenizer)),
        "completion_logprobs": None if choice.logprobs is None else content(weighed, wanted.logprobs),
        "images": images or None,
        "videos": None,
        "grammar": wanted.grammar,
    }


def prompt_of(answer: Answer, index: int, wanted: CompletionOptions) -> Prompt:
    """The prompt that a choice goes on from: they stand prompt by prompt, as many for each."""
    return for_prompt(wanted.prompts, answer, index) or Prompt("")


def for_prompt(of_each: Sequence[Any], answer: Answer, index: int) -> Any:
    """What stands for the choice's prompt in a sequence of one value for each prompt; None where that is empty."""
    return of_each[index * len(of_each) // len(answer.choices)] if of_each else None


def token_ids(tokens: Sequence[str]) -> list[int]:
    """The numbers of some tokens."""
    return [token_id(token) for token in tokens]


def text_usage(usage: Usage, style: TextLayout) -> TextUsage:
    """Token counts, in the style's keys."""
    full: TextUsage = {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.total,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
    }
    return pick(full, style.usage)  # type: ignore[return-value]  # some of the keys of a TextUsage


def text_chunks(answer: Answer, style: TextLayout, wanted: CompletionOptions) -> Iterator[Frame]:
    """The frames of a streamed answer (`wire/openai.md` section 5), without the terminator.

    What is repeated of the prompt comes first, in one piece; the choices take turns.
    """
    if style.prompt_apart:
        yield Frame(to_json(preamble(prompt_filters(answer, wanted))), part="open")
    mould = _Mould(answer, style, wanted)
    tracks = [_pieces(choice, wanted, answer.tokenizer) for choice in answer.choices]
    for turn in zip_longest(*tracks):
        for index, step in enumerate(turn):
            if step is not None:
                yield Frame(mould.cast(index, step), tokens=step.tokens, part="finish" if step.ends else "text")
    if wanted.usage and style.stream_usage == "asked":
        yield Frame(mould.usage(), part="usage")


@dataclass(frozen=True, slots=True)
class _Piece:
    """One increment of one choice, before it is bytes: its text, and the tokens that end within it."""

    text: str
    tokens: int = 0
    weighed: list[Placed] | None = None
    written: Sequence[str] | None = None
    begins: bool = False
    ends: bool = False


def _pieces(choice: Choice, wanted: CompletionOptions, tokenizer: Tokenizer) -> Iterator[_Piece]:
    parts = [(part, tokens_of(part, tokenizer)) for part in choice.parts]
    pieces = [piece for part, tokens in parts if isinstance(part, Text) for piece in weighed(tokens, part.chunks)]
    shown = [(choice.echo, 0), *pieces] if choice.echo else pieces
    texts = [text for text, _ in shown]
    logprobs = repeat(None) if choice.logprobs is None else ending_within(texts, placed(choice))
    ours = _ours(choice, texts, generated_tokens(choice, tokenizer)) if wanted.token_ids else repeat(None)
    # The first piece waits for what has no place in a text, such as the reasoning.
    wait = sum(len(tokens) for part, tokens in parts if not isinstance(part, Text))
    for at, ((piece, weight), own, tokens) in enumerate(zip(shown, logprobs, ours, strict=False)):
        echoes = bool(choice.echo) and at == 0
        yield _Piece(piece, 0 if echoes else wait + weight, own, tokens, begins=at == 0)
        wait = wait if echoes else 0
    yield _Piece("", wait, written=() if wanted.token_ids else None, begins=not shown, ends=True)


def _ours(choice: Choice, shown: Sequence[str], tokens: Sequence[str]) -> Iterator[Sequence[str]]:
    """For each piece that is shown the tokens that the model wrote: none for what is repeated of the prompt."""
    if choice.echo:
        yield ()
    yield from (tokens[span] for span in spans(shown[1:] if choice.echo else shown, tokens))


class _Mould:
    """Casts chunks of one answer. What all its chunks share is serialised once."""

    def __init__(self, answer: Answer, style: TextLayout, wanted: CompletionOptions) -> None:
        self._answer, self._style, self._wanted = answer, style, wanted
        self._common: dict[str, Json] = {
            "id": answer.id,
            "object": "text_completion",
            "created": answer.created,
            "model": answer.model,
        }
        if wanted.usage or style.stream_usage == "finish":
            self._common["usage"] = None
        self._unfinished = len(answer.choices)
        self._around: dict[int, tuple[bytes, bytes]] = {}

    def cast(self, index: int, step: _Piece) -> bytes:
        """One chunk's JSON."""
        if step.ends or step.weighed is not None or step.written is not None:
            return to_json(self._chunk(index, step))
        around = self._around.get(index)
        if around is None:
            chunk = self._chunk(index, step)
            chunk["choices"][0]["text"] = _HOLE
            before, _, after = to_json(chunk).partition(_HOLE_BYTES)
            around = self._around[index] = (before, after)
        return around[0] + to_json(step.text) + around[1]

    def usage(self) -> bytes:
        """The chunk without choices that tells the usage."""
        return to_json(pick({**self._common, "choices": [], "usage": self._usage()}, self._style.completion))

    def _usage(self) -> Any:
        return text_usage(self._answer.usage, self._style)

    def _chunk(self, index: int, step: _Piece) -> dict[str, Any]:
        choice, wanted = self._answer.choices[index], self._wanted
        shown: dict[str, Json] = {
            "index": index,
            "text": step.text,
            "logprobs": None if step.weighed is None else logprobs_of(choice, step.weighed, wanted),
            "finish_reason": finish_of(choice, self._style) if step.ends else None,
        }
        if "content_filter_results" in self._style.choice:
            seen = choice.safety if step.ends else tuple(v for v in choice.safety if not v.filtered)
            shown["content_filter_results"] = completion_filter(seen)
        if step.written is not None:
            shown["token_ids"] = token_ids(step.written)
            if step.begins:
                shown["prompt_token_ids"] = token_ids(
                    prompt_of(self._answer, index, wanted).tokens(self._answer.tokenizer)
                )
        if step.ends and wanted.raw_output:
            shown["raw_output"] = raw_output(self._answer, index, wanted)
        more = self._ending() if step.ends else {}
        return pick({**self._common, "choices": [pick(shown, self._style.choice)], **more}, self._style.completion)

    def _ending(self) -> dict[str, Json]:
        """What the chunk tells that ends the last choice."""
        self._unfinished -= 1
        if self._unfinished or self._style.stream_usage != "finish":
            return {}
        told: dict[str, Json] = {"usage": self._usage()}
        if self._wanted.perf_metrics is not None:
            told["perf_metrics"] = self._wanted.perf_metrics
        return told


_HOLE: Json = {"\0": 0}
_HOLE_BYTES = to_json(_HOLE)
