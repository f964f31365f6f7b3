"""What several schemas say together."""

from fractions import Fraction
from typing import Any

import pytest

from mockserver.model.schema.document import DeadEndError, Document
from mockserver.model.schema.parts import (
    exact,
    flat,
    hinted,
    kind_of,
    kinds,
    least,
    listed,
    most,
    named,
    of_item,
    of_kind,
    of_property,
    refused,
    required,
    same,
    tuple_length,
)


def test_flat_follows_references_and_all_of() -> None:
    schema: Any = {"title": "a", "allOf": [{"$ref": "#/$defs/x"}, True], "$defs": {"x": {"title": "b", "$ref": "#"}}}
    assert [part["title"] for part in flat(Document(schema), (schema,)) if "title" in part] == ["a", "b"]
    with pytest.raises(DeadEndError, match="nothing is allowed"):
        flat(Document({"allOf": [False]}), ({"allOf": [False]},))


def test_beside_a_reference_old_drafts_say_only_words() -> None:
    schema: Any = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "properties": {"a": {"$ref": "#/definitions/x", "type": "string", "title": "words"}},
        "definitions": {"x": {"type": "integer"}},
    }
    found = flat(Document(schema), (schema["properties"]["a"],))
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
    assert " ".join(kinds(tuple({"type": one} for one in types))) == expected


@pytest.mark.parametrize(
    ("part", "first"),
    [({"required": []}, "object"), ({"items": {}}, "array"), ({"minimum": 1}, "number"), ({}, "string")],
)
def test_keywords_hint_at_types(part: Any, first: str) -> None:
    assert hinted((part,))[0] == first


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        *((None, "null"), (True, "boolean"), (1, "integer"), (1.0, "integer"), (1.5, "number"), ("", "string")),
        *(({}, "object"), ([], "array")),
    ],
)
def test_kinds_of_values(value: Any, kind: str) -> None:
    assert kind_of(value) == kind
    assert of_kind(value, (kind,))
    assert of_kind(1, ("number",))
    assert not of_kind(1.5, ("integer",))


def test_equality_is_that_of_json() -> None:
    assert same(1, 1.0)
    assert not same(1, True)
    assert not same([0], [False])
    assert same({"a": [1, {}]}, {"a": [1.0, {}]})
    assert not same({}, [])


def test_listed_values_are_shared() -> None:
    assert listed(({"enum": [1, 2, "a"]}, {"enum": ["a", 2]}, {"const": 2})) == [2]
    assert listed(({"enum": [1, True]}, {"not in": [1]})) == [True]
    assert listed(({"type": "string"},)) is None
    assert refused(({"not in": [1]},), 1.0)
    assert not refused(({"not in": [1]},), True)


def test_limits_are_the_narrowest() -> None:
    parts = ({"minLength": 2, "maxLength": 9}, {"minLength": 5}, {"maxLength": 7})
    assert (least(parts, "minLength"), most(parts, "maxLength")) == (5, 7)
    assert (least((), "minLength"), most((), "maxLength")) == (0, None)


def test_numbers_are_exact() -> None:
    assert exact(0.1) == Fraction(1, 10)
    assert exact(1e-7) == Fraction(1, 10**7)
    assert exact(10**30) == 10**30


def test_properties_keep_each_part_its_reach() -> None:
    parts: Any = (
        {"properties": {"a": {"title": "1"}}, "required": ["a", "b"], "additionalProperties": {"title": "more"}},
        {"properties": {"b": {"title": "2"}}, "patternProperties": {"^a": {"title": "3"}}, "required": ["a"]},
    )
    assert named(parts) == ("a", "b")
    assert required(parts) == ("a", "b")
    assert [one["title"] for one in of_property(parts, "a")] == ["1", "3"]
    assert [one["title"] for one in of_property(parts, "b")] == ["more", "2"]
    assert [one["title"] for one in of_property(parts, "c")] == ["more"]
    assert required(({"required": True},)) == ()


def test_what_nobody_evaluates() -> None:
    parts: Any = (
        {"properties": {"a": True}, "unevaluatedProperties": False},
        {"prefixItems": [{}], "unevaluatedItems": 1},
    )
    assert of_property(parts, "a") == (True,)
    assert of_property(parts, "b") == (False,)
    assert of_item(parts, 0) == ({},)
    assert of_item(parts, 1) == (1,)


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
    assert [of_item((part,), at) for at in (0, 1)] == items
