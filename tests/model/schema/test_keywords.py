"""What several schemas say together, and how they are violated."""

from typing import Any

import pytest

from mockserver.model.schema.document import SchemaDocument, UnsatisfiableError
from mockserver.model.schema.keywords import (
    allowed_types,
    flatten,
    is_excluded,
    item_schemas,
    listed_values,
    lower_limit,
    property_names,
    property_schemas,
    required_names,
    tuple_length,
    upper_limit,
)


def test_flat_follows_references_and_all_of() -> None:
    schema: Any = {"title": "a", "allOf": [{"$ref": "#/$defs/x"}, True], "$defs": {"x": {"title": "b", "$ref": "#"}}}
    assert [part["title"] for part in flatten(SchemaDocument(schema), (schema,)) if "title" in part] == ["a", "b"]
    with pytest.raises(UnsatisfiableError, match="nothing is allowed"):
        flatten(SchemaDocument({"allOf": [False]}), ({"allOf": [False]},))


def test_beside_a_reference_old_drafts_say_only_words() -> None:
    schema: Any = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "properties": {"a": {"$ref": "#/definitions/x", "type": "string", "title": "words"}},
        "definitions": {"x": {"type": "integer"}},
    }
    found = flatten(SchemaDocument(schema), (schema["properties"]["a"],))
    assert found == ({"title": "words"}, {"type": "integer"})


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        ([], "string number integer boolean object array null"),
        (["string"], "string"),
        ([["string", "null"], ["null", "integer"]], "null"),
        (["number", "integer"], "integer"),
        (["integer", "number"], "integer"),
        ([["number", "string"], ["integer", "number"]], "number"),
        (["string", "integer"], ""),
    ],
)
def test_types_that_are_left(types: list[Any], expected: str) -> None:
    assert " ".join(allowed_types(tuple({"type": one} for one in types))) == expected


def test_listed_values_are_shared() -> None:
    assert listed_values(({"enum": [1, 2, "a"]}, {"enum": ["a", 2]}, {"const": 2})) == [2]
    assert listed_values(({"enum": [1, True]}, {"not in": [1]})) == [True]
    assert listed_values(({"type": "string"},)) is None
    assert is_excluded(({"not in": [1]},), 1)
    assert not is_excluded(({"not in": [1]},), True)


def test_the_strictest_limits_win() -> None:
    parts = ({"minLength": 2, "maxLength": 9}, {"minLength": 5}, {"maxLength": 7})
    assert (lower_limit(parts, "minLength"), upper_limit(parts, "maxLength")) == (5, 7)
    assert (lower_limit((), "minLength"), upper_limit((), "maxLength")) == (0, None)


def test_properties_keep_each_part_its_reach() -> None:
    parts: Any = (
        {"properties": {"a": {"title": "1"}}, "required": ["a", "b"], "additionalProperties": {"title": "more"}},
        {"properties": {"b": {"title": "2"}}, "patternProperties": {"^a": {"title": "3"}}, "required": ["a"]},
    )
    assert property_names(parts) == ("a", "b")
    assert required_names(parts) == ("a", "b")
    assert [one["title"] for one in property_schemas(parts, "a")] == ["1", "3"]
    assert [one["title"] for one in property_schemas(parts, "b")] == ["more", "2"]
    assert [one["title"] for one in property_schemas(parts, "c")] == ["more"]
    assert required_names(({"required": True},)) == ()


def test_unevaluated_properties_and_items() -> None:
    parts: Any = (
        {"properties": {"a": True}, "unevaluatedProperties": False},
        {"prefixItems": [{}], "unevaluatedItems": 1},
    )
    assert property_schemas(parts, "a") == (True,)
    assert property_schemas(parts, "b") == (False,)
    assert item_schemas(parts, 0) == ({},)
    assert item_schemas(parts, 1) == (1,)


@pytest.mark.parametrize(
    ("part", "length", "items"),
    [
        ({"items": {"a": 1}}, 0, [({"a": 1},), ({"a": 1},)]),
        ({"prefixItems": ["x"], "items": False}, 1, [("x",), (False,)]),
        ({"items": ["x"], "additionalItems": "y"}, 1, [("x",), ("y",)]),
        ({"items": ["x"]}, 1, [("x",), ()]),
        ({"additionalItems": "y"}, 0, [(), ()]),
    ],
)
def test_items_in_all_spellings(part: Any, length: int, items: list[Any]) -> None:
    assert tuple_length((part,)) == length
    assert [item_schemas((part,), at) for at in (0, 1)] == items
