"""Log probabilities as text completions tell them: arrays side by side (legacy), or a list of tokens (content).

Either way they say where a token stands, counted from the start of the text that is shown.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from mockserver.core.plan import Choice, Logprob
from mockserver.core.tokens import Token, raw, spans, spelled, token_id
from mockserver.wire.content_filter import CompletionFilterResults, PromptFilterResults


class LegacyLogprobs(TypedDict):
    """Arrays of one length: tokens, how sure the model was of them, what else it weighed, where they stand."""

    tokens: list[str]
    token_logprobs: list[float | None]
    top_logprobs: list[dict[str, float] | None] | None
    text_offset: list[int]
    token_ids: NotRequired[list[int] | None]


class TopEntry(TypedDict):
    """An alternative that the model weighed."""

    token: str
    logprob: float
    token_id: int
    bytes: list[int]


class Entry(TypedDict):
    """A token with its number and its place in the text."""

    token: str
    logprob: float
    sampling_logprob: float | None
    bytes: list[int]
    top_logprobs: list[TopEntry]
    token_id: int
    text_offset: int


class ContentLogprobs(TypedDict):
    """The same as a list of tokens."""

    content: list[Entry]


class RawOutput(TypedDict):
    """What the model saw and wrote, before anybody read meaning into it."""

    prompt_fragments: list[str | int]
    prompt_token_ids: list[int]
    completion: str
    completion_token_ids: list[int] | None
    completion_logprobs: ContentLogprobs | None
    images: list[str] | None
    videos: list[str] | None
    grammar: str | None


class CachedTokens(TypedDict):
    """Parts of the prompt tokens."""

    cached_tokens: int


class TextUsage(TypedDict):
    """Token counts."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: NotRequired[CachedTokens]


Finish = Literal["stop", "length", "content_filter", "error"]


class TextChoice(TypedDict):
    """One alternative: all of it, or what a chunk adds to it."""

    text: str
    index: int
    logprobs: LegacyLogprobs | ContentLogprobs | None
    finish_reason: Finish | None
    raw_output: NotRequired[RawOutput]
    prompt_token_ids: NotRequired[list[int]]
    token_ids: NotRequired[list[int]]
    content_filter_results: NotRequired[CompletionFilterResults]


class TextCompletion(TypedDict):
    """The body of a plain answer, and one frame of a streamed one."""

    id: str
    object: Literal["text_completion"]
    created: int
    model: str
    choices: list[TextChoice]
    usage: NotRequired[TextUsage | None]
    perf_metrics: NotRequired[Mapping[str, Any]]
    prompt_filter_results: NotRequired[list[PromptFilterResults]]


Block = LegacyLogprobs | ContentLogprobs
Placed = tuple[int, Logprob]  # where the token begins, and the token


@dataclass(frozen=True, slots=True)
class LogprobsShape:
    """Which of the two shapes, with how many alternatives, and the habits of the legacy one."""

    kind: Literal["legacy", "content"] = "legacy"
    alternatives: int = 0
    nothing_before: bool = False  # a text's very first token has none where the prompt is repeated: null
    token_ids: bool = False


def placed(choice: Choice) -> list[Placed]:
    """The choice's log probabilities, each with the place of its token; without any, an empty list."""
    weighed = choice.logprobs or ()
    places = accumulate((len(logprob.token) for logprob in weighed), initial=0)
    return list(zip(places, weighed, strict=False))


def ending_within(pieces: Sequence[str], tokens: Sequence[Placed]) -> Iterator[list[Placed]]:
    """For each piece of the text the tokens that end within it."""
    return (list(tokens[span]) for span in spans(pieces, [logprob.token for _, logprob in tokens]))


def block(tokens: Sequence[Placed], shape: LogprobsShape, *, echoes: bool) -> Block:
    """These tokens in a shape; `echoes`: the text begins with the prompt's."""
    return _legacy(tokens, shape, echoes=echoes) if shape.kind == "legacy" else content(tokens, shape)


def content(tokens: Sequence[Placed], shape: LogprobsShape) -> ContentLogprobs:
    """The list of tokens (`wire/fireworks-completions.md`, logprobs, the new format)."""
    return {"content": [_entry(place, logprob, shape) for place, logprob in tokens]}


def _legacy(tokens: Sequence[Placed], shape: LogprobsShape, *, echoes: bool) -> LegacyLogprobs:
    weights: list[float | None] = [logprob.logprob for _, logprob in tokens]
    tops: list[dict[str, float] | None] = [_named(_top(logprob)) for _, logprob in tokens]
    if shape.nothing_before and echoes and tokens and tokens[0][0] == 0:
        weights[0] = tops[0] = None  # there is nothing from which the first token could have been foreseen
    arrays: LegacyLogprobs = {
        "tokens": [_legacy_name(logprob.token) for _, logprob in tokens],
        "token_logprobs": weights,
        "top_logprobs": tops if shape.alternatives else None,
        "text_offset": [place for place, _ in tokens],
    }
    if shape.token_ids:
        arrays["token_ids"] = [token_id(logprob.token) for _, logprob in tokens]
    return arrays


def _top(logprob: Logprob) -> dict[str, float]:
    """The alternatives, the sampled token always among them."""
    return dict(logprob.top) or {logprob.token: logprob.logprob}


def _named(top: Mapping[str, float]) -> dict[str, float]:
    return {_legacy_name(token): value for token, value in top.items()}


def _legacy_name(token: str) -> str:
    """A token as this shape tells it: one that is no whole character by its bytes alone."""
    return f"bytes:{spelled(token)}" if isinstance(token, Token) and raw(token) != token.encode() else token


def _entry(place: int, logprob: Logprob, shape: LogprobsShape) -> Entry:
    top = _top(logprob) if shape.alternatives else {}
    return {
        "token": spelled(logprob.token),
        "logprob": logprob.logprob,
        "sampling_logprob": logprob.logprob,
        "bytes": list(raw(logprob.token)),
        "top_logprobs": [
            {"token": spelled(token), "logprob": value, "token_id": token_id(token), "bytes": list(raw(token))}
            for token, value in top.items()
        ],
        "token_id": token_id(logprob.token),
        "text_offset": place,
    }
