"""Content-filter results, as Azure OpenAI and Skytells show them (`wire/skytells.md`)."""

from collections.abc import Iterable

from mockserver.core.json import Json
from mockserver.core.plan import Safety

_SEVERITIES = ("hate", "self_harm", "sexual", "violence")


def completion_filter(safety: Safety) -> dict[str, Json]:
    """Return all six categories of a completion; those not in `safety` are safe."""
    return _results(safety, ("protected_material_code", "protected_material_text"))


def prompt_filter(safety: Safety, index: int = 0) -> dict[str, Json]:
    """Return all five categories of a prompt; those not in `safety` are safe."""
    return {"prompt_index": index, "content_filter_results": _results(safety, ("jailbreak",))}


def prompt_filter_chunk(results: list[dict[str, Json]]) -> dict[str, Json]:
    """Return the first chunk of a stream that shows the results of the prompts before the first choice."""
    return {"choices": [], "created": 0, "id": "", "model": "", "object": "", "prompt_filter_results": results}


def _results(safety: Safety, detections: Iterable[str]) -> dict[str, Json]:
    results: dict[str, Json] = {name: {"filtered": False, "severity": "safe"} for name in _SEVERITIES}
    results |= {name: {"detected": False, "filtered": False} for name in detections}
    for verdict in safety:
        if verdict.category in results:
            shown = results[verdict.category]
            results[verdict.category] = {key: getattr(verdict, key) for key in shown}
    return results
