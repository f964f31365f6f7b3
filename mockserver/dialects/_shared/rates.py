"""How a client stands with its limits, as OpenAI's headers tell it.

Knows neither who counts nor when a client is refused.
"""

import math

from mockserver.core.http import Headers
from mockserver.core.rates import Standing, Standings
from mockserver.dialects._shared.errors import duration


def openai_rates(standings: Standings) -> Headers:
    """Limit, what remains of it and when it is whole again, of requests and of tokens, where they are limited."""
    return _three(_REQUESTS, standings.requests) + _three(_TOKENS, standings.tokens)


def remaining(standings: Standings) -> Headers:
    """What remains of requests and of tokens, where they are limited."""
    kinds = (("requests", standings.requests), ("tokens", standings.tokens))
    return tuple((f"x-ratelimit-remaining-{kind}", str(one.left)) for kind, one in kinds if one is not None)


def _three(names: tuple[str, str, str], standing: Standing | None) -> Headers:
    if standing is None:
        return ()
    limit, left, reset = standing
    # Rounded up, so that nobody who waits for so long comes too early.
    milliseconds = math.ceil(reset * 1000)
    whole = f"{milliseconds}ms" if milliseconds < 1000 else duration(milliseconds / 1000)
    return (names[0], str(limit)), (names[1], str(left)), (names[2], whole)


_REQUESTS = ("x-ratelimit-limit-requests", "x-ratelimit-remaining-requests", "x-ratelimit-reset-requests")
_TOKENS = ("x-ratelimit-limit-tokens", "x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens")
