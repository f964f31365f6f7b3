"""The journal numbers exchanges and keeps the latest."""

from mockserver.core.exchange import Exchange
from mockserver.state.journal import Journal


def test_exchanges_are_numbered_and_closed() -> None:
    closed: list[Exchange] = []
    journal = Journal(on_close=closed.append)
    first = journal.open("POST", "/v1/chat/completions", "openai", "default")
    second = journal.open("GET", "/v1/models", "openai", "mine")
    journal.close(first, "complete")
    assert [row.seq for row in journal] == [1, 2]
    assert closed == [first]
    assert (first.ended, second.ended) == ("complete", "")
    assert 0 <= first.elapsed < 5


def test_only_the_latest_are_kept() -> None:
    journal = Journal(limit=3)
    for _ in range(10):
        journal.open("GET", "/", "openai", "default")
    assert [row.seq for row in journal] == [8, 9, 10]
    assert len(journal) == 3
