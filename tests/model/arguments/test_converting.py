"""Mentions become values of the type that a property has."""

from typing import Any

import pytest

from mockserver.model.arguments.assigning import values
from mockserver.model.arguments.properties import read_property
from mockserver.model.arguments.values import Mention


@pytest.mark.parametrize(
    ("mention", "name", "schema", "expected"),
    [
        (("number", 3), "x", {"type": "integer"}, 3),
        (("number", 3), "x", {"type": "string"}, "3 km"),
        (("number", 2.0), "x", {"type": "integer"}, 2),
        (("number", 2.5), "x", {"type": "integer"}, None),
        (("duration", 2700, "minutes"), "minutes", {"type": "integer"}, 45),
        (("duration", 2700, "minutes"), "timeout_seconds", {"type": "number"}, 2700),
        (("duration", 2700, "minutes"), "x", {"type": "number", "description": "in hours"}, 0.75),
        (("duration", 2700, "minutes"), "x", {"type": "integer"}, 45),
        (("duration", 2700, "minutes"), "x", {"format": "duration"}, "PT45M"),
        (("date", "2025-03-03"), "x", {"format": "date-time"}, "2025-03-03T00:00:00Z"),
        (("datetime", "2025-03-03T10:30:00Z"), "x", {"format": "date"}, "2025-03-03"),
        (("datetime", "2025-03-03T10:30:00Z"), "time", {"type": "string"}, "10:30"),
        (("time", "10:30"), "x", {"type": "string", "format": "time"}, "10:30:00Z"),
        (("money", 5, "USD"), "currency", {"type": "string"}, "USD"),
        (("name", "euros"), "currency", {"type": "string"}, "EUR"),
        (("pair", "5 km"), "x", {"type": "number"}, 5),
        (("pair", "3 March 2025"), "x", {"type": "string", "format": "date"}, "2025-03-03"),
        (("pair", "yes"), "x", {"type": "boolean"}, True),
        (("member", False), "x", {"type": "boolean"}, False),
        (("member", {"a": 1}), "x", {"type": "object"}, {"a": 1}),
        (("member", [1]), "x", {"type": "array"}, [1]),
        (("member", {"a": 1}), "x", {}, {"a": 1}),
        (("name", "Paris"), "x", {}, "Paris"),
        (("name", "Paris"), "x", {"type": "integer"}, None),
        (("number", 40, "%"), "level", {"type": "number", "maximum": 1}, 0.4),
    ],
)
def test_values(mention: tuple[Any, ...], name: str, schema: Any, expected: Any) -> None:
    kind, value, *unit = mention
    made = values("3 km", Mention(kind, value, 0, 4, unit="".join(unit)), read_property(name, schema, 0))
    assert next(made, None) == expected


def test_the_sign_of_a_number_is_no_part_of_its_text() -> None:
    assert (
        next(values("#17", Mention("number", 17, 0, 3, unit="#"), read_property("id", {"type": "string"}, 0))) == "17"
    )
