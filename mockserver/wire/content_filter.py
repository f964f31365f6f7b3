"""Blocks that only some providers show: content-filter results, logprobs, annotations."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from mockserver.core.json import Json
from mockserver.core.plan import Choice, Logprob, Safety, Verdict
from mockserver.core.tokens import raw, spans, spelled

Severity = Literal["safe", "low", "medium", "high"]


class FilterCategory(TypedDict):
    """A harm with its severity."""

    filtered: bool
    severity: Severity


class FilterDetection(TypedDict):
    """Something that is there or is not."""

    detected: bool
    filtered: bool


class CompletionFilterResults(TypedDict):
    """What the filter saw in a completion."""

    hate: FilterCategory
    self_harm: FilterCategory
    sexual: FilterCategory
    violence: FilterCategory
    protected_material_code: FilterDetection
    protected_material_text: FilterDetection


class PromptFilter(TypedDict):
    """What the filter saw in a prompt."""

    hate: FilterCategory
    self_harm: FilterCategory
    sexual: FilterCategory
    violence: FilterCategory
    jailbreak: FilterDetection


class PromptFilterResults(TypedDict):
    """The same, with the prompt's index: 0 where there is one prompt."""

    prompt_index: int
    content_filter_results: PromptFilter


class Preamble(TypedDict):
    """What some streams begin with: no choice and an empty head, only what the filter saw in the prompts."""

    choices: list[Any]
    created: Literal[0]
    id: Literal[""]
    model: Literal[""]
    object: Literal[""]
    prompt_filter_results: list[PromptFilterResults]


class TopLogprob(TypedDict):
    """An alternative that the model weighed."""

    token: str
    logprob: float
    bytes: list[int] | None


class TokenLogprob(TopLogprob):
    """A token of the text, with alternatives: an empty list when none were asked for."""

    top_logprobs: list[TopLogprob]


class Logprobs(TypedDict):
    """Log probabilities of a choice's tokens."""

    content: list[TokenLogprob] | None
    refusal: NotRequired[list[TokenLogprob] | None]


def completion_filter(safety: Safety) -> CompletionFilterResults:
    """All six categories of a completion; what is not named is safe (`wire/skytells.md`)."""
    seen = {verdict.category: verdict for verdict in safety}
    return {
        "hate": _category(seen.get("hate")),
        "self_harm": _category(seen.get("self_harm")),
        "sexual": _category(seen.get("sexual")),
        "violence": _category(seen.get("violence")),
        "protected_material_code": _detection(seen.get("protected_material_code")),
        "protected_material_text": _detection(seen.get("protected_material_text")),
    }


def preamble(seen: list[PromptFilterResults]) -> Preamble:
    """The frame before the first one of a stream that tells of its prompts apart."""
    return {"choices": [], "created": 0, "id": "", "model": "", "object": "", "prompt_filter_results": seen}


def prompt_filter(safety: Safety, index: int = 0) -> PromptFilterResults:
    """All five categories of a prompt; what is not named is safe (`wire/skytells.md`)."""
    seen = {verdict.category: verdict for verdict in safety}
    results: PromptFilter = {
        "hate": _category(seen.get("hate")),
        "self_harm": _category(seen.get("self_harm")),
        "sexual": _category(seen.get("sexual")),
        "violence": _category(seen.get("violence")),
        "jailbreak": _detection(seen.get("jailbreak")),
    }
    return {"prompt_index": index, "content_filter_results": results}


def _category(verdict: Verdict | None) -> FilterCategory:
    if verdict is None:
        return {"filtered": False, "severity": "safe"}
    return {"filtered": verdict.filtered, "severity": verdict.severity}  # type: ignore[typeddict-item]


def _detection(verdict: Verdict | None) -> FilterDetection:
    if verdict is None:
        return {"detected": False, "filtered": False}
    return {"detected": verdict.detected, "filtered": verdict.filtered}


def logprobs_block(choice: Choice) -> Logprobs | None:
    """The log probabilities of a whole choice, or None when they were not asked for."""
    if choice.logprobs is None:
        return None
    return {"content": [_entry(logprob) for logprob in choice.logprobs], "refusal": None}


def spread_logprobs(pieces: Sequence[str], logprobs: Sequence[Logprob]) -> Iterator[Logprobs]:
    """For each piece of the text the log probabilities of the tokens that end within it."""
    for span in spans(pieces, [logprob.token for logprob in logprobs]):
        yield {"content": [_entry(logprob) for logprob in logprobs[span]], "refusal": None}


def _entry(logprob: Logprob) -> TokenLogprob:
    return {
        "token": spelled(logprob.token),
        "logprob": logprob.logprob,
        "bytes": list(raw(logprob.token)),
        "top_logprobs": [
            {"token": spelled(token), "logprob": value, "bytes": list(raw(token))} for token, value in logprob.top
        ],
    }


def chat_annotation(note: Mapping[str, Json]) -> dict[str, Json]:
    """An annotation as chat shows it: a citation of a page under the name of its type."""
    if note.get("type") != "url_citation" or "url_citation" in note:
        return dict(note)
    return {"type": "url_citation", "url_citation": {key: value for key, value in note.items() if key != "type"}}


def response_annotation(note: Mapping[str, Json]) -> dict[str, Json]:
    """The same as Responses show it: beside its type."""
    kind = note.get("type")
    inner = note.get(kind) if isinstance(kind, str) else None
    return {"type": kind, **inner} if isinstance(inner, Mapping) else dict(note)
