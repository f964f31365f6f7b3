"""Schemas that ask for the impossible, or for too much, are refused soon, with their place."""

import time
from typing import Any

import pytest

from mockserver.core.plan import Failure
from mockserver.core.seed import Seed
from mockserver.model.arguments import find_mentions
from mockserver.model.schema import generate_instance
from mockserver.model.schema.generator import Attempt
from mockserver.model.schema.shape import compile_schema


def made(schema: Any) -> Any:
    return generate_instance(schema, Seed(0).branch("schema"))


DEEP: Any = {"type": "object", "properties": {"next": {"$ref": "#"}}, "required": ["next"]}
WIDE: Any = {"properties": {f"p{i}": {"anyOf": [{"$ref": "#"}] * 9} for i in range(9)}}


@pytest.mark.parametrize(
    "schema",
    [
        False,
        {"type": "array", "minItems": 99, "items": {"type": "array", "minItems": 99, "items": {"minItems": 99}}},
        {"type": "array", "items": {"const": 1}, "minItems": 2, "uniqueItems": True},
        {"allOf": [{"type": "string"}, False]},
        {"$ref": "#"},
        {"$ref": "#/$defs/x", "$defs": {"x": {"$ref": "#/$defs/x"}}},
        {"allOf": [{"$ref": "#"}, {"$ref": "#"}]},
        DEEP,
        {**WIDE, "required": list(WIDE["properties"])},
    ],
    ids=lambda schema: str(schema)[:60],
)
def test_impossible_schemas_fail_soon(schema: Any) -> None:
    started = time.process_time()
    with pytest.raises(Failure, match=r"cannot be satisfied: .* \(at #") as caught:
        made(schema)
    assert caught.value.reason == "bad_parameter"
    assert str(caught.value).endswith(f"{caught.value.details['why']} (at {caught.value.details['pointer']}).")
    assert time.process_time() - started < 2


LINKS: dict[str, Any] = {f"d{at}": {"anyOf": [{"$ref": f"#/$defs/d{at + 1}"}] * 2} for at in range(40)}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "integer", "$ref": "#/$defs/d0", "$defs": {**LINKS, "d40": {"not": {"type": "integer"}}}},
        {"type": "integer", "anyOf": [{"not": {"$ref": "#/$defs/d0"}}], "$defs": {**LINKS, "d40": {"not": {}}}},
        {"type": "string", "pattern": "^(a+)+$", "minLength": 500, "format": "uri"},
        {"type": "string", "pattern": r"^(.*)*\1(.*)*x$", "maxLength": 3, "minLength": 3, "format": "date"},
        {"allOf": [{"anyOf": [{"const": at}, {"const": at + 1}]} for at in range(0, 400, 2)]},
        {"type": "array", "items": {"type": "array", "items": {"$ref": "#"}, "minItems": 900}, "minItems": 900},
        {"type": "object", "propertyNames": {"pattern": "^a$"}, "minProperties": 500},
        {
            "type": "array",
            "uniqueItems": True,
            "items": {"type": "integer", "maximum": 400, "minimum": 1},
            "minItems": 900,
        },
        {"type": "object", "minProperties": 1, "patternProperties": {"^(a|b)$": False}, "additionalProperties": False},
        {"oneOf": [{"type": "string", "minLength": at} for at in range(300)] * 2},
    ],
    ids=lambda schema: str(schema)[:80],
)
def test_excessive_schemas_fail_soon(schema: Any) -> None:
    begun = time.process_time()
    with pytest.raises(Failure, match="cannot be satisfied"):
        made(schema)
    assert time.process_time() - begun < 2


@pytest.mark.parametrize("nested", ["items", "properties", "not", "allOf"])
def test_schemas_nested_too_deeply_are_refused_soon(nested: str) -> None:
    schema: Any = {}
    for _ in range(2_000):
        schema = {nested: {"properties": {"a": schema}, "allOf": [schema]}.get(nested, schema)}
    with pytest.raises(Failure, match=r"nested more than 250 levels deep \(at #/"):
        made(schema)


NAMES = [f"p{at}" for at in range(300)]
PATTERNS: Any = {f"^p{at}": {} for at in range(1_000)}
PROPERTIES: Any = {name: {} for name in NAMES}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "patternProperties": PATTERNS, "required": NAMES},
        {"type": "object", "patternProperties": PATTERNS, "properties": PROPERTIES},
        {"type": "array", "items": {"enum": [f"v{at}" for at in range(20_000)]}, "minItems": 500, "uniqueItems": True},
        {"type": "array", "items": {"type": "string", "minLength": 20_000}, "minItems": 1_000},
        {"type": "object", "properties": PROPERTIES, "dependentSchemas": {
            name: {"required": [f"p{at + 1}"]} for at, name in enumerate(NAMES)
        }},
        {"anyOf": [{"properties": {"k": {"const": at}}, "required": ["k"], "type": "object"} for at in range(2_000)]},
    ],
    ids=lambda schema: str(schema)[:80],
)  # fmt: skip
def test_large_schemas_take_bounded_time(schema: Any) -> None:
    begun = time.process_time()
    try:
        made(schema)
    except Failure as failure:
        assert "more work than one request may" in str(failure)  # noqa: PT017  # either is right
    assert time.process_time() - begun < 2


def test_work_does_not_depend_on_earlier_requests() -> None:
    """A schema's listed values are work whether or not they are remembered of another request."""
    listed = {f"p{at}": {"type": "string", "enum": [f"{at} {n}" for n in range(900)]} for at in range(120)}
    schema = {"type": "object", "properties": listed, "required": list(listed), "title": "first and second time"}
    spent = [_work_of(schema) for _ in range(2)]
    assert spent[0] == spent[1] > 0


def _work_of(schema: Any) -> int:
    attempt = Attempt(compile_schema(schema), Seed(0), work=10**6)
    attempt.make_root()
    return 10**6 - attempt.work_left


@pytest.mark.parametrize(
    "schema",
    [
        {"$dynamicRef": "#/x", "x": {"$dynamicAnchor": {}}, "$schema": "http://json-schema.org/draft-04/schema#"},
        {"type": "array", "prefixItems": ["no schema"], "$schema": "http://json-schema.org/draft-04/schema#"},
        {"contains": "no schema", "minItems": 1, "$schema": "http://json-schema.org/draft-04/schema#"},
        {"allOf": [{"type": "number", "multipleOf": at + 0.1} for at in range(480)]},
        {
            "required": ["a"],
            "type": "object",
            "allOf": [{"properties": {"a": {"$ref": "#"}}}, {"properties": {"a": {"type": "string"}}}],
        },
    ],
    ids=lambda schema: str(schema)[:60],
)
def test_nonsense_is_no_error_of_the_server(schema: Any) -> None:
    try:
        made(schema)
    except Failure as failure:
        assert failure.reason == "bad_parameter"  # noqa: PT017  # either is right


@pytest.mark.parametrize("uri", ["Actions Schema", "http://[bad", "a:b c", "//", "https://example.com/s.json"])
def test_a_schema_may_call_itself_anything(uri: str) -> None:
    either = {"not": {"const": "Rome"}, "type": "string"}
    place = {"type": "object", "properties": {"city": either}, "required": ["city"]}
    schema = {"$id": uri, "type": "object", "properties": {"input": place}, "required": ["input"]}
    said = find_mentions("What is the weather in Oslo?")
    assert generate_instance(schema, Seed(0), said) == {"input": {"city": "Oslo"}}
