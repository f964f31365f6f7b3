"""Amounts as people write them."""

from collections.abc import Callable
from typing import Any

import pytest

from mockserver.config.types import parse_seconds, parse_share, parse_size


@pytest.mark.parametrize(
    ("read", "written", "expected"),
    [
        (parse_seconds, "300ms", 0.3),
        (parse_seconds, "2s", 2.0),
        (parse_seconds, "1.5h", 5400.0),
        (parse_seconds, ".5s", 0.5),
        (parse_seconds, " 12 MS ", 0.012),
        (parse_seconds, 2, 2.0),
        (parse_size, "10MB", 10_000_000),
        (parse_size, "512KiB", 524_288),
        (parse_size, "1.5kb", 1_500),
        (parse_size, "1_000_000", 1_000_000),
        (parse_share, "20%", 0.2),
        (parse_share, "0.2", 0.2),
        (parse_share, 0.2, 0.2),
    ],
)
def test_reads_what_is_written(read: Callable[[Any], float], written: Any, expected: float) -> None:
    assert read(written) == expected


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("soon", '"soon"'),
        ("-1s", '"-1s"'),
        ("", '""'),
        ("9" * 400, '"' + "9" * 79 + '…"'),
        (True, "true"),
        (float("nan"), "NaN"),
        (10**400, "1" + "0" * 80 + "…"),
    ],
)
def test_refuses_what_is_no_amount(written: Any, shown: str) -> None:
    wants = {
        parse_seconds: "not a duration; write 300ms, 2s, 1m or a number of seconds",
        parse_size: "not a size; write 512KB, 10MB or a whole number of bytes",
        parse_share: "not a percentage; write 20% or 0.2, at most 100%",
    }
    for read, want in wants.items():
        with pytest.raises(ValueError, match="is not a") as caught:
            read(written)
        assert str(caught.value) == f"{shown} is {want}"


@pytest.mark.parametrize(
    ("read", "written"),
    [
        (parse_size, "1.5"),
        (parse_size, 0.5),
        (parse_size, "1s"),
        (parse_share, "120%"),
        (parse_share, 1.5),
        (parse_seconds, "2%"),
        (parse_seconds, "2MB"),
    ],
)
def test_refuses_the_amounts_of_others(read: Callable[[Any], float], written: Any) -> None:
    with pytest.raises(ValueError, match="is not a"):
        read(written)
