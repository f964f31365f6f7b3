"""Answers of a rule that are no text: the vector of an embedding, the scores of a moderation."""

from mockserver.engine.draft import Stated
from mockserver.engine.spec.documents import ModerationSpec, ScoresSpec
from mockserver.engine.spec.models import ThenSpec

_SURE = 0.95  # the score of a category that a rule only names


def stated(then: ThenSpec) -> Stated:
    """The vector or the scores that a rule gives."""
    if then.embedding is not None:
        return Stated(tuple(map(float, then.embedding)))
    return Stated({} if then.moderation is None else _scores(then.moderation))


def _scores(moderation: ModerationSpec) -> dict[str, float]:
    if isinstance(moderation, ScoresSpec):
        return dict(moderation.model_dump(exclude_unset=True, by_alias=True))
    return dict.fromkeys(moderation, _SURE)
