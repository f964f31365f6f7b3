"""Durations are read as their seconds, and written by ISO 8601."""

import pytest

from mockserver.model.arguments.dates import durations, iso_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("45 minutes", 2700),
        ("2h30", 9000),
        ("1h 20m", 4800),
        ("an hour and a half", 5400),
        ("two hours", 7200),
        ("90s", 90),
        ("1.5 days", 129600),
        ("PT2H30M", 9000),
        ("P1W", 604800),
        ("half an hour", 1800),
        ("zwei Stunden und 3 Minuten", 180),
        ("1.75 m and a share", 0),
    ],
)
def test_durations(text: str, seconds: int) -> None:
    assert sum(mention.value for mention in durations(text)) == seconds


def test_the_unit_is_told_where_it_is_one() -> None:
    assert [mention.unit for mention in durations("45 minutes or 1 hour 5 min")] == ["minutes", ""]


@pytest.mark.parametrize(
    ("seconds", "written"), [(0, "PT0S"), (9000, "PT2H30M"), (90, "PT1M30S"), (86400, "P1D"), (90061, "P1DT1H1M1S")]
)
def test_iso(seconds: int, written: str) -> None:
    assert iso_duration(seconds) == written
