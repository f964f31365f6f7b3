"""The work of validating, told beforehand."""

from collections.abc import Iterator
from math import inf
from typing import Any

import pytest

from mockserver.model.schema.document import Effort, Targets, extent, pairs

TEXT = {"type": "string"}


def targets(root: Any) -> Targets:
    def led(schema: Any) -> Iterator[Any]:
        found = root
        for step in str(schema.get("$ref", "#/nowhere")).split("/")[1:]:
            found = found[step]
        yield found

    return led


def told(schema: Any, value: Any) -> float:
    deep, wide = extent(value)
    return wide * Effort(targets(schema)).of(schema, deep)


def doubling(depth: int) -> dict[str, Any]:
    """A schema that tries each of its definitions twice as often as the one before."""
    both = {f"d{at}": {"anyOf": [{"$ref": f"#/$defs/d{at + 1}"}] * 2} for at in range(depth)}
    return {"not": {"$ref": "#/$defs/d0"}, "$defs": {**both, f"d{depth}": TEXT}}


@pytest.mark.parametrize(
    ("schema", "value", "tries", "pairwise"),
    [
        (True, 1, 0, 0),
        (TEXT, "a", 1, 1),
        ({"anyOf": [TEXT, TEXT]}, "a", 3, 3),
        ({"properties": {"a": TEXT, "b": TEXT}}, {"a": "x"}, 2 * 3, 2),
        ({"properties": {"a": TEXT}}, "no table", 1, 1),
        ({"items": TEXT}, ["a", "b"], 3 * 2, 3),
        ({"prefixItems": [TEXT, TEXT]}, ["a"], 2 * 3, 3),
        ({"patternProperties": {"a": TEXT}}, {"a": 1, "b": 2}, 3 * 2, 3),
        ({"dependentSchemas": {"a": TEXT}}, {}, 2, 2),
        ({"enum": [{"anyOf": [TEXT]}]}, 1, 1, 1),
        ({"anyOf": [{"$ref": "#"}, TEXT]}, "a", 3, 3),
        ({"properties": {"a": {"$ref": "#"}}}, {"a": {"a": 1}}, 3 * 5, 5),
        (doubling(1), "a", 3 + 2 * 2, 3 + 2 * 2),
        ({"$ref": "#/nowhere"}, 1, inf, inf),
        ({"$dynamicRef": "#a"}, 1, inf, inf),
    ],
)
def test_tries_are_counted(schema: Any, value: Any, tries: float, pairwise: float) -> None:
    assert told(schema, value) == tries
    assert pairs(schema, value, targets(schema)) == pairwise


def test_what_doubles_with_every_reference_is_seen_at_once() -> None:
    assert told(doubling(60), "a") > 1e15
    assert told(doubling(300), "a") == inf
    assert pairs(doubling(60), "a", targets(doubling(60))) > 1e15
    assert pairs(doubling(300), "a", targets(doubling(300))) == inf


def test_a_wide_value_is_told_along_its_own_branches() -> None:
    schema = {"properties": {f"p{at}": {"properties": {"q": TEXT}} for at in range(500)}}
    value = {f"p{at}": {"q": 1} for at in range(500)}
    assert told(schema, value) > 1_000_000
    assert pairs(schema, value, targets(schema)) == 1001
