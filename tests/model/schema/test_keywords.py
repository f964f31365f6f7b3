"""What several schemas say together, and how they are violated."""

from fractions import Fraction
from typing import Any

import jsonschema_rs
import pytest

from mockserver.model.schema.document import SchemaDocument, UnsatisfiableError
from mockserver.model.schema.keywords import (
    allowed_types,
    flatten,
    has_type,
    implied_types,
    is_excluded,
    item_schemas,
    json_equal,
    listed_values,
    lower_limit,
    negations,
    property_names,
    property_schemas,
    required_names,
    to_fraction,
    tuple_length,
    type_of,
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


@pytest.mark.parametrize(
    ("part", "first"),
    [({"required": []}, "object"), ({"items": {}}, "array"), ({"minimum": 1}, "number"), ({}, "string")],
)
def test_keywords_hint_at_types(part: Any, first: str) -> None:
    assert implied_types((part,))[0] == first


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        *((None, "null"), (True, "boolean"), (1, "integer"), (1.0, "integer"), (1.5, "number"), ("", "string")),
        *(({}, "object"), ([], "array")),
    ],
)
def test_types_of_values(value: Any, kind: str) -> None:
    assert type_of(value) == kind
    assert has_type(value, (kind,))
    assert has_type(1, ("number",))
    assert not has_type(1.5, ("integer",))


def test_equality_is_that_of_json() -> None:
    assert json_equal(1, 1.0)
    assert not json_equal(1, True)
    assert not json_equal([0], [False])
    assert json_equal({"a": [1, {}]}, {"a": [1.0, {}]})
    assert not json_equal({}, [])


def test_listed_values_are_shared() -> None:
    assert listed_values(({"enum": [1, 2, "a"]}, {"enum": ["a", 2]}, {"const": 2})) == [2]
    assert listed_values(({"enum": [1, True]}, {"not in": [1]})) == [True]
    assert listed_values(({"type": "string"},)) is None
    assert is_excluded(({"not in": [1]},), 1.0)
    assert not is_excluded(({"not in": [1]},), True)


def test_the_strictest_limits_win() -> None:
    parts = ({"minLength": 2, "maxLength": 9}, {"minLength": 5}, {"maxLength": 7})
    assert (lower_limit(parts, "minLength"), upper_limit(parts, "maxLength")) == (5, 7)
    assert (lower_limit((), "minLength"), upper_limit((), "maxLength")) == (0, None)


def test_numbers_are_exact() -> None:
    assert to_fraction(0.1) == Fraction(1, 10)
    assert to_fraction(1e-7) == Fraction(1, 10**7)
    assert to_fraction(10**30) == 10**30


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


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string"},
        {"type": ["number", "null"]},
        {"required": ["a", "b"]},
        {"properties": {"a": {"const": 1}, "b": {}}},
        {"anyOf": [{"type": "string"}, {"minimum": 1}]},
        {"oneOf": [{"type": "string"}, {"type": "null"}]},
        {"allOf": [{"type": "string"}, {"minLength": 3}]},
        {"not": {"type": "string"}},
        *({key: 3} for key in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")),
        *({f"{end}{key}": 3} for end in ("min", "max") for key in ("Length", "Items", "Properties")),
        {"contains": {"type": "string"}},
        {"items": {"type": "string"}},
    ],
    ids=str,
)
def test_negations_break_the_schema(schema: Any) -> None:
    values: list[Any] = [
        None,
        True,
        0,
        1,
        3,
        4,
        2.5,
        "",
        "abc",
        "abcd",
        [],
        ["a"],
        [1],
        ["a"] * 4,
        {},
        {"a": 1},
        {"a": 2},
    ]
    values += [{"a": 1, "b": 2}, dict.fromkeys("abcd", 1)]
    ways = negations(schema)
    broken = False
    for way in ways:
        for value in values:
            if all(jsonschema_rs.is_valid(one, value) for one in way):
                assert not jsonschema_rs.is_valid(schema, value), (way, value)
                broken = True
    assert broken


def test_what_cannot_be_negated_demands_nothing() -> None:
    assert negations({"pattern": "^a"}) == [()]


@pytest.mark.parametrize("schema", [{}, {"title": "anything"}, {"minLength": 0}, {"anyOf": []}])
def test_what_cannot_be_violated_has_no_negations(schema: Any) -> None:
    assert all(way == () for way in negations(schema))


def test_values_are_excluded() -> None:
    assert negations({"const": 1}) == [({"not in": [1]},)]
    assert negations({"enum": [1, 2]}) == [({"not in": [1, 2]},)]
