"""How a client stands, in headers."""

from mockserver.core.rates import Standing, Standings
from mockserver.dialects import discover
from mockserver.dialects._reply import write_openai_rate_limits

STANDINGS = Standings(Standing(3, 1, 39.9871), Standing(40_000, 39_993, 0.01))


def test_openai() -> None:
    assert dict(write_openai_rate_limits(STANDINGS)) == {
        "x-ratelimit-limit-requests": "3",
        "x-ratelimit-remaining-requests": "1",
        "x-ratelimit-reset-requests": "39.988s",
        "x-ratelimit-limit-tokens": "40000",
        "x-ratelimit-remaining-tokens": "39993",
        "x-ratelimit-reset-tokens": "10ms",
    }


def test_anthropic_rounds_the_tokens_that_are_left() -> None:
    for limit, left, shown in ((40_000, 39_993, 40_000), (40_000, 499, 0), (1_700, 1_600, 1_700), (999, 501, 501)):
        found = dict(
            discover()["anthropic"].rate_limit_headers(Standings(STANDINGS.requests, Standing(limit, left, 1)))
        )
        rests = [found[f"anthropic-ratelimit-{kind}-remaining"] for kind in ("requests", "tokens", "output-tokens")]
        assert rests == ["1", str(shown), str(shown)]


def test_each_dialect_tells_in_its_own_headers() -> None:
    told = {
        name: {header for header, _ in dialect.rate_limit_headers(STANDINGS)} for name, dialect in discover().items()
    }
    kinds = ("tokens-prompt", "tokens-cache-adjusted-prompt", "tokens-generated")
    assert told == {
        "openai": {name for name, _ in write_openai_rate_limits(STANDINGS)},
        "compatible": {name for name, _ in write_openai_rate_limits(STANDINGS)},
        "azure_openai": {"x-ratelimit-remaining-requests", "x-ratelimit-remaining-tokens"},
        "cohere": {"x-trial-endpoint-call-limit", "x-trial-endpoint-call-remaining"},
        "fireworks": {f"x-ratelimit-{what}-{kind}" for what in ("limit", "remaining") for kind in kinds},
        "anthropic": {
            f"anthropic-ratelimit-{kind}-{what}"
            for what in ("limit", "remaining", "reset")
            for kind in ("requests", "tokens", "input-tokens", "output-tokens")
        },
        "mistral": {
            f"x-ratelimit-{what}-{kind}-minute" for what in ("limit", "remaining") for kind in ("req", "tokens")
        },
        **{
            name: set()
            for name in ("azure", "bedrock", "crazyrouter", "gemini", "jina", "ollama", "skytells", "tzafon", "voyage")
        },
    }
