"""One instance in the making: its own chance for each place, noted values first, and an end to all work."""

from typing import Any

import pytest

from mockserver.core.seed import Seed
from mockserver.model.arguments import NOTHING
from mockserver.model.schema.compiled import compiled
from mockserver.model.schema.document import DeadEndError, ExhaustedError
from mockserver.model.schema.maker import Maker, Work
from mockserver.model.schema.making import Place


def maker(schema: Any, seed: int = 0, *, lean: bool = False, troubles: Any = None) -> Maker:
    return Maker(compiled(schema), Seed(seed), NOTHING, Work(1000), troubles or {}, lean)


def made(schema: Any, seed: int = 0, *, lean: bool = False, troubles: Any = None) -> Any:
    one = maker(schema, seed, lean=lean, troubles=troubles)
    return one.make((one.compiled.document.root,), Place())


def test_default_wins_then_examples_while_they_are_valid() -> None:
    assert made({"type": "string", "default": "d", "examples": ["e"]}) == "d"
    assert made({"type": "string", "default": 5, "examples": ["e"]}) == "e"
    assert {made({"type": "string", "examples": ["e", "f", 5]}, seed) for seed in range(20)} == {"e", "f"}
    assert isinstance(made({"type": "string", "examples": [5]}), str)
    assert made({"$ref": "#/$defs/x", "default": None, "$defs": {"x": {"type": ["null", "string"]}}}) is None


def test_refused_values_are_made_again_otherwise() -> None:
    schema = {"properties": {"a": {"default": 1}, "b": {"const": 2}}, "required": ["a", "b"]}
    assert made(schema)["a"] == 1
    assert made(schema, troubles={"/a": 1})["a"] != 1
    assert made(schema, troubles={"/a": 1})["b"] == 2
    assert made(schema, troubles={"": 1})["a"] != 1


def test_a_lean_instance_has_what_it_must() -> None:
    schema = {
        "properties": {"a": {"type": "array"}, "b": {"type": ["string", "null"]}, "c": {}},
        "required": ["a", "b"],
    }
    assert made(schema, lean=True) == {"a": [], "b": None}


def test_null_comes_last() -> None:
    for seed in range(10):
        assert made({"anyOf": [{"type": "null"}, {"type": "integer"}]}, seed) is not None
        assert made({"type": ["null", "integer"]}, seed) is not None


def test_listed_values_obey_all_else() -> None:
    schema = {"enum": [1, "a", "abc", None], "type": "string", "minLength": 2}
    assert {made(schema, seed) for seed in range(10)} == {"abc"}
    assert {made({"enum": [1, 2, 3]}, seed) for seed in range(30)} == {1, 2, 3}
    assert {made({"type": "boolean", "not": {"const": True}}, seed) for seed in range(5)} == {False}


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ({"properties": {"a": {"type": "string", "minLength": 10**9}}, "required": ["a"]}, "#/properties/a/minLength"),
        (
            {
                "items": {"$ref": "#/$defs/x"},
                "minItems": 1,
                "$defs": {"x": {"type": "number", "minimum": 2, "maximum": 1}},
            },
            "#/$defs/x/minimum",
        ),
        ({"enum": ["a"], "minLength": 2}, "#"),
        ({"type": "object", "not": {"type": "object"}}, "#/not"),
    ],
)
def test_dead_ends_name_the_place_in_the_schema(schema: Any, pointer: str) -> None:
    kinds = {"type": "array" if "items" in schema else "string" if "enum" in schema else "object"}
    with pytest.raises(DeadEndError) as caught:
        made({**kinds, **schema}, lean="items" not in schema)
    assert caught.value.pointer == pointer


def test_work_ends() -> None:
    wide: Any = {"type": "array", "minItems": 99, "items": {"type": "array", "minItems": 99, "items": {"const": 1}}}
    one = maker(wide)
    with pytest.raises(ExhaustedError):
        one.make((one.compiled.document.root,), Place())


def test_deep_down_is_an_end() -> None:
    schema: Any = {"const": 1}
    for _ in range(60):
        schema = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
    with pytest.raises(DeadEndError, match="leads more than 40 levels deep"):
        made(schema)
