"""Which alternatives can hold together, found in order."""

from typing import Any

import pytest

from mockserver.model.schema.alternatives import Alternatives
from mockserver.model.schema.compiled import compile_schema
from mockserver.model.schema.document import UnsatisfiableError, WorkLimitError
from mockserver.model.schema.keywords import allowed_types, required_names


def combinations(schema: Any, spend: Any = lambda steps: None) -> list[Any]:
    compiled = compile_schema(schema)
    alternatives = Alternatives(compiled, spend)
    parts = alternatives.flatten((compiled.document.root,))
    return list(alternatives.combinations(parts, lambda keyword, options: options))


def test_each_combination_is_found_in_order() -> None:
    schema = {"anyOf": [{"title": "a"}, {"title": "b"}], "oneOf": [{"type": "string"}, {"type": "null"}]}
    found = [
        ([part["title"] for part in parts if "title" in part], allowed_types(parts)) for parts in combinations(schema)
    ]
    assert found == [(["a"], ("string",)), (["a"], ("null",)), (["b"], ("string",)), (["b"], ("null",))]


def test_impossible_combinations_are_skipped() -> None:
    cat = {"properties": {"kind": {"const": "cat"}}, "required": ["kind"], "title": "cat"}
    dog = {"properties": {"kind": {"const": "dog"}}, "required": ["kind"], "title": "dog"}
    schema = {"type": "object", "anyOf": [cat, dog], "properties": {"kind": {"enum": ["dog", "eel"]}}}
    assert [[part["title"] for part in parts if "title" in part] for parts in combinations(schema)] == [["dog"]]


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
    assert ["".join(required_names(parts)) for parts in combinations({"type": "object", **schema})] == required


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ({"anyOf": [False, {"type": "null"}], "type": "string"}, "#/anyOf"),
        ({"allOf": [{"type": "string"}, {"type": "null"}]}, "#"),
        ({"type": "object", "properties": {"a": False}, "required": ["a"]}, "#"),
    ],
)
def test_an_impossible_schema_is_an_error_with_its_pointer(schema: Any, pointer: str) -> None:
    with pytest.raises(UnsatisfiableError) as caught:
        combinations(schema)
    assert caught.value.pointer == pointer


def test_the_search_is_limited() -> None:
    left = 1000

    def spend(steps: int) -> None:
        nonlocal left
        left -= steps
        if left < 0:
            raise WorkLimitError

    with pytest.raises(WorkLimitError):
        combinations({"allOf": [{"anyOf": [{"title": f"a{at}"}, {"title": f"b{at}"}]} for at in range(40)]}, spend)


def test_the_memory_is_bounded() -> None:
    compiled = compile_schema({})
    alternatives = Alternatives(compiled, lambda steps: None)
    for _ in range(10_000):
        alternatives.flatten(({"type": "string"},))
    assert len(compiled.memory) < 5_000
