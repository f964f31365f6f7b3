"""OpenAI's own client: vectors, which it asks for in base64, and moderations."""

from collections.abc import Iterator
from math import isclose

import httpx2
import openai
import pytest
from openai import OpenAI
from openai.types import CreateEmbeddingResponse, ModerationCreateResponse
from pydantic import TypeAdapter

from tests.clients.conftest import KEY
from tests.kit.capture import ResponseCapture
from tests.kit.served import Served, served

RULES = """
rules:
  - name: stated
    when: {last_user: "stated*"}
    then: {embedding: [0.6, 0.8]}
  - name: violent
    when: {last_user: "*fight*"}
    then: {moderation: {violence: 0.92, hate: 0.4}}
  - name: busy
    when: {operation: [embeddings, moderations], last_user: "busy*"}
    then: {error: 429, retry_after: 3s}
"""
SMALL, LARGE = "text-embedding-3-small", "text-embedding-3-large"
EMBEDDINGS, MODERATION = TypeAdapter(CreateEmbeddingResponse), TypeAdapter(ModerationCreateResponse)


@pytest.fixture(scope="module")
def rules() -> str:
    return RULES


@pytest.fixture(scope="module")
def server(rules: str) -> Iterator[Served]:
    with served(rules) as running:
        yield running


@pytest.fixture
def client(server: Served, connection: httpx2.Client) -> Iterator[OpenAI]:
    with OpenAI(base_url=server.base("openai"), api_key=KEY, http_client=connection, max_retries=0) as client:
        yield client


def test_a_vector_which_the_client_asks_for_in_base64(client: OpenAI, capture: ResponseCapture) -> None:
    answer = client.embeddings.create(model=SMALL, input="the quiet sea")

    [entry] = answer.data
    assert (answer.object, answer.model, entry.object, entry.index) == ("list", SMALL, "embedding", 0)
    assert len(entry.embedding) == 1536
    assert isclose(sum(number**2 for number in entry.embedding), 1.0, rel_tol=1e-5)
    assert (answer.usage.prompt_tokens, answer.usage.total_tokens) == (3, 3)
    assert b'"embedding":"' in capture.last.body
    assert capture.last.headers["x-request-id"].startswith("req_")


def test_base64_and_floats_are_the_same_numbers(client: OpenAI, capture: ResponseCapture) -> None:
    asked = {"model": LARGE, "input": ["the quiet sea", "a loud street"]}
    packed = client.embeddings.create(**asked)
    plain = client.embeddings.create(**asked, encoding_format="float")

    EMBEDDINGS.validate_json(capture.last.body, strict=True)
    assert [len(entry.embedding) for entry in plain.data] == [3072, 3072]
    for one, other in zip(packed.data, plain.data, strict=True):
        assert one.embedding == pytest.approx(other.embedding, rel=1e-6)


def test_dimensions_and_tokens(client: OpenAI) -> None:
    answer = client.embeddings.create(model=SMALL, input=[[1, 2, 3], [4]], dimensions=7, user="me")

    assert [len(entry.embedding) for entry in answer.data] == [7, 7]
    assert answer.usage.prompt_tokens == 4
    alone = client.embeddings.create(model=SMALL, input=[1, 2, 3], dimensions=7)
    assert alone.data[0].embedding == answer.data[0].embedding


def test_errors_of_embeddings(client: OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="input cannot be an empty string"):
        client.embeddings.create(model=SMALL, input=["a", ""])
    with pytest.raises(openai.BadRequestError, match="maximum length 2048"):
        client.embeddings.create(model=SMALL, input=["a"] * 2049)
    with pytest.raises(openai.RateLimitError) as caught:
        client.embeddings.create(model=SMALL, input="busy")
    assert caught.value.response.headers["retry-after"] == "3"


def test_a_moderation_that_is_all_clear(client: OpenAI, capture: ResponseCapture) -> None:
    answer = client.moderations.create(input="the quiet sea")

    MODERATION.validate_json(capture.last.body, strict=True)
    [result] = answer.results
    assert answer.id.startswith("modr-")
    assert answer.model == "omni-moderation-latest"
    assert not result.flagged
    assert not any(result.categories.model_dump().values())
    assert max(result.category_scores.model_dump().values()) < 0.01
    assert result.category_applied_input_types.violence == ["text"]


def test_a_moderation_for_each_text(client: OpenAI) -> None:
    results = client.moderations.create(model="omni-moderation-latest", input=["peace", "a fight"]).results

    assert [result.flagged for result in results] == [False, True]
    assert (results[1].categories.violence, results[1].categories.hate) == (True, False)
    assert (results[1].category_scores.violence, results[1].category_scores.hate) == (0.92, 0.4)


def test_only_mistrals_clients_get_an_id(server: Served) -> None:
    """They require one, and OpenAI sends none; also of requests that are answered as earlier ones were."""
    ids = dict[str, list[str | None]]()
    for text in ("one", "two", "three", "two"):
        for agent in ("mistral-client-python/3.7.0", "mistral-client-typescript/1.10.0", "OpenAI/Python 3.54.0"):
            answer = httpx2.post(
                f"{server.address}/v1/embeddings",
                json={"model": "mistral-embed", "input": [text]},
                headers={"user-agent": agent, "authorization": f"Bearer {KEY}"},
            )
            ids.setdefault(agent, []).append(answer.json().get("id"))
    python, typescript, openai_s = ids.values()
    assert python == typescript
    assert (python[1], len(set(python)), set(openai_s)) == (python[3], 3, {None})
    assert all(id and len(id) == 32 for id in python)
