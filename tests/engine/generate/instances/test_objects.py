"""Tables have what they must, and what else is plausible."""

from typing import Any

import jsonschema_rs
import pytest

from mockserver.core.plan import Failure
from mockserver.core.seed import Seed
from mockserver.model.schema import instance


def made(schema: Any, seed: int = 0) -> Any:
    found = instance({"type": "object", **schema}, Seed(seed))
    assert jsonschema_rs.is_valid({"type": "object", **schema}, found)
    return found


def test_properties_keep_the_order_of_the_schema() -> None:
    properties = {name: {"type": "null"} for name in ("zulu", "alpha", "mike")}
    assert list(made({"properties": properties, "required": ["mike", "extra", "alpha", "zulu"]})) == [
        *properties,
        "extra",
    ]


def test_optional_properties_are_mostly_there() -> None:
    properties: Any = {f"p{at}": {"const": at} for at in range(10)}
    sizes = [len(made({"properties": properties}, seed)) for seed in range(20)]
    assert 7 < sum(sizes) / len(sizes) < 10


def test_one_property_more_shifts_no_other() -> None:
    properties: Any = {name: {"type": "string"} for name in ("a", "b", "c")}
    one = made({"properties": properties})
    more = made({"properties": {"first": {"type": "integer"}, **dict(reversed(properties.items()))}})
    assert one == {name: value for name, value in more.items() if name != "first"}


@pytest.mark.parametrize(
    "schema",
    [
        {"dependentRequired": {"a": ["b"], "b": ["c"]}, "required": ["a"]},
        {"dependencies": {"a": ["b"]}, "required": ["a"]},
        {"dependencies": {"a": {"required": ["b"]}}, "required": ["a"]},
        {"dependentSchemas": {"a": {"properties": {"b": {"const": 1}}, "required": ["b"]}}, "required": ["a"]},
        {"properties": {"a": {}, "b": False}, "dependentRequired": {"a": ["b"]}},
        {"minProperties": 3},
        {"minProperties": 3, "additionalProperties": {"type": "integer"}},
        {"minProperties": 2, "properties": {"a": {}, "b": {}}, "additionalProperties": False},
        {"minProperties": 2, "patternProperties": {"^x-[a-z]{3}$": {}}, "additionalProperties": False},
        {"minProperties": 3, "propertyNames": {"pattern": "^[A-Z]{2}$"}},
        {"minProperties": 2, "propertyNames": {"enum": ["a", "b"]}},
        {"minProperties": 2, "propertyNames": {"maxLength": 3}, "additionalProperties": {"type": "string"}},
        {"maxProperties": 1, "properties": {"a": {}, "b": {}, "c": {}}},
        {"maxProperties": 0, "properties": {"a": {}}},
        {"maxProperties": 2, "required": ["a"], "properties": {"b": {}, "c": {}}, "dependentRequired": {"b": ["c"]}},
        {"properties": {"a": {}, "toolong": {}}, "propertyNames": {"maxLength": 3}},
        {"patternProperties": {"^a": {"type": "integer"}}, "required": ["ab"], "properties": {"ab": {"minimum": 500}}},
        {"allOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}], "unevaluatedProperties": False},
        {"allOf": [{"properties": {"a": {}}, "additionalProperties": False}, {"properties": {"a": {}, "b": {}}}]},
        {"properties": {"a": {"minLength": 10**9, "type": "string"}, "b": {"const": 1}}},
        {"properties": {"a": {"allOf": [{"type": "string"}, {"type": "null"}]}}},
    ],
    ids=str,
)
def test_tables_satisfy(schema: Any) -> None:
    for seed in range(10):
        made(schema, seed)


def test_maps_are_not_left_empty() -> None:
    assert all(made({"additionalProperties": {"type": "integer"}}, seed) for seed in range(5))
    assert all(made({"patternProperties": {"^[A-Z]{3}$": {"type": "integer"}}}, seed) for seed in range(5))
    assert made({}) == {}


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        (
            {"minProperties": 10**9},
            "an object of 1,000,000,000 properties is not made, only up to 2,000 (at #/minProperties)",
        ),
        (
            {"required": ["a", "b"], "maxProperties": 1},
            "more properties are required than are allowed (at #/maxProperties)",
        ),
        ({"minProperties": 1, "additionalProperties": False}, "no 1 properties were found that are allowed"),
        (
            {"required": ["a"], "additionalProperties": False},
            "the property 'a' is required, and nothing is allowed there",
        ),
    ],
    ids=str,
)
def test_what_cannot_be_made_is_said(schema: Any, why: str) -> None:
    with pytest.raises(Failure) as caught:
        made(schema)
    assert why in str(caught.value)
