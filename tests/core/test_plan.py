"""Small truths about plans: reasons have a status, failures are values and exceptions at once."""

import pytest

from mockserver.core.plan import REASON_OF_STATUS, REASONS, Failure, Plan, Timing, Usage, reason_of


@pytest.mark.parametrize(
    ("status", "reason"),
    [(400, "bad_parameter"), (401, "invalid_key"), (418, "bad_parameter"), (429, "rate_limit"), (503, "overloaded")],
)
def test_the_reason_of_a_bare_status(status: int, reason: str) -> None:
    assert reason_of(status) == reason


def test_any_other_status_of_the_server_is_its_error() -> None:
    assert reason_of(599) == "server_error"


def test_a_status_and_its_reason_agree() -> None:
    assert {REASONS[reason] for reason in REASON_OF_STATUS.values()} == set(REASON_OF_STATUS)
    assert all(REASONS[reason] == status for status, reason in REASON_OF_STATUS.items())


def test_a_failure_is_raised_and_compared() -> None:
    with pytest.raises(Failure, match=r"^Slow down$") as caught:
        raise Failure("rate_limit", "Slow down", retry_after=2)
    assert caught.value == Failure("rate_limit", "Slow down", retry_after=2)
    assert caught.value != Failure("rate_limit", "Slow down")
    assert len({caught.value}) == 1
    assert str(Failure("quota")) == "quota"


def test_usage_adds_up() -> None:
    assert Usage(prompt=3, completion=4, reasoning=2, cached=1).total == 7


def test_a_plan_waits_for_nothing_by_default() -> None:
    assert Plan(Failure("quota"), "generated").timing == Timing(first_token=0, per_token=0, jitter=0, total=None)
