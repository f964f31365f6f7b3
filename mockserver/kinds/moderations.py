"""Moderations and classifications: whether texts are harmful, as scores by category."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Annotated, Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from mockserver.config.tables import AsList, AsTable, ByShape, field
from mockserver.core.call import Call
from mockserver.core.draft import ArtifactDraft
from mockserver.core.http import Headers
from mockserver.core.plan import Artifact
from mockserver.core.seed import Seed
from mockserver.kinds.kind import ArtifactKind, Origins, ReadFile, ThenKey

CATEGORIES = (
    "harassment", "harassment/threatening", "hate", "hate/threatening", "illicit", "illicit/violent",
    "self-harm", "self-harm/instructions", "self-harm/intent", "sexual", "sexual/minors",
    "violence", "violence/graphic",
)  # fmt: skip


class Judgement(Struct, frozen=True):
    """The moderation of one prompt; categories that are not named score near zero."""

    scores: Mapping[str, float] = {}
    flagged: frozenset[str] = frozenset()


class Moderations(Artifact, frozen=True):
    """The moderation of each prompt: scores from 0 to 1, and the flagged categories."""

    id: str
    model: str
    results: tuple[Judgement, ...]
    headers: Headers = ()

    def join(self, others: "Sequence[Moderations]") -> "Moderations":
        """Return these results with those of other prompts."""
        return replace(self, results=tuple(chain(self.results, *[other.results for other in others])))

    def show(self) -> str:
        """Return the categories that flag the first prompt."""
        return "flagged: " + (", ".join(sorted(self.results[0].flagged)) or "nothing")


def judge(text: str, stated: Mapping[str, float], seed: Seed) -> Judgement:
    """Return the stated scores, and tiny ones derived from the text for all other categories."""
    scores = {name: stated[name] if name in stated else _draw_tiny_score(name, text, seed) for name in CATEGORIES}
    return Judgement(scores, frozenset(name for name, score in scores.items() if score >= _FLAGGED))


def _draw_tiny_score(category: str, text: str, seed: Seed) -> float:
    drawn = seed.draw_fraction("moderation", category, text)
    return drawn * drawn * drawn / 1000


def _compile(stated: Mapping[str, float] | Sequence[str], read_file: ReadFile) -> Mapping[str, float]:
    return stated if isinstance(stated, Mapping) else dict.fromkeys(stated, _SURE)


def _finish(call: Call, draft: ArtifactDraft, origins: Origins) -> Moderations:
    scores: Mapping[str, float] = draft.stated or {}
    results = tuple([judge(prompt.text, scores, origins.seed) for prompt in call.prompts])
    return Moderations(id=origins.draw_id(), model=draft.model or call.model, results=results, headers=draft.headers)


_FLAGGED = 0.5  # the least score that flags a category
_SURE = 0.95  # the score of a category that a rule only names

_Category: Any = Literal[CATEGORIES]
_Score = Annotated[float, field(ge=0, le=1, allow_inf_nan=False)]

MODERATION = ThenKey(
    key="moderation",
    value=Annotated[
        AsTable[dict[_Category, _Score]] | AsList[list[_Category]],
        ByShape("scores such as {violence: 0.92}, or a list of categories"),
    ],
    doc="moderation results: scores or a list",
    beside=frozenset(("timing", "faults", "model", "headers")),
    states="scores",
    example={"violence": 0.9},
    compile=_compile,
)
_ADVICE = "; write moderation: {...}"
MODERATIONS = ArtifactKind(
    name="moderations",
    advice=_ADVICE,
    then=MODERATION,
    body=lambda text: {"input": text},
    model_word="moderation",
    wire={
        "id?": str | None,
        "model?": str | None,
        "results": [
            {"flagged": bool, "categories": dict[str, bool | None], "category_scores": dict[str, float | None]},
        ],
    },
    finish=_finish,
)
CLASSIFICATIONS = ArtifactKind(
    name="classifications",
    advice=_ADVICE,
    then=MODERATION,
    body=lambda text: {"input": text},
    model_word="classif",
    wire={"id?": str | None, "model?": str | None, "results": [dict[str, dict[str, dict[str, float]]]]},
    finish=_finish,
)
OPERATIONS = (MODERATIONS, CLASSIFICATIONS)
