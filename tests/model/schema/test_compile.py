"""Compiled schemas are cached within bounds, validate values and parts, and say where a schema is invalid."""

import gc
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from weakref import ref

import pytest

from mockserver.core.seed import Seed
from mockserver.model.arguments import find_mentions
from mockserver.model.schema.document import MAX_COST, SchemaDocument, UnsatisfiableError
from mockserver.model.schema.generator import Attempt
from mockserver.model.schema.shape import CACHE, CompiledSchema, compile_schema


def test_equal_schemas_are_compiled_once() -> None:
    schema = {"type": "object", "properties": {"once": {"type": "string"}}}
    assert compile_schema(schema) is compile_schema(json.loads(json.dumps(schema)))
    assert compile_schema(schema) is not compile_schema({**schema, "title": "another"})


def test_each_thread_compiles_for_itself() -> None:
    """Generating instances writes into their memory."""
    schema = {"type": "object", "title": "of each thread"}
    with ThreadPoolExecutor(1) as pool:
        there = pool.submit(compile_schema, schema).result()
        assert pool.submit(compile_schema, schema).result() is there
    assert compile_schema(schema) is not there


def test_the_cache_is_bounded() -> None:
    for at in range(300):
        compile_schema({"const": f"{at}" * 1000})
    assert len(CACHE.schemas) <= 128
    assert sum(map(len, CACHE.schemas)) <= 1_000_000
    compile_schema({"const": "x" * 2_000_000})
    assert len(CACHE.schemas) == 1


def test_shapes_count_as_memory() -> None:
    for at in range(20):
        compiled = compile_schema({"title": f"{at}"})
        for _ in range(1_000):
            compiled.find_shape(({"type": "string"},))
    assert sum(compiled.size for compiled in CACHE.schemas.values()) <= 11_000


@pytest.mark.parametrize(
    ("schema", "why", "pointer"),
    [
        ({"properties": {"a/b": {"type": "strin"}}}, '"strin" is not valid', "#/properties/a~1b/type"),
        ({"items": {"minItems": -1}}, "-1 is less than the minimum of 0", "#/items/minItems"),
        ({"pattern": "("}, 'is not a "regex"', "#/pattern"),
        ({"a": {"$ref": "#/b"}, "allOf": [{"$ref": "#/b"}]}, "refers to nothing", "#/a/$ref"),
        ({"items": {"$ref": "https://a.test/x"}}, "nothing is fetched", "#/items/$ref"),
        (5, "5 is not of types", "#"),
        ({"const": "\ud800"}, "it is not JSON", "#"),
    ],
)
def test_invalid_schemas_are_refused_with_a_pointer(schema: Any, why: str, pointer: str) -> None:
    with pytest.raises(UnsatisfiableError) as caught:
        compile_schema(schema)
    assert why in caught.value.why
    assert caught.value.pointer == pointer
    assert len(caught.value.why) < 300


def test_an_unknown_dialect_is_accepted() -> None:
    assert compile_schema({"$schema": "https://a.test/own", "type": "string"}).validator.whole.is_valid("a")


def test_references_need_no_uri_escapes() -> None:
    ready = compile_schema({"$ref": "#/definitions/List<a b>", "definitions": {"List<a b>": {"type": "integer"}}})
    assert ready.validator.whole.is_valid(1)
    assert not ready.validator.whole.is_valid("a")


def test_parts_validate_values() -> None:
    schema: Any = {
        "properties": {"a b": {"$ref": "#/$defs/x"}, "c": {"not": {"const": 1}}},
        "$defs": {"x": {"minLength": 2}},
    }
    ready = compile_schema(schema)
    inner = ready.document.root["properties"]
    assert [ready.validator.allows(inner["a b"], value) for value in ("ab", "a", 5)] == [True, False, True]
    assert [ready.validator.allows(inner["c"], value) for value in (1, 2)] == [False, True]
    assert [ready.validator.allows(one, 1) for one in (True, False, {})] == [True, False, True]
    assert ready.validator.allows({"const": "of no document"}, 5)


def test_values_that_are_too_costly_to_validate() -> None:
    links: dict[str, Any] = {f"d{at}": {"anyOf": [{"$ref": f"#/$defs/d{at + 1}"}] * 2} for at in range(40)}
    ready = compile_schema({"not": {"$ref": "#/$defs/d0"}, "$defs": {**links, "d40": {}}})
    assert ready.validator.estimate_cost(1, 1) > MAX_COST


def test_a_schema_that_is_dropped_is_gone_without_a_search_for_circles() -> None:
    schema = {"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}}, "title": "gone"}
    compiled = CompiledSchema(SchemaDocument(schema))
    gone = ref(compiled)
    gc.disable()
    try:
        Attempt(compiled, Seed(1), find_mentions("a: b"), work=1_000).make_root()
        del compiled
        assert gone() is None
    finally:
        gc.enable()
