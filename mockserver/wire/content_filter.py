"""Content-filter results, as Azure OpenAI and Skytells show them (`wire/skytells.md`)."""

from typing import Any, Literal

from typing_extensions import TypedDict

from mockserver.core.plan import Safety, Verdict


class FilterCategory(TypedDict):
    filtered: bool
    severity: Literal["safe", "low", "medium", "high"]


class FilterDetection(TypedDict):
    detected: bool
    filtered: bool


class CompletionFilterResults(TypedDict):
    hate: FilterCategory
    self_harm: FilterCategory
    sexual: FilterCategory
    violence: FilterCategory
    protected_material_code: FilterDetection
    protected_material_text: FilterDetection


class PromptFilter(TypedDict):
    hate: FilterCategory
    self_harm: FilterCategory
    sexual: FilterCategory
    violence: FilterCategory
    jailbreak: FilterDetection


class PromptFilterResults(TypedDict):
    prompt_index: int  # 0 where there is one prompt
    content_filter_results: PromptFilter


class PromptFilterChunk(TypedDict):
    """A first chunk without choices, whose head is empty."""

    choices: list[Any]
    created: Literal[0]
    id: Literal[""]
    model: Literal[""]
    object: Literal[""]
    prompt_filter_results: list[PromptFilterResults]


def completion_filter(safety: Safety) -> CompletionFilterResults:
    """Return all six categories of a completion; those not in `safety` are safe."""
    verdicts = {verdict.category: verdict for verdict in safety}
    return {
        "hate": _category(verdicts.get("hate")),
        "self_harm": _category(verdicts.get("self_harm")),
        "sexual": _category(verdicts.get("sexual")),
        "violence": _category(verdicts.get("violence")),
        "protected_material_code": _detection(verdicts.get("protected_material_code")),
        "protected_material_text": _detection(verdicts.get("protected_material_text")),
    }


def prompt_filter(safety: Safety, index: int = 0) -> PromptFilterResults:
    """Return all five categories of a prompt; those not in `safety` are safe."""
    verdicts = {verdict.category: verdict for verdict in safety}
    results: PromptFilter = {
        "hate": _category(verdicts.get("hate")),
        "self_harm": _category(verdicts.get("self_harm")),
        "sexual": _category(verdicts.get("sexual")),
        "violence": _category(verdicts.get("violence")),
        "jailbreak": _detection(verdicts.get("jailbreak")),
    }
    return {"prompt_index": index, "content_filter_results": results}


def prompt_filter_chunk(results: list[PromptFilterResults]) -> PromptFilterChunk:
    """Return the chunk that shows the results of the prompts before the first choice."""
    return {"choices": [], "created": 0, "id": "", "model": "", "object": "", "prompt_filter_results": results}


def _category(verdict: Verdict | None) -> FilterCategory:
    if verdict is None:
        return {"filtered": False, "severity": "safe"}
    return {"filtered": verdict.filtered, "severity": verdict.severity}  # type: ignore[typeddict-item]


def _detection(verdict: Verdict | None) -> FilterDetection:
    if verdict is None:
        return {"detected": False, "filtered": False}
    return {"detected": verdict.detected, "filtered": verdict.filtered}
