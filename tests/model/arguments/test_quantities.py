"""Numbers of every style; dates, times and durations."""

import pytest

from mockserver.model.arguments.quantities import (
    find_durations,
    find_moments,
    find_numbers,
    find_times,
    parse_number,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-4.5", [-4.5]),
        ("1.234,50", [1234.5]),
        ("1 234", [1234]),
        ("12.345.678", [12345678]),
        ("6.02e23", [6.02e23]),
        ("5k and 2M", [5000, 2000000]),
        ("2.5 million", [2500000]),
        ("twenty-five", [25]),
        ("a dozen", [12]),
        ("two hundred and five", [205]),
        ("the 2nd", [2]),
        ("one thousand two hundred", [1200]),
        ("nothing once here", []),
        ("1e999", []),
        ("v2x and abc123", []),
    ],
)
def test_values(text: str, expected: list[float]) -> None:
    found = sorted((m for m in find_numbers(text) if m.kind in ("number", "money", "ordinal")), key=lambda m: m.start)
    assert [mention.value for mention in found] == expected


@pytest.mark.parametrize(
    ("text", "kind", "unit"),
    [
        ("$5", "money", "USD"),
        ("fifteen dollars", "money", "USD"),
        ("€1.50", "money", "EUR"),
        ("5 km", "number", "km"),
        ("20%", "number", "%"),
        ("#17", "number", "#"),
        ("20°C", "number", "°C"),
        ("3rd", "ordinal", ""),
    ],
)
def test_kinds_and_units(text: str, kind: str, unit: str) -> None:
    first = next(mention for mention in find_numbers(text) if mention.kind in ("number", "money", "ordinal"))
    assert (first.kind, first.unit) == (kind, unit)


def test_too_large_a_number_is_none() -> None:
    with pytest.raises(OverflowError):
        parse_number("1e999")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2025-03-03", "2025-03-03"),
        ("March 3rd, 2025", "2025-03-03"),
        ("3rd of march", "2024-03-03"),
        ("Dec 24", "2023-12-24"),
        ("03/04/2025", "2025-03-04"),
        ("25/12/2025", "2025-12-25"),
        ("5. Mai 2024", "2024-05-05"),
        ("3 de marzo de 2025", "2025-03-03"),
        ("2025年3月4日", "2025-03-04"),
        ("March 2025", "2025-03-01"),
        ("morgen", "2023-11-15"),
        ("the day after tomorrow", "2023-11-16"),
        ("yesterday", "2023-11-13"),
        ("next Friday", "2023-11-24"),
        ("last Monday", "2023-11-13"),
        ("in two weeks", "2023-11-28"),
        ("3 days ago", "2023-11-11"),
        ("next month", "2023-12-14"),
        ("明日", "2023-11-15"),
        ("tomorrow at 3pm", "2023-11-15T15:00:00Z"),
        ("2025-03-03T10:00:30+0200", "2025-03-03T10:00:30+02:00"),
        ("15:30 on Friday", "2023-11-17T15:30:00Z"),
        ("ſeptember 5", "2024-09-05"),
        ("frıday", "2023-11-17"),
        ("yeſterday", "2023-11-13"),
    ],
)
def test_moments(text: str, expected: str) -> None:
    assert next(find_moments(text)).value == expected


@pytest.mark.parametrize(
    "text", ["2025-02-30", "31.31.2024", "99/99/2024", "may I", "the marching", "1/2", "2025-13-01T99:99"]
)
def test_what_is_no_moment(text: str) -> None:
    assert list(find_moments(text)) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3pm", "15:00"), ("12 am", "00:00"), ("12:30 p.m.", "12:30"), ("15:30", "15:30"), ("15:30:20", "15:30:20"),
        ("noon", "12:00"), ("midnight", "00:00"), ("20h", "20:00"), ("8 Uhr 15", "08:15"),
    ],
)  # fmt: skip
def test_times(text: str, expected: str) -> None:
    assert [mention.value for mention in find_times(text)] == [expected]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("2025-03-03T10:00:00Z", ["2025-03-03", "10:00:00"]),
        ("3 March 2025 at 10:00", ["2025-03-03", "10:00"]),
        ("10:00 on 3 March 2025", ["10:00", "2025-03-03"]),
    ],
)
def test_a_moment_has_a_date_and_a_time(text: str, parts: list[str]) -> None:
    assert [part.value for part in next(find_moments(text)).parts] == parts


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2h30", 9000),
        ("1h 20m", 4800),
        ("an hour and a half", 5400),
        ("1.5 days", 129600),
        ("half an hour", 1800),
        ("zwei Stunden und 3 Minuten", 7380),
        ("1.75 m and a share", 0),
    ],
)
def test_durations(text: str, seconds: int) -> None:
    assert sum(mention.value for mention in find_durations(text)) == seconds


def test_the_unit_is_told_where_it_is_one() -> None:
    assert [mention.unit for mention in find_durations("45 minutes or 1 hour 5 min")] == ["minutes", ""]
