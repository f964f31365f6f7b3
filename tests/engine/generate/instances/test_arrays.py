"""Lists have the items that they must, in their places."""

from typing import Any

import jsonschema_rs
import pytest

from mockserver.core.plan import Failure
from mockserver.core.seed import Seed
from mockserver.model.schema import instance


def made(schema: Any, seed: int = 0) -> Any:
    found = instance({"type": "array", **schema}, Seed(seed))
    assert jsonschema_rs.is_valid({"type": "array", **schema}, found), found
    return found


OLD = {"$schema": "http://json-schema.org/draft-07/schema#"}


@pytest.mark.parametrize(
    "schema",
    [
        {"minItems": 5},
        {"maxItems": 0},
        {"items": {"type": "integer"}, "minItems": 40, "uniqueItems": True},
        {"items": {"enum": [1, 2, 3]}, "minItems": 3, "uniqueItems": True},
        {"items": {"type": "boolean"}, "minItems": 2, "uniqueItems": True},
        {"items": {"type": "object", "properties": {"a": {"enum": [1, 2]}}, "required": ["a"]}, "minItems": 2}
        | {"uniqueItems": True},
        {"items": {"enum": [1, 2]}, "uniqueItems": True},
        {"prefixItems": [{"type": "string"}, {"type": "boolean"}], "items": False, "minItems": 2},
        {"prefixItems": [{"type": "string"}], "items": {"type": "null"}, "minItems": 4},
        {"prefixItems": [{"const": 1}, False]},
        OLD | {"items": [{"type": "string"}], "minItems": 2, "additionalItems": {"type": "integer"}},
        OLD | {"items": [{"type": "string"}, {"type": "null"}], "additionalItems": False},
        {"contains": {"const": 5}},
        {"contains": {"const": 5}, "minContains": 3, "items": {"type": "integer"}},
        {"contains": {"type": "string"}, "maxContains": 1, "minItems": 3},
        {"contains": {"const": 5}, "minContains": 0, "maxItems": 0},
        {"contains": {"const": 5}, "minContains": 2, "maxItems": 2},
        {"contains": {"minimum": 5}, "prefixItems": [{"type": "integer"}], "items": False},
        {"allOf": [{"contains": {"const": 1}}, {"contains": {"const": 2}}]},
        {"allOf": [{"minItems": 2}, {"maxItems": 2}, {"items": {"minimum": 3}}, {"items": {"maximum": 3}}]},
        {"prefixItems": [{"const": 1}], "unevaluatedItems": False},
    ],
    ids=str,
)
def test_lists_satisfy(schema: Any) -> None:
    for seed in range(10):
        made(schema, seed)


def test_lists_are_neither_empty_nor_long() -> None:
    assert {len(made({"items": {"type": "integer"}}, seed)) for seed in range(30)} == {1, 2, 3}


def test_items_differ() -> None:
    first, *others = made({"items": {"type": "string"}, "minItems": 5})
    assert set(others) - {first}


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"minItems": 10**9}, "a list of 1,000,000,000 items is not made, only up to 1,000 (at #/minItems)"),
        ({"items": {"const": 1}, "minItems": 2, "uniqueItems": True}, "differs from the others (at #/uniqueItems)"),
        ({"prefixItems": [{}], "items": False, "minItems": 2}, "no more than 1 items are allowed, and 2 are demanded"),
        (
            {"contains": {}, "minContains": 3, "maxItems": 2},
            "more items are demanded than the 2 that there may be (at #/contains)",
        ),
        (
            {"contains": {"type": "null"}, "minContains": 10**9},
            "more items are demanded than the 1,000 that there may be",
        ),
    ],
    ids=str,
)
def test_what_cannot_be_made_is_said(schema: Any, why: str) -> None:
    with pytest.raises(Failure) as caught:
        made(schema)
    assert why in str(caught.value)
