"""Alternatives that can hold together are found, the others passed over."""

from typing import Any

import pytest

from mockserver.model.schema.alternatives import Alternatives
from mockserver.model.schema.compiled import compiled
from mockserver.model.schema.document import DeadEndError, ExhaustedError
from mockserver.model.schema.parts import kinds, listed, of_property, required


def settled(schema: Any) -> list[Any]:
    ready = compiled(schema)
    alternatives = Alternatives(ready, lambda steps: None)
    return list(alternatives.settled(alternatives.flat((ready.document.root,)), lambda keyword, options: options))


def test_each_combination_is_found_in_order() -> None:
    schema = {"anyOf": [{"title": "a"}, {"title": "b"}], "oneOf": [{"type": "string"}, {"type": "null"}]}
    found = [([part["title"] for part in parts if "title" in part], kinds(parts)) for parts in settled(schema)]
    assert found == [(["a"], ("string",)), (["a"], ("null",)), (["b"], ("string",)), (["b"], ("null",))]


def test_what_cannot_hold_together_is_passed_over() -> None:
    cat = {"properties": {"kind": {"const": "cat"}}, "required": ["kind"], "title": "cat"}
    dog = {"properties": {"kind": {"const": "dog"}}, "required": ["kind"], "title": "dog"}
    schema = {"type": "object", "anyOf": [cat, dog], "properties": {"kind": {"enum": ["dog", "eel"]}}}
    assert [[part["title"] for part in parts if "title" in part] for parts in settled(schema)] == [["dog"]]


def test_one_of_excludes_the_others() -> None:
    schema = {"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}
    (first, second) = settled(schema)
    assert (required(first), of_property(first, "b")) == (("a",), (False,))
    assert (required(second), of_property(second, "a")) == (("b",), (False,))


def test_conditions_hold_or_not() -> None:
    schema = {
        "type": "object",
        "required": ["a"],
        "if": {"properties": {"a": {"const": 1}}},
        "then": {"required": ["b"]},
        "else": {"required": ["c"]},
    }
    met, unmet = settled(schema)
    assert (required(met), required(unmet)) == (("a", "b"), ("a", "c"))
    assert listed(met) is None


def test_not_is_broken_in_each_way() -> None:
    found = settled({"type": "object", "not": {"required": ["a", "b"]}})
    assert [(of_property(parts, "a"), of_property(parts, "b")) for parts in found] == [((False,), ()), ((), (False,))]
    assert settled({"type": "string", "not": {"type": "object"}})


def test_dependent_schemas_hold_or_their_property_is_left_out() -> None:
    found = settled({"type": "object", "dependentSchemas": {"a": {"required": ["b"]}}})
    assert [(required(parts), of_property(parts, "a")) for parts in found] == [(("b",), ()), ((), (False,))]


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
def test_no_way_at_all_is_an_error_with_its_place(schema: Any, pointer: str) -> None:
    with pytest.raises(DeadEndError) as caught:
        settled(schema)
    assert caught.value.pointer == pointer


def test_the_search_is_counted() -> None:
    ready = compiled({"allOf": [{"anyOf": [{"title": f"a{at}"}, {"title": f"b{at}"}]} for at in range(40)]})
    left = 1000

    def spend(steps: int) -> None:
        nonlocal left
        left -= steps
        if left < 0:
            raise ExhaustedError

    alternatives = Alternatives(ready, spend)
    with pytest.raises(ExhaustedError):
        list(alternatives.settled(alternatives.flat((ready.document.root,)), lambda keyword, options: options))


def test_what_is_remembered_is_bounded() -> None:
    ready = compiled({})
    alternatives = Alternatives(ready, lambda steps: None)
    for _ in range(10_000):
        alternatives.flat(({"type": "string"},))
    assert len(ready.memory) < 5_000
