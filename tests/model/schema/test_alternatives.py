"""Which alternatives can hold together, and which choices keywords leave."""

from typing import Any

import pytest

from mockserver.model.schema.alternatives import Alternatives, identity_of
from mockserver.model.schema.compile import compile_schema
from mockserver.model.schema.document import UnsatisfiableError, WorkLimitError
from mockserver.model.schema.keywords import allowed_types, listed_values, property_schemas, required_names


def combinations(schema: Any) -> list[Any]:
    compiled = compile_schema(schema)
    alternatives = Alternatives(compiled, lambda steps: None)
    return list(
        alternatives.combinations(alternatives.flatten((compiled.document.root,)), lambda keyword, options: options)
    )


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


def test_one_of_excludes_the_others() -> None:
    schema = {"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}
    (first, second) = combinations(schema)
    assert (required_names(first), property_schemas(first, "b")) == (("a",), (False,))
    assert (required_names(second), property_schemas(second, "a")) == (("b",), (False,))


def test_conditions_hold_or_not() -> None:
    schema = {
        "type": "object",
        "required": ["a"],
        "if": {"properties": {"a": {"const": 1}}},
        "then": {"required": ["b"]},
        "else": {"required": ["c"]},
    }
    met, unmet = combinations(schema)
    assert (required_names(met), required_names(unmet)) == (("a", "b"), ("a", "c"))
    assert listed_values(met) is None


def test_not_is_broken_in_each_way() -> None:
    found = combinations({"type": "object", "not": {"required": ["a", "b"]}})
    assert [(property_schemas(parts, "a"), property_schemas(parts, "b")) for parts in found] == [
        ((False,), ()),
        ((), (False,)),
    ]
    assert combinations({"type": "string", "not": {"type": "object"}})


def test_dependent_schemas_hold_or_their_property_is_left_out() -> None:
    found = combinations({"type": "object", "dependentSchemas": {"a": {"required": ["b"]}}})
    assert [(required_names(parts), property_schemas(parts, "a")) for parts in found] == [(("b",), ()), ((), (False,))]


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ({"anyOf": [False, {"type": "null"}], "type": "string"}, "#/anyOf"),
        ({"oneOf": [{"type": "string"}, {"type": "string"}]}, "#/oneOf/0"),
        ({"type": "string", "not": {}}, "#/not"),
        ({"allOf": [{"type": "string"}, {"type": "null"}]}, "#"),
        ({"type": "object", "properties": {"a": False}, "required": ["a"]}, "#"),
        ({"type": "array", "minItems": 3, "maxItems": 2}, "#"),
        (
            {
                "type": "object",
                "properties": {"a": {"allOf": [{"type": "string"}, {"type": "null"}]}},
                "required": ["a"],
            },
            "#/properties/a",
        ),
    ],
)
def test_an_impossible_schema_is_an_error_with_its_pointer(schema: Any, pointer: str) -> None:
    with pytest.raises(UnsatisfiableError) as caught:
        combinations(schema)
    assert caught.value.pointer == pointer


def test_the_search_is_limited() -> None:
    compiled = compile_schema({"allOf": [{"anyOf": [{"title": f"a{at}"}, {"title": f"b{at}"}]} for at in range(40)]})
    left = 1000

    def spend(steps: int) -> None:
        nonlocal left
        left -= steps
        if left < 0:
            raise WorkLimitError

    alternatives = Alternatives(compiled, spend)
    with pytest.raises(WorkLimitError):
        list(
            alternatives.combinations(alternatives.flatten((compiled.document.root,)), lambda keyword, options: options)
        )


def test_the_memory_is_bounded() -> None:
    compiled = compile_schema({})
    alternatives = Alternatives(compiled, lambda steps: None)
    for _ in range(10_000):
        alternatives.flatten(({"type": "string"},))
    assert len(compiled.memory) < 5_000


A, B = {"type": "string"}, {"minLength": 2}


def choices(schema: Any) -> tuple[Alternatives, list[Any]]:
    compiled = compile_schema(schema)
    alternatives = Alternatives(compiled, lambda steps: None)
    return alternatives, list(alternatives.choices(alternatives.flatten((compiled.document.root,))))


@pytest.mark.parametrize(
    ("schema", "options"),
    [
        ({"anyOf": [A, B]}, [[(A,), (B,)]]),
        ({"oneOf": [A, B]}, [[(A, {"not": B}), (B, {"not": A})]]),
        ({"if": A, "then": B}, [[(A, B), ({"not": A}, True)]]),
        ({"if": A, "else": B}, [[(A, True), ({"not": A}, B)]]),
        ({"if": A}, []),
        ({"not": {"const": 1}}, [[({"not in": [1]},)]]),
        ({"not": {}}, [[]]),
        ({"not": False}, [[()]]),
        ({"dependentSchemas": {"a": B}}, [[(B,), ({"properties": {"a": False}},)]]),
        ({"dependencies": {"a": B, "b": ["a"]}}, [[(B,), ({"properties": {"a": False}},)]]),
        ({"type": "string"}, []),
    ],
    ids=str,
)
def test_options(schema: Any, options: Any) -> None:
    _, found = choices(schema)
    assert [list(choice.options) for choice in found] == options
    assert all(choice.pointer.startswith("#/") for choice in found)


def test_with_many_options_the_others_are_not_excluded() -> None:
    (choice,) = choices({"oneOf": [{"const": at} for at in range(100)]})[1]
    assert [len(option) for option in choice.options] == [1] * 100


def test_negated_schemas_are_the_same_each_time() -> None:
    found, _ = choices({"anyOf": [A]})
    assert found.negated(A) is found.negated(A)
    assert (found.negated(True), found.negated(False)) == (False, True)
    assert identity_of(True) is True
    assert identity_of(A) != identity_of(dict(A))
