"""How settings' values are written, and what they come to."""

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from mockserver.core.plan import Timing
from mockserver.core.seed import FROZEN_AT
from mockserver.kinds import Duration, Instant, Model, Models, Names, Share, Size, TimingSetting


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
        (Names, "a, b,,", ("a", "b")),
        (Names, ["a"], ("a",)),
        (Models, ["a*"], {"a*": Model()}),
        (Models, {"a": None, "b": {"context_window": 9}}, {"a": Model(), "b": Model(context_window=9)}),
        (Models, {"a": {"aliases": "b"}}, {"a": Model(aliases=("b",))}),
        (TimingSetting, {"tokens_per_second": 4, "jitter": "10%"}, Timing(per_token=0.25, jitter=0.1)),
        (TimingSetting, {"total": "2s"}, Timing(total=2.0)),
    ],
)
def test_a_value(kind: Any, written: Any, value: Any) -> None:
    assert TypeAdapter(kind).validate_python(written) == value


@pytest.mark.parametrize(
    ("kind", "written", "complaint"),
    [
        (Instant, -1, "frozen, real, Unix seconds or a time"),
        (Instant, "tomorrow", "frozen, real, Unix seconds or a time"),
        (Instant, True, "frozen, real, Unix seconds or a time"),
        (Names, 3, "a list of texts"),
        (Models, [3], "a list of texts"),
        (Models, {"a": 3}, "a table that gives each name a table of properties"),
        (Models, {"a": {"window": 3}}, "Extra inputs are not permitted"),
        (Models, {"a": {"aliases": "b"}, "b": None}, "is the name of a model already"),
        (TimingSetting, {"per_token": 1, "tokens_per_second": 1}, "give per_token or tokens_per_second, not both"),
    ],
)
def test_a_value_that_cannot_be(kind: Any, written: Any, complaint: str) -> None:
    with pytest.raises(ValidationError, match=complaint):
        TypeAdapter(kind).validate_python(written)
