"""References, the depth of the smallest instances, and the cost of validating."""

from math import inf
from typing import Any

import pytest

from mockserver.model.schema.document import MinDepths, SchemaDocument, ValidationCost, measure_depth_and_size

TARGET: Any = {"title": "target"}


def led(schema: Any, *steps: Any) -> list[Any]:
    """What the references lead to that stand where the steps go."""
    document, here = SchemaDocument(schema), schema
    for step in steps:
        here = here[step]
    return list(document.find_targets(here))


@pytest.mark.parametrize(
    "schema",
    [
        {"x": {"$ref": "#/$defs/a~1b~0c"}, "$defs": {"a/b~c": TARGET}},
        {"x": {"$ref": "#/$defs/a%20b"}, "$defs": {"a b": TARGET}},
        {"x": {"$ref": "#/$defs/List<a>"}, "$defs": {"List<a>": TARGET}},
        {"x": {"$ref": "#here"}, "$defs": {"a": {"$anchor": "here", **TARGET}}},
        {"x": {"$ref": "#here"}, "definitions": {"a": {"$id": "#here", **TARGET}}},
        {"$id": "http://a.test/root", "x": {"$ref": "http://a.test/root#/$defs/a"}, "$defs": {"a": TARGET}},
        {"$id": "http://a.test/root", "x": {"$ref": "b"}, "$defs": {"a": {"$id": "b", **TARGET}}},
        {"$id": "urn:a:b", "x": {"$ref": "urn:a:b#/$defs/a"}, "$defs": {"a": TARGET}},
        {"x": {"$id": "http://a.test/in", "$ref": "#/$defs/a", "$defs": {"a": TARGET}}},
        {"x": {"$dynamicRef": "#here"}, "$defs": {"a": {"$dynamicAnchor": "here", **TARGET}}},
        {
            "$schema": "http://json-schema.org/draft-04/schema#",
            "id": "http://a.test/root",
            "x": {"$ref": "b"},
            "a": {"id": "b", **TARGET},
        },
    ],
    ids=str,
)
def test_references_lead_to_the_target(schema: Any) -> None:
    (found,) = led(schema, "x")
    assert found["title"] == "target"


def test_a_dynamic_reference_leads_outside() -> None:
    schema: Any = {
        "$id": "http://a.test/outer",
        "$dynamicAnchor": "node",
        "$defs": {"inner": {"$id": "inner", "$dynamicAnchor": "node", "x": {"$dynamicRef": "#node"}}},
    }
    assert led(schema, "$defs", "inner", "x") == [schema]


def test_meta_schemas_are_known() -> None:
    assert led({"$ref": "http://json-schema.org/draft-07/schema#"}) == [{"type": "object"}]


@pytest.mark.parametrize(
    ("reference", "why"),
    [
        ("#/$defs/none", "'#/$defs/none' refers to nothing"),
        ("#nobody", "'#nobody' refers to nothing"),
        ("https://a.test/x", "'https://a.test/x' refers to another document, and nothing is fetched"),
    ],
)
def test_references_to_nothing_are_reported(reference: str, why: str) -> None:
    error = SchemaDocument(
        {"type": "a", "anyOf": [{}], "properties": {"a/b": {"$ref": reference}}}
    ).find_dangling_reference()
    assert error is not None
    assert (error.why, error.pointer) == (why, "#/properties/a~1b/$ref")
    assert SchemaDocument({"$ref": "#"}).find_dangling_reference() is None


def test_invalid_references_are_reported() -> None:
    error = SchemaDocument({"$id": "http://a.test/x", "items": {"$ref": "//["}}).find_dangling_reference()
    assert error is not None
    assert (error.why, error.pointer) == ("'//[' is not a reference", "#/items/$ref")


LEAF: Any = {"type": "string"}


def obj(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


@pytest.mark.parametrize(
    ("schema", "height"),
    [
        (True, 0),
        (False, inf),
        (LEAF, 0),
        (obj(a=LEAF), 1),
        (obj(a=obj(b=LEAF)), 2),
        (obj(a=False), inf),
        ({"type": ["object", "null"], "required": ["a"], "properties": {"a": obj()}}, 0),
        ({"type": "array", "items": obj(), "minItems": 1}, 2),
        ({"type": "array", "prefixItems": [LEAF, obj()], "minItems": 2}, 2),
        ({"anyOf": [obj(a=obj()), obj()]}, 1),
        ({"allOf": [obj(a=obj()), obj()]}, 2),
        ({"$ref": "#"}, inf),
        (obj(a={"$ref": "#"}), inf),
        (obj(a={"anyOf": [{"$ref": "#"}, {"type": "null"}]}), 1),
        ({**obj(a={"$ref": "#/$defs/x"}), "$defs": {"x": {"anyOf": [{"$ref": "#"}, obj(b=obj())]}}}, 3),
        ({"required": ["a"], "properties": {"a": {"$ref": "#"}}}, 1000),
    ],
    ids=str,
)
def test_heights(schema: Any, height: float) -> None:
    assert MinDepths(SchemaDocument(schema)).find(schema) == height


def test_long_chains_take_little_time() -> None:
    links: dict[str, Any] = {f"d{at}": {"anyOf": [obj(a={"$ref": f"#/$defs/d{at + 1}"})] * 2} for at in range(60)}
    schema = {"$ref": "#/$defs/d0", "$defs": {**links, "d60": LEAF}}
    assert MinDepths(SchemaDocument(schema)).find(schema) == 60


TEXT = {"type": "string"}


def cost(schema: Any, value: Any) -> float:
    deep, wide = measure_depth_and_size(value)
    return wide * ValidationCost(SchemaDocument(schema)).estimate(schema, deep)


def doubling(depth: int) -> dict[str, Any]:
    """A schema that rejections each of its definitions twice as often as the one before."""
    both = {f"d{at}": {"anyOf": [{"$ref": f"#/$defs/d{at + 1}"}] * 2} for at in range(depth)}
    return {"not": {"$ref": "#/$defs/d0"}, "$defs": {**both, f"d{depth}": TEXT}}


@pytest.mark.parametrize(
    ("schema", "value", "rejections"),
    [
        (TEXT, "a", 1),
        ({"properties": {"a": TEXT, "b": TEXT}}, {"a": "x"}, 2 * 3),
        ({"prefixItems": [TEXT, TEXT]}, ["a"], 2 * 3),
        ({"dependentSchemas": {"a": TEXT}}, {}, 2),
        ({"properties": {"a": {"$ref": "#"}}}, {"a": {"a": 1}}, 3 * 5),
        (doubling(1), "a", 3 + 2 * 2),
        ({"$ref": "#/nowhere"}, 1, inf),
    ],
)
def test_rejections_are_counted(schema: Any, value: Any, rejections: float) -> None:
    assert cost(schema, value) == rejections


def test_exponential_cost_is_seen_at_once() -> None:
    assert cost(doubling(60), "a") > 1e15
    assert cost(doubling(300), "a") == inf
