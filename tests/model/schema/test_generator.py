"""How one instance is generated: in which order, and within its budget."""

from typing import Any

import pytest

from mockserver.core.seed import Seed
from mockserver.model.schema.document import UnsatisfiableError, WorkLimitError
from mockserver.model.schema.generator import Attempt, Location, TakenValues
from mockserver.model.schema.shape import compile_schema


def made(schema: Any, seed: int = 0, *, minimal: bool = False, rejections: Any = None) -> Any:
    attempt = Attempt(compile_schema(schema), Seed(seed), work=1000, rejections=rejections or {}, minimal=minimal)
    return attempt.make_root()


def test_valid_defaults_come_before_valid_examples() -> None:
    assert made({"type": "string", "default": "d", "examples": ["e"]}) == "d"
    assert made({"type": "string", "default": 5, "examples": ["e"]}) == "e"
    assert {made({"type": "string", "examples": ["e", "f", 5]}, seed) for seed in range(20)} == {"e", "f"}
    assert isinstance(made({"type": "string", "examples": [5]}), str)
    assert made({"$ref": "#/$defs/x", "default": None, "$defs": {"x": {"type": ["null", "string"]}}}) is None


def test_rejected_values_are_replaced() -> None:
    schema = {"properties": {"a": {"default": 1}, "b": {"const": 2}}, "required": ["a", "b"]}
    assert made(schema)["a"] == 1
    assert made(schema, rejections={"/a": 1})["a"] != 1
    assert made(schema, rejections={"/a": 1})["b"] == 2
    assert made(schema, rejections={"": 1})["a"] != 1


def test_a_minimal_instance_has_what_is_required() -> None:
    schema = {
        "properties": {"a": {"type": "array"}, "b": {"type": ["string", "null"]}, "c": {}},
        "required": ["a", "b"],
    }
    assert made(schema, minimal=True) == {"a": [], "b": None}


def test_null_comes_last() -> None:
    for seed in range(10):
        assert made({"anyOf": [{"type": "null"}, {"type": "integer"}]}, seed) is not None
        assert made({"type": ["null", "integer"]}, seed) is not None


def test_listed_values_meet_all_other_keywords() -> None:
    schema = {"enum": [1, "a", "abc", None], "type": "string", "minLength": 2}
    assert {made(schema, seed) for seed in range(10)} == {"abc"}
    assert {made({"enum": [1, 2, 3]}, seed) for seed in range(30)} == {1, 2, 3}


def test_depth_is_limited() -> None:
    schema: Any = {"const": 1}
    for _ in range(60):
        schema = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
    with pytest.raises(UnsatisfiableError, match="leads more than 40 levels deep"):
        made(schema)


def combinations(schema: Any) -> list[Any]:
    attempt = Attempt(compile_schema(schema), Seed(0), work=1000)
    root = attempt.compiled.find_shape((schema,))
    assert root
    return list(attempt.combine(root, root.choices, Location(), TakenValues()))


def test_each_combination_is_found_in_order() -> None:
    schema = {"anyOf": [{"title": "a"}, {"title": "b"}], "oneOf": [{"type": "string"}, {"type": "null"}]}
    found = [(list(shape.hints), shape.types) for shape in combinations(schema)]
    assert found == [(["a"], ("string",)), (["a"], ("null",)), (["b"], ("string",)), (["b"], ("null",))]


def test_impossible_combinations_are_skipped() -> None:
    cat = {"properties": {"kind": {"const": "cat"}}, "required": ["kind"], "title": "cat"}
    dog = {"properties": {"kind": {"const": "dog"}}, "required": ["kind"], "title": "dog"}
    schema = {"type": "object", "anyOf": [cat, dog], "properties": {"kind": {"enum": ["dog", "eel"]}}}
    assert [list(shape.hints) for shape in combinations(schema)] == [["dog"]]


@pytest.mark.parametrize(
    ("schema", "required"),
    [
        ({"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {"required": ["c"]}}, ["ab", "c"]),
        ({"if": {"required": ["a"]}, "else": {"required": ["c"]}}, ["a", "c"]),
        ({"if": {"required": ["a"]}}, [""]),
        ({"dependentSchemas": {"a": {"required": ["b"]}}}, ["b", ""]),
        ({"dependencies": {"a": {"required": ["b"]}, "c": ["d"]}}, ["b", ""]),
    ],
    ids=str,
)
def test_conditions(schema: Any, required: list[str]) -> None:
    assert ["".join(shape.required) for shape in combinations({"type": "object", **schema})] == required


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ({"anyOf": [False, {"type": "null"}], "type": "string"}, "#/anyOf"),
        ({"allOf": [{"type": "string"}, {"type": "null"}]}, "#/allOf/0/type"),
        ({"type": "object", "properties": {"a": False}, "required": ["a"]}, "#/required"),
    ],
)
def test_an_impossible_schema_is_an_error_with_its_pointer(schema: Any, pointer: str) -> None:
    with pytest.raises(UnsatisfiableError) as caught:
        made(schema)
    assert caught.value.pointer == pointer


def test_the_search_is_limited() -> None:
    with pytest.raises(WorkLimitError):
        combinations({"allOf": [{"anyOf": [{"title": f"a{at}"}, {"title": f"b{at}"}]} for at in range(40)]})


def test_the_memory_is_bounded() -> None:
    compiled = compile_schema({})
    for _ in range(10_000):
        compiled.find_shape(({"type": "string"},))
    assert len(compiled._shapes) < 5_000
