"""The journal's row is filled when the answer has gone out."""

from mockserver.core.exchange import Exchange, Finding


def test_an_exchange_is_filled_later() -> None:
    exchange = Exchange(1, "POST", "/v1/chat/completions", "openai", "default")
    assert (exchange.source, exchange.status, exchange.ended, exchange.elapsed) == ("", 0, "", 0.0)
    exchange.status, exchange.ended = 200, "complete"
    assert exchange == Exchange(1, "POST", "/v1/chat/completions", "openai", "default", status=200, ended="complete")


def test_findings_are_values() -> None:
    assert Finding("model", "equals", "a", "b", ok=False) == Finding("model", "equals", "a", "b", ok=False)
