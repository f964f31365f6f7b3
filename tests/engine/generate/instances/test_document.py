"""References of all spellings lead where the drafts say, and nowhere else."""

from typing import Any

import pytest

from mockserver.model.schema.document import DeadEndError, Document

TARGET: Any = {"title": "target"}


def led(schema: Any, *steps: Any) -> list[Any]:
    """What the references lead to that stand where the steps go."""
    document, here = Document(schema), schema
    for step in steps:
        here = here[step]
    return list(document.targets(here))


@pytest.mark.parametrize(
    "schema",
    [
        {"x": {"$ref": "#/$defs/a"}, "$defs": {"a": TARGET}},
        {"x": {"$ref": "#/$defs/a~1b~0c"}, "$defs": {"a/b~c": TARGET}},
        {"x": {"$ref": "#/$defs/a%20b"}, "$defs": {"a b": TARGET}},
        {"x": {"$ref": "#/$defs/List<a>"}, "$defs": {"List<a>": TARGET}},
        {"x": {"$ref": "#/anyOf/1"}, "anyOf": [{}, TARGET]},
        {"x": {"$ref": "#here"}, "$defs": {"a": {"$anchor": "here", **TARGET}}},
        {"x": {"$ref": "#here"}, "definitions": {"a": {"$id": "#here", **TARGET}}},
        {"$id": "http://a.test/root", "x": {"$ref": "http://a.test/root#/$defs/a"}, "$defs": {"a": TARGET}},
        {"$id": "http://a.test/root", "x": {"$ref": "b"}, "$defs": {"a": {"$id": "b", **TARGET}}},
        {"$id": "urn:a:b", "x": {"$ref": "#/$defs/a"}, "$defs": {"a": TARGET}},
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


def test_a_recursive_reference_leads_outside_where_that_is_allowed() -> None:
    inner: Any = {"$id": "http://a.test/inner", "$recursiveAnchor": True, "x": {"$recursiveRef": "#"}}
    outer: Any = {"$recursiveAnchor": True, "$defs": {"inner": inner}}
    assert led(outer, "$defs", "inner", "x") == [outer]
    assert led({"$defs": {"inner": inner}}, "$defs", "inner", "x") == [inner]


def test_an_id_that_is_a_property_names_nothing() -> None:
    schema: Any = {"id": "http://a.test/x", "properties": {"$id": TARGET}, "x": {"$ref": "#/properties/$id"}}
    assert led(schema, "x") == [TARGET]


def test_meta_schemas_are_known() -> None:
    assert led({"$ref": "http://json-schema.org/draft-07/schema#"}) == [{"type": "object"}]


@pytest.mark.parametrize(
    ("reference", "why"),
    [
        ("#/$defs/none", "'#/$defs/none' refers to nothing"),
        ("#/type", "'#/type' refers to nothing"),
        ("#/anyOf/7", "'#/anyOf/7' refers to nothing"),
        ("#nobody", "'#nobody' refers to nothing"),
        ("https://a.test/x", "'https://a.test/x' refers to another document, and nothing is fetched"),
        ("other.json", "'other.json' refers to another document, and nothing is fetched"),
    ],
)
def test_what_leads_nowhere_is_named(reference: str, why: str) -> None:
    error = Document({"type": "a", "anyOf": [{}], "properties": {"a/b": {"$ref": reference}}}).dangling()
    assert error is not None
    assert (error.why, error.pointer) == (why, "#/properties/a~1b/$ref")
    assert Document({"$ref": "#"}).dangling() is None


def test_what_is_no_reference_is_named() -> None:
    error = Document({"$id": "http://a.test/x", "items": {"$ref": "//["}}).dangling()
    assert error is not None
    assert (error.why, error.pointer) == ("'//[' is not a reference", "#/items/$ref")


def test_nesting_has_an_end() -> None:
    schema: Any = {}
    for _ in range(5_000):
        schema = {"items": schema}
    with pytest.raises(DeadEndError, match="nested more than 250 levels deep") as caught:
        Document(schema)
    assert caught.value.pointer.startswith("#/items/items")
    assert len(caught.value.pointer) < 250


def test_references_have_an_end() -> None:
    with pytest.raises(DeadEndError, match="more than 5,000 references"):
        Document({"$defs": {str(at): {"$ref": "#"} for at in range(5_001)}})


@pytest.mark.parametrize(("draft", "old"), [("draft-07/schema#", True), ("draft/2020-12/schema", False)])
def test_old_drafts_are_known(draft: str, old: bool) -> None:
    assert Document({"$schema": f"http://json-schema.org/{draft}"}).old is old
    assert Document(True).old is False
