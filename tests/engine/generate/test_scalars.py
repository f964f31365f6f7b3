"""Strings and numbers that fit the names of their properties."""

import re
from typing import Any

import pytest

from mockserver.core.seed import Seed
from mockserver.engine.generate.scalars import SCALARS, DeadEndError


def drawn(kind: str, name: str = "", **schema: Any) -> list[Any]:
    return [SCALARS[kind](schema, name, Seed(seed).stream("scalars")) for seed in range(30)]


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("email", r"[a-z]+\.[a-z]+@example\.com"),
        ("userEmail", r"[a-z]+\.[a-z]+@example\.com"),
        ("customer_name", r"[A-Z][a-z]+ [A-Z][a-z]+"),
        ("first_name", r"[A-Z][a-z]+ [A-Z][a-z]+"),
        ("name_of_city", r"[A-Z][a-z]+"),
        ("orderId", r"[0-9a-f]{12}"),
        ("phone", r"\+1-555-01\d\d"),
        ("homeURL", r"https://example\.com/\w+"),
        ("birth-date", r"202[23]-\d\d-\d\d"),
        ("start_time", r"\d\d:\d\d"),
        ("remark", r"\w+( \w+){0,2}"),
        ("", r"\w+( \w+){0,2}"),
    ],
)
def test_strings_by_name(name: str, pattern: str) -> None:
    found = drawn("string", name)
    assert all(re.fullmatch(pattern, value) for value in found), found
    assert len(set(found)) > 5


@pytest.mark.parametrize(
    ("name", "schema", "low", "high"),
    [
        ("", {}, 1, 100),
        ("age", {}, 18, 80),
        ("age", {"minimum": 21}, 21, 80),
        ("age", {"minimum": 200}, 200, 262),
        ("age", {"maximum": 10}, -52, 10),
        ("age", {"minimum": 0, "maximum": 200}, 18, 80),
        ("rating", {"exclusiveMinimum": 1, "exclusiveMaximum": 4}, 2, 3),
        ("", {"minimum": 1, "exclusiveMinimum": True}, 1, 100),
    ],
)
def test_numbers_stay_in_their_range(name: str, schema: dict[str, Any], low: int, high: int) -> None:
    whole = drawn("integer", name, **schema)
    assert all(isinstance(value, int) and low <= value <= high for value in whole), whole
    assert all(low - 1 < value < high + 1 for value in drawn("number", name, **schema))
    assert len(set(whole)) > 1


def test_numbers_are_round_where_they_can_be() -> None:
    assert all(round(value, 2) == value for value in drawn("number"))
    assert all(0 < value < 0.001 for value in drawn("number", minimum=0, maximum=0.001))


@pytest.mark.parametrize("step", [7, 0.25, 3000])
def test_multiples(step: float) -> None:
    assert all(value % step == 0 for value in drawn("number", multipleOf=step))


def test_lengths() -> None:
    assert {len(value) for value in drawn("string", "city", minLength=10, maxLength=10)} == {10}
    with pytest.raises(DeadEndError):
        drawn("string", minLength=20_001)


def test_nothing_lies_between() -> None:
    with pytest.raises(DeadEndError):
        drawn("integer", minimum=2.1, maximum=2.9)


def test_the_plain_ones() -> None:
    assert set(drawn("boolean")) == {True, False}
    assert set(drawn("null")) == {None}
