"""Numbers keep to bounds and steps, texts to lengths, patterns and formats; both suit what properties are called."""

import re
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mockserver.core.seed import Seed
from mockserver.model.schema.document import UnsatisfiableError
from mockserver.model.schema.scalars import (
    FORMATS,
    Numbers,
    Texts,
    find_draw,
    find_natural_range,
    read_texts_by_name,
)


def numbers(*parts: Any, natural: tuple[float, float] = (1, 100), whole: bool = False) -> list[Any]:
    return [Numbers(parts, whole=whole).draw(natural, Seed(seed).stream("x")) for seed in range(30)]


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


@pytest.mark.parametrize(
    ("part", "lowest"),
    [({"minimum": 0}, 0), ({"minimum": -5, "maximum": 3}, -5), ({"maximum": 3}, 1), ({}, 1)],
    ids=str,
)
def test_rejections_reach_down_to_a_stated_minimum(part: Any, lowest: int) -> None:
    drawn = Numbers([{"maximum": 9}, part], whole=True)
    found = {drawn.draw((1, 100), Seed(seed).stream("x"), rejections=seed % 9) for seed in range(200)}
    assert min(found) == lowest


def test_numbers_have_two_decimals() -> None:
    assert all(round(one, 2) == one for one in numbers())
    assert all(isinstance(one, float) for one in numbers())


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
    return [Texts(parts).draw(hints, lambda at, _, seed=seed: Seed(seed).stream(str(at))) for seed in range(10)]  # type: ignore[misc]


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


@pytest.mark.parametrize(
    ("part", "why", "keyword"),
    [
        ({"minLength": 3, "maxLength": 2}, "no text has 3 characters and no more than 2", "minLength"),
        ({"minLength": 10**9}, "cannot generate 1,000,000,000 characters; the limit is 20,000", "minLength"),
        ({"pattern": "^a{3}$", "maxLength": 2}, "no text was found that has the pattern", "pattern"),
        ({"format": "uuid", "maxLength": 2}, "no text was found that has the format 'uuid'", "format"),
    ],
)
def test_why_no_text_can_be_made(part: Any, why: str, keyword: str) -> None:
    with pytest.raises(UnsatisfiableError, match=why) as caught:
        texts(part)
    assert caught.value.pointer == keyword


def drawn(*hints: str) -> list[str]:
    return [find_draw(hints)(Seed(seed).stream("x")) for seed in range(30)]


@pytest.mark.parametrize(
    ("hints", "pattern"),
    [
        (("email",), r"[a-z]+\.[a-z]+@example\.com"),
        (("customer_name",), r"[A-Z][a-z]+ [A-Z][a-z]+"),
        (("fileName",), r"\w+\.\w+"),
        (("name_of_city",), r"[A-Z][a-z]+"),
        (("orderId",), r"[0-9a-f]{12}"),
        (("phone",), r"\+1-555-01\d\d"),
        (("birth-date",), r"202[23]-\d\d-\d\d"),
        (("start_time",), r"\d\d:\d\d"),
        (("x", "The city to look up"), r"[A-Z][a-z]+"),
        (("remark",), r"\w+( \w+){0,2}"),
        (("explanation",), r"[A-Z][^.]+\."),
        ((), r"\w+( \w+){0,2}"),
    ],
    ids=str,
)
def test_texts_suit_their_names(hints: tuple[str, ...], pattern: str) -> None:
    found = drawn(*hints)
    assert all(re.fullmatch(pattern, one) for one in found), found
    assert len(set(found)) > 5


@pytest.mark.parametrize("name", read_texts_by_name())
def test_every_known_name_gives_a_line(name: str) -> None:
    found = drawn(name.title().replace(" ", ""))
    assert all(one and "\n" not in one for one in found)
    assert found == drawn(name.title().replace(" ", ""))


def test_no_real_people_or_hosts() -> None:
    everything = " ".join(text for name in read_texts_by_name() for text in drawn(name))
    assert set(re.findall(r"[\w.]+@([\w.]+)", everything)) == {"example.com"}
    assert set(re.findall(r"https?://([\w.]+)", everything)) == {"example.com"}


@pytest.mark.parametrize(
    ("hints", "expected"),
    [
        (("age",), (18, 80)),
        (("n", "Share in percent"), (0, 100)),
        (("count",), (1, 100)),
        ((), (1, 100)),
    ],
)
def test_numbers_have_natural_ranges(hints: tuple[str, ...], expected: tuple[float, float]) -> None:
    assert find_natural_range(hints) == expected


@pytest.mark.parametrize("kind", FORMATS)
def test_texts_satisfy_their_formats(kind: str) -> None:
    validator = jsonschema_rs.validator_for({"format": kind}, validate_formats=True)
    found = [FORMATS[kind](Seed(seed).stream("x")) for seed in range(30)]
    assert all(map(validator.is_valid, found)), found
    assert len(set(found)) > 5


ELASTIC = ["email", "idn-email", "hostname", "idn-hostname", "uri", "uri-reference", "iri", "iri-reference"]
ELASTIC += ["uri-template", "json-pointer", "relative-json-pointer", "regex"]


@pytest.mark.parametrize("kind", ELASTIC)
@pytest.mark.parametrize(
    "lengths",
    [
        {"maxLength": 6},
        {"maxLength": 11},
        {"maxLength": 20},
        {"minLength": 30},
        {"minLength": 120},
        {"minLength": 27, "maxLength": 27},
    ],
    ids=str,
)
def test_formats_keep_to_lengths(kind: str, lengths: Any) -> None:
    part = {"format": kind, **lengths}
    validator = jsonschema_rs.validator_for(part, validate_formats=True)
    found = texts(part)
    assert all(map(validator.is_valid, found)), found
    assert len(set(found)) > 2


@pytest.mark.parametrize(
    ("kind", "shortest"),
    [
        ("email", 6),
        ("hostname", 1),
        ("uri", 5),
        ("uri-reference", 1),
        ("uri-template", 1),
        ("regex", 1),
        ("json-pointer", 0),
        ("relative-json-pointer", 1),
    ],
)
def test_short_texts_satisfy_their_formats(kind: str, shortest: int) -> None:
    for length in range(shortest, 40):
        part = {"format": kind, "minLength": length, "maxLength": length}
        assert all(map(jsonschema_rs.validator_for(part, validate_formats=True).is_valid, texts(part)))


@pytest.mark.parametrize(
    ("hint", "pattern"),
    [
        ("email", r"[a-z.]+@[a-z]+(\.[a-z]+)+"),
        ("domain", r"[a-z]+(\.[a-z]+)+"),
        ("link", r"https?://[a-z]+(\.[a-z]+)+(/[a-z]*)*"),
    ],
)
@pytest.mark.parametrize("lengths", [{"maxLength": 12}, {"maxLength": 20}, {"minLength": 40}], ids=str)
def test_texts_of_a_known_kind_are_not_cut(hint: str, pattern: str, lengths: Any) -> None:
    found = texts(lengths, hints=(hint,))
    assert all(re.fullmatch(pattern, one) for one in found), found
    assert all(map(jsonschema_rs.validator_for(lengths).is_valid, found)), found
