"""What each keyword leaves to choose."""

from typing import Any

import pytest

from mockserver.model.schema.alternatives import Choices, identity_of
from mockserver.model.schema.compiled import compiled
from mockserver.model.schema.parts import flat

A, B = {"type": "string"}, {"minLength": 2}


def choices(schema: Any) -> tuple[Choices, list[Any]]:
    ready = compiled(schema)
    found = Choices(ready, lambda schemas: flat(ready.document, schemas))
    return found, list(found.of(flat(ready.document, (ready.document.root,))))


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


def test_of_very_many_alternatives_the_others_are_not_excluded() -> None:
    (choice,) = choices({"oneOf": [{"const": at} for at in range(100)]})[1]
    assert [len(option) for option in choice.options] == [1] * 100


def test_what_is_made_up_is_the_same_each_time() -> None:
    found, _ = choices({"anyOf": [A]})
    assert found.negated(A) is found.negated(A)
    assert (found.negated(True), found.negated(False)) == (False, True)
    assert identity_of(True) is True
    assert identity_of(A) != identity_of(dict(A))
