"""How much is thrown: always the same in the suite, more and other things where `FUZZ` says how many times as much."""

import os

from hypothesis import HealthCheck, Phase, settings

TIMES = int(os.environ.get("FUZZ", "1"))


def thrown(examples: int) -> settings:
    """Settings for so many examples: the same ones in every run, unless more are wanted."""
    return settings(
        max_examples=examples * TIMES,
        derandomize=TIMES == 1,
        database=None,
        deadline=None,
        phases=(Phase.explicit, Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
