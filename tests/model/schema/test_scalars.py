"""Numbers keep to bounds and steps, texts to lengths, patterns and formats."""

from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mockserver.core.seed import Seed
from mockserver.model.schema.document import UnsatisfiableError
from mockserver.model.schema.scalars import make_number, make_text


def numbers(*parts: Any, natural: tuple[float, float] = (1, 100), whole: bool = False) -> list[Any]:
    return [make_number(parts, natural, Seed(seed).stream("x"), whole=whole) for seed in range(30)]


@pytest.mark.parametrize(
    "schema",
    [
        {"minimum": 0.2, "maximum": 0.3},
        {"exclusiveMinimum": 0, "exclusiveMaximum": 1e-9},
        {"minimum": -1e308, "maximum": 1e308},
        {"maximum": -(10**25)},
        {"multipleOf": 0.01, "minimum": 19.99, "maximum": 20.01},
        {"multipleOf": 7, "exclusiveMinimum": 7, "exclusiveMaximum": 21},
        {"minimum": 0.1, "maximum": 0.1},
        {"minimum": 2**53 + 1, "type": "integer", "maximum": 2**53 + 1},
        {"multipleOf": 1.5, "type": "integer"},
        {"exclusiveMinimum": 3, "exclusiveMaximum": 5, "type": "integer"},
        {"multipleOf": 10**30, "type": "integer"},
    ],
    ids=str,
)
def test_numbers_satisfy(schema: Any) -> None:
    validator = jsonschema_rs.validator_for(schema)
    for found in numbers(schema, whole=schema.get("type") == "integer"):
        assert validator.is_valid(found), found
        assert isinstance(found, int) or schema.get("type") != "integer"


def test_all_parts_count() -> None:
    found = numbers({"minimum": 3}, {"maximum": 5}, {"multipleOf": 0.5}, {"multipleOf": 0.75})
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
    found = numbers(part, natural=natural, whole=True)
    assert all(low <= one <= high for one in found), found
    assert len(set(found)) > 1


def test_numbers_have_two_decimals() -> None:
    assert all(round(one, 2) == one for one in numbers())
    assert all(isinstance(one, float) for one in numbers())


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
def test_no_number_between_the_bounds(parts: Any) -> None:
    with pytest.raises(UnsatisfiableError, match="no number"):
        numbers(*parts)


def test_huge_steps_are_refused() -> None:
    with pytest.raises(UnsatisfiableError, match="no number of any use"):
        numbers({"multipleOf": 10**2000})


BOUND = st.integers(-(10**20), 10**20) | st.floats(-1e6, 1e6, allow_nan=False) | st.integers(-9, 9)
KEYS = st.sampled_from(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"])


@settings(deadline=None)
@given(st.dictionaries(KEYS, BOUND), st.none() | st.sampled_from([0.1, 0.25, 3, 7.5, 1e-6]), st.booleans())
def test_any_bounds_give_a_number_or_an_error(bounds: Any, step: Any, whole: bool) -> None:
    schema = {**bounds, **({} if step is None else {"multipleOf": step})}
    try:
        (found, *_) = numbers(schema, whole=whole)
    except UnsatisfiableError:
        return
    assert jsonschema_rs.is_valid({**schema, "type": "integer" if whole else "number"}, found), found


def texts(*parts: Any, hints: tuple[str, ...] = ()) -> list[str]:
    return [make_text(parts, hints, lambda at, seed=seed: Seed(seed).stream(str(at))) for seed in range(10)]  # type: ignore[misc]


@pytest.mark.parametrize(
    "parts",
    [
        [{}],
        [{"minLength": 10, "maxLength": 10}],
        [{"pattern": "^[A-Z]{2}$"}],
        [{"pattern": "^[a-z]+$", "minLength": 50, "maxLength": 60}],
        [{"pattern": "^[a-z]"}, {"pattern": "[0-9]$"}, {"maxLength": 12}],
        [{"pattern": "^(?=.*[A-Z])(?=.*[0-9])[A-Za-z0-9]{8,20}$"}],
        [{"pattern": "^(?!admin).{4,12}$"}],
        [{"pattern": "b", "minLength": 30}],
        [{"format": "uri", "pattern": "^https://"}],
        [{"format": "uuid"}, {"minLength": 36}],
        [{"contentEncoding": "base64"}],
        [{"contentMediaType": "application/json"}],
    ],
    ids=str,
)
def test_texts_satisfy(parts: list[Any]) -> None:
    draft = {"$schema": "http://json-schema.org/draft-07/schema#", "allOf": parts}
    validator = jsonschema_rs.validator_for(draft, validate_formats=True)
    assert all(map(validator.is_valid, texts(*parts)))


def test_plausible_texts_win_over_patterns() -> None:
    assert all(one[0].isupper() for one in texts({"pattern": "^[a-zA-Z]+$"}, hints=("city",)))


def test_excluded_texts_are_not_made() -> None:
    assert set(texts({"pattern": "^[ab]$"}, {"not in": ["a"]})) == {"b"}


@pytest.mark.parametrize(
    ("part", "why", "keyword"),
    [
        ({"minLength": 3, "maxLength": 2}, "no text has 3 characters and no more than 2", "minLength"),
        ({"minLength": 10**9}, "a text of 1,000,000,000 characters is not made, only up to 20,000", "minLength"),
        ({"pattern": "^a{3}$", "maxLength": 2}, "no text was found for the pattern", "pattern"),
        ({"format": "uuid", "maxLength": 2}, "no text was found for the format 'uuid'", "format"),
        ({"not in": [""], "maxLength": 0}, "no text was found that is allowed", ""),
    ],
)
def test_why_no_text_can_be_made(part: Any, why: str, keyword: str) -> None:
    with pytest.raises(UnsatisfiableError, match=why) as caught:
        texts(part)
    assert caught.value.pointer == keyword
