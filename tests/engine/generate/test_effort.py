"""The work of validating, told beforehand."""

from math import inf
from typing import Any

import pytest

from mockserver.engine.generate.effort import effort, references

TEXT = {"type": "string"}


def told(schema: Any, value: Any) -> float:
    def target(pointer: str) -> Any:
        found = schema
        for step in pointer.split("/")[1:]:
            found = found[step]
        return found

    return effort(schema, value, target)


def doubling(depth: int) -> dict[str, Any]:
    """A schema that tries each of its definitions twice as often as the one before."""
    both = {f"d{at}": {"anyOf": [{"$ref": f"#/$defs/d{at + 1}"}] * 2} for at in range(depth)}
    return {"not": {"$ref": "#/$defs/d0"}, "$defs": {**both, f"d{depth}": TEXT}}


@pytest.mark.parametrize(
    ("schema", "value", "tries"),
    [
        (True, 1, 0),
        (TEXT, "a", 1),
        ({"anyOf": [TEXT, TEXT]}, "a", 3),
        ({"properties": {"a": TEXT, "b": TEXT}}, {"a": "x"}, 2 * 3),
        ({"properties": {"a": TEXT}}, "no table", 1),
        ({"items": TEXT}, ["a", "b"], 3 * 2),
        ({"prefixItems": [TEXT, TEXT]}, ["a"], 2 * 3),
        ({"dependentSchemas": {"a": TEXT}}, {}, 2),
        ({"enum": [{"anyOf": [TEXT]}]}, 1, 1),
        ({"anyOf": [{"$ref": "#"}, TEXT]}, "a", 3),
        ({"properties": {"a": {"$ref": "#"}}}, {"a": {"a": 1}}, 3 * 5),
        (doubling(1), "a", 3 + 2 * 2),
        ({"$ref": "#nobody"}, 1, inf),
        ({"$ref": "#/nowhere"}, 1, inf),
        ({"$dynamicRef": "#a"}, 1, inf),
        ({"allOf": [{"$id": "https://example.com"}]}, 1, inf),
        ({"$id": "https://example.com"}, 1, 1),
    ],
)
def test_tries_are_counted(schema: Any, value: Any, tries: float) -> None:
    assert told(schema, value) == tries


def test_what_doubles_with_every_reference_is_seen_at_once() -> None:
    assert told(doubling(60), "a") > 1e15
    assert told(doubling(300), "a") == inf


def test_references_are_counted_wherever_they_stand() -> None:
    assert references({"$ref": "#", "x": [{"$ref": "#"}, {"y": {"$ref": "#"}}]}) == 3
