"""How deep the smallest instances are."""

from math import inf
from typing import Any

import pytest

from mockserver.model.schema.document import Document, Heights

LEAF: Any = {"type": "string"}


def obj(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


@pytest.mark.parametrize(
    ("schema", "height"),
    [
        (True, 0),
        (False, inf),
        (LEAF, 0),
        ({}, 0),
        ({"const": [[[]]]}, 0),
        (obj(), 1),
        (obj(a=LEAF), 1),
        (obj(a=obj(b=LEAF)), 2),
        (obj(a=False), inf),
        ({"type": "object", "properties": {"a": False}}, 1),
        ({"type": ["object", "null"], "required": ["a"], "properties": {"a": obj()}}, 0),
        ({"type": "array", "items": obj()}, 1),
        ({"type": "array", "items": obj(), "minItems": 1}, 2),
        ({"type": "array", "prefixItems": [LEAF, obj()], "minItems": 2}, 2),
        ({"type": "array", "items": [LEAF, obj()], "minItems": 1}, 1),
        ({"type": "array", "contains": obj()}, 2),
        ({"anyOf": [obj(a=obj()), obj()]}, 1),
        ({"allOf": [obj(a=obj()), obj()]}, 2),
        ({"oneOf": [False, LEAF]}, 0),
        ({"$ref": "#"}, inf),
        (obj(a={"$ref": "#"}), inf),
        (obj(a={"anyOf": [{"$ref": "#"}, {"type": "null"}]}), 1),
        ({**obj(a={"$ref": "#/$defs/x"}), "$defs": {"x": {"anyOf": [{"$ref": "#"}, obj(b=obj())]}}}, 3),
        ({"required": ["a"], "properties": {"a": {"$ref": "#"}}}, 1000),
        ({"$ref": "#/nowhere"}, inf),
    ],
    ids=str,
)
def test_heights(schema: Any, height: float) -> None:
    assert Heights(Document(schema)).of(schema) == height


def test_long_chains_are_measured_soon() -> None:
    links: dict[str, Any] = {f"d{at}": {"anyOf": [obj(a={"$ref": f"#/$defs/d{at + 1}"})] * 2} for at in range(90)}
    schema = {"$ref": "#/$defs/d0", "$defs": {**links, "d90": LEAF}}
    assert Heights(Document(schema)).of(schema) == 90


def test_schemas_of_no_document_are_measured_too() -> None:
    assert Heights(Document({})).of({"not": {}}) == 0


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ({"type": "array", "items": {"type": "array", "items": False, "minItems": 1}, "minItems": 1}, "#/items"),
        ({"anyOf": [{"$ref": "#"}, False]}, "#/anyOf/0"),
        (False, "#"),
    ],
)
def test_what_never_ends_is_found(schema: Any, pointer: str) -> None:
    heights = Heights(Document(schema))
    assert heights.endless(schema) == pointer
