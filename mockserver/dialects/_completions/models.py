"""The request for a text completion as OpenAI publishes it, field by field with types and bounds.

Only validates: knows no Call, no words. What no type can say stands in `_completions/request.py`.
"""

from typing import Annotated, Required

from pydantic import ConfigDict, Field, Tag, TypeAdapter
from typing_extensions import TypedDict

from mockserver.dialects._chat.messages import String
from mockserver.dialects._chat.models import Biases, Penalty, Stops, StreamOptions

MOST_PROMPTS = 2048
Texts = Annotated[list[str], Field(max_length=MOST_PROMPTS, min_length=1, fail_fast=True)]
Tokens = Annotated[list[int], Field(min_length=1, fail_fast=True)]
ListsOfTokens = Annotated[list[Tokens], Field(max_length=MOST_PROMPTS, min_length=1, fail_fast=True)]
Prompts = (
    String
    | Annotated[Texts, Tag("<an array of strings>")]
    | Annotated[Tokens, Tag("<an array of integers>")]
    | Annotated[ListsOfTokens, Tag("<an array of integer arrays>")]
)


class CompletionBody(TypedDict, total=False):
    """`POST /completions` (`wire/openai.md` section 5)."""

    __pydantic_config__ = ConfigDict(strict=True, defer_build=True)  # type: ignore[misc]

    model: Required[str]
    prompt: Required[Prompts | None]
    best_of: Annotated[int, Field(ge=0, le=20)] | None
    echo: bool | None
    frequency_penalty: Penalty | None
    logit_bias: Biases | None
    logprobs: Annotated[int, Field(ge=0, le=5)] | None
    max_tokens: Annotated[int, Field(ge=0)] | None
    n: Annotated[int, Field(ge=1, le=128)] | None
    presence_penalty: Penalty | None
    seed: Annotated[int, Field(ge=-(2**63), le=2**63 - 1)] | None
    stop: String | Annotated[Stops, Tag("<an array of strings>")] | None
    stream: bool | None
    stream_options: StreamOptions | None
    suffix: str | None
    temperature: Annotated[float, Field(ge=0, le=2)] | None
    top_p: Annotated[float, Field(ge=0, le=1)] | None
    user: str | None


COMPLETION = TypeAdapter(CompletionBody)
COMPLETION_FIELDS = frozenset(CompletionBody.__annotations__)
