"""What is made ready is kept within bounds, holds values against parts, and says where a schema is broken."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from mockserver.model.schema.compiled import compiled, matches, text_validator
from mockserver.model.schema.compiled import compiled as module
from mockserver.model.schema.document import DeadEndError


def test_equal_schemas_are_made_ready_once() -> None:
    schema = {"type": "object", "properties": {"once": {"type": "string"}}}
    assert compiled(schema) is compiled(json.loads(json.dumps(schema)))
    assert compiled(schema) is not compiled({**schema, "title": "another"})


def test_each_thread_makes_them_ready_for_itself() -> None:
    """What is found out about a schema is noted down in it while it is used."""
    schema = {"type": "object", "title": "of each thread"}
    with ThreadPoolExecutor(1) as pool:
        there = pool.submit(compiled, schema).result()
        assert pool.submit(compiled, schema).result() is there
    assert compiled(schema) is not there


def test_what_is_kept_is_bounded() -> None:
    for at in range(300):
        compiled({"const": f"{at}" * 1000})
    assert len(module._KEPT.schemas) <= 128
    assert sum(map(len, module._KEPT.schemas)) <= 1_000_000
    compiled({"const": "x" * 2_000_000})
    assert len(module._KEPT.schemas) == 1


@pytest.mark.parametrize(
    ("schema", "why", "pointer"),
    [
        ({"properties": {"a/b": {"type": "strin"}}}, '"strin" is not valid', "#/properties/a~1b/type"),
        ({"items": {"minItems": -1}}, "-1 is less than the minimum of 0", "#/items/minItems"),
        ({"pattern": "("}, 'is not a "regex"', "#/pattern"),
        ({"a": {"$ref": "#/b"}, "allOf": [{"$ref": "#/b"}]}, "refers to nothing", "#/a/$ref"),
        ({"items": {"$ref": "https://a.test/x"}}, "nothing is fetched", "#/items/$ref"),
        (5, "5 is not of types", "#"),
        ({"const": "\ud800"}, "it is no JSON", "#"),
    ],
)
def test_broken_schemas_are_refused_with_their_place(schema: Any, why: str, pointer: str) -> None:
    with pytest.raises(DeadEndError) as caught:
        compiled(schema)
    assert why in caught.value.why
    assert caught.value.pointer == pointer
    assert len(caught.value.why) < 300


def test_a_schema_of_its_publishers_own_kind_is_read() -> None:
    assert compiled({"$schema": "https://a.test/own", "type": "string"}).validator.is_valid("a")


def test_references_with_signs_that_uris_escape_are_read() -> None:
    ready = compiled({"$ref": "#/definitions/List<a b>", "definitions": {"List<a b>": {"type": "integer"}}})
    assert ready.validator.is_valid(1)
    assert not ready.validator.is_valid("a")


def test_parts_hold_values_too() -> None:
    schema: Any = {
        "properties": {"a b": {"$ref": "#/$defs/x"}, "c": {"not": {"const": 1}}},
        "$defs": {"x": {"minLength": 2}},
    }
    ready = compiled(schema)
    inner = ready.document.root["properties"]
    assert [ready.allows(inner["a b"], value) for value in ("ab", "a", 5)] == [True, False, True]
    assert [ready.allows(inner["c"], value) for value in (1, 2)] == [False, True]
    assert [ready.allows(one, 1) for one in (True, False, {})] == [True, False, True]
    assert ready.allows({"const": "of no document"}, 5)


def test_affordable_is_what_does_not_stop_the_server() -> None:
    links: dict[str, Any] = {f"d{at}": {"anyOf": [{"$ref": f"#/$defs/d{at + 1}"}] * 2} for at in range(40)}
    ready = compiled({"not": {"$ref": "#/$defs/d0"}, "$defs": {**links, "d40": {}}})
    assert not ready.affordable("a")
    wide = {
        "properties": {f"p{at}": {"properties": {f"q{at}": {"type": "null"} for at in range(50)}} for at in range(400)}
    }
    assert compiled(wide).affordable({f"p{at}": {f"q{at}": None for at in range(50)} for at in range(400)})


def test_texts_are_held_against_patterns() -> None:
    assert matches("^a+$", "aaa")
    assert not matches("^a+$", "b")
    assert not matches("(", "(")
    assert text_validator({"format": "date"}).is_valid("2023-01-02")
