"""Amounts as people write them."""

from collections.abc import Callable
from typing import Any

import pytest

from mockserver.config.types import seconds, share, size


@pytest.mark.parametrize(
    ("read", "written", "expected"),
    [
        (seconds, "300ms", 0.3),
        (seconds, "2s", 2.0),
        (seconds, "1.5h", 5400.0),
        (seconds, ".5s", 0.5),
        (seconds, " 12 MS ", 0.012),
        (seconds, 2, 2.0),
        (size, "10MB", 10_000_000),
        (size, "512KiB", 524_288),
        (size, "1.5kb", 1_500),
        (size, "1_000_000", 1_000_000),
        (share, "20%", 0.2),
        (share, "0.2", 0.2),
        (share, 0.2, 0.2),
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
        seconds: "not a duration; write 300ms, 2s, 1m or a number of seconds",
        size: "not a size; write 512KB, 10MB or a whole number of bytes",
        share: "not a share; write 20% or 0.2, at most 100%",
    }
    for read, want in wants.items():
        with pytest.raises(ValueError, match="is not a") as caught:
            read(written)
        assert str(caught.value) == f"{shown} is {want}"


@pytest.mark.parametrize(
    ("read", "written"),
    [(size, "1.5"), (size, 0.5), (size, "1s"), (share, "120%"), (share, 1.5), (seconds, "2%"), (seconds, "2MB")],
)
def test_refuses_the_amounts_of_others(read: Callable[[Any], float], written: Any) -> None:
    with pytest.raises(ValueError, match="is not a"):
        read(written)
