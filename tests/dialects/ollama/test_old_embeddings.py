"""The old embeddings of Ollama."""

from typing import Any

import pytest

from tests.kit.local import local


@pytest.mark.parametrize("dimensions", ["x", {"a": 1}, 10**9])
def test_the_old_embeddings_know_no_dimensions(dimensions: Any) -> None:
    body = {"model": "m", "prompt": "p", "dimensions": dimensions}
    plain = local().ask("/ollama/api/embeddings", {"model": "m", "prompt": "p"})
    asked = local().ask("/ollama/api/embeddings", body)
    assert (asked.status, len(asked.json["embedding"])) == (200, len(plain.json["embedding"]))
