"""Azure's own client for vectors."""

from collections.abc import Iterator

import pytest
from azure.ai.inference import EmbeddingsClient
from azure.ai.inference.models import EmbeddingEncodingFormat, EmbeddingInputType
from azure.core.credentials import AzureKeyCredential

from tests.kit.served import Served

KEY = AzureKeyCredential("sk-test")


@pytest.fixture
def azure(server: Served) -> Iterator[EmbeddingsClient]:
    with EmbeddingsClient(server.base("azure"), KEY, retry_total=0) as client:
        yield client


def test_vectors(azure: EmbeddingsClient) -> None:
    answer = azure.embed(input=["the quiet sea", "a loud street"])

    assert answer.id
    assert answer.model == "Cohere-embed-v3-english"
    assert [(item.index, len(item.embedding)) for item in answer.data] == [(0, 1024), (1, 1024)]
    assert sum(float(number) ** 2 for number in answer.data[0].embedding) == pytest.approx(1.0)
    assert (answer.usage.prompt_tokens, answer.usage.total_tokens) == (6, 6)


def test_everything_that_can_be_asked(azure: EmbeddingsClient) -> None:
    answer = azure.embed(
        input=["the quiet sea"],
        model="mine",
        dimensions=16,
        encoding_format=EmbeddingEncodingFormat.INT8,
        input_type=EmbeddingInputType.QUERY,
    )

    assert answer.model == "mine"
    assert [type(number) for number in answer.data[0].embedding] == [int] * 16
    packed = azure.embed(input=["the quiet sea"], encoding_format=EmbeddingEncodingFormat.BASE64)
    assert isinstance(packed.data[0].embedding, str)
