"""Tokens and a timing become seconds."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.core.plan import Distribution, Timing
from mockserver.core.seed import Seed
from mockserver.delivery.script import Pace

MANY = 20_000


def gaps(pace: Pace, tokens: int) -> list[float]:
    """What each token waits after the one before it, but for the first."""
    moments = pace.draw_moments()
    return [later - sooner for sooner, later in pairwise([moments.find(token) for token in range(1, tokens + 1)])]


@pytest.mark.parametrize(
    ("timing", "tokens", "seconds"),
    [
        (Timing(first_token=0.5, per_token=0.1), 10, 1.4),
        (Timing(first_token=0.5, per_token=0.1), 0, 0.5),
        (Timing(per_token=0.1), 10, 1.0),
        (Timing(per_token=0.1, total=9.0), 10, 9.0),
        (Timing(first_token=10.0, total=9.0), 10, 9.0),
        (Timing(first_token=0.5, total=9.0), 0, 9.0),
    ],
)
def test_a_whole_answer_takes_its_first_token_and_all_others(timing: Timing, tokens: int, seconds: float) -> None:
    assert Pace(timing).compute_duration(tokens) == pytest.approx(seconds)


@pytest.mark.parametrize("distribution", ["uniform", "normal", "lognormal"])
@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_jitter_keeps_the_average_and_is_never_negative(distribution: Distribution, share: float) -> None:
    pace = Pace(Timing(per_token=1.0, jitter=share, distribution=distribution), Seed(7))
    waits = gaps(pace, MANY)
    mean = sum(waits) / len(waits)
    assert mean == pytest.approx(1.0, abs=0.03)
    assert min(waits) >= 0.0
    if distribution == "uniform":
        assert max(abs(wait - 1.0) for wait in waits) <= share + 1e-9
    elif share == 0.1 or distribution == "lognormal":
        deviation = (sum((wait - mean) ** 2 for wait in waits) / len(waits)) ** 0.5
        assert deviation == pytest.approx(share, rel=0.15)


TIMINGS = st.builds(
    Timing,
    first_token=st.none() | st.floats(0, 10),
    per_token=st.floats(0, 1),
    jitter=st.floats(0, 1),
    total=st.none() | st.floats(0, 100),
    distribution=st.sampled_from(["uniform", "normal", "lognormal"]),
)


@given(TIMINGS, st.integers(0, 100), st.lists(st.integers(0, 7), min_size=1, max_size=20))
def test_a_token_comes_at_the_same_moment_however_it_is_framed(timing: Timing, seed: int, frames: list[int]) -> None:
    pace, tokens = Pace(timing, Seed(seed)), sum(frames)
    moments, token, last = pace.fit(tokens).draw_moments(), 0, 0.0
    for weight in frames:
        token += weight
        moment = moments.find(token)
        assert moment >= last
        last = moment
    assert last == pytest.approx(pace.compute_duration(tokens))
    assert pace.compute_duration(tokens) == pace.compute_duration(tokens)
