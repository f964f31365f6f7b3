"""Rerank: how relevant each of several documents is to a query.

Without a rule, the score follows from the likeness of the embeddings that this server gives. All sums are rounded once,
and the scores to seven digits: they are the same on every machine.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import fsum
from operator import mul
from typing import Annotated

from msgspec import Struct

from mockserver.config.tables import AsList, AsTable, ByShape, Table, field
from mockserver.core.call import Call
from mockserver.core.draft import ArtifactDraft
from mockserver.core.http import Headers
from mockserver.core.plan import Artifact
from mockserver.core.seed import Seed
from mockserver.kinds.embeddings import USUAL_DIMENSIONS, embed
from mockserver.kinds.kind import ArtifactKind, Origins, ReadFile, ThenKey


class RankedDocument(Struct, frozen=True):
    """A document, by its place in the request, and its score."""

    index: int
    score: float


class Ranking(Artifact, frozen=True):
    """The documents that are wanted, the most relevant first. `documents` counts all that were sent."""

    id: str
    model: str
    ranked: tuple[RankedDocument, ...]
    documents: int
    prompt_tokens: int
    headers: Headers = ()

    @property
    def tokens(self) -> int:
        return self.prompt_tokens

    def show(self) -> str:
        """Return the places of the documents with their scores."""
        return ", ".join(f"{each.index}: {each.score:g}" for each in self.ranked)


class StatedRanking(Struct, frozen=True):
    """What a rule states: the scores of the documents, or else the places of the best in their order."""

    scores: tuple[float, ...] = ()
    order: tuple[int, ...] = ()

    def score(self, count: int) -> list[float]:
        """Return the scores of `count` documents. Those that are not named are less relevant than all others."""
        if self.scores:
            lowest = min(0.0, *self.scores)
            return [*self.scores[:count], *[lowest] * (count - len(self.scores))]
        named = [index for index in self.order if index < count]
        order = dict.fromkeys((*named, *range(count)))
        place = {index: at for at, index in enumerate(order)}
        return [round((count - place[index]) / (count + 1), _DIGITS) for index in range(count)]


def score_likeness(query: str, documents: Sequence[str], seed: Seed) -> list[float]:
    """Return a score from 0 to 1 for each document: 1 if it equals the query, near 0 if they share nothing."""
    wanted = [*embed(query, USUAL_DIMENSIONS, seed)]
    scores = list[float]()
    for text in documents:
        cosine = fsum(map(mul, wanted, embed(text, USUAL_DIMENSIONS, seed)))
        half = min(1.0, max(0.0, (1 + cosine) / 2))  # 0.5 where the texts share nothing
        scores.append(round(half * half * half * half, _DIGITS))
    return scores


def rank(scores: Sequence[float], top: int | None = None) -> tuple[RankedDocument, ...]:
    """Return the `top` documents (None: all), by falling score; those with equal scores keep their order."""
    ranked = [RankedDocument(index, score) for index, score in enumerate(scores)]
    return tuple(sorted(ranked, key=lambda each: -each.score)[:top])


def _compile(stated: "Sequence[float] | OrderSpec", read_file: ReadFile) -> StatedRanking:
    if isinstance(stated, OrderSpec):
        if (twice := next((place for place, count in Counter(stated.order).items() if count > 1), None)) is not None:
            raise ValueError(f"the order names document {twice} more than once")
        return StatedRanking(order=tuple(stated.order))
    return StatedRanking(tuple(map(float, stated)))


def _finish(call: Call, draft: ArtifactDraft, origins: Origins) -> Ranking:
    stated: StatedRanking | None = draft.stated
    count = len(call.documents)
    scores = stated.score(count) if stated else score_likeness(call.last_user, call.documents, origins.seed)
    tokens = draft.usage.get("prompt", call.prompt_tokens)
    ranked = rank(scores, call.options.top_documents)
    return Ranking(
        id=origins.draw_id(),
        model=draft.model or call.model,
        ranked=ranked,
        documents=count,
        prompt_tokens=tokens,
        headers=draft.headers,
    )


_DIGITS = 7  # after the point

_Score = Annotated[float, field(allow_inf_nan=False)]
_Place = Annotated[int, field(ge=0)]


class OrderSpec(Table):
    """The order of the documents, instead of their scores."""

    example = "{order: [2, 0, 1]}"

    order: Annotated[list[_Place], field(min_length=1)] = field(
        description="places of documents, counted from 0, the most relevant first; others follow", examples=[[2, 0, 1]]
    )


_WIRE: Mapping[str, object] = {"index": int, "relevance_score": float}

RERANK = ArtifactKind(
    name="rerank",
    advice="; write rerank: [...]",
    then=ThenKey(
        key="rerank",
        value=Annotated[
            AsList[Annotated[list[_Score], field(min_length=1)]] | AsTable[OrderSpec],
            ByShape("scores such as [0.9, 0.1], or a table with an order"),
        ],
        doc="the scores of the documents to rerank, or their order",
        beside=frozenset(("timing", "faults", "usage", "model", "headers")),
        states="scores of documents",
        example=[0.9, 0.1],
        compile=_compile,
    ),
    body=lambda text: {"query": text, "documents": [text]},
    model_word="rerank",
    wire={"results?": [_WIRE], "data?": [_WIRE]},
    finish=_finish,
)
OPERATIONS = (RERANK,)
