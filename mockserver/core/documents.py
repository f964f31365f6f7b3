"""Outcomes that are no answer of a model: lists of models, vectors, judgements."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mockserver.core.http import Headers

Vector = Sequence[float]  # an array, where thousands of them must not fill the memory

# What a moderation looks for.
CATEGORIES = (
    *("harassment", "harassment/threatening", "hate", "hate/threatening", "illicit", "illicit/violent"),
    *("self-harm", "self-harm/instructions", "self-harm/intent", "sexual", "sexual/minors"),
    *("violence", "violence/graphic"),
)


@dataclass(frozen=True, slots=True)
class Models:
    """The models that exist, or the one that was asked for; each dialect has its own shape for them."""

    names: tuple[str, ...]
    created: int


@dataclass(frozen=True, slots=True)
class Embeddings:
    """A unit vector for each prompt."""

    model: str
    vectors: tuple[Vector, ...]
    prompt_tokens: int
    headers: Headers = ()


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a moderation found in one prompt; categories that are not named score next to nothing."""

    scores: Mapping[str, float] = field(default_factory=dict)
    flagged: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Moderations:
    """For each prompt a score from 0 to 1 in every category that was seen, and the categories that are flagged."""

    id: str
    model: str
    results: tuple[Judgement, ...]
    headers: Headers = ()
