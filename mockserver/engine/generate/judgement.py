"""What a moderation finds in a text where no rule says it: next to nothing, in every category."""

from collections.abc import Mapping

from mockserver.core.documents import CATEGORIES, Judgement
from mockserver.core.seed import Seed

FLAGGED = 0.5  # the score from which on a category is flagged


def judgement(text: str, stated: Mapping[str, float], seed: Seed) -> Judgement:
    """The scores that are stated, and tiny ones, which follow from the text, for all other categories."""
    scores = {name: stated[name] if name in stated else _tiny(name, text, seed) for name in CATEGORIES}
    return Judgement(scores, frozenset(name for name, score in scores.items() if score >= FLAGGED))


def _tiny(category: str, text: str, seed: Seed) -> float:
    drawn = seed.fraction("moderation", category, text)
    return drawn * drawn * drawn / 1000
