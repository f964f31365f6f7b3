"""What is a scalar, and in which words what is none is refused."""

from typing import Any

import pytest
from pydantic_core import SchemaValidator, ValidationError

from mockserver.dialects._fields import union
from mockserver.dialects.fireworks import bodies


def outcome(kind: Any, value: Any) -> Any:
    """The value as it is read, or the types of the errors."""
    try:
        return SchemaValidator(kind, {"strict": True}).validate_python(value)
    except ValidationError as error:
        return [details["type"] for details in error.errors()]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (5, 5),
        (5.0, 5),
        (1.5, ["int_from_float"]),
        ("5", ["int_type"]),
        ("five", ["int_parsing"]),
        ("", ["int_parsing"]),
        (True, ["int_type"]),
        (None, ["int_type"]),
        ([], ["int_type"]),
    ],
)
def test_integers(value: Any, expected: Any) -> None:
    read = outcome(bodies.Int, value)
    assert read == expected
    assert type(read) is type(expected)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1, 1.0),
        (0.5, 0.5),
        ("0.5", ["float_type"]),
        ("half", ["float_parsing"]),
        (True, ["float_type"]),
        ({}, ["float_type"]),
    ],
)
def test_numbers(value: Any, expected: Any) -> None:
    assert outcome(bodies.Number, value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, True),
        (False, False),
        (1, ["bool_type"]),
        (0.0, ["bool_type"]),
        (2, ["bool_parsing"]),
        (1.5, ["bool_type"]),
        ("yes", ["bool_type"]),
        ("TRUE", ["bool_type"]),
        ("perhaps", ["bool_parsing"]),
        (None, ["bool_type"]),
    ],
)
def test_truths(value: Any, expected: Any) -> None:
    read = outcome(bodies.Bool, value)
    assert read == expected
    assert type(read) is type(expected)


@pytest.mark.parametrize(("value", "kind"), [(True, bool), (1, int), (0, int), (False, bool), (1.0, int)])
def test_a_truth_and_an_integer_are_distinct(value: Any, kind: type) -> None:
    assert type(outcome(union(bodies.FewInt, bodies.Bool), value)) is kind


@pytest.mark.parametrize(
    ("kind", "low", "high"),
    [(bodies.Share, 0, 1), (bodies.FromZeroToTwo, 0, 2), (bodies.Penalty, -2, 2), (bodies.Bias, -100, 100)],
)
def test_bounds(kind: Any, low: float, high: float) -> None:
    assert (outcome(kind, low), outcome(kind, high)) == (low, high)
    assert (outcome(kind, low - 0.5), outcome(kind, high + 0.5)) == (["greater_than_equal"], ["less_than_equal"])


def test_of_many_wrong_entries_few_are_told() -> None:
    assert outcome(bodies.Pairs, {str(n): None for n in range(5000)}) == ["string_type"]
    assert outcome(bodies.Pairs, {"a": 1, "b": 2}) == ["string_type"] * 2
    assert outcome(bodies.Biases, {str(n): 1 for n in range(100)}) == {str(n): 1.0 for n in range(100)}
    assert outcome(bodies.Ints, ["x"] * 5000) == ["int_parsing"]
