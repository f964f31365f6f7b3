"""What `not`, overlapping `oneOf` and chained `if` leave possible is found."""

from typing import Any

import pytest

from mockserver.core.seed import Seed
from mockserver.model.schema import instance
from mockserver.model.schema.compiled import compile_schema

TEXT = {"type": "string"}


NO_C: dict[str, Any] = {"type": "object", "required": ["a"], "properties": {"a": TEXT, "c": TEXT}}


def pet(sound: str) -> Any:
    return {"type": "object", "required": ["name"], "properties": {"name": TEXT, sound: TEXT}}


def case(value: int) -> Any:
    b, c = ({"required": ["v"], "properties": {"v": {"const": name}}} for name in "bc")
    return {"if": {"properties": {"a": {"const": value}}}, "then": b, "else": c}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "schema",
    [
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
    ],
    ids=lambda schema: str(schema)[:60],
)
def test_overlaps(schema: Any, seed: int) -> None:
    assert compile_schema(schema).validator.is_valid(instance(schema, Seed(seed).branch("schema")))
