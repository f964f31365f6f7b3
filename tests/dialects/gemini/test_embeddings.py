"""Bounds and sizes of embeddings, which Gemini's clients state in three places."""

from typing import Any

import pytest

from tests.kit.local import local

Json = Any
SERVER = local()
MODEL = "models/gemini-embedding-001"
TEXT: Json = {"content": {"parts": [{"text": "sea"}]}}
DEVELOPER, VERTEX = f"/gemini/v1beta/{MODEL}", f"/gemini/v1beta1/publishers/google/{MODEL}"
OUT_OF_BOUNDS = "output_dimensionality must be in the range [1, 3072]."
REFUSED: dict[str, tuple[str, Json, str]] = {
    "config, too many": (
        f"{VERTEX}:embedContent",
        {**TEXT, "embedContentConfig": {"outputDimensionality": 99_999_999}},
        f"* EmbedContentRequest.output_dimensionality: {OUT_OF_BOUNDS}",
    ),
    "config, wrong type": (
        f"{VERTEX}:embedContent",
        {**TEXT, "embedContentConfig": {"outputDimensionality": "x"}},
        "Invalid value at 'embed_content_config.output_dimensionality' (TYPE_INT32), \"x\"",
    ),
    "parameters, too many": (
        f"{VERTEX}:predict",
        {"instances": [{"content": "sea"}], "parameters": {"outputDimensionality": 1_000_000}},
        f"* PredictRequest.instances[0].output_dimensionality: {OUT_OF_BOUNDS}",
    ),
    "parameters, negative": (
        f"{VERTEX}:predict",
        {"instances": [{"content": "sea"}], "parameters": {"outputDimensionality": -3}},
        f"* PredictRequest.instances[0].output_dimensionality: {OUT_OF_BOUNDS}",
    ),
    "too many instances": (
        f"{VERTEX}:predict",
        {"instances": [{"content": "sea"}] * 251},
        "251 instance(s) are given; 1 to 250 are allowed.",
    ),
    "a part without data": (
        f"{DEVELOPER}:embedContent",
        {"content": {"parts": [{}]}},
        "* EmbedContentRequest.content.parts[0].data: required oneof field 'data' must have one initialized field",
    ),
}


@pytest.mark.parametrize(("path", "body", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(path: str, body: Json, message: str) -> None:
    answered = SERVER.ask(path, body)
    assert (answered.status, answered.json["error"]["message"].rstrip("\n")) == (400, message)


def test_the_size_of_a_config_counts_in_snake_case_too() -> None:
    body = {**TEXT, "embed_content_config": {"output_dimensionality": "3", "task_type": "CLUSTERING"}}
    assert len(SERVER.ask(f"{VERTEX}:embedContent", body).json["embedding"]["values"]) == 3


def test_each_request_of_a_batch_has_its_own_size() -> None:
    sizes = [2, 5, None]
    requests = [{"model": MODEL, **TEXT, "outputDimensionality": size} for size in sizes]
    found = SERVER.ask(f"{DEVELOPER}:batchEmbedContents", {"requests": requests}).json["embeddings"]
    assert [len(each["values"]) for each in found] == [2, 5, 3072]
