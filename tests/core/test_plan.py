"""Small truths about plans: failures are values and exceptions at once."""

import pytest

from mockserver.core.plan import Cause, Failure, Plan, Timing, Usage, blame_rule


def test_a_failure_is_raised_and_compared() -> None:
    with pytest.raises(Failure, match=r"^Slow down$") as caught:
        raise Failure("rate_limit", "Slow down", retry_after=2)
    assert caught.value == Failure("rate_limit", "Slow down", retry_after=2)
    assert caught.value != Failure("rate_limit", "Slow down")
    assert len({caught.value}) == 1
    assert str(Failure("quota")) == "quota"


def test_what_is_left_of_a_failure_tells_whose_fault_it_is() -> None:
    assert Plan(Failure("quota"), "rule a").rendered.outcome == Cause("quota")
    broken = Plan(blame_rule("a.yaml:1: no"), "rule a").rendered
    assert broken.outcome == Cause("server_error", "a.yaml:1: no")
    assert broken.rendered == broken


def test_usage_adds_up() -> None:
    assert Usage(prompt=3, completion=4, reasoning=2, cached=1).total == 7


def test_a_plan_waits_for_nothing_by_default() -> None:
    assert Plan(Failure("quota"), "generated").timing == Timing(first_token=None, per_token=0, jitter=0, total=None)
