"""What one search in a vector store costs, and that others have their turn meanwhile."""

import asyncio
from collections.abc import Mapping
from unittest.mock import Mock

import pytest

from mockserver.core.json import Json
from mockserver.dialects._openai_api.objects import search
from mockserver.dialects._openai_api.objects.search import Source, rank_chunks

SMALL_CHUNKS = {"static": {"max_chunk_size_tokens": 100, "chunk_overlap_tokens": 0}}


def make_source(text: str, chunking: Mapping[str, Json] = {}) -> Source:
    return Source(file_id="f", name="f.txt", text=text, attributes={}, chunking=chunking)


async def count_turns(source: Source, queries: list[str]) -> int:
    """Return how often something else could run while a file was searched."""
    turns, searching = 0, asyncio.ensure_future(rank_chunks(source, {"queries": queries}))
    while not searching.done():
        await asyncio.sleep(0)
        turns += 1
    return turns


def test_other_requests_run_while_a_long_file_is_searched() -> None:
    text = " ".join(f"word{number}" for number in range(20_000))
    assert asyncio.run(count_turns(make_source(text, SMALL_CHUNKS), ["word1"])) > 10


@pytest.mark.parametrize(
    ("queries", "score"), [(["cats"] * 31 + ["dogs"], 1), (["cats"] * 32 + ["dogs"], 0), (["-" * 5_000 + " dogs"], 0)]
)
def test_only_the_first_queries_and_letters_are_read(queries: list[str], score: float) -> None:
    (found,) = asyncio.run(rank_chunks(make_source("dogs"), {"queries": queries}))
    assert found.score == score


def test_a_text_is_split_once(monkeypatch: pytest.MonkeyPatch) -> None:
    split = Mock(wraps=search.split_chunks)
    monkeypatch.setattr(search, "split_chunks", split)
    text = " ".join(f"unique{number}" for number in range(2_000))
    for query in ("unique1", "unique1999"):
        [best, *_] = asyncio.run(rank_chunks(make_source(text, SMALL_CHUNKS), {"queries": [query]}))
        assert (best.score, query in best.text) == (1, True)
    assert split.call_count == 1
    asyncio.run(rank_chunks(make_source(text), {"queries": ["unique1"]}))
    assert split.call_count == 2
