"""Numbers keep to bounds and steps, to the last decimal."""

from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.core.seed import Seed
from mockserver.model.schema.document import DeadEndError
from mockserver.model.schema.scalars import number, span


def drawn(*parts: Any, natural: tuple[float, float] = (1, 100), whole: bool = False) -> list[Any]:
    return [number(parts, natural, Seed(seed).stream("x"), whole=whole) for seed in range(30)]


@pytest.mark.parametrize(
    "schema",
    [
        {"minimum": 0.2, "maximum": 0.3},
        {"exclusiveMinimum": 0, "exclusiveMaximum": 1e-9},
        {"minimum": -1e308, "maximum": 1e308},
        {"minimum": 10**400},
        {"maximum": -(10**25)},
        {"multipleOf": 0.05},
        {"multipleOf": 0.01, "minimum": 19.99, "maximum": 20.01},
        {"multipleOf": 1e-8, "minimum": 5},
        {"multipleOf": 7, "exclusiveMinimum": 7, "exclusiveMaximum": 21},
        {"minimum": 0.1, "maximum": 0.1},
        {"minimum": 1e-300, "maximum": 2e-300},
        {"minimum": 2**53 + 1, "type": "integer", "maximum": 2**53 + 1},
        {"multipleOf": 1.5, "type": "integer"},
        {"exclusiveMinimum": 3, "exclusiveMaximum": 5, "type": "integer"},
        {"multipleOf": 10**30, "type": "integer"},
    ],
    ids=str,
)
def test_numbers_satisfy(schema: Any) -> None:
    validator = jsonschema_rs.validator_for(schema)
    for found in drawn(schema, whole=schema.get("type") == "integer"):
        assert validator.is_valid(found), found
        assert isinstance(found, int) or schema.get("type") != "integer"


def test_parts_narrow_each_other() -> None:
    found = drawn({"minimum": 3}, {"maximum": 5}, {"multipleOf": 0.5}, {"multipleOf": 0.75})
    assert set(found) == {3, 4.5}


@pytest.mark.parametrize(
    ("natural", "part", "low", "high"),
    [
        ((18, 80), {}, 18, 80),
        ((18, 80), {"minimum": 21}, 21, 80),
        ((18, 80), {"minimum": 200}, 200, 262),
        ((18, 80), {"maximum": 10}, -52, 10),
        ((18, 80), {"minimum": 0, "maximum": 200}, 18, 80),
        ((1, 100), {"minimum": 1, "exclusiveMinimum": True}, 2, 100),
        ((0, 1), {}, 0, 9),
    ],
)
def test_the_natural_range_is_moved_and_narrowed(natural: Any, part: Any, low: int, high: int) -> None:
    found = drawn(part, natural=natural, whole=True)
    assert all(low <= one <= high for one in found), found
    assert len(set(found)) > 1


def test_numbers_are_round_where_they_can_be() -> None:
    assert all(round(one, 2) == one for one in drawn())
    assert all(isinstance(one, float) for one in drawn())


@pytest.mark.parametrize(
    "parts",
    [
        [{"minimum": 5, "maximum": 3}],
        [{"minimum": 2.1, "maximum": 2.9, "multipleOf": 1}],
        [{"exclusiveMinimum": 1, "maximum": 1}],
        [{"minimum": 1}, {"exclusiveMaximum": 1}],
        [{"minimum": 1, "exclusiveMinimum": True, "maximum": 1}],
    ],
    ids=str,
)
def test_where_nothing_lies_between(parts: Any) -> None:
    with pytest.raises(DeadEndError, match="no number"):
        drawn(*parts)


def test_steps_that_are_of_no_use_are_refused() -> None:
    with pytest.raises(DeadEndError, match="no number of any use"):
        drawn({"multipleOf": 10**2000})


def test_bounds_are_the_narrowest() -> None:
    found = span(({"minimum": 1, "maximum": 9}, {"exclusiveMinimum": 1, "exclusiveMaximum": 9}))
    assert (found.low, found.high, found.low_open, found.high_open) == (1, 9, True, True)


BOUND = st.integers(-(10**20), 10**20) | st.floats(-1e6, 1e6, allow_nan=False) | st.integers(-9, 9)
KEYS = st.sampled_from(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"])


@given(st.dictionaries(KEYS, BOUND), st.none() | st.sampled_from([0.1, 0.25, 3, 7.5, 1e-6]), st.booleans())
def test_any_bounds_give_a_number_or_an_error(bounds: Any, step: Any, whole: bool) -> None:
    schema = {**bounds, **({} if step is None else {"multipleOf": step})}
    try:
        (found, *_) = drawn(schema, whole=whole)
    except DeadEndError:
        return
    assert jsonschema_rs.is_valid({**schema, "type": "integer" if whole else "number"}, found), found
