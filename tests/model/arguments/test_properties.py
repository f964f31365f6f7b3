"""What properties ask for, by their names and schemas."""

from typing import Any

import pytest

from mockserver.model.arguments.assigning import read_properties
from mockserver.model.arguments.properties import in_order, item_of, read_property, similar
from mockserver.model.arguments.values import Mention


@pytest.mark.parametrize(
    ("name", "schema", "semantic_type"),
    [
        ("city", {"type": "string"}, "place"),
        ("loc", {"type": "string"}, "place"),
        ("x", {"type": "string", "description": "The city and state, e.g. San Francisco, CA"}, "place"),
        ("userEmail", {"type": "string"}, "email"),
        ("when", {"type": "string", "format": "date-time"}, "datetime"),
        ("user_id", {"type": "integer"}, "id"),
        ("price", {"type": "number"}, "money"),
        ("guests", {"type": "integer"}, "quantity"),
        ("guests", {"type": "array", "items": {"type": "string"}}, "person"),
        ("start", {"type": "string"}, "moment"),
        ("zip_code", {"type": "string"}, "zip"),
        ("source_code", {"type": "string"}, "code"),
        ("frobnicator", {"type": "string"}, ""),
    ],
)
def test_natures(name: str, schema: Any, semantic_type: str) -> None:
    assert read_property(name, schema, 0).semantic_type == semantic_type


@pytest.mark.parametrize(
    ("name", "role"),
    [("from_city", "from"), ("origin", "from"), ("destination", "to"), ("end_date", "to"), ("city", "")],
)
def test_roles(name: str, role: str) -> None:
    assert read_property(name, {"type": "string"}, 0).role == role


@pytest.mark.parametrize(
    ("schema", "types", "choices"),
    [
        ({"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]}, ("string",), ("a",)),
        ({"type": ["integer", "null"]}, ("integer",), ()),
        ({"const": 3}, (), (3,)),
        ({"minimum": 1}, ("number",), ()),
        (True, (), ()),
        ({"oneOf": [{"type": "integer"}, {"type": "string"}]}, ("integer", "string"), ()),
    ],
)
def test_types_and_choices(schema: Any, types: tuple[str, ...], choices: tuple[Any, ...]) -> None:
    prop = read_property("x", schema, 0)
    assert (prop.types, prop.choices) == (types, choices)


def test_examples_of_a_description_are_hints() -> None:
    prop = read_property("genre", {"type": "string", "description": "Music genre, e.g. rock, jazz or `pop`"}, 0)
    assert {"rock", "jazz", "pop"} <= prop.hints


def test_numbers_and_formats_are_told() -> None:
    assert read_property("x", {"type": ["integer", "null"]}, 0).numeric
    assert not read_property("x", {"type": ["integer", "string"]}, 0).numeric
    assert read_property("x", {"format": "uri"}, 0).format == "uri"


def test_items_are_named_as_their_array() -> None:
    item = item_of(read_property("emails", {"type": "array", "items": {"type": "string"}}, 0))
    assert (item.semantic_type, item.types) == ("email", ("string",))
    assert item_of(read_property("x", {"type": "array", "prefixItems": [{"type": "integer"}]}, 0)).types == ("integer",)


STRING = {"type": "string"}


@pytest.mark.parametrize(
    ("names", "groups"),
    [
        (("city_a", "city_b"), [("city_a", "city_b")]),
        (("y", "x"), [("x", "y")]),
        (("second", "first", "note"), [("first", "second")]),
        (("station_2", "station_1", "line_1"), [("station_1", "station_2")]),
        (("source", "target"), [("source", "target")]),
        (("city", "country"), []),
    ],
)
def test_what_is_alike_but_for_its_place_is_a_group(names: tuple[str, ...], groups: list[tuple[str, ...]]) -> None:
    found = similar(read_properties(dict.fromkeys(names, STRING)))
    assert [tuple(prop.name for prop in group) for group in found] == groups


def test_another_type_is_no_peer() -> None:
    assert similar(read_properties({"a": STRING, "b": {"type": "integer"}})) == []


def test_values_are_told_out_in_the_order_of_the_text() -> None:
    one, two = read_properties({"a": STRING, "b": STRING})
    early, late = Mention("name", "Rome", 0, 4), Mention("name", "Oslo", 9, 13)
    assert in_order([(one, late), (two, early)]) == [(one, early), (two, late)]


def test_what_something_is_taken_from_comes_first() -> None:
    one, two = read_properties({"a": {"type": "integer"}, "b": {"type": "integer"}})
    few, many = Mention("number", 12, 9, 11), Mention("number", 50, 17, 19, cue="from")
    assert in_order([(one, few), (two, many)]) == [(one, many), (two, few)]
