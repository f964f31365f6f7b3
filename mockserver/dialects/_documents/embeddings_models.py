"""The requests for embeddings as OpenAI and Azure publish them. Only validates: knows no Call, no words."""

from typing import Annotated, Any, Literal, Required

from pydantic import ConfigDict, Discriminator, Field, Tag, TypeAdapter
from typing_extensions import TypedDict

from mockserver.dialects._chat.messages import String

MOST_INPUTS = 2048
MOST_DIMENSIONS = 4096  # more than any model has


def _shape(value: Any) -> str:
    """What an array holds, by its first element."""
    first = value[0] if isinstance(value, list) and value else None
    return {int: "<numbers>", list: "<arrays>"}.get(type(first), "<strings>")


_Few = Field(min_length=1, max_length=MOST_INPUTS, fail_fast=True)
Tokens = Annotated[list[Annotated[int, Field(ge=0)]], _Few]
Inputs = Annotated[
    Annotated[list[str], _Few, Tag("<strings>")]
    | Annotated[Tokens, Tag("<numbers>")]
    | Annotated[list[Tokens], _Few, Tag("<arrays>")],
    Discriminator(_shape),
]
Dimensions = Annotated[int, Field(ge=1, le=MOST_DIMENSIONS)]


class EmbeddingBody(TypedDict, total=False):
    """`POST /embeddings` (`wire/openai.md` section 8)."""

    __pydantic_config__ = ConfigDict(strict=True, defer_build=True)  # type: ignore[misc]

    input: Required[String | Annotated[Inputs, Tag("<an array>")]]
    model: Required[str]
    encoding_format: Literal["float", "base64"] | None
    dimensions: Dimensions | None
    user: str | None


class AzureEmbeddingBody(TypedDict, total=False):
    """`POST /embeddings` (`wire/azure-inference.md` section 5)."""

    __pydantic_config__ = ConfigDict(strict=True, defer_build=True)  # type: ignore[misc]

    input: Required[Annotated[list[str], _Few]]
    model: str | None
    encoding_format: Literal["base64", "binary", "float", "int8", "ubinary", "uint8"] | None
    dimensions: Dimensions | None
    input_type: Literal["text", "query", "document"] | None


EMBEDDING, AZURE_EMBEDDING = TypeAdapter(EmbeddingBody), TypeAdapter(AzureEmbeddingBody)
EMBEDDING_FIELDS = frozenset(EmbeddingBody.__annotations__)
AZURE_EMBEDDING_FIELDS = frozenset(AzureEmbeddingBody.__annotations__)
