"""Amounts and times: how they are written, and what they come to."""

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from mockserver.config.types import Duration, Instant, Share, Size
from mockserver.core.seed import FROZEN_AT


@pytest.mark.parametrize(
    ("kind", "written", "value"),
    [
        (Duration, "300ms", 0.3),
        (Share, "20%", 0.2),
        (Size, "2KiB", 2048),
        (Instant, "frozen", FROZEN_AT),
        (Instant, "real", None),
        (Instant, 7, 7),
        (Instant, "7", 7),
        (Instant, "1970-01-01T00:01:00Z", 60),
        (Instant, "1970-01-01", 0),
    ],
)
def test_a_value(kind: Any, written: Any, value: Any) -> None:
    assert TypeAdapter(kind).validate_python(written) == value


@pytest.mark.parametrize(
    ("kind", "written", "complaint"),
    [
        (Duration, "soon", "a duration such as 300ms"),
        (Share, "120%", "a share such as 20%"),
        (Size, "2 feet", "is not a size"),
        (Instant, -1, "frozen, real, Unix seconds or a time"),
        (Instant, "tomorrow", "frozen, real, Unix seconds or a time"),
        (Instant, True, "frozen, real, Unix seconds or a time"),
    ],
)
def test_a_value_that_cannot_be(kind: Any, written: Any, complaint: str) -> None:
    with pytest.raises(ValidationError, match=complaint):
        TypeAdapter(kind).validate_python(written)
