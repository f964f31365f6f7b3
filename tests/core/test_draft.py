"""Faults as rules state them."""

import pytest

from mockserver.core.draft import FaultSpec


@pytest.mark.parametrize(
    ("told", "counts"), [({}, False), ({"probability": 0.0}, True), ({"times": 1}, True), ({"label": "b"}, False)]
)
def test_what_may_befall_one_call_and_not_the_next(told: dict[str, object], counts: bool) -> None:
    assert FaultSpec(**{"name": "cut", "label": "a", **told}).counts is counts  # type: ignore[arg-type]
