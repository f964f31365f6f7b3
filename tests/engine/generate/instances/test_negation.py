"""Whatever satisfies an opposite breaks the schema."""

from typing import Any

import jsonschema_rs
import pytest

from mockserver.model.schema.parts import opposites


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
def test_opposites_break_the_schema(schema: Any) -> None:
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
    ways = opposites(schema)
    broken = False
    for way in ways:
        for value in values:
            if all(jsonschema_rs.is_valid(one, value) for one in way):
                assert not jsonschema_rs.is_valid(schema, value), (way, value)
                broken = True
    assert broken


def test_what_has_no_opposite_in_words_demands_nothing() -> None:
    assert opposites({"pattern": "^a"}) == [()]


@pytest.mark.parametrize("schema", [{}, {"title": "anything"}, {"minLength": 0}, {"anyOf": []}])
def test_what_always_holds_has_no_ways(schema: Any) -> None:
    assert all(way == () for way in opposites(schema))


def test_values_are_excluded() -> None:
    assert opposites({"const": 1}) == [({"not in": [1]},)]
    assert opposites({"enum": [1, 2]}) == [({"not in": [1, 2]},)]
