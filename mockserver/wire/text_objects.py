"""The objects of text completions, as types: every key that any provider of the family shows.

Holds shapes only; `text.py` and its neighbours fill them.
"""

from collections.abc import Mapping
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from mockserver.wire.extras import CompletionFilterResults, PromptFilterResults


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
