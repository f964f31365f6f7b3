"""Answers that are no text, as a rule writes them: the vector of an embedding, what a moderation finds."""

from typing import Annotated, Literal

from pydantic import Field, Tag

from mockserver.engine.spec.table import Table, either

_LARGEST = 3.4e38  # that 32 bits can hold
EmbeddingSpec = Annotated[list[Annotated[float, Field(ge=-_LARGEST, le=_LARGEST)]], Field(min_length=1)]
Score = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Category = Literal[
    "harassment",
    "harassment/threatening",
    "hate",
    "hate/threatening",
    "illicit",
    "illicit/violent",
    "self-harm",
    "self-harm/instructions",
    "self-harm/intent",
    "sexual",
    "sexual/minors",
    "violence",
    "violence/graphic",
]


class ScoresSpec(Table):
    """Scores by category; from 0.5 on a category is flagged."""

    example = "{violence: 0.92}"

    harassment: Score | None = None
    harassment_threatening: Score | None = Field(None, alias="harassment/threatening")
    hate: Score | None = None
    hate_threatening: Score | None = Field(None, alias="hate/threatening")
    illicit: Score | None = None
    illicit_violent: Score | None = Field(None, alias="illicit/violent")
    self_harm: Score | None = Field(None, alias="self-harm")
    self_harm_instructions: Score | None = Field(None, alias="self-harm/instructions")
    self_harm_intent: Score | None = Field(None, alias="self-harm/intent")
    sexual: Score | None = None
    sexual_minors: Score | None = Field(None, alias="sexual/minors")
    violence: Score | None = None
    violence_graphic: Score | None = Field(None, alias="violence/graphic")


ModerationSpec = Annotated[
    Annotated[ScoresSpec, Tag("<table>")] | Annotated[list[Category], Tag("<list>")],
    either("scores such as {violence: 0.92}, or a list of categories"),
]
