"""Instances satisfy their schemas, or a Failure says why there is none."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mockserver.core.plan import Failure
from mockserver.core.seed import Seed
from mockserver.model.schema import find_schema_error, generate_instance
from mockserver.model.schema.generator import Attempt
from mockserver.model.schema.shape import compile_schema

TREE = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "children": {"type": "array", "items": {"$ref": "#"}},
        "next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]},
    },
    "required": ["name", "children", "next"],
    "additionalProperties": False,
}
ORDER = {
    "type": "object",
    "properties": {"id": {"$ref": "#/$defs/a~1b~0c"}, "lines": {"type": "array", "items": {"$ref": "#/$defs/line"}}},
    "required": ["id", "lines"],
    "$defs": {
        "a/b~c": {"type": "integer", "minimum": 1000},
        "line": {"properties": {"price": {"type": "number", "exclusiveMinimum": 0, "maximum": 0.5}}},
    },
}

TEXT = {"type": "string"}
NO_C: dict[str, Any] = {"type": "object", "required": ["a"], "properties": {"a": TEXT, "c": TEXT}}


def pet(sound: str) -> Any:
    return {"type": "object", "required": ["name"], "properties": {"name": TEXT, sound: TEXT}}


def case(value: int) -> Any:
    b, c = ({"required": ["v"], "properties": {"v": {"const": name}}} for name in "bc")
    return {"if": {"properties": {"a": {"const": value}}}, "then": b, "else": c}


FORMATS = "date date-time time duration email hostname ipv4 ipv6 uri uuid unknown"
SATISFIABLE: list[Any] = [
    None,
    True,
    {},
    {"const": [1, {"a": None}]},
    {"enum": ["a", 2, None]},
    {"type": "null"},
    {"type": ["string", "null"], "maxLength": 3},
    {"type": "integer", "minimum": 5, "maximum": 5},
    {"type": "integer", "minimum": 10**20},
    {"type": "integer", "minimum": 1.5, "maximum": 2.5},
    {"type": "object", "required": ["unknown"]},
    {"required": ["n"], "additionalProperties": {"type": "integer"}},
    {"properties": {"a": False, "b": {"type": "string"}}},
    {"properties": {"a": {"type": "string", "default": 5}}, "required": ["a"]},
    {"anyOf": [False, {"type": "integer"}]},
    {"oneOf": [{"type": "integer", "minimum": 0}, {"type": "integer", "minimum": -3, "maximum": 10}]},
    {"oneOf": [{"type": "string", "minLength": 3, "maxLength": 1}, {"const": "b"}]},
    {"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}], "properties": {"a": {}, "b": {}}},
    {
        "allOf": [
            {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
            {"properties": {"b": {"type": "integer"}}, "required": ["b"]},
            True,
        ]
    },
    {"$ref": "#/$defs/a%20b", "$defs": {"a b": {"type": "integer"}}},
    {"$ref": "#/anyOf/1", "anyOf": [{"type": "string"}, {"type": "string", "format": "date"}]},
    {"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 1, "exclusiveMinimum": True},
    {"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "string"}], "minItems": 2},
    TREE,
    ORDER,
    {"not": {"type": "string"}, "type": ["string", "integer"]},
    {"oneOf": [pet("bark"), pet("meow")]},
    {"oneOf": [{"type": "integer", "minimum": 0}, {"type": "integer", "minimum": 10}]},
    {**NO_C, "minProperties": 2, "not": {"required": ["c"]}},
    {"oneOf": [TEXT, {"type": ["string", "null"]}]},
    {"allOf": [case(1), case(2)]},
    {
        "type": "object",
        "required": ["a"],
        "properties": {"a": {"enum": [*range(7)]}},
        "allOf": [case(at) for at in range(1, 7)],
    },
    *({"type": "string", "format": kind} for kind in FORMATS.split()),
]


def made(schema: Any, seed: int = 0) -> Any:
    return generate_instance(schema, Seed(seed).branch("schema"))


@pytest.mark.parametrize("draft", [{}, {"$schema": "http://json-schema.org/draft-07/schema#"}], ids=str)
def test_an_id_may_be_any_text(draft: dict[str, Any]) -> None:
    schema = {**draft, "$id": "Output Format", "properties": {"a": {"$ref": "#/$defs/a"}}, "required": ["a"]}
    assert made({**schema, "type": "object", "$defs": {"a": {"const": 7}}}) == {"a": 7}
    assert made({**schema, "$id": "100 %", "type": "object", "$defs": {"a": {"const": 7}}}) == {"a": 7}


@pytest.mark.parametrize("data", [{"$id": "a b"}, {"$ref": "a b"}, {"properties": {"id": "%"}}], ids=str)
def test_what_is_data_holds_no_references(data: Any) -> None:
    assert made({"const": data}) == data
    assert made({"enum": [data]}) == data


def test_a_property_may_be_called_like_a_keyword() -> None:
    properties = {"const": {"$ref": "#/$defs/a b"}, "properties": {"$ref": "#/$defs/a b"}}
    schema = {"type": "object", "properties": properties, "required": [*properties], "$defs": {"a b": {"const": 7}}}
    assert made(schema) == {"const": 7, "properties": 7}


@pytest.mark.parametrize("schema", SATISFIABLE, ids=str)
def test_instances_satisfy(schema: Any) -> None:
    validator = jsonschema_rs.validator_for(True if schema is None else schema, validate_formats=True)
    for seed in range(10):
        found = made(schema, seed)
        assert validator.is_valid(found), found
        json.dumps(found, allow_nan=False)


def test_the_same_seed_gives_the_same_instance() -> None:
    assert made(ORDER, 5) == made(json.loads(json.dumps(ORDER)), 5)
    assert made(ORDER, 5) != made(ORDER, 6)


def test_an_invalid_schema_is_reported_with_its_place() -> None:
    assert find_schema_error({"type": "string"}) is None
    assert find_schema_error({"items": {"$ref": "#/x"}}) == "'#/x' refers to nothing (at #/items/$ref)"


def test_rejected_values_are_made_again() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"enum": [1, 2, 3]}, "b": {"enum": [1, 2, 3]}},
        "required": ["a", "b"],
        "not": {"anyOf": [{"properties": {"a": {"const": at}, "b": {"const": at}}} for at in (1, 2)]},
        "oneOf": [{"properties": {"a": {"multipleOf": 2}}}, {"properties": {"b": {"multipleOf": 3}}}],
    }
    for seed in range(20):
        assert jsonschema_rs.is_valid(schema, made(schema, seed))


KEYS = st.sampled_from(["a", "b", "name"])
PLAIN = st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from([0.5, 1e300, 2**70, "a", "abc", "2023-01-02"])
KINDS = st.sampled_from(["string", "number", "integer", "object", "array", "boolean", "null"])
COUNT = st.integers(0, 4)
REFERENCE = st.sampled_from(["#", "#/$defs/a", "#/$defs/b", "#/$defs/name", "#anchor"])
FORMAT = st.sampled_from([*FORMATS.split(), "regex", "json-pointer", "uri-reference"])
PATTERN = st.sampled_from(["^a", "b$", "^[a-z]{2,4}$", "^(?=.*[0-9])[a-z0-9]+$", "[^a-z]", "^(a+)+$", r"^\p{Lu}"])


def keywords(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Schemas of nearly all keywords, with others inside."""
    some, by_name = st.lists(inner, min_size=1, max_size=3), st.dictionaries(KEYS, inner, max_size=3)
    names = st.lists(KEYS, max_size=2, unique=True)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": KINDS | st.lists(KINDS, min_size=1, max_size=2, unique=True),
            **dict.fromkeys(("anyOf", "oneOf", "allOf", "prefixItems"), some),
            **dict.fromkeys(("not", "if", "then", "else", "items", "contains", "additionalProperties"), inner),
            **dict.fromkeys(("propertyNames", "unevaluatedItems", "unevaluatedProperties"), inner),
            **dict.fromkeys(("properties", "dependentSchemas", "$defs"), by_name),
            "patternProperties": st.dictionaries(PATTERN, inner, max_size=2),
            "dependentRequired": st.dictionaries(KEYS, names, max_size=2),
            "required": names,
            **dict.fromkeys(
                ("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"), COUNT
            ),
            **dict.fromkeys(("minContains", "maxContains"), COUNT),
            **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), st.integers(-9, 9)),
            "multipleOf": st.sampled_from([1, 0.1, 3, 2.5]),
            "uniqueItems": st.booleans(),
            "enum": st.lists(PLAIN, min_size=1, max_size=4),
            "const": PLAIN,
            "default": PLAIN,
            "examples": st.lists(PLAIN, max_size=2),
            "pattern": PATTERN,
            "format": FORMAT,
            "$ref": REFERENCE,
            "$anchor": st.just("anchor"),
        },
    )


SCHEMAS: st.SearchStrategy[Any] = st.recursive(
    st.booleans() | st.fixed_dictionaries({"type": KINDS}), keywords, max_leaves=12
)
NONSENSE: st.SearchStrategy[Any] = st.recursive(
    PLAIN,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(KEYS | st.sampled_from(["$ref", "type", "items"]), inner)
    ),
)


@pytest.mark.parametrize(
    ("inner", "pointer"),
    [
        ({"type": "integer", "minimum": 5, "maximum": 1}, "#/properties/a/minimum"),
        ({"type": "number", "exclusiveMaximum": 1, "exclusiveMinimum": 1}, "#/properties/a"),
        ({"anyOf": [False, {"type": "integer", "minimum": 5, "maximum": 1}]}, "#/properties/a/anyOf/1/minimum"),
        ({"allOf": [{"type": "string"}, {"type": "integer"}]}, "#/properties/a/allOf/0/type"),
        ({"type": "array", "items": False, "minItems": 1}, "#"),
        ({"$ref": "#/$defs/loop"}, "#"),
        ({"type": "string", "pattern": "^a$", "minLength": 5}, "#/properties/a/pattern"),
    ],
)
def test_a_failure_points_at_what_is_impossible(inner: Any, pointer: str) -> None:
    loop = {"type": "object", "properties": {"next": {"$ref": "#/$defs/loop"}}, "required": ["next"]}
    with pytest.raises(Failure) as caught:
        made({"type": "object", "properties": {"a": inner}, "required": ["a"], "$defs": {"loop": loop}})
    assert caught.value.details["pointer"] == pointer


@given(SCHEMAS | NONSENSE)
@settings(max_examples=100, deadline=None)
def test_any_schema_gives_an_instance_or_a_failure(schema: Any) -> None:
    try:
        found = made(schema)
    except Failure as failure:
        found = failure
    if isinstance(found, Failure):
        assert found.reason == "bad_parameter"
        assert str(found.details["pointer"]).startswith("#")
        return
    assert jsonschema_rs.validator_for(True if schema is None else schema, validate_formats=True).is_valid(found)
    assert made(json.loads(json.dumps(schema))) == found


CORPUS = Path(__file__).parents[2] / "corpus/schemas"
CORPUS_SCHEMAS = {
    f"{path.stem}: {name}": schema
    for path in sorted(CORPUS.glob("*.json"))
    for name, schema in json.loads(path.read_text(encoding="utf-8")).items()
}


@pytest.mark.parametrize("name", CORPUS_SCHEMAS)
def test_schemas_give_valid_instances(name: str) -> None:
    validator = jsonschema_rs.validator_for(CORPUS_SCHEMAS[name], validate_formats=True)
    for seed in range(20):
        found = generate_instance(CORPUS_SCHEMAS[name], Seed(seed))
        assert validator.is_valid(found), found
        assert len(json.dumps(found, allow_nan=False)) < 20_000


@pytest.mark.parametrize("name", [name for name in CORPUS_SCHEMAS if name.startswith(("strict", "tools", "pydantic"))])
def test_everyday_schemas_take_one_attempt(name: str) -> None:
    compiled = compile_schema(CORPUS_SCHEMAS[name])
    for seed in range(10):
        assert compiled.validator.whole.is_valid(Attempt(compiled, Seed(seed), work=2_000).make_root())


@pytest.mark.parametrize("name", [name for name in CORPUS_SCHEMAS if name.startswith("strict")])
def test_strict_instances_have_all_properties(name: str) -> None:
    for schema, value in _tables(CORPUS_SCHEMAS[name], generate_instance(CORPUS_SCHEMAS[name], Seed(1))):
        assert list(value) == schema["required"]


def _tables(schema: Any, value: Any) -> Iterator[tuple[Any, Any]]:
    """The objects directly within objects, with their schemas."""
    yield schema, value
    for name, inner in schema["properties"].items():
        if inner.get("type") == "object":
            yield from _tables(inner, value[name])
