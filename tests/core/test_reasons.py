"""Reasons have a status, and a status has a reason."""

import pytest

from mockserver.core.plan import REASON_OF_STATUS, REASONS, find_reason


@pytest.mark.parametrize(
    ("status", "reason"),
    [(400, "bad_parameter"), (401, "invalid_key"), (418, "bad_parameter"), (429, "rate_limit"), (503, "overloaded")],
)
def test_the_reason_of_a_bare_status(status: int, reason: str) -> None:
    assert find_reason(status) == reason


def test_any_other_status_of_the_server_is_its_error() -> None:
    assert find_reason(599) == "server_error"


def test_a_status_and_its_reason_agree() -> None:
    assert {REASONS[reason] for reason in REASON_OF_STATUS.values()} == set(REASON_OF_STATUS)
    assert all(REASONS[reason] == status for status, reason in REASON_OF_STATUS.items())
