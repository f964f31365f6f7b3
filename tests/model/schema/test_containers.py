"""Objects and arrays have what they must, and what else is plausible."""

from typing import Any

import jsonschema_rs
import pytest

from mockserver.core.plan import Failure
from mockserver.core.seed import Seed
from mockserver.model.schema import generate_instance


def made_object(schema: Any, seed: int = 0) -> Any:
    found = generate_instance({"type": "object", **schema}, Seed(seed))
    assert jsonschema_rs.is_valid({"type": "object", **schema}, found)
    return found


def test_properties_keep_the_order_of_the_schema() -> None:
    properties = {name: {"type": "null"} for name in ("zulu", "alpha", "mike")}
    assert list(made_object({"properties": properties, "required": ["mike", "extra", "alpha", "zulu"]})) == [
        *properties,
        "extra",
    ]


def test_optional_properties_are_mostly_there() -> None:
    properties: Any = {f"p{at}": {"const": at} for at in range(10)}
    sizes = [len(made_object({"properties": properties}, seed)) for seed in range(20)]
    assert 7 < sum(sizes) / len(sizes) < 10


def test_one_property_more_shifts_no_other() -> None:
    properties: Any = {name: {"type": "string"} for name in ("a", "b", "c")}
    one = made_object({"properties": properties})
    more = made_object({"properties": {"first": {"type": "integer"}, **dict(reversed(properties.items()))}})
    assert one == {name: value for name, value in more.items() if name != "first"}


@pytest.mark.parametrize(
    "schema",
    [
        {"dependentRequired": {"a": ["b"], "b": ["c"]}, "required": ["a"]},
        {"dependencies": {"a": ["b"]}, "required": ["a"]},
        {"dependentSchemas": {"a": {"properties": {"b": {"const": 1}}, "required": ["b"]}}, "required": ["a"]},
        {"properties": {"a": {}, "b": False}, "dependentRequired": {"a": ["b"]}},
        {"minProperties": 3, "additionalProperties": {"type": "integer"}},
        {"minProperties": 2, "properties": {"a": {}, "b": {}}, "additionalProperties": False},
        {"minProperties": 2, "patternProperties": {"^x-[a-z]{3}$": {}}, "additionalProperties": False},
        {"minProperties": 3, "propertyNames": {"pattern": "^[A-Z]{2}$"}},
        {"minProperties": 2, "propertyNames": {"maxLength": 3}, "additionalProperties": {"type": "string"}},
        {"minProperties": 9, "patternProperties": {"^x-": {}}, "additionalProperties": False},
        {"minProperties": 3, "patternProperties": {"_id$": {}}, "additionalProperties": False},
        {"minProperties": 3, "patternProperties": {"^(a|b)$": {}, "^(?:c|d)$": {}}, "additionalProperties": False},
        {"minProperties": 3, "propertyNames": {"pattern": "^x-"}},
        {"maxProperties": 1, "properties": {"a": {}, "b": {}, "c": {}}},
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
def test_objects_satisfy(schema: Any) -> None:
    for seed in range(10):
        made_object(schema, seed)


def test_maps_are_not_left_empty() -> None:
    assert all(made_object({"additionalProperties": {"type": "integer"}}, seed) for seed in range(5))
    assert all(made_object({"patternProperties": {"^[A-Z]{3}$": {"type": "integer"}}}, seed) for seed in range(5))
    assert made_object({}) == {}


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        (
            {"minProperties": 10**9},
            "cannot generate 1,000,000,000 properties; the limit is 2,000 (at #/minProperties)",
        ),
        (
            {"required": ["a", "b"], "maxProperties": 1},
            "more properties are required than are allowed (at #/maxProperties)",
        ),
        ({"minProperties": 1, "additionalProperties": False}, "could not find 1 allowed property names"),
        (
            {"required": ["a"], "additionalProperties": False},
            "the property 'a' is required, and nothing is allowed there",
        ),
    ],
    ids=str,
)
def test_why_no_object_can_be_made(schema: Any, why: str) -> None:
    with pytest.raises(Failure) as caught:
        made_object(schema)
    assert why in str(caught.value)


def made_array(schema: Any, seed: int = 0) -> Any:
    found = generate_instance({"type": "array", **schema}, Seed(seed))
    assert jsonschema_rs.is_valid({"type": "array", **schema}, found), found
    return found


OLD = {"$schema": "http://json-schema.org/draft-07/schema#"}


@pytest.mark.parametrize(
    "schema",
    [
        {"items": {"type": "integer"}, "minItems": 40, "uniqueItems": True},
        {"items": {"type": "integer", "minimum": 0, "maximum": 4}, "minItems": 5, "uniqueItems": True},
        {"items": {"type": "number", "multipleOf": 0.5, "minimum": -1, "maximum": 1}, "minItems": 5}
        | {"uniqueItems": True},
        {"items": {"enum": [1, 2, 3]}, "minItems": 3, "uniqueItems": True},
        {"items": {"type": "string", "pattern": "^SKU-"}, "minItems": 40, "uniqueItems": True},
        {"items": {"type": "string", "pattern": "v[1-3]$", "maxLength": 3}, "minItems": 9, "uniqueItems": True},
        {"items": {"type": "string", "pattern": "^SKU-", "not": {"const": "SKU-"}}, "minItems": 1},
        {"items": {"type": "boolean"}, "minItems": 2, "uniqueItems": True},
        {"items": {"type": "object", "properties": {"a": {"enum": [1, 2]}}, "required": ["a"]}, "minItems": 2}
        | {"uniqueItems": True},
        {"prefixItems": [{"type": "string"}, {"type": "boolean"}], "items": False, "minItems": 2},
        {"prefixItems": [{"type": "string"}], "items": {"type": "null"}, "minItems": 4},
        OLD | {"items": [{"type": "string"}], "minItems": 2, "additionalItems": {"type": "integer"}},
        OLD | {"items": [{"type": "string"}, {"type": "null"}], "additionalItems": False},
        {"contains": {"const": 5}, "minContains": 3, "items": {"type": "integer"}},
        {"contains": {"type": "string"}, "maxContains": 1, "minItems": 3},
        {"contains": {"const": 5}, "maxContains": 1, "items": {"enum": [5, 6]}, "minItems": 3},
        {"contains": {"const": 5}, "minContains": 0, "maxContains": 0, "items": {"enum": [5, 6]}, "minItems": 3},
        {"contains": {"const": 5}, "maxContains": 2, "prefixItems": [{"enum": [5, 6]}], "minItems": 4}
        | {"items": {"enum": [5, 6, 7, 8]}, "uniqueItems": True},
        {"allOf": [{"contains": {"enum": [5, 7]}, "maxContains": 2}, {"contains": {"enum": [5, 8]}}]}
        | {"items": {"enum": [5, 6, 7, 8]}, "minItems": 6},
        {"contains": True, "maxContains": 2, "items": {"type": "integer"}},
        {"contains": {"minimum": 5}, "prefixItems": [{"type": "integer"}], "items": False},
        {"contains": {"const": 1}, "prefixItems": [{"type": "integer"}], "items": {"type": "string"}, "minItems": 2},
        {"contains": {"const": 1}, "prefixItems": [{"type": "integer"}, {"type": "string"}], "items": False}
        | {"minItems": 2},
        {"contains": {"type": "integer"}, "minContains": 2, "items": {"type": "string"}, "minItems": 4}
        | {"prefixItems": [{}, {"type": "string"}, {"type": "integer"}]},
        {"allOf": [{"contains": {"const": 1}}, {"contains": {"const": 2}}]},
        {"allOf": [{"minItems": 2}, {"maxItems": 2}, {"items": {"minimum": 3}}, {"items": {"maximum": 3}}]},
        {"prefixItems": [{"const": 1}], "unevaluatedItems": False},
    ],
    ids=str,
)
def test_arrays_satisfy(schema: Any) -> None:
    for seed in range(10):
        made_array(schema, seed)


def test_lists_are_neither_empty_nor_long() -> None:
    assert {len(made_array({"items": {"type": "integer"}}, seed)) for seed in range(30)} == {1, 2, 3}


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"minItems": 10**9}, "cannot generate 1,000,000,000 items; the limit is 1,000 (at #/minItems)"),
        ({"items": {"const": 1}, "minItems": 2, "uniqueItems": True}, "differs from the others (at #/uniqueItems)"),
        ({"prefixItems": [{}], "items": False, "minItems": 2}, "no more than 1 items are allowed, and 2 are demanded"),
        (
            {"contains": {}, "minContains": 3, "maxItems": 2},
            "more items are needed than the 2 that are allowed (at #/contains)",
        ),
        (
            {"contains": {"type": "null"}, "minContains": 10**9},
            "more items are needed than the 1,000 that are allowed",
        ),
        (
            {"contains": {"type": "integer"}, "minContains": 999, "items": {"type": "string"}},
            "no item that is allowed can be what is demanded (at #/contains)",
        ),
        (
            {"contains": {"const": 5}, "maxContains": 1, "items": {"const": 5}, "minItems": 2},
            "no further item was found that is not one too many of these (at #/maxContains)",
        ),
    ],
    ids=str,
)
def test_why_no_array_can_be_made(schema: Any, why: str) -> None:
    with pytest.raises(Failure) as caught:
        made_array(schema)
    assert why in str(caught.value)
