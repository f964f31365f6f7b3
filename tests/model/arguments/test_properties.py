"""What properties ask for, by their names and schemas."""

from typing import Any

import pytest

from mockserver.model.arguments.assigning import read_properties
from mockserver.model.arguments.properties import in_order, read_property
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


def test_what_something_is_taken_from_comes_first() -> None:
    one, two = read_properties({"a": {"type": "integer"}, "b": {"type": "integer"}})
    few, many = Mention("number", 12, 9, 11), Mention("number", 50, 17, 19, cue="from")
    assert in_order([(one, few), (two, many)]) == [(one, many), (two, few)]
