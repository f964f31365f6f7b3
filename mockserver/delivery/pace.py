"""How long things take: tokens and a timing become seconds. It never sleeps: time is a number.

The n-th token of an answer comes at the same moment however the answer is framed, so that a plain one takes as long as
its stream.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice, repeat

from mockserver.core.plan import Timing
from mockserver.core.seed import Random, Seed


@dataclass(frozen=True, slots=True)
class Pace:
    """A timing, and the seed of its jitter: equal ones wait alike, whenever and in whatever order they are asked."""

    timing: Timing = Timing()
    seed: Seed = Seed()

    @property
    def at_once(self) -> bool:
        """Whether nothing waits at all."""
        return self.timing.at_once

    def duration(self, tokens: int) -> float:
        """Seconds for a whole answer of so many tokens."""
        return self.fitted(tokens).moments().of(tokens)

    def fitted(self, tokens: int) -> "Pace":
        """The pace at which the last of so many tokens comes after `total` seconds, where there is such a promise."""
        total = self.timing.total
        if total is None:
            return self
        if tokens < 2:
            return Pace(Timing(first_token=total))
        first = min(self.timing.first_token or 0.0, total)
        even = replace(self.timing, first_token=first, per_token=(total - first) / (tokens - 1), jitter=0.0)
        weight = sum(islice(_factors(self.timing, self.seed), 1, tokens))
        if not weight:  # a jitter as large as the waits can leave nothing of any of them
            return replace(self, timing=even)
        return replace(self, timing=replace(even, per_token=(total - first) / weight, jitter=self.timing.jitter))

    def moments(self) -> "Moments":
        """When each token comes, from the first one on."""
        return Moments(self.timing, _factors(self.timing, self.seed))


class Moments:
    """When the tokens of one answer come, in seconds from its start. Asked in order, as it only counts forward."""

    def __init__(self, timing: Timing, factors: Iterator[float]) -> None:
        self._per_token, self._factors, self._token = timing.per_token, factors, 1
        first, factor = timing.first_token, next(factors)
        exact = timing.total is not None  # the first token is part of the promise
        self._at = (timing.per_token if first is None else first) * (1.0 if exact else factor)

    def of(self, token: int) -> float:
        """When token number `token` comes; what stands before the first one comes with it."""
        further = token - self._token
        if further > 0:
            self._token = token
            if self._per_token:
                self._at += self._per_token * (
                    next(self._factors) if further == 1 else sum(islice(self._factors, further))
                )
        return self._at


def _factors(timing: Timing, seed: Seed) -> Iterator[float]:
    """By what the wait for each token is multiplied: 1 on average, never below 0."""
    if not timing.jitter:
        return repeat(1.0)
    return _drawn(_DRAWS[timing.distribution], timing.jitter, seed.stream("jitter"))


def _drawn(draw: Callable[[Random, float], float], share: float, random: Random) -> Iterator[float]:
    while True:
        yield draw(random, share)


def _uniform(random: Random, share: float) -> float:
    return 1 + random.uniform(-share, share)


def _normal(random: Random, share: float) -> float:
    """Cut off on both sides alike, so that the average stays."""
    return 1 + max(-1.0, min(random.gauss(0.0, share), 1.0))


def _lognormal(random: Random, share: float) -> float:
    """The mean of exp(N(m, s)) is exp(m + s²/2), and its deviation, as a share of that, the root of exp(s²) - 1."""
    variance = math.log1p(share * share)
    return math.exp(random.gauss(-variance / 2, math.sqrt(variance)))


_DRAWS: Mapping[str, Callable[[Random, float], float]] = {
    "uniform": _uniform,
    "normal": _normal,
    "lognormal": _lognormal,
}
AT_ONCE = Pace()
