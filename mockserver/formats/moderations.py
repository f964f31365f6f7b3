"""What a moderation found, category by category. Knows no provider."""

from collections.abc import Mapping, Sequence

from mockserver.core.call import Json
from mockserver.core.documents import CATEGORIES, Judgement, Moderations


def moderations(outcome: Moderations, inputs: Sequence[str]) -> dict[str, Json]:
    """The body (`wire/openai.md` section 8); `inputs` names the kinds of input that were judged: text, image."""
    return {
        "id": outcome.id,
        "model": outcome.model,
        "results": [_result(result, inputs) for result in outcome.results],
    }


def _result(result: Judgement, inputs: Sequence[str]) -> Mapping[str, Json]:
    applied = {name: [kind for kind in inputs if kind == "text" or name in _OF_IMAGES] for name in CATEGORIES}
    return {
        "flagged": bool(result.flagged),
        "categories": {name: name in result.flagged for name in CATEGORIES},
        "category_scores": {name: result.scores.get(name, 0.0) for name in CATEGORIES},
        "category_applied_input_types": applied,
    }


# What is looked for in images too.
_OF_IMAGES = frozenset(
    ("self-harm", "self-harm/instructions", "self-harm/intent", "sexual", "violence", "violence/graphic")
)
